"""Quotes: what an order would come to, before anything is issued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from billing.orders import price_lines
from billing.tax import tax_summary


@dataclass(frozen=True)
class Quote:
    """The totals that a customer is told; the invoice of the same order has the same ones."""

    currency: str
    net: Decimal
    tax: Decimal
    gross: Decimal


def quote(order: Mapping[str, Any]) -> Quote:
    """Price an order without issuing it."""
    lines = price_lines(order)
    taxes = tax_summary(((line.net, line.tax_rate) for line in lines), order["currency"])
    net = sum((line.net for line in lines), Decimal(0))
    tax = sum((entry.tax for entry in taxes), Decimal(0))
    return Quote(order["currency"], net, tax, net + tax)
