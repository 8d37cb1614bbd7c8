"""Shadow mode: notes of real tasks are kept for ever, and unknown is never zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esac_ag.attempt.events import ShadowNoted
from esac_ag.cli.app import app
from esac_ag.conduct.audit import audit
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.shadow import add_shadow, day_of, shadow_log, shadow_report
from esac_ag.errors import LedgerCorrupt, UsageError
from esac_ag.statistics.estimates import NotEstimable, estimate
from tests.builders_conduct import a_runnable_study, folder_of, run


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder of a study that has begun."""
    sealed = a_runnable_study(tmp_path)
    run(sealed, limit=1)
    return folder_of(sealed).path


def a_note(**changes: Any) -> ShadowNoted:  # noqa: ANN401
    """A note of ten minutes of rework."""
    whole: dict[str, Any] = {
        "date": "2026-04-01",
        "task": "TICKET-1",
        "arm": "careful",
        "rework_minutes": 10.0,
        "by": "Ada",
    }
    return ShadowNoted(**whole | changes)


def told(*arguments: str) -> Result:
    """What the command says."""
    return CliRunner().invoke(app, ["shadow", *arguments])


def test_notes_are_appended_and_change_nothing_else(study: Path) -> None:
    """The report and the audit stay as they were."""
    write_report(study)
    report = (study / "report" / "report.json").read_bytes()
    add_shadow(study, a_note())
    log = add_shadow(study, a_note(rework_minutes=0.0))
    assert [note.rework_minutes for note in log.notes] == [10.0, 0.0]
    assert shadow_log(study) == log
    write_report(study)
    assert (study / "report" / "report.json").read_bytes() == report
    where = {finding.where for finding in audit(study).findings}
    assert where == set()


def test_a_note_that_is_edited_later_breaks_the_ledger(study: Path) -> None:
    """Nobody rewrites what became of a task, once another line follows."""
    add_shadow(study, a_note())
    add_shadow(study, a_note(task="TICKET-2"))
    ledger = study / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"TICKET-1", b"TICKET-9"))
    with pytest.raises(LedgerCorrupt):
        shadow_log(study)


def test_the_sums_tell_unknown_from_zero_and_make_no_comparison(study: Path) -> None:
    """Means are over the notes that know; an arm without notes has none."""
    add_shadow(study, a_note(missed=("keeps the old format", "documents it")))
    add_shadow(study, a_note(rework_minutes=None, rework_lines=6))
    add_shadow(study, a_note(task="TICKET-2", rework_minutes=0.0))
    neutral, careful = shadow_report(study).arms
    assert (careful.notes, careful.tasks, careful.with_missed, careful.missed) == (3, 2, 1, 2)
    assert (careful.minutes_known, careful.rework_minutes) == (2, estimate(5.0))
    assert (careful.lines_known, careful.rework_lines) == (1, estimate(6.0))
    assert neutral.notes == 0
    assert isinstance(neutral.rework_minutes, NotEstimable)
    assert "no experiment" in shadow_report(study).boundary


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"arm": "nobody"}, "no such arm"),
        ({"rework_minutes": None}, "nothing of rework"),
        ({"missed": ("x" * 2001,)}, "too long"),
    ],
)
def test_a_note_that_says_nothing_or_nothing_of_this_study_is_refused(
    study: Path, changes: dict[str, Any], match: str
) -> None:
    """Nothing is written."""
    with pytest.raises(UsageError, match=match):
        add_shadow(study, a_note(**changes))
    assert shadow_log(study).notes == ()


@pytest.mark.parametrize("text", ["2026-02-30", "yesterday", "2026-1-1", "20260101", ""])
def test_a_date_is_a_day_of_the_calendar(text: str) -> None:
    """Others are refused."""
    with pytest.raises(UsageError, match="date"):
        day_of(text)
    assert day_of("2026-02-28") == "2026-02-28"


def test_the_commands_add_list_and_sum_up(study: Path) -> None:
    """From the command line, for people and for programs."""
    note = ("--task", "TICKET-1", "--arm", "careful", "--by", "Ada", "--date", "2026-04-01")
    added = told("add", str(study), *note, "--rework-lines", "4", "--missed", "the \x1b[2J empty case")
    assert added.exit_code == 0, added.output
    listed = told("list", str(study))
    assert "2026-04-01 TICKET-1 (careful, by Ada): rework 4 lines; missed: the" in listed.output
    assert "\x1b" not in listed.output
    report = told("report", str(study))
    assert "careful: 1 note on 1 task; rework not estimable min (known 0), 4.0 lines" in report.output
    assert json.loads(told("list", str(study), "--json").output)["notes"][0]["rework_minutes"] is None
    empty = told("add", str(study), *note[2:], "--task", "  ", "--rework-lines", "4")
    assert isinstance(empty.exception, UsageError)
