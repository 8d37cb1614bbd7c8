"""Auditing reports: those that exist are computed again from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.errors import HarnessError


def report_findings(
    folder: StudyFolder, compute: Callable[[], Mapping[str, bytes]], reports: Path | None = None
) -> Iterator[AuditFinding]:
    """Reports that exist are computed again: an edited number, or an outdated one, is told.

    Args:
        folder: of the study or the suite run.
        compute: the files of the newest report by their paths there; may raise HarnessError.
        reports: where the newest report lies; by default `report/`.
    """
    reports = reports or folder.report
    if not reports.is_dir():
        return
    try:
        files = compute()
    except HarnessError as error:
        what = f"the report cannot be computed again: {error.what}"
        yield AuditFinding(where="report", what=what, expected=error.expected, found=error.found)
        return
    for name, data in files.items():
        path = reports / name
        if path.is_file() and not same_content(path, data):
            what = "the report is not what the records give: edited, or older than they are"
            expected = f"as `esac-ag report {folder.path}` writes it"
            where = path.relative_to(folder.path).as_posix()
            yield AuditFinding(where=where, what=what, expected=expected)


def same_content(path: Path, data: bytes) -> bool:
    """Whether a report's file is there and what it has to be."""
    return path.is_file() and same_report(path.name, path.read_bytes(), data)


def same_report(name: str, found: bytes, expected: bytes) -> bool:
    """Whether two forms of a report say the same.

    Parquet tables are compared by what they hold: another version of the library packs the same values
    otherwise, and names itself in the file.
    """
    if found == expected or not name.endswith(".parquet"):
        return found == expected
    from esac_ag.report.parquet import same_tables  # noqa: PLC0415  (pyarrow costs 150 ms to import)

    return same_tables(found, expected)
