"""Finding customers by the words of their name and address."""

from __future__ import annotations

import re
import sqlite3

from parcelbook import customers


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def index(conn: sqlite3.Connection, number: int) -> None:
    """Write down under which words a customer is found."""
    customer = customers.row(conn, number)
    text = f"{customer['name']} {customers.address_of(customer).one_line()}"
    conn.execute("DELETE FROM words WHERE number = ?", (number,))
    conn.executemany(
        "INSERT INTO words (number, word) VALUES (?, ?)",
        [(number, word) for word in sorted(set(words_of(text)))],
    )


def find(conn: sqlite3.Connection, text: str) -> list[int]:
    """Numbers of the customers that have all the words; none for an empty text."""
    found: set[int] | None = None
    for word in words_of(text):
        rows = conn.execute("SELECT number FROM words WHERE word = ?", (word,))
        numbers = {row["number"] for row in rows}
        found = numbers if found is None else found & numbers
    return sorted(found or ())
