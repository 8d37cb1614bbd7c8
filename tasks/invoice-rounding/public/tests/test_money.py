from decimal import Decimal

import pytest

from billing.money import UnknownCurrency, allocate, minor_unit, round_amount


def test_minor_units_follow_the_currency():
    assert minor_unit("EUR") == Decimal("0.01")
    assert minor_unit("JPY") == Decimal("1")
    assert minor_unit("KWD") == Decimal("0.001")


def test_amounts_are_rounded_to_the_minor_unit():
    assert round_amount(Decimal("12.3449"), "EUR") == Decimal("12.34")
    assert round_amount(Decimal("12.3351"), "EUR") == Decimal("12.34")
    assert round_amount(Decimal("99.7"), "JPY") == Decimal("100")
    assert str(round_amount(Decimal("7"), "KWD")) == "7.000"


def test_an_unknown_currency_is_refused():
    with pytest.raises(UnknownCurrency):
        round_amount(Decimal("1"), "XXX")


def test_shares_add_up_to_the_total():
    shares = allocate(Decimal("100.00"), [Decimal(1)] * 3, "EUR")
    assert shares == [Decimal("33.34"), Decimal("33.33"), Decimal("33.33")]


def test_shares_of_a_negative_total_add_up_too():
    shares = allocate(Decimal("-100.00"), [Decimal(1), Decimal(2)], "EUR")
    assert sum(shares) == Decimal("-100.00")
