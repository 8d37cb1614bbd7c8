"""The marketplace importer: takes a feed of orders, each under its order number."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

from stockroom import events, reservations, stock
from stockroom.db import connect
from stockroom.errors import UnknownSku
from stockroom.retry import again

CHANNEL = "marketplace"


def import_orders(path: str, orders: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Reserve what each order asks for; tells which were accepted, repeated or refused."""
    outcome: dict[str, list[str]] = {"accepted": [], "repeated": [], "refused": []}
    with closing(connect(path)) as conn:
        for order in orders:
            verdict = again(lambda order=order: _take(conn, order))
            outcome[verdict].append(str(order["order_no"]))
    return outcome


def _take(conn: sqlite3.Connection, order: Mapping[str, Any]) -> str:
    order_no, sku, quantity = str(order["order_no"]), str(order["sku"]), int(order["quantity"])
    if _seen(conn, order_no):
        return "repeated"
    try:
        free = stock.available(conn, sku)
    except UnknownSku:
        return "refused"
    if quantity < 1 or free < quantity:
        return "refused"
    number = reservations.insert(conn, CHANNEL, order_no, sku, quantity)
    events.publish(conn, "reserved", f"reservation:{number}")
    conn.execute("INSERT INTO feed_seen (order_no) VALUES (?)", (order_no,))
    return "accepted"


def _seen(conn: sqlite3.Connection, order_no: str) -> bool:
    row = conn.execute("SELECT 1 FROM feed_seen WHERE order_no = ?", (order_no,)).fetchone()
    return row is not None
