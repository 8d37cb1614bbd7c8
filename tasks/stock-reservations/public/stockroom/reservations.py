"""Rows of the reservations table, shared by the channels."""

from __future__ import annotations

import sqlite3

from stockroom.errors import UnknownReservation


def answer(row: sqlite3.Row) -> dict[str, object]:
    """What a caller is told about a reservation."""
    return {
        "reservation_id": row["id"],
        "sku": row["sku"],
        "quantity": row["quantity"],
        "status": row["status"],
    }


def get(conn: sqlite3.Connection, reservation_id: int) -> sqlite3.Row:
    """The reservation with this number. Raises UnknownReservation."""
    row = conn.execute("SELECT * FROM reservations WHERE id = ?", (reservation_id,)).fetchone()
    if row is None:
        raise UnknownReservation(f"no reservation {reservation_id}")
    return row


def find(conn: sqlite3.Connection, channel: str, request_key: str) -> sqlite3.Row | None:
    """The oldest reservation of a channel with this key."""
    return conn.execute(
        "SELECT * FROM reservations WHERE channel = ? AND request_key = ? ORDER BY id LIMIT 1",
        (channel, request_key),
    ).fetchone()


def insert(conn: sqlite3.Connection, channel: str, request_key: str, sku: str, quantity: int) -> int:
    """Add an open reservation; returns its number."""
    cursor = conn.execute(
        "INSERT INTO reservations (channel, request_key, sku, quantity) VALUES (?, ?, ?, ?)",
        (channel, request_key, sku, quantity),
    )
    return int(cursor.lastrowid or 0)


def close(conn: sqlite3.Connection, reservation_id: int, status: str, request_key: str) -> None:
    """Mark a reservation as released or shipped by the request with this key."""
    conn.execute(
        "UPDATE reservations SET status = ?, closed_by = ? WHERE id = ?",
        (status, request_key, reservation_id),
    )
