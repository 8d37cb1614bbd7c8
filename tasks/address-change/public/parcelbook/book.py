"""The directory as others see it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from parcelbook import customers, history, labels, notices, parcels, partner, search
from parcelbook.address import Address
from parcelbook.db import connect


class Book:
    """An open directory."""

    def __init__(self, path: str, today: Callable[[], datetime.date] = datetime.date.today) -> None:
        self._conn = connect(path)
        self._today = today

    def close(self) -> None:
        """Close the file."""
        self._conn.close()

    def add_customer(
        self,
        name: str,
        email: str | None,
        address: Mapping[str, str],
        invoice_address: Mapping[str, str] | None = None,
    ) -> int:
        """Add a customer; returns the number. Raises BadAddress."""
        invoice = Address.tidy(invoice_address) if invoice_address else None
        with self._conn:
            number = customers.insert(self._conn, name, email, Address.tidy(address), invoice)
            search.index(self._conn, number)
            notices.welcome(self._conn, customers.row(self._conn, number))
        return number

    def customer(self, number: int) -> dict[str, Any]:
        """A customer's record. Raises UnknownCustomer."""
        row = customers.row(self._conn, number)
        invoice = customers.invoice_address_of(row)
        return {
            "number": row["number"],
            "name": row["name"],
            "email": row["email"],
            "address": customers.address_of(row).as_dict(),
            "invoice_address": invoice.as_dict() if invoice else None,
        }

    def change_address(self, number: int, address: Mapping[str, str], actor: str) -> None:
        """The customer form: a customer has moved. Raises UnknownCustomer, BadAddress."""
        new = Address.tidy(address)
        customer = customers.row(self._conn, number)
        old = customers.address_of(customer)
        if new == old:
            return
        customers.set_address(self._conn, number, new)
        history.record(self._conn, number, self._today(), actor, old, new)
        notices.address_changed(self._conn, customer, old, new)

    def correct_address(self, number: int, address: Mapping[str, str], actor: str) -> None:
        """The clerk's command: an address is put right. Raises UnknownCustomer, BadAddress."""
        new = Address.tidy(address)
        with self._conn:
            if new == customers.address_of(customers.row(self._conn, number)):
                return
            customers.set_address(self._conn, number, new)
            search.index(self._conn, number)
            labels.drop(self._conn, number)

    def import_partner_file(self, text: str, dry_run: bool = False) -> dict[str, list[str]]:
        """Take over the addresses of the partner's file."""
        with self._conn:
            return partner.take(self._conn, text, self._today(), dry_run)

    def find(self, text: str) -> list[int]:
        """Numbers of the customers in whose name or address all the words stand."""
        return search.find(self._conn, text)

    def order_parcel(self, number: int, contents: str) -> int:
        """A parcel to be sent; returns its number. Raises UnknownCustomer."""
        with self._conn:
            return parcels.order(self._conn, number, contents)

    def packing_list(self) -> str:
        """CSV text for the packing station."""
        with self._conn:
            return parcels.packing_list(self._conn)

    def send_parcel(self, parcel: int) -> str:
        """The parcel leaves; returns its label. Raises UnknownParcel, AlreadySent."""
        with self._conn:
            return parcels.send(self._conn, parcel)

    def parcels(self, number: int) -> list[dict[str, object]]:
        """A customer's parcels."""
        return parcels.of(self._conn, number)

    def history(self, number: int) -> list[dict[str, str]]:
        """The changes of a customer's address."""
        return history.of(self._conn, number)

    def notices(self, number: int) -> list[dict[str, str]]:
        """The mails to a customer."""
        return notices.of(self._conn, number)

    def invoice_lines(self, number: int) -> list[str]:
        """The lines at the top of an invoice. Raises UnknownCustomer."""
        row = customers.row(self._conn, number)
        return [row["name"], *(customers.invoice_address_of(row) or customers.address_of(row)).lines()]
