"""Labels for parcels, kept ready because the packing station asks for hundreds at a time."""

from __future__ import annotations

import sqlite3

from parcelbook import customers


def label(conn: sqlite3.Connection, number: int) -> str:
    """The lines of a customer's label, joined by ` | `."""
    kept = conn.execute("SELECT text FROM labels WHERE number = ?", (number,)).fetchone()
    if kept is not None:
        return str(kept["text"])
    text = render(customers.row(conn, number))
    conn.execute("INSERT INTO labels (number, text) VALUES (?, ?)", (number, text))
    return text


def render(customer: sqlite3.Row) -> str:
    """What is printed for a customer."""
    return " | ".join([customer["name"].upper(), *customers.address_of(customer).lines()])


def drop(conn: sqlite3.Connection, number: int) -> None:
    """Forget a customer's label, so that it is made anew."""
    conn.execute("DELETE FROM labels WHERE number = ?", (number,))
