"""Parcels: ordered, on the packing list, sent."""

from __future__ import annotations

import csv
import io
import sqlite3

from parcelbook import customers, labels, notices
from parcelbook.errors import AlreadySent, UnknownParcel


def order(conn: sqlite3.Connection, number: int, contents: str) -> int:
    """A parcel that waits to be sent; returns its number."""
    customers.row(conn, number)
    cursor = conn.execute("INSERT INTO parcels (number, contents) VALUES (?, ?)", (number, contents))
    return int(cursor.lastrowid or 0)


def packing_list(conn: sqlite3.Connection) -> str:
    """CSV with a line per waiting parcel."""
    rows = conn.execute("SELECT * FROM parcels WHERE state = 'waiting' ORDER BY parcel").fetchall()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["parcel", "contents", "label"])
    for row in rows:
        writer.writerow([row["parcel"], row["contents"], labels.label(conn, row["number"])])
    return text.getvalue()


def send(conn: sqlite3.Connection, parcel: int) -> str:
    """The parcel leaves; returns the label that it carries. Raises UnknownParcel, AlreadySent."""
    row = conn.execute("SELECT * FROM parcels WHERE parcel = ?", (parcel,)).fetchone()
    if row is None:
        raise UnknownParcel(f"no parcel {parcel}")
    if row["state"] != "waiting":
        raise AlreadySent(f"parcel {parcel} has left")
    label = labels.label(conn, row["number"])
    conn.execute("UPDATE parcels SET state = 'sent', sent_to = ? WHERE parcel = ?", (label, parcel))
    notices.parcel_sent(conn, customers.row(conn, row["number"]), label)
    return label


def of(conn: sqlite3.Connection, number: int) -> list[dict[str, object]]:
    """A customer's parcels, oldest first."""
    rows = conn.execute(
        "SELECT parcel, contents, state, sent_to FROM parcels WHERE number = ? ORDER BY parcel", (number,)
    )
    return [dict(row) for row in rows]
