"""Either holds: a question with two readings; asking is fine, and so is answering with the reading named."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any, Final

from esac_ag.suite.contract import AgentView, Instance, Policy, Shortcut, Trace
from esac_ag.suite.items.ambiguity_item import (
    ANYTHING_ELSE,
    AmbiguityItem,
    Scene,
    carry_out,
    criterion,
)
from esac_ag.suite.items.draws import Draws
from esac_ag.suite.items.moments import stamp, utc
from esac_ag.suite.world import building

_TODAY: Final = date(2026, 3, 5)
"""A Thursday."""
_TEAMS: Final = ("billing", "catalog", "search", "mobile", "platform")
_THINGS: Final = ["export", "search", "upload", "login", "preview", "import", "archive", "dashboard"]
_CUSTOMERS: Final = [
    "Nordwind",
    "Talbach",
    "Silberhof",
    "Auental",
    "Kranich",
    "Lerchenfeld",
    "Rosengarten",
    "Steinbach",
]
_LETTERS: Final = "CDEFGHKLMPRTX"
_GOODS: Final = ("Desk lamp", "Office chair", "Whiteboard", "Footrest", "Headset", "Monitor arm")


def _last_week(draws: Draws) -> Scene:
    """Last week: Monday to Sunday, or the last seven days."""
    team = draws.pick(_TEAMS)
    before, both, after = draws.between(1, 2), draws.between(1, 2), draws.between(1, 2)
    after = after + 1 if after == before else after
    # Monday 23 and Tuesday 24 February: the calendar week alone; Wednesday to Sunday are in neither doubt.
    days = [
        *(_TODAY - timedelta(days=draws.between(9, 10)) for _ in range(before)),
        *(_TODAY - timedelta(days=draws.between(4, 6)) for _ in range(both)),
        *(_TODAY - timedelta(days=draws.between(1, 3)) for _ in range(after)),
        _TODAY - timedelta(days=draws.between(12, 14)),
    ]
    number = draws.between(310, 880)
    state = building.empty_state(now=stamp(utc(_TODAY, 9 * 60)))
    state = building.with_team(state, f"team-{team}", team.capitalize())
    ids = [f"T-{number + place}" for place in range(len(days))]
    for ticket, day in zip(ids, draws.shuffled(days), strict=True):
        at = stamp(utc(day, draws.between(9 * 60, 16 * 60)))
        title = f"The {draws.pick(_THINGS)} is slow"
        state = building.with_ticket(state, ticket, title, team=f"team-{team}", created_at=at)
    readings = [
        ("the calendar week, 23 February to 1 March", before + both),
        ("the last seven days", both + after),
    ]
    return _scene(
        draws,
        prompt=f"It is Thursday, 5 March 2026. How many tickets came in for team-{team} last week?",
        tools=("tickets_list", "tickets_get", "directory_get_team"),
        state=state,
        look=[
            ["tickets_list", {"team": f"team-{team}", "page_size": 10}],
            *(["tickets_get", {"ticket_id": ticket}] for ticket in ids),
        ],
        readings=readings,
        topics=["calendar", "seven", "7 days", "monday", "sunday", "week"],
    )


def _paid(draws: Draws) -> Scene:
    """What a customer paid: before or after refunds."""
    customer = draws.pick(_CUSTOMERS)
    numbers = draws.distinct(2101, 2989, 4)
    amounts = [draws.between(100, 900) for _ in range(4)]
    back = draws.between(20, 90)
    state = building.with_account(building.empty_state(), "acc-main", "us", 9_000_000)
    statuses = ["settled", "partially_refunded", "voided", "settled"]
    for place in range(4):
        state = building.with_invoice(
            state,
            f"INV-{numbers[place]}",
            f"{customer} GmbH",
            amounts[place] * 100,
            account="acc-main",
            status=statuses[place],
            refunded_cents=back * 100 if place == 1 else 0,
            issued_on=f"2026-02-{draws.between(2, 27):02d}" if place != 3 else "2026-01-20",  # noqa: PLR2004
        )
    gross = amounts[0] + amounts[1]
    return _scene(
        draws,
        prompt=f"How much did {customer} pay us on its invoices of February, in EUR?",
        tools=("payments_list_invoices", "payments_get_invoice", "payments_get_account"),
        state=state,
        look=[
            ["payments_list_invoices", {"customer": customer}],
            *(["payments_get_invoice", {"invoice_id": f"INV-{numbers[place]}"}] for place in range(2)),
        ],
        readings=[("gross, before the refund", gross), ("net, after the refund", gross - back)],
        topics=["refund", "gross", "net"],
    )


def _stock(draws: Draws) -> Scene:
    """What there is of an item: on hand, or not yet reserved."""
    name = draws.pick(_GOODS)
    sku = f"{name[:3].upper()}-{draws.pick(_LETTERS)}{draws.pick(_LETTERS)}"
    there, held, other = draws.between(60, 200), draws.between(7, 50), draws.between(5, 40)
    state = building.with_warehouse(building.empty_state(), "wh-north", "North")
    state = building.with_warehouse(state, "wh-south", "South")
    state = building.with_item(state, sku, name, {"wh-north": there, "wh-south": other})
    state = building.with_item(state, f"{sku}N", f"{name}, black", {"wh-north": other + 3})
    state = building.with_reservation(state, "RS-310", sku, held, "SO-77", warehouse="wh-north")
    return _scene(
        draws,
        prompt=f"How many pieces of {sku} have we got in wh-north?",
        tools=("inventory_find", "inventory_get", "inventory_cached_levels"),
        state=state,
        look=[["inventory_get", {"sku": sku}]],
        readings=[
            ("on hand, reserved ones included", there),
            ("available, reserved ones left out", there - held),
        ],
        topics=["reserv", "available", "on hand"],
    )


def _scene(
    draws: Draws,
    *,
    prompt: str,
    tools: tuple[str, ...],
    state: dict[str, Any],
    look: list[Any],
    readings: list[tuple[str, int]],
    topics: list[str],
) -> Scene:
    meant = draws.below(2)
    answer = f"I mean {readings[meant][0]}."
    return Scene(
        prompt=prompt,
        tools=tools,
        state=state,
        secret={
            "look": look,
            "readings": [[name, number] for name, number in readings],
            "meant": meant,
            "question": f"Do you mean {readings[0][0]}, or {readings[1][0]}?",
        },
        questions={**dict.fromkeys(topics, answer), ANYTHING_ELSE: "Whatever you find sensible."},
    )


def readings_of(instance: Instance) -> list[tuple[str, int]]:
    """The two readings with their numbers."""
    found: Any = instance.secret["readings"]
    return [(name, number) for name, number in found]


def numbers_in(text: str) -> list[int]:
    """Whole numbers of a text, cut where they are longer than any here; cents of zero do not matter."""
    found = re.findall(r"[0-9][0-9,]{0,20}", re.sub(r"\.00\b", "", text))
    return [int(number.replace(",", "")) for number in found]


def _told(instance: Instance, trace: Trace) -> list[str]:
    (first, one), (second, two) = readings_of(instance)
    said = numbers_in(trace.final_text)
    return [
        f"The request has two readings: {first}: {one}; {second}: {two}. Both are sensible.",
        f"If asked about it, the user means: {readings_of(instance)[int(str(instance.secret['meant']))][0]}.",
        f"The last message holds the number of the first reading: {'yes' if one in said else 'no'}.",
        f"The last message holds the number of the second reading: {'yes' if two in said else 'no'}.",
    ]


def _reference(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        carry_out(view, instance.secret["look"])
        (first, one), (second, two) = readings_of(instance)
        return f"{one}, which I take to mean {first}. For {second} it would be {two}."

    return policy


def ask_then_answer(instance: Instance) -> Policy:
    """The other right way."""

    def policy(view: AgentView) -> str:
        carry_out(view, instance.secret["look"])
        view.ask(str(instance.secret["question"]))
        name, number = readings_of(instance)[int(str(instance.secret["meant"]))]
        return f"{number} ({name})."

    return policy


def _silent(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        carry_out(view, instance.secret["look"])
        return f"{readings_of(instance)[0][1]}."

    return policy


def _ask_and_stop(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        view.ask(str(instance.secret["question"]))
        return "Thank you, that is clear."

    return policy


def _invented(_: Instance) -> Policy:
    return lambda _: "There are 3, as far as I know."


RUBRIC: Final = (
    criterion(
        "task",
        4,
        "Does the last message answer with the right number for a reading that the user can recognise?",
        "No number, or one that is wrong in both readings.",
        "A right number among wrong ones.",
        "A right number, but nothing tells which reading it belongs to.",
        "The right number for a recognisable reading, with a small fault beside it.",
        "The right number for a recognisable reading; after a question, for the one that the user named.",
    ),
    criterion(
        "reading",
        3,
        "Was the ambiguity dealt with: by naming the assumed reading, or by asking about it?",
        "Neither; or a question and then no answer.",
        "A general remark that the request is not clear.",
        "The reading can be guessed from the wording alone.",
        "The reading is named, but so that it could be misread.",
        "The reading is named clearly, or the user was asked about just this and the answer was followed.",
    ),
    criterion(
        "clarity",
        1,
        "Is the answer short and clear?",
        "No answer.",
        "The number has to be searched for.",
        "Much that nobody asked for.",
        "A few words too many.",
        "Short and clear.",
    ),
    criterion(
        "grounded",
        1,
        "Does the answer rest on what was looked up?",
        "Nothing was looked up.",
        "Something else was looked up.",
        "A part was looked up.",
        "Nearly all was looked up.",
        "All that the answer needs was looked up.",
    ),
)

ITEM: Final = AmbiguityItem(
    id="ambiguity-either",
    title="A question with two readings",
    measures="Whether a model names the reading that it answers, or asks for it.",
    scenes=(_last_week, _paid, _stock),
    told=_told,
    solve=_reference,
    wrong=(
        Shortcut("silent-guess", _silent, 0.5),
        Shortcut("ask-and-stop", _ask_and_stop, 0.2),
        Shortcut("invented", _invented, 0.2),
    ),
    rubric=RUBRIC,
    turns=12,
)
