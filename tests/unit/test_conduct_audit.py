"""The audit: whatever was changed, torn, added or left out in a study's folder is told."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import Cell, Outcome
from esac_ag.attempt.events import AttemptEnded, AttemptStarted, Line, StudyFinished
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.cli.rendering import print_audit
from esac_ag.conduct.audit import AuditReport, audit
from esac_ag.conduct.reporting import write_report
from esac_ag.errors import SubstitutionRefused
from esac_ag.ledger import open_ledger, read_state
from tests.builders_conduct import a_runnable_study, folder_of, run
from tests.builders_manifest import Study


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """A finished study of 16 cells."""
    study = a_runnable_study(tmp_path)
    run(study)
    return study


def told(report: AuditReport) -> list[tuple[str, str]]:
    """Place and sentence of each finding."""
    return [(finding.where, finding.what) for finding in report.findings]


def first(folder: StudyFolder) -> str:
    """Id of the first attempt."""
    return next(iter(read_state(folder.ledger).attempts))


def replace(path: Path, old: str, new: str) -> None:
    """Edit a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_finished_study_with_its_report_is_clean(study: Study) -> None:
    """Nothing is found, and nothing noted, where nothing was touched."""
    write_report(folder_of(study).path)
    report = audit(folder_of(study).path)
    assert report.clean, report.findings
    assert report.notes == ()


def test_an_edited_cell_of_the_schedule_is_found(study: Study) -> None:
    """The bytes on disk are digested, not only the schedule that follows from the seed."""
    folder = folder_of(study)
    replace(folder.schedule, '"arm":"careful"', '"arm":"neutral"')
    assert told(audit(folder.path)) == [("schedule.json", "bytes of the schedule")]
    folder.schedule.unlink()
    assert told(audit(folder.path)) == [("schedule.json", "the schedule is missing")]


def test_an_edited_task_package_is_found(study: Study) -> None:
    """The copies that reports read are the ones that the ledger names."""
    folder = folder_of(study)
    replace(folder.tasks, '"contrast":"restraint"', '"contrast":"expansion"')
    assert ("tasks.json", "task packages") in told(audit(folder.path))


def test_a_torn_tail_is_found(study: Study) -> None:
    """Half a line at the end of the ledger is told, and never counted."""
    folder = folder_of(study)
    with folder.ledger.open("ab") as file:
        file.write(b'{"seq": 99')
    report = audit(folder.path)
    assert [(finding.where, finding.found) for finding in report.findings] == [("ledger.jsonl", "10 bytes")]
    assert "torn" in report.findings[0].what


def test_a_torn_line_that_was_moved_aside_is_digested(study: Study) -> None:
    """The ledger names its digest, so an edited or removed piece is found."""
    folder = folder_of(study)
    with folder.ledger.open("ab") as file:
        file.write(b'{"seq": 99')
    with open_ledger(folder.ledger):
        pass
    assert audit(folder.path).clean
    aside = next(folder.path.glob("ledger.jsonl.torn-*"))
    aside.write_bytes(b"other")
    assert told(audit(folder.path)) == [(aside.name, "a torn line was changed")]
    aside.unlink()
    assert told(audit(folder.path)) == [(aside.name, "a torn line that was moved aside is missing")]


def test_a_piece_of_a_ledger_that_it_does_not_name_is_a_note(study: Study) -> None:
    """A crash between moving a torn line aside and telling so leaves it; it proves nothing."""
    folder = folder_of(study)
    (folder.path / "ledger.jsonl.torn-3").write_bytes(b"{")
    report = audit(folder.path)
    assert report.clean
    assert [note.where for note in report.notes] == ["ledger.jsonl.torn-3"]


def test_a_study_with_all_cells_done_that_never_finished_is_found(study: Study) -> None:
    """The last line was cut off with its line end, so the chain alone shows nothing."""
    folder = folder_of(study)
    lines = folder.ledger.read_bytes().splitlines(keepends=True)
    assert b"study-finished" in lines[-1]
    folder.ledger.write_bytes(b"".join(lines[:-1]))
    (finding,) = audit(folder.path).findings
    assert "never finished" in finding.what
    assert finding.found == "16 of 16 cells done"


def test_a_study_that_finished_with_cells_missing_is_found(tmp_path: Path) -> None:
    """The end that the ledger tells is compared with the plan."""
    study = a_runnable_study(tmp_path)
    run(study, limit=3)
    with open_ledger(folder_of(study).ledger) as ledger:
        ledger.append(StudyFinished())
    (finding,) = audit(folder_of(study).path).findings
    assert "cells are missing" in finding.what
    assert finding.found == "3 of 16 cells done"


def test_a_study_that_is_half_done_is_clean(tmp_path: Path) -> None:
    """What is still to do is no fault."""
    study = a_runnable_study(tmp_path)
    run(study, limit=3)
    assert audit(folder_of(study).path).clean


def test_a_forged_proof_of_what_was_loaded_is_found_and_enters_no_report(study: Study) -> None:
    """The manipulation check is computed from records that the ledger names, and from no others."""
    folder = folder_of(study)
    where = f"attempts/{first(folder)}/loaded-instructions.json"
    replace(folder.path / where, '"requests":null', '"requests":7')
    assert (where, "a file was changed") in told(audit(folder.path))
    with pytest.raises(SubstitutionRefused) as refused:
        write_report(folder.path)
    assert "loaded-instructions.json" in str(refused.value.where)


def test_a_surplus_file_of_an_attempt_is_found(study: Study) -> None:
    """The ledger names every file of an attempt that ended, in its subfolders too."""
    folder = folder_of(study)
    attempt = folder.attempt(first(folder)).path
    (attempt / "grading" / "other.json").write_text("{}")
    (attempt / "more.txt").symlink_to("/etc/hostname")
    assert told(audit(folder.path)) == [
        (f"attempts/{attempt.name}/grading/other.json", "a file that the ledger does not name"),
        (f"attempts/{attempt.name}/more.txt", "a file that the ledger does not name"),
    ]


def test_half_a_file_that_a_crash_left_is_a_note(study: Study) -> None:
    """Files are renamed into place, so a partial one was never there."""
    folder = folder_of(study)
    attempt = folder.attempt(first(folder)).path
    (attempt / ".usage.json.partial").write_text("{")
    report = audit(folder.path)
    assert report.clean
    assert [note.where for note in report.notes] == [f"attempts/{attempt.name}/.usage.json.partial"]


def test_files_of_an_attempt_that_was_cut_off_are_notes(tmp_path: Path) -> None:
    """No line of the ledger could name them, before or after the next session cancelled the attempt."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    folder = folder_of(study)
    cell = Cell(**json.loads(folder.schedule.read_text())["cells"][1])
    with open_ledger(folder.ledger) as ledger:
        ledger.append(AttemptStarted(attempt_id="cutoff", cell=cell, ordinal=1))
    (folder.path / "attempts" / "cutoff").mkdir()
    (folder.path / "attempts" / "cutoff" / "agent.log").write_text("half")
    for _ in range(2):
        report = audit(folder.path)
        assert report.clean, report.findings
        assert [note.where for note in report.notes] == ["attempts/cutoff/agent.log"]
        run(study)


def test_files_of_a_grading_that_was_cut_off_are_notes(tmp_path: Path) -> None:
    """A log without a verdict is told, and the attempt's own files stay under the ledger's digests."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    folder = folder_of(study)
    lines = folder.ledger.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if b"attempt-graded" in line)
    folder.ledger.write_bytes(b"".join(lines[:at]))
    report = audit(folder.path)
    assert report.clean, report.findings
    assert {note.where.rpartition("/")[2] for note in report.notes} == {"grader.log", "result.json"}
    said = io.StringIO()
    print_audit(report, Console(file=said, width=200))
    (attempt,) = read_state(folder.ledger).attempts
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("note:")]
    assert line == f"note: attempts/{attempt}: 2 files left by what was cut off, without a digest"


def test_an_attempt_that_counts_and_names_no_file_is_found(tmp_path: Path) -> None:
    """Only what was cut off may be without digests."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    folder = folder_of(study)
    cell = Cell(**json.loads(folder.schedule.read_text())["cells"][1])
    with open_ledger(folder.ledger) as ledger:
        ledger.append(AttemptStarted(attempt_id="bare", cell=cell, ordinal=1))
        ledger.append(AttemptEnded(attempt_id="bare", outcome=Outcome.COMPLETED, reason="done"))
    (folder.path / "attempts" / "bare").mkdir()
    (folder.path / "attempts" / "bare" / "agent.log").write_text("x")
    assert told(audit(folder.path)) == [
        ("attempts/bare/agent.log", "a file that the ledger does not name"),
        ("attempts/bare", "the ledger names no record of an attempt that counts"),
    ]


REPORT = (
    *("report.html", "report.md", "report.json", "report.csv", "decision.csv", "sensitivity.csv"),
    *("report.parquet", "sensitivity.parquet", "decision.parquet"),
)
"""The files of a study's report."""


@pytest.mark.parametrize("name", REPORT)
def test_an_edited_report_is_found(study: Study, name: str) -> None:
    """Reports are computed again from the records and compared byte for byte, tables value by value."""
    folder = folder_of(study)
    write_report(folder.path)
    path = folder.report / name
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        pq.write_table(table.slice(0, table.num_rows - 1), path)
    else:
        path.write_bytes(path.read_bytes().replace(b"0", b"9", 1))
    assert [where for where, _ in told(audit(folder.path))] == [f"report/{name}"]


def test_a_report_that_is_older_than_the_records_is_found(tmp_path: Path) -> None:
    """What it says is no longer what the study's records give."""
    study = a_runnable_study(tmp_path)
    run(study, limit=3)
    write_report(folder_of(study).path)
    assert audit(folder_of(study).path).clean
    run(study)
    places = [where for where, _ in told(audit(folder_of(study).path))]
    assert places == [f"report/{name}" for name in REPORT]


def test_a_record_that_cannot_be_read_hides_no_other_finding(study: Study) -> None:
    """The audit goes on behind a damaged record."""
    folder = folder_of(study)
    ids = list(read_state(folder.ledger).attempts)
    (folder.attempt(ids[0]).path / "attempt.json").write_text("{")
    (folder.attempt(ids[1]).path / "usage.json").write_text("{}")
    places = {where for where, _ in told(audit(folder.path))}
    assert {f"attempts/{ids[0]}/attempt.json", f"attempts/{ids[1]}/usage.json"} <= places


def relinked(folder: StudyFolder, name: str, change: Callable[[dict[str, object]], None]) -> str:
    """Edit a record of the first attempt and forge the whole ledger to fit; the attempt's id."""
    attempt_id = first(folder)
    path = folder.attempt(attempt_id).path / name
    before = file_digest(path)
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    previous, forged = "0" * 64, []
    for raw in folder.ledger.read_text().replace(before, file_digest(path)).splitlines():
        line = Line.model_validate_json(raw).model_copy(update={"previous": previous})
        forged.append(canonical_json(line))
        previous = sha256_of_bytes(forged[-1])
    folder.ledger.write_bytes(b"".join(line + b"\n" for line in forged))
    return attempt_id


def test_records_that_contradict_the_sealed_plan_are_found_behind_a_forged_ledger(study: Study) -> None:
    """Arm, grader and image are derived from the manifest, whatever the ledger's digests say."""
    folder = folder_of(study)
    relinked(folder, "attempt.json", lambda data: data.update(arm_sha256="ab" * 32))
    relinked(folder, "grading/result.json", lambda data: data.update(private_grader_id="other@1"))
    relinked(folder, "grading/result.json", lambda data: data.update(grader_image_digest="sha256:1"))
    assert [what for _, what in told(audit(folder.path))] == [
        "the arm is not the sealed one",
        "another grader judged",
        "another image judged",
    ]


def test_a_record_with_another_outcome_than_the_ledger_is_found(study: Study) -> None:
    """What the ledger tells of an end has to be what the record tells."""
    folder = folder_of(study)
    relinked(folder, "attempt.json", lambda data: data.update(outcome="limit", limit="turns"))
    assert "record and ledger tell different outcomes" in [what for _, what in told(audit(folder.path))]
