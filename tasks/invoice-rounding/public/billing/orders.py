"""Orders as they arrive: plain JSON objects, turned into priced lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from billing.catalog import plan_named
from billing.discounts import discount_on
from billing.money import round_amount
from billing.usage import charge


class OrderError(ValueError):
    """An order that cannot be priced; the message says which part and why."""


@dataclass(frozen=True)
class Line:
    """One priced line: the net amount after discount, and the VAT rate it falls under."""

    description: str
    net: Decimal
    tax_rate: Decimal


def decimal_field(source: Mapping[str, Any], key: str, default: str | None = None) -> Decimal:
    """A decimal number given as a string or a whole number; floats are refused."""
    value = source.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise OrderError(f"{key} must be a decimal string, not {value!r}")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise OrderError(f"{key} is not a number: {value!r}") from None
    if not number.is_finite():
        raise OrderError(f"{key} is not a finite number: {value!r}")
    return number


def price_line(raw: Mapping[str, Any], currency: str) -> Line:
    """Price one order line: either `plan` and `units`, or `quantity` and `unit_price`."""
    if "plan" in raw:
        gross = charge(plan_named(raw["plan"]), int(raw.get("units", 0)), currency)
        description = raw.get("description", f"Plan {raw['plan']}")
    else:
        quantity = decimal_field(raw, "quantity", "1")
        gross = round_amount(quantity * decimal_field(raw, "unit_price"), currency)
        description = raw.get("description", "Item")
    net = gross - discount_on(gross, decimal_field(raw, "discount", "0"), currency)
    return Line(description, net, decimal_field(raw, "tax_rate"))


def price_lines(order: Mapping[str, Any]) -> tuple[Line, ...]:
    """All lines of an order, priced in the order's currency."""
    lines = order.get("lines")
    if not lines:
        raise OrderError("an order needs at least one line")
    return tuple(price_line(raw, order["currency"]) for raw in lines)
