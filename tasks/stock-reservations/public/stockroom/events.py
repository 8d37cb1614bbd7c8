"""The outbox: one row per effect, read by the mailer."""

from __future__ import annotations

import sqlite3


def publish(conn: sqlite3.Connection, topic: str, about: str) -> None:
    """Queue an event about a reservation or a movement."""
    conn.execute("INSERT INTO outbox (topic, about) VALUES (?, ?)", (topic, about))
