"""Room bookings: handle requests in a stated order, with ties, turnover, midnight, caps and second tries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance, Json
from esac_ag.suite.items.code_bookings_oracle import (
    booking_clock,
    booking_key,
    booking_plan,
    booking_request,
    booking_room,
    make_bookings,
    minutes_of,
    solve_bookings,
)
from esac_ag.suite.items.code_bookings_solution import program_of
from esac_ag.suite.items.code_program import CODE_EFFICIENCY, Assignment, Files, ProgramItem, WrongProgram
from esac_ag.suite.items.code_source import (
    FORMER_SENTENCE,
    example_inputs,
    examples_by_heart,
    examples_text,
    former_examples,
    hidden_test,
    programs_of,
)
from esac_ag.suite.items.draws import Draws

PROGRAM: Final = "plan.py"
EXAMPLES: Final = "examples.txt"
HELPERS: Final = (minutes_of, booking_request, booking_key, booking_room, booking_clock, booking_plan)
FACETS: Final = (
    ("plain", 1.0),
    ("order", 2.0),
    ("gap", 2.0),
    ("midnight", 1.0),
    ("choice", 1.0),
    ("cap", 2.0),
    ("retry", 2.0),
    ("all", 3.0),
)
PEOPLE: Final = ["ann", "bo", "cem", "dora", "eli", "fay", "gus", "hana", "ivo", "jun", "kim", "lea"]

ORDERS: Final = {
    "earliest-start": "earliest start first",
    "earliest-end": "earliest end first",
    "highest-rank": "highest rank first",
    "shortest": "shortest first",
    "longest": "longest first",
}
TIES: Final = {
    "earliest-start": "the earlier start goes first",
    "highest-rank": "the higher rank goes first",
    "shortest": "the shorter one goes first",
    "longest": "the longer one goes first",
    "latest-listed": "the one listed later goes first",
    "first-listed": "the one listed earlier goes first",
    "name": "the alphabetically smaller id goes first",
}
CLASHES: Final = ({"shortest", "longest"},)
"""Ties that an order has decided already."""
MIDNIGHTS: Final = {
    "refuse": "is refused",
    "swap": "has the two mixed up: exchange them",
    "overnight": "ends on the next day (times after midnight simply go on; nothing else carries over)",
}
CHOICES: Final = {
    "lowest": "the free room with the lowest number",
    "spread": "the free room with the fewest bookings so far, of several the lowest number",
    "tight": "the free room where it leaves the least idle time between the end of the booking before it "
    "(00:00 if "
    "there is none before it in that room) and its own start, of several the lowest number",
}
CAPS: Final = {
    "count": "A person gets at most {cap_at} bookings; further requests are refused.",
    "minutes": "A person gets at most {cap_at} booked minutes in all; a request that would exceed them is "
    "refused "
    "(a later, shorter one may still fit).",
}
OUTPUTS: Final = {
    "rooms": "Print a line `{room} 1: id id ...` per room, its bookings by start, `{none}` if it has none; "
    "then a line "
    "`{refused}: id id ...` in the order listed, again `{none}` if there are none.",
    "requests": "Print, in the order listed, `id {room} 2 09:15{until}10:00` with the times as booked, or "
    "`id {refused}`; then "
    "`booked N of M, T minutes` with the bookings, all requests and the booked minutes.",
}
ROOMS: Final = ("room", "hall", "place", "no.")
REFUSED: Final = ("refused", "declined", "rejected", "failed", "left-out")
NONES: Final = ("-", "none", "/")
UNTILS: Final = ("-", "..", " to ")

_PROMPT: Final = """\
Please write {program}: it plans room bookings from standard input. The first line is `rooms N` (rooms are \
numbered \
from 1), each further line a request: `id HH:MM HH:MM person rank`, with start, end and a whole number as \
rank. \
Start and end are never equal. A request whose end is before its start {midnight}.

Handle the requests one after the other, {order}; of equal ones {tie}{last_tie}. Once placed, a booking \
stays. Between \
two bookings of a room there have to be at least {gap} free minutes; exactly {gap} are enough. A request \
gets {choice}. \
If no room is free at its time, try the same length {shift} minutes later{more}; if that fails too, it is \
refused.

{cap} Refused requests do not count for this.

{output}

{examples} shows two inputs with their outputs; it does not show everything. {former} \
You can run Python at most five times. \
Hand in with submit; what is not handed in does not count.
"""

_NO_CAP: Final = 1_000_000


def _rules(draws: Draws) -> dict[str, Any]:
    order = draws.pick(list(ORDERS))
    ties = [tie for tie in TIES if tie != order and not any({tie, order} <= clash for clash in CLASHES)]
    tie = draws.pick([tie for tie in ties if tie != "first-listed"])
    cap = draws.pick(list(CAPS))
    return {
        "order": order,
        "tie": tie,
        "last_tie": "first-listed"
        if tie == "latest-listed"
        else draws.pick(["first-listed", "latest-listed"]),
        "midnight": draws.pick(list(MIDNIGHTS)),
        "gap": draws.pick([5, 10, 15, 20]),
        "choice": draws.pick(list(CHOICES)),
        "shift": draws.pick([15, 20, 30, 45]),
        "retries": draws.between(1, 2),
        "cap": cap,
        "cap_at": 2 if cap == "count" else draws.pick([120, 135, 150, 165]),
        "output": draws.pick(list(OUTPUTS)),
        "people": [*draws.sample(PEOPLE, 3)],
        "room": draws.pick(ROOMS),
        "refused": draws.pick(REFUSED),
        "none": draws.pick(NONES),
        "until": draws.pick(UNTILS),
    }


def assign(seeds: Seeds) -> Assignment:
    """The rules, request and examples of a seed."""
    draws = Draws(seeds, "bookings")
    rules, former = _rules(draws), _rules(draws)
    inputs = [make_bookings(draws.below, rules, facet) for facet in ("plain", "choice")]
    tests = tuple(
        hidden_test(
            facet,
            weight,
            facet=facet,
            program=PROGRAM,
            solve=solve_bookings,
            make=make_bookings,
            helpers=HELPERS,
            rules=rules,
            inputs=6,
        )
        for facet, weight in FACETS
    )
    examples = examples_text([(text, solve_bookings(text, rules)) for text in inputs])
    files = {EXAMPLES: examples, **former_examples(draws, former, make_bookings, solve_bookings)}
    return Assignment(_prompt(rules), files, {**rules, "former": former}, tests)


def _prompt(rules: Mapping[str, Any]) -> str:
    decided = rules["tie"] in ("latest-listed", "name")
    return _PROMPT.format(
        program=PROGRAM,
        examples=EXAMPLES,
        former=FORMER_SENTENCE,
        midnight=MIDNIGHTS[rules["midnight"]],
        order=ORDERS[rules["order"]],
        tie=TIES[rules["tie"]],
        last_tie="" if decided else ", and if they are equal in that too, " + TIES[rules["last_tie"]],
        gap=rules["gap"],
        choice=CHOICES[rules["choice"]],
        shift=rules["shift"],
        more=", and then once more as much later" if rules["retries"] == 2 else "",  # noqa: PLR2004
        cap=CAPS[rules["cap"]].format(**rules),
        output=OUTPUTS[rules["output"]].format(**rules),
    )


def _skimmed(instance: Instance) -> Files:
    return {PROGRAM: program_of({**instance.secret, "gap": 0, "cap_at": _NO_CAP, "retries": 0})}


def _usual(instance: Instance) -> Files:
    habits: dict[str, Json] = {
        "order": "earliest-end",
        "tie": "first-listed",
        "last_tie": "first-listed",
        "choice": "lowest",
        "cap_at": _NO_CAP,
    }
    return {PROGRAM: program_of({**instance.secret, **habits})}


ITEM: Final = ProgramItem(
    id="code-room-bookings",
    category=Category.CODE,
    title="Plan room bookings",
    measures="Whether a program gets a greedy plan right: order, ties, turnover, midnight, caps and second "
    "tries.",
    assign=assign,
    solution=programs_of(PROGRAM, program_of),
    wrong=(
        WrongProgram("examples-by-heart", examples_by_heart(PROGRAM, EXAMPLES), 0.0),
        WrongProgram("former-rules", programs_of(PROGRAM, program_of, "former"), 0.3),
        WrongProgram("skimmed", _skimmed, 0.45),
        WrongProgram("usual-habits", _usual, 0.45),
    ),
    reads=(EXAMPLES,),
    program=PROGRAM,
    trial=lambda instance: example_inputs(instance.files[EXAMPLES])[0],
    efficiency=CODE_EFFICIENCY,
)
