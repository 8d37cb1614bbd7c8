"""The customers table."""

from __future__ import annotations

import sqlite3

from parcelbook.address import Address
from parcelbook.errors import UnknownCustomer


def row(conn: sqlite3.Connection, number: int) -> sqlite3.Row:
    """A customer's row. Raises UnknownCustomer."""
    found = conn.execute("SELECT * FROM customers WHERE number = ?", (number,)).fetchone()
    if found is None:
        raise UnknownCustomer(f"no customer {number}")
    return found


def address_of(customer: sqlite3.Row) -> Address:
    """Where parcels go."""
    return Address(customer["street"], customer["postcode"], customer["city"])


def invoice_address_of(customer: sqlite3.Row) -> Address | None:
    """Where invoices go, when that is somewhere else."""
    if customer["invoice_street"] is None:
        return None
    return Address(customer["invoice_street"], customer["invoice_postcode"], customer["invoice_city"])


def insert(
    conn: sqlite3.Connection, name: str, email: str | None, address: Address, invoice: Address | None
) -> int:
    """Add a customer; returns the number."""
    cursor = conn.execute(
        """INSERT INTO customers
            (name, email, street, postcode, city, invoice_street, invoice_postcode, invoice_city)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            name,
            email,
            address.street,
            address.postcode,
            address.city,
            *((invoice.street, invoice.postcode, invoice.city) if invoice else (None, None, None)),
        ),
    )
    return int(cursor.lastrowid or 0)


def set_address(conn: sqlite3.Connection, number: int, address: Address) -> None:
    """Write a customer's address."""
    conn.execute(
        "UPDATE customers SET street = ?, postcode = ?, city = ? WHERE number = ?",
        (address.street, address.postcode, address.city, number),
    )
