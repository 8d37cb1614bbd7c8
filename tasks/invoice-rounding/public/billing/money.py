"""Amounts of money: currencies, the ledger's rounding, and sharing a total out.

Amounts are `decimal.Decimal` everywhere; a float never becomes an amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal

MINOR_DIGITS = {"EUR": 2, "GBP": 2, "USD": 2, "JPY": 0, "KWD": 3}


class UnknownCurrency(ValueError):
    """A currency that this installation does not bill in."""


def minor_unit(currency: str) -> Decimal:
    """The smallest amount of a currency: 0.01 for EUR, 1 for JPY, 0.001 for KWD."""
    try:
        digits = MINOR_DIGITS[currency]
    except KeyError:
        raise UnknownCurrency(f"unknown currency {currency!r}") from None
    return Decimal(1).scaleb(-digits)


def round_amount(value: Decimal, currency: str) -> Decimal:
    """Round a value to the currency's minor unit by the ledger rule: a tie goes to the even neighbour.

    See docs/contracts.md. Also imported by the finance team's reconciliation scripts,
    which live outside this repository.
    """
    return value.quantize(minor_unit(currency), rounding=ROUND_HALF_EVEN)


def allocate(total: Decimal, weights: Sequence[Decimal], currency: str) -> list[Decimal]:
    """Share `total` out by `weights` so that the shares add up to `total` exactly.

    Every share is rounded down to the minor unit; what remains is handed out one minor unit
    at a time, to the largest remainders first (earlier positions first among equals).
    """
    if not weights or any(weight < 0 for weight in weights) or sum(weights) == 0:
        raise ValueError("weights must be non-negative and not all zero")
    unit = minor_unit(currency)
    whole = sum(weights)
    exact = [total * weight / whole for weight in weights]
    shares = [value.quantize(unit, rounding=ROUND_DOWN) for value in exact]
    left = int((total - sum(shares)) / unit)
    step = unit if left >= 0 else -unit
    by_remainder = sorted(range(len(shares)), key=lambda i: (-abs(exact[i] - shares[i]), i))
    for index in by_remainder[: abs(left)]:
        shares[index] += step
    return shares
