from decimal import Decimal

import pytest

from billing.credits import full_credit, partial_credit
from billing.invoices import build_invoice
from tests.builders import item, order


def test_a_full_credit_takes_back_every_figure():
    invoice = build_invoice(order(item("19.99"), item("5.00", "0.09")))
    credit = full_credit(invoice, "C-1", "2024-04-02")
    assert (credit.net, credit.tax, credit.gross) == (-invoice.net, -invoice.tax, -invoice.gross)


def test_a_partial_credit_takes_back_the_lines_named():
    invoice = build_invoice(order(item("19.99"), item("5.00", "0.09")))
    credit = partial_credit(invoice, "C-2", "2024-04-02", [2])
    assert (credit.net, credit.tax) == (Decimal("-5.00"), Decimal("-0.45"))


def test_a_partial_credit_of_unknown_lines_is_refused():
    invoice = build_invoice(order(item("19.99")))
    with pytest.raises(ValueError):
        partial_credit(invoice, "C-3", "2024-04-02", [2])
