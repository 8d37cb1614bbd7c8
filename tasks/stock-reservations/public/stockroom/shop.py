"""The web shop's side: promise units to a cart, give them back."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from stockroom import events, reservations, stock
from stockroom.db import connect
from stockroom.errors import KeyReused, OutOfStock, WrongState
from stockroom.retry import again

CHANNEL = "shop"


def reserve(path: str, request_key: str, sku: str, quantity: int) -> dict[str, object]:
    """Promise `quantity` units to the cart `request_key`.

    Raises OutOfStock, UnknownSku, KeyReused, ValueError (quantity below 1).
    """
    if quantity < 1:
        raise ValueError("quantity must be at least 1")
    with closing(connect(path)) as conn:
        return again(lambda: _reserve(conn, request_key, sku, quantity))


def _reserve(conn: sqlite3.Connection, request_key: str, sku: str, quantity: int) -> dict[str, object]:
    earlier = reservations.find(conn, CHANNEL, request_key)
    if earlier is not None:
        if (earlier["sku"], earlier["quantity"]) != (sku, quantity):
            raise KeyReused(f"cart {request_key!r} has reserved something else")
        return reservations.answer(earlier)
    if stock.available(conn, sku) < quantity:
        raise OutOfStock(f"fewer than {quantity} of {sku!r} available")
    number = reservations.insert(conn, CHANNEL, request_key, sku, quantity)
    events.publish(conn, "reserved", f"reservation:{number}")
    return reservations.answer(reservations.get(conn, number))


def cancel(path: str, request_key: str, reservation_id: int) -> dict[str, object]:
    """Give an open reservation back. Raises UnknownReservation, WrongState."""
    with closing(connect(path)) as conn:
        return again(lambda: _cancel(conn, request_key, reservation_id))


def _cancel(conn: sqlite3.Connection, request_key: str, reservation_id: int) -> dict[str, object]:
    row = reservations.get(conn, reservation_id)
    if row["status"] == "released" and row["closed_by"] == request_key:
        return reservations.answer(row)
    if row["status"] != "open":
        raise WrongState(f"reservation {reservation_id} is {row['status']}")
    reservations.close(conn, reservation_id, "released", request_key)
    events.publish(conn, "released", f"reservation:{reservation_id}")
    return reservations.answer(reservations.get(conn, reservation_id))
