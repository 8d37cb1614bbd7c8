"""One person's day to rearrange: meetings in a ring, two in a row behind a cancelled one, twin titles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from esac_ag.suite.contract import AgentView, Instance, Policy, Shortcut
from esac_ag.suite.world import building

from .draws import Draws
from .moments import clock_time, day_stamp, local, offset, spoken_day, stamp, utc
from .planning_goal import Fact, GoalItem, Plan
from .planning_policies import all_pages, failed, known, told

OFFICES: Final = (
    ("Kathmandu", 345), ("Pune", 330), ("Adelaide", 630), ("Osaka", 540), ("Recife", -180), ("Phoenix", -420),
)  # fmt: skip
NAMESAKES: Final = (
    ("Priya Nair", "Priya Naidu"), ("Marta Kowalska", "Marta Kowalczyk"), ("Lena Vogel", "Lena Vogl"),
    ("Sofia Marin", "Sofia Marini"), ("Omar Haddad", "Omar Hadad"),
)  # fmt: skip
GUESTS: Final = ("Jon Aalto", "Elin Strand", "Tomas Ryba", "Ana Duarte", "Ivo Brandt", "Nils Aker")
SUBJECTS: Final = ("Ledger", "Customs", "Tariff", "Payroll", "Gateway", "Archive", "Badge", "Stock", "Tax")
TWINS: Final = (
    ("review", "preview"),
    ("briefing", "debriefing"),
    ("planning", "plan check"),
    ("demo", "dry run"),
)
BUDGET: Final = 11
SLOT_MINUTES: Final = 30
FIRST_SLOT: Final = 9 * 60
SLOTS: Final = 16
PARKING: Final = 20 * 60
"""Minutes after local midnight where nobody has anything."""
GOAL_EVENTS: Final = ("a", "b", "c", "first", "second", "dropped")


@dataclass(frozen=True, slots=True)
class _Event:
    id: str
    title: str
    slot: int


@dataclass(frozen=True, slots=True)
class _Day:
    midnight: datetime
    """Local midnight, in UTC."""

    def at(self, slot: int) -> str:
        return self.minute(FIRST_SLOT + SLOT_MINUTES * slot)

    def minute(self, minutes: int) -> str:
        return stamp(self.midnight + timedelta(minutes=minutes))


def _titles(draws: Draws) -> tuple[str, ...]:
    """Nine titles; the first three have twins among them."""
    subjects = draws.shuffled(SUBJECTS)
    pairs = [
        (f"{subject} {one}", f"{subject} {two}") for subject, (one, two) in zip(subjects, TWINS, strict=False)
    ]
    flat = [title for pair in pairs for title in draws.shuffled(pair)]
    return (*draws.shuffled(flat), f"{subjects[-1]} {draws.pick(TWINS)[0]}")


def _with_events(
    draws: Draws,
    state: dict[str, Any],
    day: _Day,
    events: Iterable[_Event],
    person: str,
    guests: tuple[str, ...],
) -> dict[str, Any]:
    for event in events:
        state = building.with_event(
            state,
            event.id,
            event.title,
            day.at(event.slot),
            day.at(event.slot + 1),
            organizer=person,
            attendees=draws.sample(guests, draws.between(1, 2)),
        )
    return state


def build(draws: Draws) -> Plan:
    """Draw an instance."""
    city, minutes = draws.pick(OFFICES)
    name, twin_name = draws.shuffled(draws.pick(NAMESAKES))
    role, twin_role = draws.shuffled(("head of billing", "head of storage", "head of customs"))[:2]
    numbers = draws.distinct(110, 890, 2 + len(GUESTS))
    person, twin, *rest = (f"u-{number}" for number in numbers)
    guests = tuple(rest)
    state = building.empty_state()
    for user, full_name, title in (
        (person, name, role),
        (twin, twin_name, twin_role),
        *((guest, full_name, "engineer") for guest, full_name in zip(guests, GUESTS, strict=True)),
    ):
        state = building.with_user(
            state, user, full_name, title=title, utc_offset=offset(minutes), location=city
        )
    date_ = date(2026, 3, draws.pick((4, 5, 6, 10, 11, 12, 13)))
    day = _Day(utc(date_, -minutes))
    titles = _titles(draws)
    ids = draws.distinct(120, 980, len(titles) + 8)
    slots = draws.shuffled(range(SLOTS))
    events = tuple(
        _Event(f"EV-{number}", title, slot) for number, title, slot in zip(ids, titles, slots, strict=False)
    )
    goal = dict(zip(GOAL_EVENTS, events, strict=False))
    state = _with_events(draws, state, day, events, person, guests)
    # The namesake has a day of her own, and the guests are taken where the person is free.
    free = slots[len(events) :]
    own = tuple(
        _Event(f"EV-{number}", "Focus time", slot) for number, slot in zip(ids[9:13], free, strict=False)
    )
    state = _with_events(draws, state, day, own, twin, guests[:2])
    return Plan(
        prompt=_prompt(name, role, twin_name, date_, city, minutes, goal),
        state=state,
        facts=_facts(day, goal),
        free=(
            *(f"/events/{goal[part].id}/{field}" for part in GOAL_EVENTS[:5] for field in ("start", "end")),
            f"/events/{goal['dropped'].id}/status",
        ),
        known={
            "name": name,
            "role": role,
            "date": day_stamp(date_),
            "titles": {part: event.title for part, event in goal.items()},
            "second_to": day.at(goal["first"].slot),
            "second_misread": stamp(local(day.midnight, minutes) + _since_midnight(goal["first"].slot)),
            "parking": day.minute(PARKING),
        },
        hidden=(person, *(event.id for event in events), day.at(goal["first"].slot)),
    )


def _since_midnight(slot: int) -> timedelta:
    return timedelta(minutes=FIRST_SLOT + SLOT_MINUTES * slot)


def _facts(day: _Day, goal: dict[str, _Event]) -> tuple[Fact, ...]:
    moves = {"a": "b", "b": "c", "c": "a", "first": "dropped", "second": "first"}
    return (
        *(
            Fact(
                f"moved-{part}",
                "events",
                {"start": day.at(goal[to].slot), "end": day.at(goal[to].slot + 1), "status": "confirmed"},
                goal[part].id,
            )
            for part, to in moves.items()
        ),
        Fact("dropped", "events", {"status": "cancelled"}, goal["dropped"].id),
    )


def _prompt(
    name: str, role: str, twin_name: str, day: date, city: str, minutes: int, goal: dict[str, _Event]
) -> str:
    title = {part: f'"{event.title}"' for part, event in goal.items()}
    to = utc(day, FIRST_SLOT + SLOT_MINUTES * goal["first"].slot)
    return (
        f"Please rearrange {spoken_day(day)} for {name}, our {role} in {city} (UTC{offset(minutes)}); that "
        f"is not {twin_name}. Three events change places: {title['a']} takes the time of {title['b']}, "
        f"{title['b']} that of {title['c']}, and {title['c']} that of {title['a']}. {title['second']} goes "
        f"to {clock_time(to)} {city} time. {title['first']} takes the time of {title['dropped']}, which is "
        "cancelled. Mind the titles, some are much alike. Move events, do not make new ones; all keep "
        "their length and people. The calendar takes no overlap, not even for a moment; after 19:00 local "
        "time everybody is free that day. Change nothing else."
    )


def solve(instance: Instance) -> Policy:
    """Find the person and the day's events; then work from the free end of each chain."""

    def play(view: AgentView) -> str:
        events = _events(view, instance)
        facts = known(instance)
        a, b, c = (events[part] for part in "abc")
        view.call("calendar_cancel_event", event_id=events["dropped"]["event_id"])
        _move(view, events["first"], events["dropped"]["start"])
        _move(view, events["second"], facts["second_to"])
        _move(view, a, facts["parking"])
        _move(view, c, a["start"])
        _move(view, b, c["start"])
        _move(view, a, b["start"])
        return "The day is rearranged."

    return play


def _events(view: AgentView, instance: Instance, *, pages: int = 2) -> dict[str, Any]:
    """The events that the request names; a person that is not found has none."""
    facts = known(instance)
    people = told(view.call("directory_search", query=facts["name"]))["users"]
    person = next(entry["user_id"] for entry in people if entry["title"] == facts["role"])
    found: dict[str, Any] = {}
    for page in range(1, pages + 1):
        reply = told(view.call("calendar_list", user_id=person, date=facts["date"], page=page))
        found |= {event["title"]: event for event in reply["events"]}
    return {part: found[title] for part, title in facts["titles"].items() if title in found}


def _move(view: AgentView, event: Any, start: str) -> bool:  # noqa: ANN401  (an event of a reply)
    return not failed(told(view.call("calendar_move_event", event_id=event["event_id"], start=start)))


def _no_parking(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        events = _events(view, instance)
        a, b, c = (events[part] for part in "abc")
        view.call("calendar_cancel_event", event_id=events["dropped"]["event_id"])
        _move(view, events["first"], events["dropped"]["start"])
        _move(view, events["second"], known(instance)["second_to"])
        for event, start in ((a, b["start"]), (b, c["start"]), (c, a["start"])):
            _move(view, event, start)
        return "Rearranged."

    return play


def _in_the_order_asked(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        events = _events(view, instance)
        a, b, c = (events[part] for part in "abc")
        for event, start in ((a, b["start"]), (b, c["start"]), (c, a["start"])):
            _move(view, event, start)
        _move(view, events["second"], known(instance)["second_to"])
        _move(view, events["first"], events["dropped"]["start"])
        view.call("calendar_cancel_event", event_id=events["dropped"]["event_id"])
        return "Rearranged."

    return play


def _local_time_as_utc(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        events = _events(view, instance)
        a, b, c = (events[part] for part in "abc")
        view.call("calendar_cancel_event", event_id=events["dropped"]["event_id"])
        _move(view, events["first"], events["dropped"]["start"])
        _move(view, events["second"], known(instance)["second_misread"])
        _move(view, a, known(instance)["parking"])
        for event, start in ((c, a["start"]), (b, c["start"]), (a, b["start"])):
            _move(view, event, start)
        return "Rearranged."

    return play


def _first_page_only(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        events = _events(view, instance, pages=1)
        if "dropped" in events:
            view.call("calendar_cancel_event", event_id=events["dropped"]["event_id"])
            if "first" in events:
                _move(view, events["first"], events["dropped"]["start"])
        if "second" in events:
            _move(view, events["second"], known(instance)["second_to"])
        if all(part in events for part in "abc"):
            a, b, c = (events[part] for part in "abc")
            steps = ((a, known(instance)["parking"]), (c, a["start"]), (b, c["start"]), (a, b["start"]))
            for event, start in steps:
                _move(view, event, start)
        return "Rearranged what there was."

    return play


def _cancel_and_recreate(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        events = _events(view, instance)
        ring = [events[part] for part in "abc"]
        for event in (*ring, events["dropped"]):
            view.call("calendar_cancel_event", event_id=event["event_id"])
        for event, other in zip(ring, (ring[1], ring[2], ring[0]), strict=True):
            view.call(
                "calendar_create_event",
                title=event["title"],
                organizer_id=event["organizer"],
                attendee_ids=event["attendees"],
                start=other["start"],
                duration_minutes=SLOT_MINUTES,
            )
        return "Rearranged."

    return play


def _read_everything(instance: Instance) -> Policy:
    def play(view: AgentView) -> str:
        people = list(all_pages(view, "directory_search", "users", query="e"))
        for person in people:
            list(
                all_pages(
                    view,
                    "calendar_list",
                    "events",
                    user_id=person["user_id"],
                    date=known(instance)["date"],
                )
            )
        return solve(instance)(view)

    return play


ITEM: Final = GoalItem(
    id="planning-day",
    title="Rearrange a day without overlaps",
    measures="Whether moves that block each other are put in an order that works, parking included.",
    offered=(
        "directory_search",
        "calendar_list",
        "calendar_list_rooms",
        "calendar_find_slot",
        "calendar_create_event",
        "calendar_move_event",
        "calendar_cancel_event",
        "messages_send",
    ),
    build=build,
    solve=solve,
    wrong=(
        Shortcut("no-parking", _no_parking, 0.34),
        Shortcut("in-the-order-asked", _in_the_order_asked, 0.12),
        Shortcut("local-time-as-utc", _local_time_as_utc, 0.56),
        Shortcut("first-page-only", _first_page_only, 0.56),
        Shortcut("cancel-and-recreate", _cancel_and_recreate, 0.0),
        Shortcut("read-everything", _read_everything, 0.0),
    ),
    turns=BUDGET,
    reference_calls=10,
    # One meeting has to be parked, and moved again.
    reference_rework=1,
    tokens=(32_000, 40_000, 50_000, 65_000, 90_000),
)
