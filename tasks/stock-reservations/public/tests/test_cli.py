"""The commands."""

from __future__ import annotations

import json

from stockroom.cli import main


def test_a_granted_request_prints_json(db, capsys):
    assert main(["--db", db, "receive", "delivery-1", "kettle", "2"]) == 0
    assert main(["--db", db, "reserve", "cart-1", "kettle", "1"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["reservation_id"] == 1


def test_a_refused_request_exits_with_one(db, capsys):
    main(["--db", db, "receive", "delivery-1", "kettle", "1"])
    assert main(["--db", db, "reserve", "cart-1", "kettle", "2"]) == 1
    assert capsys.readouterr().err.startswith("OutOfStock: ")


def test_a_feed_is_read_from_a_file(db, tmp_path, capsys):
    feed = tmp_path / "feed.json"
    feed.write_text(json.dumps([{"order_no": "m-1", "sku": "kettle", "quantity": 1}]), "utf-8")
    main(["--db", db, "receive", "delivery-1", "kettle", "1"])
    assert main(["--db", db, "import", str(feed)]) == 0
    assert main(["--db", db, "stock"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["kettle"]["held"] == 1
