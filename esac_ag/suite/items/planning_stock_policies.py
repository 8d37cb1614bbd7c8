"""The right and the wrong ways to hold four orders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.contract import AgentView, Instance, Policy, Shortcut

from .planning_policies import all_pages, known, told


@dataclass(frozen=True, slots=True)
class _Habit:
    """How a policy goes about it; the defaults are right."""

    stock: str = "available"
    """Which number of the reply it believes."""
    keeps_floor: bool = True
    follows_notes: bool = True
    adjusts: bool = False
    rounds_up: bool = True


def solve(instance: Instance) -> Policy:
    """Look each item up once, follow a note, transfer what is missing, hold."""
    return _by_habit(instance, _Habit())


def _by_habit(instance: Instance, habit: _Habit) -> Policy:
    def play(view: AgentView) -> str:
        for order, pieces, sku in known(instance)["lines"]:
            item = told(view.call("inventory_get", sku=sku))
            successor = re.search(r"by (\S+)\.", item["note"])
            if successor and habit.follows_notes:
                item = told(view.call("inventory_get", sku=successor[1]))
            _hold(view, known(instance), item, order, pieces, habit)
        return "The orders are held."

    return play


def _hold(view: AgentView, facts: Any, item: Any, order: str, pieces: int, habit: _Habit) -> None:  # noqa: ANN401  (replies)
    sku, box, ship = item["sku"], item["pieces_per_unit"], facts["ship"]
    need = (pieces + box - 1 if habit.rounds_up else pieces) // box
    missing = need - item["stock"][ship][habit.stock]
    if habit.adjusts and missing > 0:
        view.call("inventory_adjust", sku=sku, delta=missing, reason="needed", warehouse=ship)
    elif missing > 0:
        floor = facts["floor"] if habit.keeps_floor else 0
        for source, quantity in _sources(facts, item, missing, floor, habit):
            view.call("inventory_transfer", sku=sku, quantity=quantity, **{"from": source, "to": ship})
    view.call("inventory_reserve", sku=sku, quantity=need, order_id=order, warehouse=ship)


def _sources(facts: Any, item: Any, missing: int, floor: int, habit: _Habit) -> list[tuple[str, int]]:  # noqa: ANN401  (replies)
    able = {
        warehouse: numbers[habit.stock] - floor
        for warehouse, numbers in item["stock"].items()
        if warehouse not in {facts["ship"], facts["closed"]}
    }
    taken: list[tuple[str, int]] = []
    for warehouse, most in sorted(able.items(), key=lambda entry: -entry[1]):
        quantity = min(missing, most)
        if quantity > 0:
            taken.append((warehouse, quantity))
            missing -= quantity
    return taken


def _blind(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        for order, pieces, sku in known(instance)["lines"]:
            view.call(
                "inventory_reserve",
                sku=sku,
                quantity=pieces,
                order_id=order,
                warehouse=known(instance)["ship"],
            )
        return "Held."

    return play


def _read_everything(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        for entry in list(all_pages(view, "inventory_find", "items", query="-")):
            view.call("inventory_get", sku=entry["sku"])
        return solve(instance)(view)

    return play


def _snapshot(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        list(all_pages(view, "inventory_cached_levels", "levels", page_size=10))
        return solve(instance)(view)

    return play


WRONG: Final = (
    Shortcut("pieces-for-boxes", _blind, 0.0),
    Shortcut("round-down", lambda instance: _by_habit(instance, _Habit(rounds_up=False)), 0.0),
    Shortcut("on-hand-for-available", lambda instance: _by_habit(instance, _Habit(stock="on_hand")), 0.23),
    Shortcut("no-floor", lambda instance: _by_habit(instance, _Habit(keeps_floor=False)), 0.56),
    Shortcut("no-successor", lambda instance: _by_habit(instance, _Habit(follows_notes=False)), 0.56),
    Shortcut("adjust-for-transfer", lambda instance: _by_habit(instance, _Habit(adjusts=True)), 0.23),
    Shortcut("read-everything", _read_everything, 0.0),
    Shortcut("snapshot-first", _snapshot, 0.45),
)
