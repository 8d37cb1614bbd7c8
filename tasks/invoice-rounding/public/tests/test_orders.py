from decimal import Decimal

import pytest

from billing.catalog import plan_named
from billing.discounts import discount_on
from billing.orders import OrderError, price_line
from billing.usage import charge


def test_included_units_cost_the_base_fee_only():
    assert charge(plan_named("team"), 9_999, "EUR") == Decimal("49.00")


def test_units_beyond_the_included_ones_are_charged():
    assert charge(plan_named("team"), 10_100, "EUR") == Decimal("49.75")


def test_a_discount_is_an_amount():
    assert discount_on(Decimal("19.99"), Decimal("0.10"), "EUR") == Decimal("2.00")


def test_a_line_is_priced_then_discounted():
    line = price_line(
        {"quantity": "3", "unit_price": "6.6633", "discount": "0.10", "tax_rate": "0.21"}, "EUR"
    )
    assert line.net == Decimal("17.99")


def test_a_float_price_is_refused():
    with pytest.raises(OrderError):
        price_line({"unit_price": 1.1, "tax_rate": "0.21"}, "EUR")
