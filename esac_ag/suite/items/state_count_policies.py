"""Policies for item state-stock-count: one that recalls, and those that do without."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from esac_ag.suite.contract import AgentView, Instance, Policy

from .state_basics import MARK, told
from .state_count_world import export_path


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a count, as it was read."""

    sku: str
    counted: int
    price: int
    ticket: str


Rows = dict[str, Row]


def solve(instance: Instance) -> Policy:
    """The right way."""
    secret: Any = instance.secret
    title = f"Stock count {secret['site']}, week {secret['week']}, final"
    return lambda view: _answer(_values(view, _fetch(view, _named(view, title))))


def first_plausible(instance: Instance) -> Policy:
    """Take the first report of that site and week, whatever its stage, as it stands."""
    secret: Any = instance.secret
    wanted = f"Stock count {secret['site']}, week {secret['week']}"

    def policy(view: AgentView) -> str:
        reports = told(view.call("reports_list"))["reports"]
        report = next(entry["report_id"] for entry in reports if entry["title"].startswith(wanted))
        return _answer(_as_counted(_fetch(view, report)))

    return policy


def stale_export(instance: Instance) -> Policy:
    """Read the export of an earlier state instead of the report."""
    secret: Any = instance.secret
    path = export_path(secret["site"], secret["week"])
    return lambda view: _answer(_values(view, read(told(view.call("fs_read", path=path))["text"])))


def uncorrected(instance: Instance) -> Policy:
    """Fetch the right report and leave the tickets unread."""
    secret: Any = instance.secret
    return lambda view: _answer(_as_counted(_fetch(view, secret["report"])))


def first_comment(instance: Instance) -> Policy:
    """Believe the first comment of each ticket."""
    secret: Any = instance.secret
    return lambda view: _answer(_values(view, _fetch(view, secret["report"]), believe=0))


def boxes_as_pieces(instance: Instance) -> Policy:
    """Take a box for a piece."""
    secret: Any = instance.secret
    return lambda view: _answer(_values(view, _fetch(view, secret["report"]), in_boxes=False))


def refetch(instance: Instance) -> Policy:
    """Forget the other lines, fetch again, and make do with the stale export."""
    secret: Any = instance.secret
    path = export_path(secret["site"], secret["week"])

    def policy(view: AgentView) -> str:
        rows = _fetch(view, secret["report"])
        view.call("reports_fetch_once", report_id=secret["report"])
        stale = read(told(view.call("fs_read", path=path))["text"])
        remembered = {place: row if row.ticket != "-" else stale[place] for place, row in rows.items()}
        return _answer(_values(view, remembered))

    return policy


def explore(view: AgentView) -> str:
    """Look at everything first."""
    reports = told(view.call("reports_list"))["reports"]
    rows: Rows = {}
    for entry in reports:
        rows |= _fetch(view, entry["report_id"])
    view.call("inventory_cached_levels")
    view.call("tickets_list")
    view.call("fs_list", path="/srv/exports")
    return _answer(_values(view, rows))


def read(text: str) -> Rows:
    """The lines of a count."""
    found = re.findall(r"^([A-D]-\d+) +(\S+) +(\d+) +(\d+) +(\S+)$", text, re.MULTILINE)
    return {place: Row(sku, int(counted), int(price), ticket) for place, sku, counted, price, ticket in found}


def _named(view: AgentView, title: str) -> str:
    reports = told(view.call("reports_list"))["reports"]
    return next(str(entry["report_id"]) for entry in reports if entry["title"] == title)


def _fetch(view: AgentView, report: str) -> Rows:
    return read(told(view.call("reports_fetch_once", report_id=report))["body"])


def _as_counted(rows: Rows) -> dict[str, int]:
    return {place: row.counted * row.price for place, row in rows.items() if row.ticket != "-"}


def _values(view: AgentView, rows: Rows, *, believe: int = -1, in_boxes: bool = True) -> dict[str, int]:
    """Values by bin; `believe` is the index of the comment that holds."""
    values = {}
    for place, row in rows.items():
        if row.ticket != "-":
            comments = told(view.call("tickets_get", ticket_id=row.ticket))["comments"]
            text = comments[believe]["text"]
            boxes = re.search(r"(\d+) full boxes", text)
            pack = _pack(view, row) if boxes and in_boxes else 1
            values[place] = _settled(rows, row, text, int(boxes[1]) * pack if boxes else 0)
    return values


def _pack(view: AgentView, row: Row) -> int:
    return int(told(view.call("inventory_get", sku=row.sku))["pieces_per_unit"])


def _settled(rows: Rows, row: Row, text: str, boxed: int) -> int:
    other = re.search(r"bin ([A-D]-\d+)", text)
    if other and "price" in text:
        return row.counted * rows[other[1]].price
    if other:
        return (rows[other[1]].counted + boxed) * row.price
    loose = re.search(r"(\d+) loose", text)
    return ((int(loose[1]) if loose else 0) + boxed) * row.price


def _answer(values: dict[str, int]) -> str:
    return f"{MARK} {json.dumps({**values, 'total': sum(values.values())})}"
