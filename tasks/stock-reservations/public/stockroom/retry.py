"""Trying again when the database is busy."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

ATTEMPTS = 8
PAUSE_S = 0.01


def again(operation: Callable[[], T]) -> T:
    """Run `operation`; when SQLite could not do it, wait a little and run it again."""
    for attempt in range(1, ATTEMPTS):
        try:
            return operation()
        except sqlite3.OperationalError:
            time.sleep(PAUSE_S * attempt)
    return operation()
