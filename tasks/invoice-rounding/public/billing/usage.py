"""What a plan costs for the units used in a month."""

from __future__ import annotations

from decimal import Decimal

from billing.catalog import Plan
from billing.money import round_amount


def charge(plan: Plan, units: int, currency: str) -> Decimal:
    """Base fee plus the units beyond the included ones, each part rounded by the ledger rule."""
    if units < 0:
        raise ValueError("units must not be negative")
    beyond = max(0, units - plan.included_units)
    overage = round_amount(plan.unit_price * beyond, currency)
    return round_amount(plan.base_fee, currency) + overage
