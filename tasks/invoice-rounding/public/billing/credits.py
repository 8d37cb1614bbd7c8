"""Credit notes: an invoice taken back, whole or line by line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from billing.invoices import Invoice
from billing.tax import tax_summary


def full_credit(invoice: Invoice, number: str, issued_on: str) -> Invoice:
    """Take a whole invoice back: its own figures with the sign turned."""
    return replace(
        invoice,
        number=number,
        issued_on=issued_on,
        lines=tuple(replace(line, net=-line.net) for line in invoice.lines),
        taxes=tuple(replace(entry, net=-entry.net, tax=-entry.tax) for entry in invoice.taxes),
    )


def partial_credit(
    invoice: Invoice, number: str, issued_on: str, positions: Collection[int]
) -> Invoice:
    """Take back the lines at `positions` (from 1), with the VAT that belongs to them."""
    unknown = [position for position in positions if not 1 <= position <= len(invoice.lines)]
    if unknown or not positions:
        raise ValueError(f"invoice {invoice.number} has no lines at {sorted(unknown)}")
    lines = tuple(
        replace(line, net=-line.net)
        for position, line in enumerate(invoice.lines, start=1)
        if position in positions
    )
    taxes = tax_summary(((line.net, line.tax_rate) for line in lines), invoice.currency)
    return replace(invoice, number=number, issued_on=issued_on, lines=lines, taxes=taxes)
