"""Derives every digest of a study again and tells what differs.

A *finding* is something that does not hold. A *note* is what a crash or a study at work leaves behind and no
digest covers: it is told, and nothing of it is evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from esac_ag.attempt.events import AttemptState
from esac_ag.conduct.audit_attempts import attempt_findings, attempt_notes
from esac_ag.conduct.audit_ledger import ledger_findings, ledger_notes
from esac_ag.conduct.audit_plan import plan_findings
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.reporting import inputs_of
from esac_ag.errors import HarnessError, SubstitutionRefused
from esac_ag.record import Record
from esac_ag.report.build import build_view
from esac_ag.report.machine import render_csv, render_json
from esac_ag.report.markdown import render_markdown
from esac_ag.schedule import make_schedule

__all__ = ["AuditFinding", "AuditReport", "audit"]


class AuditReport(Record):
    """The audit of one study."""

    study: str
    ledger_lines: int
    attempts: int
    files_checked: int
    cells_planned: int
    cells_done: int
    findings: tuple[AuditFinding, ...]
    notes: tuple[AuditFinding, ...] = ()
    """What a crash left that no digest covers; nothing of it counts."""

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.findings


def audit(path: Path) -> AuditReport:
    """Check manifest, schedule, ledger, every file of every attempt, and the report if there is one.

    Raises:
        InputRefused: the folder holds no study, or its manifest or task packages cannot be read.
        LedgerCorrupt: the ledger does not verify.
    """
    unreadable: list[HarnessError] = []
    study = read_study(path, unreadable=unreadable)
    cells = make_schedule(*design_of(study.manifest))
    attempts = tuple(study.state.attempts.values())
    done = sum(_is_done(study.state.counting(cell)) for cell in cells)
    findings = [*plan_findings(study, cells), *ledger_findings(study, planned=len(cells), done=done)]
    notes = [*ledger_notes(study)]
    for attempt in attempts:
        findings += attempt_findings(study, attempt)
        notes += attempt_notes(study, attempt)
    findings += _unreadable(path, unreadable)
    findings += _strangers(study)
    findings += _report(study)
    return AuditReport(
        study=study.manifest.study_id,
        ledger_lines=study.folder.ledger.read_bytes().count(b"\n"),
        attempts=len(attempts),
        files_checked=sum(len(attempt.artifacts) for attempt in attempts),
        cells_planned=len(cells),
        cells_done=done,
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


def _strangers(study: StudyRecords) -> Iterator[AuditFinding]:
    """Entries of `attempts/` that the ledger does not know."""
    folder = study.folder.path / "attempts"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        if name not in study.state.attempts:
            yield AuditFinding(where=f"attempts/{name}", what="a folder that the ledger does not know")


def _report(study: StudyRecords) -> Iterator[AuditFinding]:
    """Reports that exist are computed again: an edited number, or an outdated one, is told."""
    there = study.folder.report
    if not there.is_dir():
        return
    try:
        view = build_view(inputs_of(study))
    except HarnessError as error:
        what = f"the report cannot be computed again: {error.what}"
        yield AuditFinding(where="report", what=what, expected=error.expected, found=error.found)
        return
    files = {"report.md": render_markdown(view).encode(), "report.json": render_json(view)}
    files |= {name: text.encode() for name, text in render_csv(view).items()}
    for name, data in files.items():
        path = there / name
        if path.is_file() and path.read_bytes() != data:
            what = "the report is not what the study's records give: edited, or older than they are"
            yield AuditFinding(where=f"report/{name}", what=what, expected="as `esac-ag report` writes it")
