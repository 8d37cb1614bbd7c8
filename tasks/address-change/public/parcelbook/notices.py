"""Mails to customers; the mailer picks them up."""

from __future__ import annotations

import sqlite3

from parcelbook.address import Address


def welcome(conn: sqlite3.Connection, customer: sqlite3.Row) -> None:
    """To a new customer."""
    _queue(conn, customer, "welcome", f"Dear {customer['name']}, welcome.")


def address_changed(conn: sqlite3.Connection, customer: sqlite3.Row, old: Address, new: Address) -> None:
    """To a customer who has moved, or so we were told."""
    body = (
        f"Dear {customer['name']}, from now on we send your parcels to {new.one_line()} "
        f"and no longer to {old.one_line()}. Is that not right? Please tell us."
    )
    _queue(conn, customer, "address-changed", body)


def parcel_sent(conn: sqlite3.Connection, customer: sqlite3.Row, label: str) -> None:
    """To a customer whose parcel has left."""
    _queue(conn, customer, "parcel-sent", f"Dear {customer['name']}, your parcel is on its way to {label}.")


def of(conn: sqlite3.Connection, number: int) -> list[dict[str, str]]:
    """A customer's mails, oldest first."""
    rows = conn.execute("SELECT kind, email, body FROM notices WHERE number = ? ORDER BY id", (number,))
    return [dict(row) for row in rows]


def _queue(conn: sqlite3.Connection, customer: sqlite3.Row, kind: str, body: str) -> None:
    if not customer["email"]:
        return
    conn.execute(
        "INSERT INTO notices (number, kind, email, body) VALUES (?, ?, ?, ?)",
        (customer["number"], kind, customer["email"], body),
    )
    conn.commit()
