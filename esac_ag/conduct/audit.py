"""Derives every digest of a study again and tells what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import AttemptRecord, Cell, Grading
from esac_ag.attempt.events import AttemptState
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.opening import design_of
from esac_ag.errors import HarnessError
from esac_ag.record import Record
from esac_ag.schedule import make_schedule, schedule_sha256


class AuditFinding(Record):
    """One thing that does not hold."""

    where: str
    what: str
    expected: str = ""
    found: str = ""


class AuditReport(Record):
    """The audit of one study."""

    study: str
    ledger_lines: int
    attempts: int
    files_checked: int
    cells_planned: int
    cells_done: int
    findings: tuple[AuditFinding, ...]

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.findings


def audit(path: Path) -> AuditReport:
    """Check manifest, schedule, ledger chain, and every file of every attempt.

    Raises:
        InputRefused: the folder holds no study, or a record cannot be read.
        LedgerCorrupt: the ledger does not verify.
    """
    study = read_study(path)
    cells = make_schedule(*design_of(study.manifest))
    findings = [*_plan(study, cells)]
    checked = 0
    for attempt in study.state.attempts.values():
        checked += len(attempt.artifacts)
        findings += _files(study.folder, attempt)
        findings += _records(study, attempt)
    findings += _strangers(study)
    return AuditReport(
        study=study.manifest.study_id,
        ledger_lines=study.folder.ledger.read_bytes().count(b"\n"),
        attempts=len(study.state.attempts),
        files_checked=checked,
        cells_planned=len(cells),
        cells_done=sum(_is_done(study.state.counting(cell)) for cell in cells),
        findings=tuple(findings),
    )


def _is_done(attempt: AttemptState | None) -> bool:
    return attempt is not None and attempt.grading is not None


def _plan(study: StudyRecords, cells: tuple[Cell, ...]) -> Iterator[AuditFinding]:
    opened = study.state.opened
    if opened is None:
        yield AuditFinding(where="ledger.jsonl", what="the study was never opened")
        return
    schedule = schedule_sha256(*design_of(study.manifest))
    pairs = (
        ("manifest.json", "digest of the sealed plan", opened.manifest_sha256, study.manifest_sha256),
        ("schedule.json", "digest of the schedule", opened.schedule_sha256, schedule),
        (
            "manifest.json",
            "sealed digest of the schedule",
            study.manifest.schedule.sha256,
            schedule,
        ),
    )
    tasks = file_digest(study.folder.tasks)
    for where, what, expected, found in (*pairs, ("tasks.json", "task packages", opened.tasks_sha256, tasks)):
        if expected != found:
            yield AuditFinding(where=where, what=what, expected=expected, found=found)
    planned = set(cells)
    for attempt in study.state.attempts.values():
        if attempt.cell not in planned:
            yield AuditFinding(where=attempt.attempt_id, what="an attempt of a cell that was not planned")


def _files(folder: StudyFolder, attempt: AttemptState) -> Iterator[AuditFinding]:
    for name, expected in sorted(attempt.artifacts.items()):
        path = folder.attempt(attempt.attempt_id).path / name
        where = f"attempts/{attempt.attempt_id}/{name}"
        if not path.is_file():
            yield AuditFinding(where=where, what="a file of the ledger is missing", expected=expected)
        elif (found := file_digest(path)) != expected:
            yield AuditFinding(where=where, what="a file was changed", expected=expected, found=found)


def _records(study: StudyRecords, attempt: AttemptState) -> Iterator[AuditFinding]:
    """What the records say of each other: the plan they carry, the tree they archived and judged."""
    record: AttemptRecord | None = study.attempts.get(attempt.attempt_id)
    if record is None:
        return
    where = f"attempts/{attempt.attempt_id}"
    if record.manifest_sha256 != study.manifest_sha256:
        yield AuditFinding(where=where, what="the attempt carries another plan", found=record.manifest_sha256)
    if record.submission is None:
        return
    try:
        tree = study.folder.attempt(attempt.attempt_id).read_submission().exact_sha256()
    except HarnessError as error:
        yield AuditFinding(where=where, what=error.what, found=error.found)
        return
    grading: Grading | None = study.gradings.get(attempt.attempt_id)
    for what, expected in (
        ("the archive is not the tree of the record", record.submission.tree_sha256),
        ("the grading judged another tree", None if grading is None else grading.submission_tree_sha256),
    ):
        if expected is not None and expected != tree:
            yield AuditFinding(where=where, what=what, expected=expected, found=tree)


def _strangers(study: StudyRecords) -> Iterator[AuditFinding]:
    """Attempt folders that the ledger does not know."""
    folder = study.folder.path / "attempts"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        if name not in study.state.attempts:
            yield AuditFinding(where=f"attempts/{name}", what="a folder that the ledger does not know")
