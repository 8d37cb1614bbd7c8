"""Four orders to hold in one warehouse: boxes, reserved stock, a floor everywhere, a replaced item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.world import building

from . import planning_stock_policies as policies
from .draws import Draws
from .planning_goal import Fact, GoalItem, Plan

BUDGET: Final = 13
CITIES: Final = ("Narvik", "Viborg", "Halden", "Skive", "Lund", "Arendal", "Boden", "Moss")
GOODS: Final = (
    ("HNG", "Hinge"), ("LTC", "Latch"), ("BRK", "Bracket"), ("CLP", "Clip"), ("PLG", "Plug"),
    ("RIV", "Rivet"), ("GRM", "Grommet"), ("SPC", "Spacer"),
)  # fmt: skip
BOXES: Final = (8, 10, 12, 15, 16, 18, 20, 24)
OTHERS: Final = 11
SHIP: Final = 0
"""Place in the list of warehouses of the one that the orders ship from."""
CLOSED: Final = 4
"""Place of the one that is closed."""


@dataclass(frozen=True, slots=True)
class _Stock:
    """Per warehouse, what is available and what is reserved."""

    available: tuple[int, ...]
    reserved: tuple[int, ...]

    def on_hand(self, warehouses: tuple[str, ...]) -> dict[str, int]:
        both = zip(self.available, self.reserved, strict=True)
        return {warehouse: sum(pair) for warehouse, pair in zip(warehouses, both, strict=True)}


@dataclass(frozen=True, slots=True)
class _Line:
    sku: str
    name: str
    box: int
    need: int
    """Boxes."""
    pieces: int
    order: str
    stock: _Stock
    takes: tuple[int, ...]
    """Boxes that each warehouse gives to the shipping one."""

    def levels_after(self, warehouses: tuple[str, ...]) -> dict[str, int]:
        levels = self.stock.on_hand(warehouses)
        for warehouse, taken in zip(warehouses, self.takes, strict=True):
            levels[warehouse] -= taken
            levels[warehouses[SHIP]] += taken
        return levels


def _enough(draws: Draws, need: int) -> tuple[_Stock, tuple[int, ...]]:
    available = (need + draws.between(0, 4), *(draws.between(60, 90) for _ in range(4)))
    return _Stock(available, _some_reserved(draws)), (0,) * 5


def _from_one(draws: Draws, need: int, floor: int) -> tuple[_Stock, tuple[int, ...]]:
    """One open warehouse can give all that is missing; others only seem to, by what is on hand."""
    here = need - draws.between(9, 14)
    missing = need - here
    full, half, low = (
        missing + floor + draws.between(2, 9),
        floor + draws.between(4, 8),
        floor + draws.between(1, 3),
    )
    open_ones = draws.shuffled((full, half, low))
    takes = tuple(missing if available == full else 0 for available in open_ones)
    return _Stock((here, *open_ones, 95), (missing + 3, *_some_reserved(draws)[1:])), (0, *takes, 0)


def _from_two(draws: Draws, need: int, floor: int) -> tuple[_Stock, tuple[int, ...]]:
    """The fullest open warehouse gives all above the floor, the second the rest."""
    most, rest = draws.between(8, 13), draws.between(2, 5)
    here = need - most - rest
    full, second, low = floor + most, floor + rest + draws.between(1, 2), floor + 1
    open_ones = draws.shuffled((full, second, low))
    given = {full: most, second: rest, low: 0}
    takes = tuple(given[available] for available in open_ones)
    return _Stock((here, *open_ones, 95), _some_reserved(draws)), (0, *takes, 0)


def _some_reserved(draws: Draws) -> tuple[int, ...]:
    return tuple(draws.between(20, 34) for _ in range(5))


def _lines(draws: Draws, floor: int) -> tuple[tuple[_Line, ...], str]:
    """Enough here, from one, from two, and replaced; and the SKU that was replaced."""
    goods = draws.sample(GOODS, 4)
    numbers = draws.distinct(110, 890, 5)
    orders = draws.distinct(2100, 9800, 4)
    lines = []
    for index, ((code, name), number, order) in enumerate(zip(goods, numbers, orders, strict=False)):
        box, need = draws.pick(BOXES), draws.between(28, 45)
        stock, takes = (
            _from_one(draws, need, floor)
            if index == 1
            else _from_two(draws, need, floor)
            if index == 2  # noqa: PLR2004  (the third line)
            else _enough(draws, need)
        )
        # Not a whole number of boxes: who rounds down holds one too few.
        pieces = need * box - draws.between(1, box - 1)
        lines.append(_Line(f"{code}-{number}", name, box, need, pieces, f"SO-{order}", stock, takes))
    return tuple(lines), f"{goods[3][0]}-{numbers[4]}"


def _with_line(
    draws: Draws, state: dict[str, Any], line: _Line, warehouses: tuple[str, ...]
) -> dict[str, Any]:
    state = building.with_item(
        state,
        line.sku,
        line.name,
        line.stock.on_hand(warehouses),
        home=warehouses[1],
        unit="box",
        pieces_per_unit=line.box,
    )
    for warehouse, quantity in zip(warehouses, line.stock.reserved, strict=True):
        number = 100 + len(state["reservations"])
        state = building.with_reservation(
            state, f"RS-{number}", line.sku, quantity, f"SO-{draws.between(100, 999)}", warehouse=warehouse
        )
    return state


def _with_others(
    draws: Draws, state: dict[str, Any], old: str, new: _Line, warehouses: tuple[str, ...]
) -> dict[str, Any]:
    state = building.with_item(
        state,
        old,
        new.name,
        dict.fromkeys(warehouses, 0),
        unit="box",
        pieces_per_unit=new.box,
        note=f"Discontinued. Replaced one for one by {new.sku}.",
    )
    numbers = iter(draws.distinct(1000, 1999, OTHERS))
    for _ in range(OTHERS):
        code, name = draws.pick(GOODS)
        levels = {warehouse: draws.between(20, 90) for warehouse in draws.sample(warehouses, 2)}
        state = building.with_item(
            state, f"{code}-{next(numbers)}", name, levels, unit="box", pieces_per_unit=draws.pick(BOXES)
        )
    stale = [
        (sku, warehouse, level + draws.between(3, 30))
        for sku, item in sorted(state["items"].items())
        for warehouse, level in item["levels"].items()
    ]
    return building.with_cached_levels(state, "2026-02-28T23:00:00Z", stale)


def build(draws: Draws) -> Plan:
    """Draw an instance."""
    floor = draws.between(6, 9)
    cities = draws.sample(CITIES, 5)
    warehouses = tuple(f"wh-{number}" for number in draws.distinct(11, 98, 5))
    state = building.empty_state()
    for index, (warehouse, city) in enumerate(zip(warehouses, cities, strict=True)):
        state = building.with_warehouse(state, warehouse, city, city=city, is_open=index != CLOSED)
    lines, old = _lines(draws, floor)
    for line in lines:
        state = _with_line(draws, state, line, warehouses)
    state = _with_others(draws, state, old, lines[3], warehouses)
    asked = draws.shuffled(
        tuple((line.order, line.pieces, line.sku if line is not lines[3] else old) for line in lines)
    )
    listed = sorted(zip(warehouses, cities, strict=True))
    prompt = "\n".join(
        [
            f"Please hold stock in {cities[SHIP]} for these orders, all of them ship from there:",
            *(f"- {order}: {pieces} pieces of {sku}" for order, pieces, sku in asked),
            "",
            "Hold whole boxes, rounded up; how many pieces a box has differs by item. Where too little is "
            f"available in {cities[SHIP]}, transfer exactly what is missing, from as few warehouses as "
            f"possible; a warehouse that gives keeps at least {floor} boxes of that item available. If one "
            "cannot give it all, take what the fullest can give and the rest from the next. An item that "
            f"was discontinued is replaced by its successor. {cities[CLOSED]} is closed. The nightly "
            "snapshot is days old. Change nothing else. Warehouses: "
            + ", ".join(f"{city} {warehouse}" for warehouse, city in listed)
            + ".",
        ]
    )
    return Plan(
        prompt=prompt,
        state=state,
        facts=(
            *(
                Fact(
                    f"held-{index}",
                    "reservations",
                    {
                        "sku": line.sku,
                        "quantity": line.need,
                        "order_id": line.order,
                        "warehouse": warehouses[SHIP],
                        "status": "held",
                    },
                )
                for index, line in enumerate(lines, start=1)
            ),
            *(
                Fact(f"moved-{index}", "items", {"levels": {**line.levels_after(warehouses)}}, line.sku)
                for index, line in enumerate(lines, start=1)
                if any(line.takes)
            ),
        ),
        free=tuple(f"/items/{line.sku}/levels" for line in lines if any(line.takes)),
        known={
            "lines": [list(entry) for entry in asked],
            "ship": warehouses[SHIP],
            "closed": warehouses[CLOSED],
            "floor": floor,
        },
        hidden=(lines[3].sku,),
    )


ITEM: Final = GoalItem(
    id="planning-stock",
    title="Hold four orders within the budget",
    measures="Whether look-ups and transfers are rationed so that four orders are held as constrained.",
    offered=(
        "inventory_find",
        "inventory_get",
        "inventory_cached_levels",
        "inventory_reserve",
        "inventory_release",
        "inventory_transfer",
        "inventory_adjust",
    ),
    build=build,
    solve=policies.solve,
    wrong=policies.WRONG,
    turns=BUDGET,
    reference_calls=12,
    tokens=(32_000, 40_000, 50_000, 65_000, 90_000),
)
