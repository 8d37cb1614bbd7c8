"""The web shop."""

from __future__ import annotations

import pytest

from stockroom import report, shop, warehouse
from stockroom.errors import KeyReused, OutOfStock, UnknownReservation, UnknownSku, WrongState
from tests.racing import race


def test_a_reservation_holds_units(db):
    warehouse.receive(db, "delivery-1", "kettle", 5)
    answer = shop.reserve(db, "cart-1", "kettle", 2)
    assert answer == {"reservation_id": 1, "sku": "kettle", "quantity": 2, "status": "open"}
    assert report.stock(db) == {"kettle": {"on_hand": 5, "held": 2, "available": 3}}
    assert {"id": 2, "topic": "reserved", "about": "reservation:1"} in report.events(db)


def test_more_than_available_is_refused(db):
    warehouse.receive(db, "delivery-1", "kettle", 2)
    shop.reserve(db, "cart-1", "kettle", 1)
    with pytest.raises(OutOfStock):
        shop.reserve(db, "cart-2", "kettle", 2)


def test_two_buyers_cannot_both_get_the_last_unit(db, monkeypatch):
    warehouse.receive(db, "delivery-1", "kettle", 1)
    outcomes = race(
        monkeypatch,
        lambda: shop.reserve(db, "cart-ana", "kettle", 1),
        lambda: shop.reserve(db, "cart-ben", "kettle", 1),
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, OutOfStock)]
    assert len(refusals) == 1, outcomes
    assert report.stock(db)["kettle"]["available"] == 0


def test_an_unknown_sku_is_refused(db):
    with pytest.raises(UnknownSku):
        shop.reserve(db, "cart-1", "teapot", 1)


def test_repeating_a_request_gives_the_first_answer(db):
    warehouse.receive(db, "delivery-1", "kettle", 5)
    first = shop.reserve(db, "cart-1", "kettle", 2)
    assert shop.reserve(db, "cart-1", "kettle", 2) == first
    assert report.stock(db)["kettle"]["held"] == 2


def test_a_key_with_other_content_is_refused(db):
    warehouse.receive(db, "delivery-1", "kettle", 5)
    shop.reserve(db, "cart-1", "kettle", 2)
    with pytest.raises(KeyReused):
        shop.reserve(db, "cart-1", "kettle", 3)


def test_a_cancelled_reservation_frees_its_units(db):
    warehouse.receive(db, "delivery-1", "kettle", 1)
    number = shop.reserve(db, "cart-1", "kettle", 1)["reservation_id"]
    assert shop.cancel(db, "cart-1", number)["status"] == "released"
    assert shop.cancel(db, "cart-1", number)["status"] == "released"
    assert shop.reserve(db, "cart-2", "kettle", 1)["status"] == "open"
    with pytest.raises(WrongState):
        shop.cancel(db, "other", number)
    with pytest.raises(UnknownReservation):
        shop.cancel(db, "another", 99)
