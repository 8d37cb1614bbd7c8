"""The marketplace importer."""

from __future__ import annotations

from stockroom import marketplace, report, warehouse


def order(order_no, sku="kettle", quantity=1):
    return {"order_no": order_no, "sku": sku, "quantity": quantity}


def test_each_order_of_a_feed_stands_for_itself(db):
    warehouse.receive(db, "delivery-1", "kettle", 3)
    feed = [order("m-1", quantity=2), order("m-2", "teapot"), order("m-3", quantity=2), order("m-4")]
    assert marketplace.import_orders(db, feed) == {
        "accepted": ["m-1", "m-4"],
        "repeated": [],
        "refused": ["m-2", "m-3"],
    }
    assert report.stock(db)["kettle"]["available"] == 0


def test_a_feed_that_comes_again_changes_nothing(db):
    warehouse.receive(db, "delivery-1", "kettle", 5)
    marketplace.import_orders(db, [order("m-1"), order("m-2")])
    again = marketplace.import_orders(db, [order("m-1"), order("m-2"), order("m-3")])
    assert again == {"accepted": ["m-3"], "repeated": ["m-1", "m-2"], "refused": []}
    assert report.stock(db)["kettle"]["held"] == 3
