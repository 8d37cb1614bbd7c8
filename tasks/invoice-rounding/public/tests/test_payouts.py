from decimal import Decimal

import pytest

from billing.invoices import build_invoice
from billing.payouts import Agreement, payout
from tests.builders import item, order


def test_a_partner_gets_the_share_less_the_tax_withheld():
    agreement = Agreement("Noord Sales", "EUR", Decimal("0.20"), Decimal("0.15"))
    month = [build_invoice(order(item("120.00"))), build_invoice(order(item("33.30")))]
    result = payout(agreement, month)
    assert (result.earned, result.withheld, result.paid) == (
        Decimal("30.66"),
        Decimal("4.60"),
        Decimal("26.06"),
    )


def test_invoices_in_another_currency_are_refused():
    agreement = Agreement("Noord Sales", "EUR", Decimal("0.20"))
    with pytest.raises(ValueError):
        payout(agreement, [build_invoice(order(item("100"), currency="JPY"))])
