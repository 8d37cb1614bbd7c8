"""Auditing reports: those that exist are computed again from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.errors import HarnessError


def report_findings(
    folder: StudyFolder, compute: Callable[[], Mapping[str, bytes]]
) -> Iterator[AuditFinding]:
    """Reports that exist are computed again: an edited number, or an outdated one, is told.

    Args:
        folder: of the study or the suite run.
        compute: the files of `report/` by their paths there; may raise HarnessError.
    """
    if not folder.report.is_dir():
        return
    try:
        files = compute()
    except HarnessError as error:
        what = f"the report cannot be computed again: {error.what}"
        yield AuditFinding(where="report", what=what, expected=error.expected, found=error.found)
        return
    for name, data in files.items():
        path = folder.report / name
        if path.is_file() and path.read_bytes() != data:
            what = "the report is not what the records give: edited, or older than they are"
            expected = f"as `esac-ag report {folder.path}` writes it"
            yield AuditFinding(where=f"report/{name}", what=what, expected=expected)
