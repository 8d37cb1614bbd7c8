"""The plans on sale. Prices per unit have more digits than the currency has."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Plan:
    """A monthly base fee with included units, and a price for every unit beyond them."""

    code: str
    base_fee: Decimal
    included_units: int
    unit_price: Decimal


PLANS = {
    plan.code: plan
    for plan in (
        Plan("solo", Decimal("9"), 1_000, Decimal("0.0125")),
        Plan("team", Decimal("49"), 10_000, Decimal("0.0075")),
        Plan("metered", Decimal("0"), 0, Decimal("0.0150")),
    )
}


def plan_named(code: str) -> Plan:
    """The plan with this code; `ValueError` when nothing by that name is sold."""
    try:
        return PLANS[code]
    except KeyError:
        raise ValueError(f"unknown plan {code!r}") from None
