"""The calendar: events in UTC, people with offsets, rooms with capacities."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from .instants import instant, midnight, offset, written
from .refusal import Refused
from .snapshot import State
from .tables import Arguments, Operation, Row, active_user, allocate, listing, row

DAY: Final = timedelta(days=1)
STEP: Final = timedelta(minutes=30)
WORK_STARTS: Final = timedelta(hours=9)
WORK_ENDS: Final = timedelta(hours=17)
WORK_DAYS: Final = range(5)
MOST_SLOTS: Final = 3
MINUTES_STEP: Final = 5


def list_events(state: State, arguments: Arguments) -> Row:
    """A person's events of a day of theirs."""
    user_id = arguments["user_id"]
    own = offset(row(state, "users", "user", user_id)["utc_offset"])
    start = midnight(arguments["date"]) - own
    found = [
        {"event_id": event_id, **event}
        for event_id, event in _taken(state, start, start + DAY)
        if user_id in _people(event)
    ]
    found.sort(key=lambda event: (event["start"], event["event_id"]))
    return listing(arguments, "events", found)


def list_rooms(state: State, arguments: Arguments) -> Row:
    """Rooms that hold enough people."""
    least = arguments.get("min_capacity", 1)
    found = [
        {"room_id": room_id, **room}
        for room_id, room in sorted(state["rooms"].items())
        if room["capacity"] >= least
    ]
    return listing(arguments, "rooms", found)


def find_slot(state: State, arguments: Arguments) -> Row:
    """The first times of a UTC day that suit all."""
    length = _length(arguments["duration_minutes"])
    users = {user_id: active_user(state, user_id) for user_id in arguments["user_ids"]}
    offsets = [offset(user["utc_offset"]) for user in users.values()]
    day, now = midnight(arguments["date"]), instant(state["now"])
    slots = []
    for number in range(DAY // STEP):
        start = day + number * STEP
        if (
            start >= now
            and all(_at_work(start + own, length) for own in offsets)
            and not any(
                users.keys() & set(_people(event)) for _, event in _taken(state, start, start + length)
            )
        ):
            slots.append({"start": written(start), "end": written(start + length)})
    if not slots:
        raise Refused("no-slot", f"no time on {arguments['date']} (UTC) suits all")
    return {"date": arguments["date"], "slots": slots[:MOST_SLOTS]}


def create_event(state: State, arguments: Arguments) -> Row:
    """A confirmed event."""
    event: Row = {
        "title": arguments["title"],
        **_span(instant(arguments["start"]), _length(arguments["duration_minutes"])),
        "organizer": arguments["organizer_id"],
        "attendees": arguments["attendee_ids"],
        "room": arguments.get("room_id"),
        "status": "confirmed",
        "notes": "",
    }
    _refuse_unfit(state, event, None)
    event_id = allocate(state, "events", "EV")
    state["events"][event_id] = event
    return {"event_id": event_id, "start": event["start"], "end": event["end"]}


def move_event(state: State, arguments: Arguments) -> Row:
    """The same event at another time."""
    event_id = arguments["event_id"]
    event = _upcoming(state, event_id, "moved")
    length = instant(event["end"]) - instant(event["start"])
    if "duration_minutes" in arguments:
        length = _length(arguments["duration_minutes"])
    span = _span(instant(arguments["start"]), length)
    if span == {"start": event["start"], "end": event["end"]}:
        raise Refused("no-change", f"{event_id} is at that time already")
    event.update(span)
    _refuse_unfit(state, event, event_id)
    return {"event_id": event_id, **span}


def cancel_event(state: State, arguments: Arguments) -> Row:
    """Cancel an event, for good."""
    event = _upcoming(state, arguments["event_id"], "cancelled")
    event["status"] = "cancelled"
    return {"event_id": arguments["event_id"], "status": "cancelled"}


def _taken(state: State, start: datetime, end: datetime) -> Iterator[tuple[str, Row]]:
    """Confirmed events that overlap a time, by id."""
    for event_id, event in sorted(state["events"].items()):
        if event["status"] == "confirmed" and instant(event["start"]) < end and start < instant(event["end"]):
            yield event_id, event


def _people(event: Row) -> list[str]:
    return [event["organizer"], *(user for user in event["attendees"] if user != event["organizer"])]


def _at_work(local: datetime, length: timedelta) -> bool:
    since_midnight = timedelta(hours=local.hour, minutes=local.minute)
    in_hours = since_midnight >= WORK_STARTS and since_midnight + length <= WORK_ENDS
    return in_hours and local.weekday() in WORK_DAYS


def _length(minutes: int) -> timedelta:
    if minutes % MINUTES_STEP:
        raise Refused(
            "invalid-arguments", f"a length of {minutes} minutes is not a multiple of {MINUTES_STEP}"
        )
    return timedelta(minutes=minutes)


def _span(start: datetime, length: timedelta) -> Row:
    return {"start": written(start), "end": written(start + length)}


def _upcoming(state: State, event_id: str, verb: str) -> Row:
    event = row(state, "events", "event", event_id)
    if event["status"] != "confirmed":
        raise Refused("invalid-transition", f"{event_id} is {event['status']} and cannot be {verb}")
    if instant(event["start"]) < instant(state["now"]):
        raise Refused("in-the-past", f"{event_id} has started and cannot be {verb}")
    return event


def _refuse_unfit(state: State, event: Row, itself: str | None) -> None:
    """Refuse an event that is in the past, has people who left, no room for all, or a conflict."""
    people, room_id = _people(event), event["room"]
    for user_id in people:
        active_user(state, user_id)
    if room_id is not None and row(state, "rooms", "room", room_id)["capacity"] < len(people):
        raise Refused("room-too-small", f"{room_id} does not hold {len(people)} people")
    start, end = instant(event["start"]), instant(event["end"])
    if start < instant(state["now"]):
        raise Refused("in-the-past", f"{event['start']} is before now, {state['now']}")
    for event_id, other in _taken(state, start, end):
        if event_id == itself:
            continue
        busy = [user_id for user_id in people if user_id in _people(other)]
        if room_id is not None and room_id == other["room"]:
            busy.append(room_id)
        if busy:
            raise Refused(
                "conflict",
                f"{busy[0]} is taken from {other['start']} to {other['end']} by {event_id}",
            )


OPERATIONS: dict[str, Operation] = {
    "calendar_list": list_events,
    "calendar_list_rooms": list_rooms,
    "calendar_find_slot": find_slot,
    "calendar_create_event": create_event,
    "calendar_move_event": move_event,
    "calendar_cancel_event": cancel_event,
}
