"""Discounts on an order line."""

from __future__ import annotations

from decimal import Decimal

from billing.money import round_amount


def discount_on(gross: Decimal, share: Decimal, currency: str) -> Decimal:
    """The amount that a discount of `share` (0.15 for 15 %) takes off `gross`."""
    if not 0 <= share <= 1:
        raise ValueError("a discount is a share between 0 and 1")
    return round_amount(gross * share, currency)
