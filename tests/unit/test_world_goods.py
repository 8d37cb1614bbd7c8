"""Inventory, payments and reports: effects, preconditions, errors."""

from __future__ import annotations

from typing import Any

import pytest

from esac_ag.suite.world import World
from esac_ag.suite.world import building as build
from tests.builders_world import a_company, answer, refusal


def balances(world: World) -> dict[str, int]:
    """Cents per account."""
    return {account: row["balance_cents"] for account, row in world.snapshot()["accounts"].items()}


def test_an_item_tells_its_unit_and_what_is_available() -> None:
    """On hand less what is held, per warehouse; the cached level is another number."""
    world = World(a_company())
    item = answer(world, "inventory_get", sku="BLT")
    assert (item["unit"], item["pieces_per_unit"], item["home"]) == ("box", 50, "wh-a")
    assert item["stock"]["wh-a"] == {"on_hand": 10, "reserved": 4, "available": 6}
    cached = answer(world, "inventory_cached_levels")
    assert cached["levels"] == [{"sku": "BLT", "warehouse": "wh-a", "quantity": 99}]
    assert cached["taken_at"] == "2026-03-01T02:00:00Z"
    assert answer(world, "inventory_find", query="bol")["items"] == [{"sku": "BLT", "name": "Bolt"}]
    assert answer(world, "inventory_find", query="nut")["items"] == []
    assert refusal(world, "inventory_get", sku="blt") == "not-found"


def test_an_adjustment_leaves_what_is_reserved() -> None:
    """It is recorded with its reason; the home warehouse is the default."""
    world = World(a_company())
    assert answer(world, "inventory_adjust", sku="BLT", delta=-6, reason="loss")["on_hand"] == 4
    assert refusal(world, "inventory_adjust", sku="BLT", delta=-1, reason="loss") == "insufficient-stock"
    assert refusal(world, "inventory_adjust", sku="BLT", delta=0, reason="none") == "no-change"
    assert (
        answer(world, "inventory_adjust", sku="BLT", delta=2, reason="count", warehouse="wh-b")["on_hand"]
        == 3
    )
    assert (
        refusal(world, "inventory_adjust", sku="BLT", delta=1, reason="x", warehouse="wh-c")
        == "warehouse-closed"
    )
    assert refusal(world, "inventory_adjust", sku="BLT", delta=1, reason="x", warehouse="wh-z") == "not-found"
    assert [entry["reason"] for entry in world.snapshot()["adjustments"]] == ["loss", "count"]


def test_a_reservation_holds_stock_until_it_is_released() -> None:
    """One hold per item and order; released once."""
    world = World(a_company())
    assert refusal(world, "inventory_reserve", sku="BLT", quantity=7, order_id="SO-2") == "insufficient-stock"
    held = answer(world, "inventory_reserve", sku="BLT", quantity=6, order_id="SO-2")
    assert (held["reservation_id"], held["warehouse"], held["unit"]) == ("RS-1001", "wh-a", "box")
    assert refusal(world, "inventory_reserve", sku="BLT", quantity=1, order_id="SO-2") == "already-reserved"
    assert refusal(world, "inventory_reserve", sku="BLT", quantity=1, order_id="SO-3") == "insufficient-stock"
    assert refusal(world, "inventory_reserve", sku="BLT", quantity=0, order_id="SO-3") == "invalid-arguments"
    answer(world, "inventory_release", reservation_id="RS-1")
    assert refusal(world, "inventory_release", reservation_id="RS-1") == "invalid-transition"
    assert answer(world, "inventory_get", sku="BLT")["stock"]["wh-a"]["available"] == 4


def test_a_transfer_moves_available_stock_between_open_warehouses() -> None:
    """Nothing is gained or lost."""
    world = World(a_company())
    for arguments, code in (
        ({"quantity": 7, "from": "wh-a", "to": "wh-b"}, "insufficient-stock"),
        ({"quantity": 1, "from": "wh-a", "to": "wh-a"}, "same-place"),
        ({"quantity": 1, "from": "wh-a", "to": "wh-c"}, "warehouse-closed"),
        ({"quantity": 1, "from": "wh-z", "to": "wh-a"}, "not-found"),
        ({"quantity": -1, "from": "wh-a", "to": "wh-b"}, "invalid-arguments"),
    ):
        assert refusal(world, "inventory_transfer", sku="BLT", **arguments) == code
    moved = answer(world, "inventory_transfer", sku="BLT", quantity=6, **{"from": "wh-a", "to": "wh-b"})
    assert moved["on_hand"] == {"wh-a": 4, "wh-b": 7}


def test_invoices_are_listed_by_a_part_of_the_name() -> None:
    """Similar customers are all there."""
    world = World(a_company())
    found = answer(world, "payments_list_invoices", customer="acme")["invoices"]
    assert [invoice["customer"] for invoice in found] == ["Acme Ltd", "Acme Tools"]
    narrowed = answer(world, "payments_list_invoices", customer="acme", status="settled")["invoices"]
    assert [invoice["invoice_id"] for invoice in narrowed] == ["INV-2"]
    assert answer(world, "payments_get_invoice", invoice_id="INV-1")["amount_cents"] == 5000


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ("unsettled", {"payments_capture", "payments_void"}),
        ("settled", {"payments_refund"}),
        ("partially_refunded", {"payments_refund"}),
        ("refunded", set()),
        ("voided", set()),
    ],
)
def test_an_invoice_allows_only_what_its_status_does(status: str, allowed: set[str]) -> None:
    """Every status with every operation."""
    state = build.with_invoice(a_company(), "INV-9", "X", 100, account="acc-1", status=status)
    calls: dict[str, dict[str, Any]] = {
        "payments_capture": {},
        "payments_void": {},
        "payments_refund": {"amount_cents": 1, "reason": "x"},
    }
    for tool, more in calls.items():
        error = World(state).call(tool, {"invoice_id": "INV-9", **more}).error
        assert error == (None if tool in allowed else "invalid-transition")


def test_capturing_credits_and_voiding_moves_nothing() -> None:
    """The invoice's own account, by the whole amount."""
    world = World(a_company())
    assert answer(world, "payments_capture", invoice_id="INV-1")["status"] == "settled"
    assert balances(world)["acc-1"] == 15_000
    world = World(a_company())
    assert answer(world, "payments_void", invoice_id="INV-1")["status"] == "voided"
    assert balances(world)["acc-1"] == 10_000
    frozen = build.with_invoice(a_company(), "INV-9", "X", 100, account="acc-4")
    assert refusal(World(frozen), "payments_capture", invoice_id="INV-9") == "account-frozen"


def test_refunds_add_up_to_the_amount_at_most() -> None:
    """In parts, then wholly; never more than the account holds."""
    world = World(a_company())
    first = answer(world, "payments_refund", invoice_id="INV-2", amount_cents=3000, reason="damage")
    assert (first["refund_id"], first["status"]) == ("RF-1001", "partially_refunded")
    assert (
        refusal(world, "payments_refund", invoice_id="INV-2", amount_cents=5001, reason="x")
        == "exceeds-remaining"
    )
    assert (
        answer(world, "payments_refund", invoice_id="INV-2", amount_cents=5000, reason="x")["status"]
        == "refunded"
    )
    assert balances(world)["acc-1"] == 2000
    assert (
        refusal(world, "payments_refund", invoice_id="INV-3", amount_cents=2001, reason="x")
        == "insufficient-funds"
    )
    assert len(world.snapshot()["refunds"]) == 2


def test_a_transfer_needs_money_and_one_currency() -> None:
    """Between active accounts; nothing is gained or lost."""
    world = World(a_company())
    for source, target, amount, code in (
        ("acc-1", "acc-1", 1, "same-place"),
        ("acc-1", "acc-3", 1, "currency-mismatch"),
        ("acc-1", "acc-4", 1, "account-frozen"),
        ("acc-4", "acc-1", 1, "account-frozen"),
        ("acc-1", "acc-2", 10_001, "insufficient-funds"),
        ("acc-1", "acc-9", 1, "not-found"),
        ("acc-1", "acc-2", 0, "invalid-arguments"),
    ):
        arguments = {"from_account": source, "to_account": target, "amount_cents": amount}
        assert refusal(world, "payments_transfer", **arguments) == code
    answer(world, "payments_transfer", from_account="acc-1", to_account="acc-2", amount_cents=10_000)
    assert (balances(world)["acc-1"], balances(world)["acc-2"]) == (0, 20_000)
    assert answer(world, "payments_get_account", account_id="acc-2")["balance_cents"] == 20_000


def test_a_report_is_delivered_once_and_every_fetch_is_counted() -> None:
    """The second fetch is an error that counts."""
    world = World(a_company())
    assert answer(world, "reports_list")["reports"] == [{"report_id": "rep-1", "title": "Quarter"}]
    assert answer(world, "reports_fetch_once", report_id="rep-1")["body"] == "total: 7"
    for _ in range(2):
        reply = world.call("reports_fetch_once", {"report_id": "rep-1"})
        assert reply.error == "already-fetched"
        assert "total" not in reply.text
    assert world.snapshot()["reports"]["rep-1"]["fetches"] == 3
    assert refusal(world, "reports_fetch_once", report_id="rep-2") == "not-found"
