"""What the log of a command-line agent tells, and what it cannot tell."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from esac_ag.agents import command_log
from esac_ag.agents.command_log import ReadLog, read
from esac_ag.agents.logs.ending import EndingClass
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.manifest.agent_file import AgentFile
from esac_ag.transcript import EntryKind
from tests.builders_agents import exited
from tests.builders_presets import a_launched_file, an_agent_file

TIME = "2026-01-01T00:00:00+00:00"
MESSAGE = {"when": {"/kind": "said"}, "event": "message", "text": "/text"}
CALL = {"when": {"/kind": "call"}, "event": "tool-call", "text": "/text"}


def told(file: AgentFile, log: bytes, *, is_cut: bool = False) -> ReadLog:
    """A log of a program that ended well."""
    return read(file, preset_of(file), log, exited(), started_at=TIME, is_cut=is_cut)


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


def test_of_a_log_of_very_many_short_lines_the_first_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As records ten megabytes of them would take gigabytes, and hold up the study for minutes."""
    monkeypatch.setattr(command_log, "MOST_ENTRIES", 1000)
    file = a_launched_file({"log": {"format": "text"}})
    told = command_log.read(file, preset_of(file), b"y\n" * 5_000_000, exited(), started_at=TIME)
    assert len(told.entries) == 1001
    assert (told.entries[-1].kind, told.entries[-2].text) == (EntryKind.NOTICE, "y")
    assert "the log goes on" in told.entries[-1].text


def test_the_end_of_a_long_log_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A known agent says there how it ended."""
    monkeypatch.setattr(command_log, "MOST_ENTRIES", 10)
    said = {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "y"}}
    last = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}
    log = "\n".join([json.dumps(said)] * 100 + [json.dumps(last)]).encode()
    file = an_agent_file("codex")
    told = command_log.read(file, preset_of(file), log, exited(), started_at=TIME)
    assert len(told.entries) == 11
    assert told.ending.kind is EndingClass.COMPLETED
