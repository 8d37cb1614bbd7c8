"""Postings: what an invoice or a credit note does to the accounts."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from billing.invoices import Invoice

RECEIVABLE = "1400 receivables"
REVENUE = "8400 revenue"
VAT_PAYABLE = "1776 VAT payable"


@dataclass(frozen=True)
class Posting:
    """One side of a booking; `amount` is positive for debit and negative for credit."""

    account: str
    amount: Decimal
    reference: str


def postings(invoice: Invoice) -> tuple[Posting, ...]:
    """The postings of a document; they add up to zero."""
    entries = [
        Posting(RECEIVABLE, invoice.gross, invoice.number),
        Posting(REVENUE, -invoice.net, invoice.number),
    ]
    entries.extend(
        Posting(f"{VAT_PAYABLE} {entry.rate:.2%}", -entry.tax, invoice.number)
        for entry in invoice.taxes
        if entry.tax
    )
    return tuple(entries)
