"""The warehouse terminals."""

from __future__ import annotations

import pytest

from stockroom import report, shop, warehouse
from stockroom.errors import KeyReused, OutOfStock, WrongState


def test_goods_received_are_on_the_shelf_and_in_the_book(db):
    answer = warehouse.receive(db, "delivery-1", "kettle", 5)
    assert answer == {"movement_id": 1, "sku": "kettle", "delta": 5}
    assert warehouse.receive(db, "delivery-1", "kettle", 5) == answer
    assert report.stock(db)["kettle"]["on_hand"] == 5
    assert [row["delta"] for row in report.movements(db)] == [5]
    with pytest.raises(KeyReused):
        warehouse.receive(db, "delivery-1", "kettle", 6)


def test_held_units_are_not_written_off(db):
    warehouse.receive(db, "delivery-1", "kettle", 3)
    shop.reserve(db, "cart-1", "kettle", 2)
    with pytest.raises(OutOfStock):
        warehouse.write_off(db, "broken-1", "kettle", 2)
    assert warehouse.write_off(db, "broken-2", "kettle", 1)["delta"] == -1


def test_a_recount_goes_through_below_what_is_held(db):
    warehouse.receive(db, "delivery-1", "kettle", 3)
    shop.reserve(db, "cart-1", "kettle", 2)
    assert warehouse.recount(db, "count-1", "kettle", 1)["delta"] == -2
    assert report.stock(db)["kettle"] == {"on_hand": 1, "held": 2, "available": -1}


def test_shipping_takes_units_off_the_shelf_once(db):
    warehouse.receive(db, "delivery-1", "kettle", 3)
    number = shop.reserve(db, "cart-1", "kettle", 2)["reservation_id"]
    first = warehouse.ship(db, "parcel-1", number)
    assert first["status"] == "shipped"
    assert warehouse.ship(db, "parcel-1", number) == first
    assert report.stock(db)["kettle"] == {"on_hand": 1, "held": 0, "available": 1}
    with pytest.raises(WrongState):
        warehouse.ship(db, "parcel-2", number)
