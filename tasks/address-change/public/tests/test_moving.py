"""A customer moves."""

from __future__ import annotations

import pytest

from parcelbook.errors import BadAddress, UnknownCustomer
from tests.conftest import MILL, OAK


def test_the_form_changes_the_record(book):
    book.change_address(1, {"street": " 7  Oak Street ", "postcode": "xy9 8zw", "city": "Yarrow"}, "nora")
    assert book.customer(1)["address"] == OAK
    assert book.invoice_lines(1) == ["Nora Lind", "7 Oak Street", "XY9 8ZW Yarrow"]


def test_the_form_writes_history_and_tells_the_customer(book):
    book.change_address(1, OAK, "nora")
    assert book.history(1) == [
        {
            "day": "2024-05-06",
            "actor": "nora",
            "old": "12 Mill Lane, AB1 2CD Ashby",
            "new": "7 Oak Street, XY9 8ZW Yarrow",
        }
    ]
    assert [notice["kind"] for notice in book.notices(1)] == ["welcome", "address-changed"]


def test_the_packing_list_shows_the_address_that_the_form_has_changed(book):
    book.order_parcel(1, "1 kettle")
    assert "NORA LIND | 12 Mill Lane | AB1 2CD Ashby" in book.packing_list()
    book.change_address(1, OAK, "nora")
    assert book.packing_list() == (
        "parcel,contents,label\n1,1 kettle,NORA LIND | 7 Oak Street | XY9 8ZW Yarrow\n"
    )


def test_the_same_address_is_no_change(book):
    book.change_address(1, {**MILL, "postcode": "ab1  2cd"}, "nora")
    assert book.history(1) == []
    assert [notice["kind"] for notice in book.notices(1)] == ["welcome"]


def test_an_invoice_address_of_its_own_stays(book):
    number = book.add_customer("Per Dahl", None, MILL, OAK)
    book.change_address(number, {**MILL, "street": "1 Hill Road"}, "per")
    assert book.invoice_lines(number) == ["Per Dahl", "7 Oak Street", "XY9 8ZW Yarrow"]
    assert book.notices(number) == []


def test_a_move_that_makes_no_sense_is_refused(book):
    with pytest.raises(UnknownCustomer):
        book.change_address(99, OAK, "nora")
    with pytest.raises(BadAddress):
        book.change_address(1, {**OAK, "city": " "}, "nora")
    assert book.customer(1)["address"] == MILL


def test_the_clerk_puts_an_address_right(book):
    book.correct_address(1, OAK, "clerk")
    assert book.customer(1)["address"] == OAK
    assert book.find("oak street") == [1]
    assert book.find("mill") == []
