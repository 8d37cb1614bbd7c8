"""Reports that are delivered once."""

from __future__ import annotations

from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, listing, picked, row


def list_reports(state: State, arguments: Arguments) -> Row:
    """Ids and titles."""
    found = [
        {"report_id": report_id, "title": report["title"]}
        for report_id, report in sorted(state["reports"].items())
    ]
    return listing(arguments, "reports", found)


def fetch_once(state: State, arguments: Arguments) -> Row:
    """The report, the first time; every fetch is counted."""
    report_id = arguments["report_id"]
    report = row(state, "reports", "report", report_id)
    report["fetches"] += 1
    if report["fetches"] > 1:
        raise Refused(
            "already-fetched", f"{report_id} was delivered before and is not delivered again", counts=True
        )
    return {"report_id": report_id, **picked(report, "title", "body")}


OPERATIONS: dict[str, Operation] = {"reports_list": list_reports, "reports_fetch_once": fetch_once}
