"""What a folder holds that may be published, read once: what is published is what was verified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.attempt import Cell
from esac_ag.attempt.events import Line
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.audit_reports import same_report
from esac_ag.conduct.collect import StudyRecords
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.publishing_account import is_held_out
from esac_ag.conduct.report_standing import newest
from esac_ag.conduct.reporting import report_files
from esac_ag.conduct.review_quality import review_scores
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.ledger import read_lines
from esac_ag.manifest.plan import Plan
from esac_ag.report.publication_ledger import pseudonyms
from esac_ag.report.publication_lineage import Told
from esac_ag.report.publication_rows import published_rows
from esac_ag.report.publication_view import PublishedAttempt, PublishedReport
from esac_ag.report.view import ReportView
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.schedule import make_schedule
from esac_ag.study.disclosure_scan import MOST_BYTES

REPORT = "report"


@dataclass(frozen=True, slots=True)
class Material:
    """What a study or a suite run has, whatever of it is published."""

    folder: StudyFolder
    plan: Plan
    manifest_sha256: str
    held_out: bool
    cells: tuple[Cell, ...]
    lines: tuple[tuple[bytes, Line], ...]
    """The ledger's lines without their ends, and what each tells."""
    told: Told
    rows: tuple[PublishedAttempt, ...]
    reports: tuple[PublishedReport, ...]
    report_bytes: Mapping[str, bytes]
    """By path in the study's folder."""
    scores: bytes | None
    """`review/scores.json`; none without a review."""

    @property
    def people(self) -> dict[str, str]:
        """Pseudonym by name of everybody who reviewed, in the order of the ledger."""
        review = self.told.state.review
        decided = None if review.adjudication is None else review.adjudication.adjudicator
        return pseudonyms(review.reviewers, decided)


def study_material(study: StudyRecords) -> Material:
    """What a study's folder holds.

    Args:
        study: its records; gradings are not needed.

    Raises:
        InputRefused: its report is missing.
        SubstitutionRefused: a file is not the one that the ledger names.
    """
    told, lines = ledger_of_folder(study.folder)
    reports, files, view = _reports(study)
    return Material(
        folder=study.folder,
        plan=study.manifest,
        manifest_sha256=study.manifest_sha256,
        held_out=is_held_out(study.manifest),
        cells=make_schedule(*design_of(study.manifest)),
        lines=lines,
        told=told,
        rows=published_rows(view.attempts, told.state.attempts),
        reports=reports,
        report_bytes=files,
        scores=_scores(study),
    )


def sealed_bytes(path: Path, expected: str) -> bytes:
    """The bytes of a file, read once and compared with the digest that vouches for it; links are refused.

    Raises:
        SubstitutionRefused: it is missing, a link, or another one.
    """
    try:
        data = read_bounded(path, cap_bytes=MOST_BYTES, follow=False)
        found = sha256_of_bytes(data)
    except CannotRead as error:
        data, found = b"", str(error)
    if found != expected:
        raise SubstitutionRefused(
            "a file of the study is not the one that its records name",
            where=str(path),
            expected=expected,
            found=found,
            remedy="`esac-ag audit` lists all that changed; restore the study's folder from a copy",
        )
    return data


def ledger_of_folder(folder: StudyFolder) -> tuple[Told, tuple[tuple[bytes, Line], ...]]:
    """What the ledger tells, and its lines; the bytes that are published are the ones that were verified."""
    data = folder.ledger.read_bytes()
    lines, _ = read_lines(folder.ledger)
    raws = data.split(b"\n")[: len(lines)]
    if [line.previous for line in lines[1:]] != [sha256_of_bytes(raw) for raw in raws[:-1]]:
        raise SubstitutionRefused(
            "the ledger changed while it was read", where=str(folder.ledger), remedy="publish again"
        )
    return Told.of(line.body for line in lines), tuple(zip(raws, lines, strict=True))


def _reports(study: StudyRecords) -> tuple[tuple[PublishedReport, ...], dict[str, bytes], ReportView]:
    """Every report with all files: revised ones as the ledger names them, the newest as its JSON gives it."""
    files: dict[str, bytes] = {}
    reports: list[PublishedReport] = []
    for event in study.state.revisions:
        reports.append(_report(study, event.number - 1, event.earlier))
        files |= {
            name: sealed_bytes(study.folder.path / name, digest) for name, digest in event.earlier.items()
        }
    number = newest(study.state)
    view, shown = _rendered(
        study.folder, study.folder.revision(number).relative_to(study.folder.path).as_posix()
    )
    reports.append(_report(study, number, {name: sha256_of_bytes(data) for name, data in shown.items()}))
    return tuple(reports), files | shown, view


def _report(study: StudyRecords, number: int, digests: Mapping[str, str]) -> PublishedReport:
    at, reason = _said(study, number)
    return PublishedReport(number=number, at=at, reason=reason, files=dict(sorted(digests.items())))


def _said(study: StudyRecords, number: int) -> tuple[str | None, str]:
    """When a report was made and why; nothing of the first one."""
    events = {event.number: event for event in study.state.revisions}
    return (events[number].at, events[number].reason) if number in events else (None, "")


def _rendered(folder: StudyFolder, below: str) -> tuple[ReportView, dict[str, bytes]]:
    """The newest report and its files, each as its JSON gives it."""
    path = folder.path / below / "report.json"
    try:
        data = read_bounded(path, cap_bytes=MOST_BYTES, follow=False)
        view = ReportView.model_validate_json(data)
    except (CannotRead, ValidationError) as error:
        raise _no_report(folder, path, str(error).splitlines()[0]) from error
    return view, {
        f"{below}/{name}": as_computed(folder, f"{below}/{name}", expected)
        for name, expected in report_files(view).items()
    }


def as_computed(folder: StudyFolder, name: str, expected: bytes) -> bytes:
    """A file of the report, which has to be what it is computed to be.

    Raises:
        InputRefused: it is missing, or another one.
    """
    path = folder.path / name
    try:
        data = read_bounded(path, cap_bytes=MOST_BYTES, follow=False)
    except CannotRead as error:
        raise _no_report(folder, path, str(error)) from error
    if not same_report(name, data, expected):
        raise _no_report(folder, path, "it is not what the records give")
    return data


def _no_report(folder: StudyFolder, path: Path, found: str) -> InputRefused:
    return InputRefused(
        "there is no whole report to publish",
        where=str(path),
        expected="every file of the newest report, as `esac-ag report` writes it",
        found=found,
        remedy=f"esac-ag report {folder.path}",
    )


def _scores(study: StudyRecords) -> bytes | None:
    """The scores of an unblinded review, as the ledger names them."""
    unblinded = study.state.review.unblinded
    if unblinded is None:
        return None
    review_scores(study.folder, study.state)  # refuses scores that were changed, with their own remedy
    return sealed_bytes(ReviewFolder(study.folder.path).scores, unblinded.scores_sha256)


def parts_of_attempts(material: Material, names: Iterable[str]) -> Iterator[tuple[str, Path, str]]:
    """Files of attempts that the ledger names: path in the bundle, path on disk, digest."""
    wanted = tuple(names)
    for attempt in material.told.state.attempts.values():
        folder = material.folder.attempt(attempt.attempt_id).path
        for name in wanted:
            if name in attempt.artifacts:
                yield f"attempts/{attempt.attempt_id}/{name}", folder / name, attempt.artifacts[name]
