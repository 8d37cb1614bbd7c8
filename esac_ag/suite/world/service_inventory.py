"""Inventory: stock per warehouse in the item's own unit, and reservations."""

from __future__ import annotations

from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, allocate, listing, picked, row


def find(state: State, arguments: Arguments) -> Row:
    """Items of which SKU or name contains the text."""
    wanted = arguments["query"].casefold()
    found = [
        {"sku": sku, "name": item["name"]}
        for sku, item in sorted(state["items"].items())
        if wanted in sku.casefold() or wanted in item["name"].casefold()
    ]
    return listing(arguments, "items", found)


def get(state: State, arguments: Arguments) -> Row:
    """An item and its stock."""
    sku = arguments["sku"]
    item = row(state, "items", "item", sku)
    stock = {
        warehouse: {
            "on_hand": on_hand,
            "reserved": _reserved(state, sku, warehouse),
            "available": on_hand - _reserved(state, sku, warehouse),
        }
        for warehouse, on_hand in item["levels"].items()
    }
    return {"sku": sku, **picked(item, "name", "unit", "pieces_per_unit", "home", "note"), "stock": stock}


def cached_levels(state: State, arguments: Arguments) -> Row:
    """The nightly snapshot, however old."""
    cached = state["cached_levels"]
    return {"taken_at": cached["taken_at"], **listing(arguments, "levels", cached["levels"])}


def adjust(state: State, arguments: Arguments) -> Row:
    """Correct what is on hand."""
    sku, delta = arguments["sku"], arguments["delta"]
    item = row(state, "items", "item", sku)
    warehouse = _open_warehouse(state, arguments.get("warehouse") or item["home"])
    if delta == 0:
        raise Refused("no-change", "a difference of 0 changes nothing")
    left = item["levels"].get(warehouse, 0) + delta
    held = _reserved(state, sku, warehouse)
    if left < held:
        raise Refused(
            "insufficient-stock", f"{left} of {sku} would be left in {warehouse}, where {held} are reserved"
        )
    item["levels"][warehouse] = left
    state["adjustments"].append(
        {"sku": sku, "warehouse": warehouse, "delta": delta, "reason": arguments["reason"]}
    )
    return {"sku": sku, "warehouse": warehouse, "on_hand": left, "unit": item["unit"]}


def reserve(state: State, arguments: Arguments) -> Row:
    """Hold available stock for an order."""
    sku, order_id, quantity = arguments["sku"], arguments["order_id"], arguments["quantity"]
    item = row(state, "items", "item", sku)
    warehouse = _open_warehouse(state, arguments.get("warehouse") or item["home"])
    for reservation_id, held in sorted(state["reservations"].items()):
        if held["status"] == "held" and (held["sku"], held["order_id"]) == (sku, order_id):
            raise Refused("already-reserved", f"{order_id} holds {sku} already ({reservation_id})")
    _refuse_shortage(state, sku, warehouse, quantity)
    reservation_id = allocate(state, "reservations", "RS")
    state["reservations"][reservation_id] = {
        "sku": sku,
        "quantity": quantity,
        "order_id": order_id,
        "warehouse": warehouse,
        "status": "held",
    }
    return {
        "reservation_id": reservation_id,
        "sku": sku,
        "quantity": quantity,
        "unit": item["unit"],
        "warehouse": warehouse,
    }


def release(state: State, arguments: Arguments) -> Row:
    """Give a reservation up."""
    reservation_id = arguments["reservation_id"]
    held = row(state, "reservations", "reservation", reservation_id)
    if held["status"] != "held":
        raise Refused("invalid-transition", f"{reservation_id} is {held['status']} already")
    held["status"] = "released"
    return {"reservation_id": reservation_id, "status": "released"}


def transfer(state: State, arguments: Arguments) -> Row:
    """Move available stock between warehouses."""
    sku, quantity = arguments["sku"], arguments["quantity"]
    levels = row(state, "items", "item", sku)["levels"]
    source, target = (_open_warehouse(state, arguments[name]) for name in ("from", "to"))
    if source == target:
        raise Refused("same-place", f"{source} is both source and destination")
    _refuse_shortage(state, sku, source, quantity)
    levels[source] -= quantity
    levels[target] = levels.get(target, 0) + quantity
    return {"sku": sku, "on_hand": {source: levels[source], target: levels[target]}}


def _reserved(state: State, sku: str, warehouse: str) -> int:
    return sum(
        held["quantity"]
        for held in state["reservations"].values()
        if held["status"] == "held" and (held["sku"], held["warehouse"]) == (sku, warehouse)
    )


def _open_warehouse(state: State, warehouse: str) -> str:
    if not row(state, "warehouses", "warehouse", warehouse)["open"]:
        raise Refused("warehouse-closed", f"{warehouse} is closed")
    return warehouse


def _refuse_shortage(state: State, sku: str, warehouse: str, quantity: int) -> None:
    item = state["items"][sku]
    available = item["levels"].get(warehouse, 0) - _reserved(state, sku, warehouse)
    if quantity > available:
        raise Refused(
            "insufficient-stock",
            f"{available} of {sku} available in {warehouse} (unit: {item['unit']}), {quantity} asked for",
        )


OPERATIONS: dict[str, Operation] = {
    "inventory_find": find,
    "inventory_get": get,
    "inventory_cached_levels": cached_levels,
    "inventory_adjust": adjust,
    "inventory_reserve": reserve,
    "inventory_release": release,
    "inventory_transfer": transfer,
}
