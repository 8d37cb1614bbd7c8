"""Invoices: built from orders, kept as records, read back as they were issued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from billing.orders import Line, price_lines
from billing.tax import TaxLine, tax_summary


@dataclass(frozen=True)
class Invoice:
    """An issued invoice or, with negative amounts, a credit note. Never changed once issued."""

    number: str
    customer: str
    country: str
    currency: str
    issued_on: str
    lines: tuple[Line, ...]
    taxes: tuple[TaxLine, ...]

    @property
    def net(self) -> Decimal:
        """The sum of the lines before VAT."""
        return sum((line.net for line in self.lines), Decimal(0))

    @property
    def tax(self) -> Decimal:
        """The VAT of all rates together."""
        return sum((entry.tax for entry in self.taxes), Decimal(0))

    @property
    def gross(self) -> Decimal:
        """What the customer owes."""
        return self.net + self.tax


def build_invoice(order: Mapping[str, Any]) -> Invoice:
    """Price an order and issue its invoice."""
    lines = price_lines(order)
    customer = order["customer"]
    return Invoice(
        number=order["number"],
        customer=customer["name"],
        country=customer["country"],
        currency=order["currency"],
        issued_on=order["issued_on"],
        lines=lines,
        taxes=tax_summary(((line.net, line.tax_rate) for line in lines), order["currency"]),
    )


def to_record(invoice: Invoice) -> dict[str, Any]:
    """The invoice as plain JSON for the archive, every figure as it was issued."""
    return {
        "number": invoice.number,
        "customer": {"name": invoice.customer, "country": invoice.country},
        "currency": invoice.currency,
        "issued_on": invoice.issued_on,
        "lines": [
            {"description": line.description, "net": str(line.net), "tax_rate": str(line.tax_rate)}
            for line in invoice.lines
        ],
        "taxes": [
            {"rate": str(entry.rate), "net": str(entry.net), "tax": str(entry.tax)}
            for entry in invoice.taxes
        ],
    }


def from_record(record: Mapping[str, Any]) -> Invoice:
    """Read an archived invoice back, with the figures that it was issued with."""
    return Invoice(
        number=record["number"],
        customer=record["customer"]["name"],
        country=record["customer"]["country"],
        currency=record["currency"],
        issued_on=record["issued_on"],
        lines=tuple(
            Line(raw["description"], Decimal(raw["net"]), Decimal(raw["tax_rate"]))
            for raw in record["lines"]
        ),
        taxes=tuple(
            TaxLine(Decimal(raw["rate"]), Decimal(raw["net"]), Decimal(raw["tax"]))
            for raw in record["taxes"]
        ),
    )
