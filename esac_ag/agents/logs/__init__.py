"""Logs of command-line agents, read into the normal transcript and classed by how the agent ended.

Pure: bytes in, entries and an ending out.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from esac_ag.agents.logs.claude_code import ClaudeCodeReader
from esac_ag.agents.logs.codex import CodexReader
from esac_ag.agents.logs.mini_swe_agent import MiniSweAgentReader
from esac_ag.agents.logs.opencode import OpenCodeReader
from esac_ag.agents.logs.reading import LogReader


class LogFormat(StrEnum):
    """Whose log it is."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OPENCODE = "opencode"
    MINI_SWE_AGENT = "mini-swe-agent"


_READERS: dict[LogFormat, Callable[..., LogReader]] = {
    LogFormat.CLAUDE_CODE: ClaudeCodeReader,
    LogFormat.CODEX: CodexReader,
    LogFormat.OPENCODE: OpenCodeReader,
    LogFormat.MINI_SWE_AGENT: MiniSweAgentReader,
}


def log_reader(format_: LogFormat, *, started_at_s: float | None = None) -> LogReader:
    """A reader for one log: take all of `entries(log)`, then ask for `ending(...)` and `reported`.

    Args:
        format_: whose log it is.
        started_at_s: seconds since 1970 at which the attempt started; by default the log's first time.
    """
    return _READERS[format_](started_at_s=started_at_s)
