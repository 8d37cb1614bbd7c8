"""The nightly file of the loyalty partner."""

from __future__ import annotations

import csv
import datetime
import io
import sqlite3

from parcelbook import customers, history
from parcelbook.address import FIELDS, Address
from parcelbook.errors import ParcelbookError

ACTOR = "partner"


def take(conn: sqlite3.Connection, text: str, day: datetime.date, dry_run: bool) -> dict[str, list[str]]:
    """Take over the addresses of a file, line by line."""
    outcome: dict[str, list[str]] = {"changed": [], "unchanged": [], "rejected": []}
    for line in csv.DictReader(io.StringIO(text)):
        number = (line.get("number") or "").strip()
        try:
            verdict = _take_line(conn, line, day, dry_run)
        except (ParcelbookError, ValueError):
            verdict = "rejected"
        outcome[verdict].append(number)
    return outcome


def _take_line(conn: sqlite3.Connection, line: dict[str, str], day: datetime.date, dry_run: bool) -> str:
    number = int(line.get("number") or "")
    old = customers.address_of(customers.row(conn, number))
    known = {name: line[name] for name in FIELDS if (line.get(name) or "").strip()}
    new = Address.tidy({**old.as_dict(), **known})
    if new == old:
        return "unchanged"
    if not dry_run:
        customers.set_address(conn, number, new)
        history.record(conn, number, day, ACTOR, old, new)
    return "changed"
