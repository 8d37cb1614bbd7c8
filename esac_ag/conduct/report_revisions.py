"""Reports of a study that come after its first one: each is added, none is ever overwritten."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from esac_ag import clock
from esac_ag.artifacts import StudyFolder, file_digest, write_atomic
from esac_ag.attempt.events import ReportRevised
from esac_ag.conduct.audit_records import AuditFinding, differing
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.report_standing import newest, revision_of
from esac_ag.conduct.reporting import inputs_of, report_files
from esac_ag.errors import InputRefused, UsageError
from esac_ag.ledger import open_ledger
from esac_ag.report.build import build_view
from esac_ag.report.view import ReportView


def revise_report(path: Path, reason: str) -> tuple[ReportView, Path]:
    """Add a numbered revision to a study's reports; its view and folder.

    The files come first and the ledger's line last: what a crash leaves is no revision, and the next one
    takes its place.

    Raises:
        UsageError: the reason is empty.
        InputRefused: there is no report yet, or an earlier one is not what the ledger names.
        StudyBusy: a harness works on the study.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError(
            "A revision needs a reason.", where="--reason", expected="what is corrected, in a sentence"
        )
    read_study(path)  # refuses a folder without a study before a ledger is made there
    with open_ledger(StudyFolder(path).ledger) as ledger:
        study = read_study(path)
        number = newest(study.state) + 1
        event = ReportRevised(
            number=number,
            at=clock.now(),
            reason=reason,
            files={},
            earlier=_files_before(study, number - 1),
        )
        view = build_view(inputs_of(study, revision=revision_of([*study.state.revisions, event])))
        folder = study.folder.revision(number)
        shutil.rmtree(folder, ignore_errors=True)
        digests = {
            f"report/{folder.name}/{name}": write_atomic(folder / name, data)
            for name, data in report_files(view).items()
        }
        ledger.append(event.model_copy(update={"files": digests}))
    return view, folder


def _files_before(study: StudyRecords, number: int) -> dict[str, str]:
    """The report that is revised, by path and digest, as it lies there.

    Raises:
        InputRefused: there is none, or it is not what the ledger names.
    """
    folder = study.folder.revision(number)
    paths = sorted(item for item in folder.iterdir() if item.is_file()) if folder.is_dir() else []
    if not paths:
        raise InputRefused(
            "there is no report to revise",
            where=str(folder),
            expected="a report",
            remedy=f"esac-ag report {study.folder.path} writes the first one",
        )
    wrong = list(revision_findings(study))
    if wrong:
        raise InputRefused(
            "an earlier report is not what the ledger names; nothing was revised",
            where=wrong[0].where,
            expected=wrong[0].expected,
            found=wrong[0].found,
            remedy="restore it from a copy; earlier reports stay byte for byte",
        )
    return {path.relative_to(study.folder.path).as_posix(): file_digest(path) for path in paths}


def revision_findings(study: StudyRecords) -> Iterator[AuditFinding]:
    """Reports that are not what the ledger names, and revisions that it does not know."""
    named: dict[str, str] = {}
    for event in study.state.revisions:
        named |= event.earlier | event.files
    for name, sha256 in named.items():
        path = study.folder.path / name
        if not path.is_file():
            yield AuditFinding(where=name, what="a report that was kept is missing", expected=sha256)
        else:
            yield from differing([(name, "a report that was kept was changed", sha256, file_digest(path))])
    if study.state.revisions:
        yield from _strangers(study, named)


def _strangers(study: StudyRecords, named: dict[str, str]) -> Iterator[AuditFinding]:
    for folder in (study.folder.revision(number) for number in range(1, newest(study.state) + 1)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            name = path.relative_to(study.folder.path).as_posix()
            if path.is_file() and name not in named:
                yield AuditFinding(where=name, what="a file among kept reports that the ledger does not name")


def revision_notes(study: StudyRecords) -> Iterator[AuditFinding]:
    """Folders of revisions that the ledger does not know: a crash came before its line."""
    known = {study.folder.revision(event.number) for event in study.state.revisions}
    for folder in sorted(study.folder.report.glob("revision-*")):
        if folder not in known:
            where = folder.relative_to(study.folder.path).as_posix()
            yield AuditFinding(where=where, what="a report that the ledger does not name; it is no revision")
