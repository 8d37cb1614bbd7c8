"""What the log of a command-line agent tells, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from esac_ag.agents.command_log import ReadLog, read
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.manifest.agent_file import AgentFile
from tests.builders_agents import exited
from tests.builders_presets import a_launched_file, an_agent_file

MESSAGE = {"when": {"/kind": "said"}, "event": "message", "text": "/text"}
CALL = {"when": {"/kind": "call"}, "event": "tool-call", "text": "/text"}


def told(file: AgentFile, log: bytes, *, is_cut: bool = False) -> ReadLog:
    """A log of a program that ended well."""
    ended = exited(truncated=is_cut)
    return read(file, preset_of(file), log, ended, started_at="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("log", "tool_calls"),
    [
        ({"format": "text"}, None),
        ({"format": "json-lines", "rules": [MESSAGE]}, None),
        ({"format": "json-lines", "rules": [MESSAGE, CALL]}, 1),
    ],
)
def test_calls_that_a_log_cannot_tell_are_not_known(
    log: Mapping[str, object], tool_calls: int | None
) -> None:
    """Unknown is not zero."""
    lines = b'{"kind": "said", "text": "a"}\n{"kind": "call", "text": "b"}\n'
    assert told(a_launched_file({"log": log}), lines).tool_calls == tool_calls


def test_a_log_that_is_empty_tells_of_no_number_of_calls() -> None:
    """A program that broke before it wrote anything may have called tools."""
    assert told(an_agent_file("codex"), b"").tool_calls is None


def test_a_log_that_was_cut_off_tells_no_number_of_calls() -> None:
    """What it holds is fewer than there were."""
    file = a_launched_file({"log": {"format": "json-lines", "rules": [CALL]}})
    line = b'{"kind": "call", "text": "b"}\n'
    assert told(file, line).tool_calls == 1
    assert told(file, line, is_cut=True).tool_calls is None
