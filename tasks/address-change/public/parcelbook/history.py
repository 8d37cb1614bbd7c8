"""Who changed an address, and when."""

from __future__ import annotations

import datetime
import sqlite3

from parcelbook.address import Address


def record(
    conn: sqlite3.Connection, number: int, day: datetime.date, actor: str, old: Address, new: Address
) -> None:
    """Write an entry."""
    conn.execute(
        "INSERT INTO history (number, day, actor, old, new) VALUES (?, ?, ?, ?, ?)",
        (number, day.isoformat(), actor, old.one_line(), new.one_line()),
    )
    conn.commit()


def of(conn: sqlite3.Connection, number: int) -> list[dict[str, str]]:
    """A customer's entries, oldest first."""
    rows = conn.execute("SELECT day, actor, old, new FROM history WHERE number = ? ORDER BY id", (number,))
    return [dict(row) for row in rows]
