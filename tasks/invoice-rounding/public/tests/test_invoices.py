from decimal import Decimal

from billing.invoices import build_invoice, from_record, to_record
from billing.ledger import postings
from billing.quotes import quote
from billing.statement import render
from tests.builders import item, order


def test_an_invoice_adds_net_and_vat():
    invoice = build_invoice(order(item("120.00"), item("30.00", "0.09")))
    assert (invoice.net, invoice.tax, invoice.gross) == (
        Decimal("150.00"),
        Decimal("27.90"),
        Decimal("177.90"),
    )


def test_vat_is_computed_once_per_rate():
    invoice = build_invoice(order(item("0.33"), item("0.33"), item("0.33")))
    assert [entry.tax for entry in invoice.taxes] == [Decimal("0.21")]


def test_the_invoice_of_van_dijk_shows_the_vat_that_they_expect():
    invoice = build_invoice(order(item("10.50")))
    assert invoice.tax == Decimal("2.21")
    assert invoice.gross == Decimal("12.71")


def test_an_invoice_survives_the_archive():
    invoice = build_invoice(order(item("19.99"), {"plan": "solo", "units": 1800, "tax_rate": "0.21"}))
    assert from_record(to_record(invoice)) == invoice


def test_a_quote_has_the_totals_of_the_invoice():
    wanted = order(item("19.99"), item("5.25", "0.09"))
    offer = quote(wanted)
    invoice = build_invoice(wanted)
    assert (offer.net, offer.tax, offer.gross) == (invoice.net, invoice.tax, invoice.gross)


def test_postings_add_up_to_zero():
    entries = postings(build_invoice(order(item("19.99"), item("5.25", "0.09"))))
    assert sum(entry.amount for entry in entries) == 0


def test_the_text_of_an_invoice_shows_every_rate():
    text = render(build_invoice(order(item("19.99"), item("5.00", "0.09"))))
    assert "VAT 9 %" in text
    assert "VAT 21 %" in text
    assert text.splitlines()[-1].endswith("29.64 EUR")
