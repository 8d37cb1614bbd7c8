"""Reading: what the accountant and the dashboards see."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from stockroom import stock as counts
from stockroom.db import connect


def stock(path: str) -> dict[str, dict[str, int]]:
    """Counts per SKU."""
    with closing(connect(path)) as conn:
        skus = [row["sku"] for row in conn.execute("SELECT sku FROM items ORDER BY sku")]
        lines = {}
        for sku in skus:
            on_hand, held = counts.on_hand(conn, sku), counts.held(conn, sku)
            lines[sku] = {"on_hand": on_hand, "held": held, "available": on_hand - held}
        return lines


def reservations(path: str) -> list[dict[str, Any]]:
    """All reservations: id, channel, request_key, sku, quantity, status."""
    return _rows(path, "SELECT id, channel, request_key, sku, quantity, status FROM reservations ORDER BY id")


def movements(path: str) -> list[dict[str, Any]]:
    """All movements: id, operation, request_key, sku, delta."""
    return _rows(path, "SELECT id, operation, request_key, sku, delta FROM movements ORDER BY id")


def events(path: str) -> list[dict[str, Any]]:
    """All events: id, topic, about."""
    return _rows(path, "SELECT id, topic, about FROM outbox ORDER BY id")


def _rows(path: str, query: str) -> list[dict[str, Any]]:
    with closing(connect(path)) as conn:
        return [dict(row) for row in conn.execute(query)]
