"""Opening the directory and bringing old files up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

Step = str | Callable[[sqlite3.Connection], None]

# One entry per schema version: statements, or functions that take the connection. Released entries
# are never edited.
MIGRATIONS: list[Sequence[Step]] = [
    (
        """CREATE TABLE customers (
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            email TEXT,
            street TEXT NOT NULL, postcode TEXT NOT NULL, city TEXT NOT NULL,
            invoice_street TEXT, invoice_postcode TEXT, invoice_city TEXT
        )""",
        """CREATE TABLE parcels (
            parcel INTEGER PRIMARY KEY,
            number INTEGER NOT NULL REFERENCES customers (number),
            contents TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'waiting',
            sent_to TEXT
        )""",
    ),
    (
        "CREATE TABLE words (number INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY (number, word))",
        "CREATE TABLE labels (number INTEGER PRIMARY KEY, text TEXT NOT NULL)",
        """CREATE TABLE history (
            id INTEGER PRIMARY KEY, number INTEGER NOT NULL, day TEXT NOT NULL,
            actor TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL
        )""",
        """CREATE TABLE notices (
            id INTEGER PRIMARY KEY, number INTEGER NOT NULL,
            kind TEXT NOT NULL, email TEXT NOT NULL, body TEXT NOT NULL
        )""",
    ),
]


def connect(path: str) -> sqlite3.Connection:
    """Open `path` at the current schema version. Changes last when they are committed."""
    conn = sqlite3.connect(path, timeout=5.0)
    conn.row_factory = sqlite3.Row
    migrate(conn)
    return conn


def migrate(conn: sqlite3.Connection) -> None:
    """Apply what is missing, all or nothing; two programs may try at the same time."""
    if _version(conn) >= len(MIGRATIONS):
        return
    conn.execute("BEGIN IMMEDIATE")
    with conn:
        for number in range(_version(conn), len(MIGRATIONS)):
            for step in MIGRATIONS[number]:
                conn.execute(step) if isinstance(step, str) else step(conn)
            conn.execute(f"PRAGMA user_version = {number + 1}")


def _version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])
