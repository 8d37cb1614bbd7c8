"""One stock movement: a SKU to be spelled, pieces to be turned into boxes, near-twin cities and tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from esac_ag.suite.world import building

from .draws import Draws
from .tool_call_first import Call, Draft, FirstCallItem

FAMILIES: Final = {"hex bolt": "BLT", "cap screw": "SCR", "stud bolt": "STD", "carriage bolt": "CRB"}
FINISHES: Final = {"zinc-plated": "Z", "stainless A2": "A2", "stainless A4": "A4", "black oxide": "B"}
THREADS: Final = (6, 8, 10, 12)
BOXES: Final = (8, 16, 18, 20, 24, 36, 40, 48)
DOZEN: Final = 12
CITIES: Final = (
    ("Narvik", "Narva"), ("Viborg", "Vyborg"), ("Halden", "Halmstad"), ("Skive", "Skien"),
    ("Lund", "Lunde"), ("Moss", "Mosso"), ("Arendal", "Arnedal"), ("Bodo", "Boden"),
)  # fmt: skip
Kind = Literal["reserve", "transfer", "adjust"]
KINDS: Final[tuple[Kind, ...]] = ("reserve", "transfer", "adjust")


@dataclass(frozen=True, slots=True)
class _Part:
    family: str
    thread: int
    length_mm: int
    finish: str

    @property
    def sku(self) -> str:
        return f"{FAMILIES[self.family]}-M{self.thread:02}-{self.length_mm:03}-{FINISHES[self.finish]}"

    @property
    def name(self) -> str:
        """As the catalogue has it."""
        return f"{self.family.capitalize()} M{self.thread}x{self.length_mm} {self.finish}"

    @property
    def spoken(self) -> str:
        centimetres = f"{self.length_mm // 10}.{self.length_mm % 10}".removesuffix(".0")
        return f"{self.finish} {self.family}s M{self.thread}, {centimetres} cm long"


@dataclass(frozen=True, slots=True)
class _Case:
    part: _Part
    box: int
    boxes: int
    here: tuple[str, str]
    """Warehouse id and city."""
    twin: tuple[str, str]
    booked: int
    """Boxes that the system has here."""

    @property
    def pieces(self) -> int:
        return self.box * self.boxes


def _part(draws: Draws) -> _Part:
    return _Part(
        family=draws.pick(tuple(FAMILIES)),
        thread=draws.pick(THREADS),
        length_mm=5 * draws.between(3, 24),
        finish=draws.pick(tuple(FINISHES)),
    )


def _siblings(draws: Draws, part: _Part) -> tuple[_Part, ...]:
    others = [finish for finish in FINISHES if finish != part.finish]
    return (
        replace(part, finish=draws.pick(others)),
        replace(part, length_mm=part.length_mm + 5),
        replace(part, thread=THREADS[(THREADS.index(part.thread) + 1) % len(THREADS)]),
        replace(part, family=draws.pick([family for family in FAMILIES if family != part.family])),
    )


def _case(draws: Draws) -> _Case:
    box = draws.pick(BOXES)
    here, twin = draws.shuffled(draws.pick(CITIES))
    first, second = draws.distinct(2, 79, 2)
    # Whole dozens, so that the request can be in dozens.
    step = next(count for count in range(1, DOZEN + 1) if count * box % DOZEN == 0)
    boxes = step * draws.between(2, 9)
    return _Case(
        part=_part(draws),
        box=box,
        boxes=boxes,
        here=(f"wh-{first}", here),
        twin=(f"wh-{second}", twin),
        booked=boxes + draws.between(7, 60),
    )


def _state(draws: Draws, case: _Case) -> dict[str, Any]:
    state = building.empty_state()
    for warehouse_id, city in (case.here, case.twin, ("wh-1", "Odense")):
        state = building.with_warehouse(state, warehouse_id, city, city=city)
    for part in (case.part, *_siblings(draws, case.part)):
        levels = {
            "wh-1": draws.between(900, 999),
            case.here[0]: case.booked if part is case.part else draws.between(900, 999),
            case.twin[0]: draws.between(900, 999),
        }
        state = building.with_item(
            state, part.sku, part.name, levels, unit="box", pieces_per_unit=case.box, home="wh-1"
        )
    return state


def _story(kind: Kind, case: _Case, order: str, reason: str) -> str:
    dozens = f"{case.pieces // DOZEN} dozen"
    match kind:
        case "reserve":
            return (
                f"Order {order} needs {dozens} {case.part.spoken}. Please keep them for that order in "
                f"{case.here[1]}; they stay on the shelf until it is picked."
            )
        case "transfer":
            return (
                f"{case.twin[1]} is running out of {case.part.spoken}. Please bring {dozens} over there from "
                f"{case.here[1]} (they are for order {order}, which is held later)."
            )
        case "adjust":
            return (
                f"We counted the {case.part.spoken} in {case.here[1]}: {dozens} are on the shelf, the system "
                f'says {case.booked} boxes. Please set that right, reason "{reason}".'
            )


def _calls(case: _Case, order: str, reason: str) -> dict[Kind, Call]:
    sku = case.part.sku
    return {
        "reserve": Call(
            "inventory_reserve",
            {"sku": sku, "quantity": case.boxes, "order_id": order, "warehouse": case.here[0]},
        ),
        "transfer": Call(
            "inventory_transfer",
            {"sku": sku, "quantity": case.boxes, "from": case.here[0], "to": case.twin[0]},
        ),
        "adjust": Call(
            "inventory_adjust",
            {
                "sku": sku,
                "delta": case.boxes - case.booked,
                "reason": reason,
                "warehouse": case.here[0],
            },
        ),
    }


def build(draws: Draws) -> Draft:
    """Draw an instance."""
    kind = draws.pick(KINDS)
    case = _case(draws)
    order, reason = f"SO-{draws.between(2000, 9800)}", f"cycle count {draws.between(11, 98)}"
    calls = _calls(case, order, reason)
    expected = calls[kind]
    number = "delta" if kind == "adjust" else "quantity"
    pieces = case.pieces - case.booked if kind == "adjust" else case.pieces
    swapped = {case.here[0]: case.twin[0], case.twin[0]: case.here[0]}
    wrong_tool: dict[Kind, Kind] = {"reserve": "transfer", "transfer": "reserve", "adjust": "transfer"}
    warehouses = draws.shuffled((case.here, case.twin, ("wh-1", "Odense")))
    prompt = "\n".join(
        [
            _story(kind, case, order, reason),
            "",
            f"These come in boxes of {case.box}, and the system counts boxes. SKUs are family, thread, "
            "length in millimetres with three digits and finish, joined by hyphens. Families: "
            + ", ".join(f"{name} {code}" for name, code in FAMILIES.items())
            + ". Threads: M and two digits. Finishes: "
            + ", ".join(f"{name} {code}" for name, code in FINISHES.items())
            + ". Warehouses: "
            + ", ".join(f"{city} {warehouse_id}" for warehouse_id, city in warehouses)
            + "; always name the warehouse.",
        ]
    )
    return Draft(
        prompt=prompt,
        state=_state(draws, case),
        call=expected,
        derived=(case.part.sku,),
        computed=(str(abs(int(str(expected.arguments[number])))),),
        lures={
            "pieces-for-boxes": Call(expected.tool, {**expected.arguments, number: pieces}),
            "twin-city": Call(
                expected.tool,
                {key: swapped.get(str(value), value) for key, value in expected.arguments.items()},
            ),
            "twin-tool": calls[wrong_tool[kind]],
            "sibling-finish": Call(
                expected.tool, {**expected.arguments, "sku": _siblings(draws, case.part)[0].sku}
            ),
        },
    )


ITEM: Final = FirstCallItem(
    id="tool-call-stock",
    title="One stock movement in boxes",
    measures="Whether an operation is told from its twins, a SKU spelled and pieces turned into boxes.",
    offered=(
        "inventory_find",
        "inventory_get",
        "inventory_cached_levels",
        "inventory_transfer",
        "inventory_reserve",
        "inventory_adjust",
        "inventory_release",
    ),
    build=build,
    lures=("pieces-for-boxes", "twin-city", "twin-tool", "sibling-finish"),
    tokens=(7_000, 10_000, 14_000, 19_000, 28_000),
)
