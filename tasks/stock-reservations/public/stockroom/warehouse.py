"""The warehouse terminals: goods in, breakage, recounts, goods out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from stockroom import events, reservations, stock
from stockroom.db import connect
from stockroom.errors import KeyReused, OutOfStock, WrongState
from stockroom.retry import again


def receive(path: str, request_key: str, sku: str, quantity: int) -> dict[str, object]:
    """Put goods on the shelf; a SKU that is new is created. Raises KeyReused, ValueError."""
    _require_positive(quantity)

    def work(conn: sqlite3.Connection) -> dict[str, object]:
        earlier = _earlier(conn, "receive", request_key, sku, quantity)
        if earlier is not None:
            return earlier
        conn.execute("INSERT OR IGNORE INTO items (sku) VALUES (?)", (sku,))
        return _move(conn, "receive", "received", request_key, sku, quantity)

    return _run(path, work)


def write_off(path: str, request_key: str, sku: str, quantity: int) -> dict[str, object]:
    """Take broken goods off the shelf; held units stay. Raises OutOfStock, UnknownSku, KeyReused, ValueError."""
    _require_positive(quantity)

    def work(conn: sqlite3.Connection) -> dict[str, object]:
        earlier = _earlier(conn, "write_off", request_key, sku, -quantity)
        if earlier is not None:
            return earlier
        if stock.available(conn, sku) < quantity:
            raise OutOfStock(f"fewer than {quantity} of {sku!r} available")
        return _move(conn, "write_off", "written-off", request_key, sku, -quantity)

    return _run(path, work)


def recount(path: str, request_key: str, sku: str, counted: int) -> dict[str, object]:
    """State how many units are on the shelf; always goes through. Raises UnknownSku, KeyReused, ValueError."""
    if counted < 0:
        raise ValueError("counted must not be negative")

    def work(conn: sqlite3.Connection) -> dict[str, object]:
        earlier = _earlier(conn, "recount", request_key, sku, None)
        if earlier is not None:
            return earlier
        delta = counted - stock.on_hand(conn, sku)
        return _move(conn, "recount", "recounted", request_key, sku, delta)

    return _run(path, work)


def ship(path: str, request_key: str, reservation_id: int) -> dict[str, object]:
    """Send an open reservation out. Raises UnknownReservation, WrongState, OutOfStock (shelf is short)."""

    def work(conn: sqlite3.Connection) -> dict[str, object]:
        row = reservations.get(conn, reservation_id)
        if row["status"] == "shipped" and row["closed_by"] == request_key:
            return reservations.answer(row)
        if row["status"] != "open":
            raise WrongState(f"reservation {reservation_id} is {row['status']}")
        if stock.on_hand(conn, row["sku"]) < row["quantity"]:
            raise OutOfStock(f"fewer than {row['quantity']} of {row['sku']!r} on the shelf")
        reservations.close(conn, reservation_id, "shipped", request_key)
        stock.move(conn, "ship", request_key, row["sku"], -row["quantity"])
        events.publish(conn, "shipped", f"reservation:{reservation_id}")
        return reservations.answer(reservations.get(conn, reservation_id))

    return _run(path, work)


def _run(path: str, work: Callable[[sqlite3.Connection], dict[str, object]]) -> dict[str, object]:
    with closing(connect(path)) as conn:
        return again(lambda: work(conn))


def _earlier(
    conn: sqlite3.Connection, operation: str, request_key: str, sku: str, delta: int | None
) -> dict[str, object] | None:
    row = stock.find_movement(conn, operation, request_key)
    if row is None:
        return None
    if row["sku"] != sku or delta not in (None, row["delta"]):
        raise KeyReused(f"{operation} {request_key!r} was something else")
    return {"movement_id": row["id"], "sku": row["sku"], "delta": row["delta"]}


def _move(
    conn: sqlite3.Connection, operation: str, topic: str, request_key: str, sku: str, delta: int
) -> dict[str, object]:
    number = stock.move(conn, operation, request_key, sku, delta)
    events.publish(conn, topic, f"movement:{number}")
    return {"movement_id": number, "sku": sku, "delta": delta}


def _require_positive(quantity: int) -> None:
    if quantity < 1:
        raise ValueError("quantity must be at least 1")
