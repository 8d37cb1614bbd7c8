"""Counts: what is on the shelf, what is held, and the book of movements."""

from __future__ import annotations

import sqlite3

from stockroom.errors import UnknownSku


def on_hand(conn: sqlite3.Connection, sku: str) -> int:
    """Units on the shelf. Raises UnknownSku."""
    row = conn.execute("SELECT on_hand FROM items WHERE sku = ?", (sku,)).fetchone()
    if row is None:
        raise UnknownSku(f"no item {sku!r}")
    return int(row["on_hand"])


def held(conn: sqlite3.Connection, sku: str) -> int:
    """Units promised by open reservations."""
    row = conn.execute(
        "SELECT COALESCE(SUM(quantity), 0) AS held FROM reservations WHERE sku = ? AND status = 'open'",
        (sku,),
    ).fetchone()
    return int(row["held"])


def available(conn: sqlite3.Connection, sku: str) -> int:
    """Units that may still be promised or written off; negative when the SKU is short."""
    return on_hand(conn, sku) - held(conn, sku)


def find_movement(conn: sqlite3.Connection, operation: str, request_key: str) -> sqlite3.Row | None:
    """The oldest movement of an operation with this key."""
    return conn.execute(
        "SELECT * FROM movements WHERE operation = ? AND request_key = ? ORDER BY id LIMIT 1",
        (operation, request_key),
    ).fetchone()


def move(conn: sqlite3.Connection, operation: str, request_key: str, sku: str, delta: int) -> int:
    """Change the shelf by `delta` and write it in the book; returns the movement's number."""
    count = on_hand(conn, sku) + delta
    conn.execute("UPDATE items SET on_hand = ? WHERE sku = ?", (count, sku))
    cursor = conn.execute(
        "INSERT INTO movements (operation, request_key, sku, delta) VALUES (?, ?, ?, ?)",
        (operation, request_key, sku, delta),
    )
    return int(cursor.lastrowid or 0)
