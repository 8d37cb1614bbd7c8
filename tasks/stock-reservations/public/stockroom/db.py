"""Opening the database and bringing old files up to date."""

from __future__ import annotations

import sqlite3

BUSY_TIMEOUT_S = 5.0

# One entry per schema version. Released entries are never edited.
MIGRATIONS: list[tuple[str, ...]] = [
    (
        "CREATE TABLE items (sku TEXT PRIMARY KEY, on_hand INTEGER NOT NULL DEFAULT 0)",
        """CREATE TABLE reservations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            channel TEXT NOT NULL,
            request_key TEXT NOT NULL,
            sku TEXT NOT NULL REFERENCES items (sku),
            quantity INTEGER NOT NULL,
            status TEXT NOT NULL DEFAULT 'open',
            closed_by TEXT
        )""",
        "CREATE INDEX reservations_by_sku ON reservations (sku, status)",
    ),
    (
        """CREATE TABLE movements (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            operation TEXT NOT NULL,
            request_key TEXT NOT NULL,
            sku TEXT NOT NULL REFERENCES items (sku),
            delta INTEGER NOT NULL
        )""",
        """INSERT INTO movements (operation, request_key, sku, delta)
            SELECT 'opening', sku, sku, on_hand FROM items WHERE on_hand <> 0""",
    ),
    (
        "CREATE TABLE feed_seen (order_no TEXT NOT NULL)",
        """CREATE TABLE outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            topic TEXT NOT NULL,
            about TEXT NOT NULL
        )""",
    ),
]


def connect(path: str) -> sqlite3.Connection:
    """Open `path` at the current schema version. Statements commit one by one."""
    conn = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = NORMAL")
    migrate(conn)
    return conn


def version(conn: sqlite3.Connection) -> int:
    """The schema version of the file."""
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def migrate(conn: sqlite3.Connection) -> None:
    """Apply what is missing, all or nothing; two processes may try at the same time."""
    if version(conn) >= len(MIGRATIONS):
        return
    conn.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version(conn), len(MIGRATIONS)):
            for statement in MIGRATIONS[number]:
                conn.execute(statement)
            conn.execute(f"PRAGMA user_version = {number + 1}")
    except BaseException:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")
