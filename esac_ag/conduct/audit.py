"""Derives every digest of a study again and tells what differs.

A *finding* is something that does not hold. A *note* is what a crash or a study at work leaves behind and no
digest covers: it is told, and nothing of it is evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Cell
from esac_ag.attempt.events import AttemptState
from esac_ag.conduct.audit_attempts import attempt_findings, attempt_notes
from esac_ag.conduct.audit_grading import drawn_again, grading_findings
from esac_ag.conduct.audit_ledger import ledger_findings, ledger_notes
from esac_ag.conduct.audit_plan import plan_findings
from esac_ag.conduct.audit_records import AuditFinding, Records
from esac_ag.conduct.audit_reports import report_findings
from esac_ag.conduct.audit_review import review_findings
from esac_ag.conduct.audit_stops import stop_findings
from esac_ag.conduct.audit_suite import suite_plan_findings, suite_report_findings
from esac_ag.conduct.collect import read_study
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.report_revisions import revision_findings, revision_notes
from esac_ag.conduct.report_standing import newest
from esac_ag.conduct.reporting import inputs_of, report_files
from esac_ag.conduct.suite import dataset_of
from esac_ag.conduct.suite_results import read_suite
from esac_ag.errors import HarnessError, SubstitutionRefused
from esac_ag.record import Record
from esac_ag.report.build import build_view
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.schedule import make_schedule
from esac_ag.suite.constitution import Pool
from esac_ag.suite.pools import DatasetSeed

__all__ = ["AuditFinding", "AuditReport", "audit"]


class AuditReport(Record):
    """The audit of one study."""

    study: str
    ledger_lines: int
    attempts: int
    files_checked: int
    cells_planned: int
    cells_done: int
    cells_stopped: int = 0
    """Not launched, because their arm was stopped by rule."""
    findings: tuple[AuditFinding, ...]
    notes: tuple[AuditFinding, ...] = ()
    """What a crash left that no digest covers; nothing of it counts."""

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.findings


def audit(
    path: Path, dataset_of_pool: Callable[[Pool], DatasetSeed] = lambda pool: dataset_of(pool, None, None)
) -> AuditReport:
    """Check manifest, schedule, ledger, every file of every attempt, and the report if there is one.

    Args:
        path: the folder.
        dataset_of_pool: finds the dataset seed of a suite run, for its gradings to be computed again; by
            default where a command without `--seed` finds it.

    Raises:
        InputRefused: the folder holds no study, or its manifest or task packages cannot be read.
        LedgerCorrupt: the ledger does not verify.
    """
    unreadable: list[HarnessError] = []
    if plans_a_suite_run(StudyFolder(path).manifest):
        suite = read_suite(path, unreadable=unreadable)
        cells = suite.manifest.cells()
        drawn = drawn_again(suite, dataset_of_pool)
        own = [
            *suite_plan_findings(suite, cells),
            *suite_report_findings(suite),
            *drawn.findings,
            *grading_findings(suite, drawn),
        ]
        return _report_of(suite, cells, own, unreadable, drawn.notes)
    study = read_study(path, unreadable=unreadable)
    cells = make_schedule(*design_of(study.manifest))
    latest = study.folder.revision(newest(study.state))
    reports = report_findings(study.folder, lambda: report_files(build_view(inputs_of(study))), latest)
    own = [
        *plan_findings(study, cells),
        *stop_findings(study),
        *reports,
        *revision_findings(study),
        *review_findings(study),
    ]
    return _report_of(study, cells, own, unreadable, tuple(revision_notes(study)))


def _report_of(
    study: Records,
    cells: Sequence[Cell],
    own: list[AuditFinding],
    unreadable: list[HarnessError],
    own_notes: Sequence[AuditFinding] = (),
) -> AuditReport:
    """What holds for every plan, beside the findings of its own kind."""
    attempts = tuple(study.state.attempts.values())
    done = sum(_is_done(study.state.counting(cell)) for cell in cells)
    stopped = sum(study.state.is_stopped(cell) for cell in cells)
    findings = [*own, *ledger_findings(study, planned=len(cells), done=done, stopped=stopped)]
    notes = [*own_notes, *ledger_notes(study)]
    for attempt in attempts:
        findings += attempt_findings(study, attempt)
        notes += attempt_notes(study, attempt)
    findings += _unreadable(study.folder.path, unreadable)
    findings += _strangers(study)
    return AuditReport(
        study=study.manifest.study_id,
        ledger_lines=study.folder.ledger.read_bytes().count(b"\n"),
        attempts=len(attempts),
        files_checked=sum(len(attempt.artifacts) for attempt in attempts),
        cells_planned=len(cells),
        cells_done=done,
        cells_stopped=stopped,
        findings=tuple(findings),
        notes=tuple(notes),
    )


def _unreadable(path: Path, errors: list[HarnessError]) -> Iterator[AuditFinding]:
    """Records that are the ledger's and still cannot be used; those that are not are told as files."""
    for error in errors:
        if not isinstance(error, SubstitutionRefused):
            where = error.where.removeprefix(f"{path}/")
            yield AuditFinding(where=where, what=error.what, found=error.found)


def _is_done(attempt: AttemptState | None) -> bool:
    return attempt is not None and attempt.grading is not None


def _strangers(study: Records) -> Iterator[AuditFinding]:
    """Entries of `attempts/` that the ledger does not know."""
    folder = study.folder.path / "attempts"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        if name not in study.state.attempts:
            yield AuditFinding(where=f"attempts/{name}", what="a folder that the ledger does not know")
