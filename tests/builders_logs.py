"""Logs that real agents wrote for a scripted model server, and their readers.

`tests/golden/agents/` holds them, without machine paths and long texts of others: claude-code 2.1.332, codex
0.171.0, opencode 1.18.33, mini-swe-agent 2.4.6.
"""

from __future__ import annotations

import json
from pathlib import Path

from esac_ag.agents.logs import LogFormat, log_reader
from esac_ag.agents.logs.ending import LogEnding
from esac_ag.agents.logs.reading import LogReader
from esac_ag.sandbox.contract import Termination
from esac_ag.transcript import Entry

LOGS = Path(__file__).parent / "golden" / "agents"
CLAUDE, CODEX, OPENCODE, MINI = LogFormat


def captured(agent: LogFormat, capture: str) -> bytes:
    """The bytes of a log."""
    return next((LOGS / agent).glob(f"{capture}.json*")).read_bytes()


def read(agent: LogFormat, log: bytes, started_at_s: float | None = None) -> tuple[list[Entry], LogReader]:
    """All entries of a log, and its reader."""
    reader = log_reader(agent, started_at_s=started_at_s)
    return list(reader.entries(log)), reader


def ended(agent: LogFormat, log: bytes, exit_code: int | None = 0) -> LogEnding:
    """How an agent with that log and exit code ended."""
    return read(agent, log)[1].ending(Termination.EXITED, exit_code)


def lines(*events: object) -> bytes:
    """Events as a log."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)
