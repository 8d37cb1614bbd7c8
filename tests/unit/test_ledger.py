"""The ledger: chained, single-writer, crash-safe."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    Body,
    StudyOpened,
    StudyState,
    TailRecovered,
)
from esac_ag.errors import LedgerCorrupt, StudyBusy
from esac_ag.ledger import is_locked, open_ledger, read_lines, read_state
from esac_ag.manifest.plan import AgentKind

DIGEST = "ab" * 32


def a_cell(task: str = "task", arm: str = "neutral", repetition: int = 1) -> Cell:
    """A cell of a small study."""
    return Cell(task=task, arm=arm, repetition=repetition)


def a_story(attempt_id: str = "a1", cell: Cell | None = None) -> list[Body]:
    """A cell from its launch to its grading."""
    return [
        AttemptStarted(attempt_id=attempt_id, cell=cell or a_cell(), ordinal=1),
        AttemptEnded(attempt_id=attempt_id, outcome=Outcome.COMPLETED, reason="done"),
        AttemptGraded(attempt_id=attempt_id, status=GradingStatus.GRADED, artifacts={}),
    ]


def opened() -> StudyOpened:
    """The first event of a study."""
    return StudyOpened(
        study_id="study",
        manifest_sha256=DIGEST,
        schedule_sha256=DIGEST,
        tasks_sha256=DIGEST,
        agent_kind=AgentKind.SCRIPTED,
    )


def write(path: Path, bodies: list[Body]) -> None:
    """Append events to a ledger."""
    with open_ledger(path) as ledger:
        for body in bodies:
            ledger.append(body)


def test_events_survive_closing_and_opening_again(tmp_path: Path) -> None:
    """What was appended is read back in order, and more can follow."""
    path = tmp_path / "ledger.jsonl"
    write(path, [opened()])
    write(path, a_story())
    state = read_state(path)
    assert [line.seq for line in read_lines(path)[0]] == [0, 1, 2, 3]
    attempt = state.counting(a_cell())
    assert attempt is not None
    assert attempt.grading is GradingStatus.GRADED


def test_an_event_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event is followed by a sync of the file, after its bytes were written."""
    path = tmp_path / "ledger.jsonl"
    synced: list[bytes] = []
    with open_ledger(path) as ledger:
        monkeypatch.setattr(os, "fsync", lambda _handle: synced.append(path.read_bytes()))
        for number, body in enumerate([opened(), *a_story()], start=1):
            ledger.append(body)
            assert len(synced) == number
            assert synced[-1].count(b"\n") == number
        monkeypatch.undo()


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    """Two harnesses on one study: the second is told so, and can go on when the first has ended."""
    path = tmp_path / "ledger.jsonl"
    with open_ledger(path) as ledger:
        ledger.append(opened())
        assert is_locked(path)
        with pytest.raises(StudyBusy), open_ledger(path):
            pass
    assert not is_locked(path)
    with open_ledger(path):
        pass


def test_a_changed_byte_in_any_whole_line_is_noticed(tmp_path: Path) -> None:
    """The chain of digests covers every line but the last one, whose successor is not written yet."""
    path = tmp_path / "ledger.jsonl"
    write(path, [opened(), *a_story()])
    data = path.read_bytes()
    position = data.index(b"completed")
    path.write_bytes(data[:position] + b"cancelled" + data[position + 9 :])
    with pytest.raises(LedgerCorrupt) as caught:
        read_state(path)
    assert caught.value.where.endswith(":4")
    assert caught.value.exit_code == 1


def test_a_removed_line_is_noticed(tmp_path: Path) -> None:
    """A line that was taken out breaks the chain."""
    path = tmp_path / "ledger.jsonl"
    write(path, [opened(), *a_story()])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + lines[2:]))
    with pytest.raises(LedgerCorrupt):
        read_lines(path)


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(min_value=0, max_value=100_000))
def test_a_ledger_torn_at_any_byte_keeps_all_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    """Whatever a crash leaves of the last line, earlier lines hold and the torn bytes are kept aside."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    write(path, [opened(), *a_story()])
    data = path.read_bytes()
    kept = data[: cut % (len(data) + 1)]
    path.write_bytes(kept)
    whole, _, torn = kept.rpartition(b"\n")
    with open_ledger(path) as ledger:
        tails = ledger.state.recovered_tails
        ledger.append(opened()) if ledger.state.opened is None else None
    lines, rest = read_lines(path)
    assert rest == b""
    assert path.read_bytes().startswith(whole + b"\n" if whole else b"")
    assert tails == bool(torn)
    if torn:
        recovered = next(line.body for line in lines if isinstance(line.body, TailRecovered))
        assert (path.parent / recovered.file).read_bytes() == torn


def test_a_ledger_of_another_format_is_refused_and_untouched(tmp_path: Path) -> None:
    """An unknown event is not skipped."""
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps({"seq": 0, "at": "x", "previous": "0" * 64, "body": {"event": "new"}}) + "\n")
    before = path.read_bytes()
    with pytest.raises(LedgerCorrupt), open_ledger(path):
        pass
    assert path.read_bytes() == before


def test_a_cell_is_never_counted_twice() -> None:
    """A second counting attempt of a cell contradicts the first."""
    story = a_story("a1") + a_story("a2")[:2]
    with pytest.raises(ValueError, match="counted twice"):
        StudyState.of(story)


def test_an_end_without_a_start_is_refused() -> None:
    """Events about attempts that were never started do not make sense."""
    with pytest.raises(ValueError, match="never started"):
        StudyState.of([AttemptEnded(attempt_id="x", outcome=Outcome.INFRA, reason="?")])


def test_unfinished_and_ungraded_attempts_are_told_apart() -> None:
    """A resume cancels the one and grades the other."""
    state = StudyState.of([*a_story("a1", a_cell("one"))[:2], a_story("a2", a_cell("two"))[0]])
    assert [attempt.attempt_id for attempt in state.ungraded()] == ["a1"]
    assert [attempt.attempt_id for attempt in state.unfinished()] == ["a2"]
