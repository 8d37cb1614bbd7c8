"""A command-line agent's log, read whatever stands in it, as its process leaves it."""

from __future__ import annotations

import json

import pytest

from esac_ag.agents import command_log
from esac_ag.agents.logs.ending import EndingClass
from esac_ag.agents.presets.choosing import preset_of
from esac_ag.sandbox.contract import CommandResult, Termination
from esac_ag.transcript import EntryKind
from tests.builders_presets import a_launched_file, an_agent_file

ENDED = CommandResult(
    exit_code=0, output=b"", duration_s=1.0, termination=Termination.EXITED, truncated=False
)
TIME = "2026-01-01T00:00:00+00:00"


def test_of_a_log_of_very_many_short_lines_the_first_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As records ten megabytes of them would take gigabytes, and hold up the study for minutes."""
    monkeypatch.setattr(command_log, "MOST_ENTRIES", 1000)
    file = a_launched_file({"log": {"format": "text"}})
    told = command_log.read(file, preset_of(file), b"y\n" * 5_000_000, ENDED, started_at=TIME)
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
    told = command_log.read(file, preset_of(file), log, ENDED, started_at=TIME)
    assert len(told.entries) == 11
    assert told.ending.kind is EndingClass.COMPLETED
