"""The calendar: offsets, conflicts, rooms, slots."""

from __future__ import annotations

from typing import Any

import pytest

from esac_ag.suite.world import World
from esac_ag.suite.world import building as build
from tests.builders_world import a_company, answer, refusal


def an_event(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 any argument
    """Arguments of an event that can be created."""
    event = {
        "title": "Review",
        "organizer_id": "u-1",
        "attendee_ids": ["u-4"],
        "start": "2026-03-04T10:00:00Z",
        "duration_minutes": 30,
    }
    return {name: value for name, value in {**event, **changes}.items() if value is not None}


def test_an_event_is_kept_in_utc() -> None:
    """A start with an offset names the same moment; seconds may be left out."""
    world = World(a_company())
    made = answer(
        world, "calendar_create_event", **an_event(start="2026-03-04T01:30-05:00", room_id="room-1")
    )
    assert made == {"event_id": "EV-1001", "start": "2026-03-04T06:30:00Z", "end": "2026-03-04T07:00:00Z"}
    assert world.snapshot()["events"]["EV-1001"]["room"] == "room-1"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"start": "2026-03-04T10:00:00"}, "invalid-arguments"),
        ({"start": "2026-03-04T24:00:00Z"}, "invalid-arguments"),
        ({"start": "2026-02-29T10:00:00Z"}, "invalid-arguments"),
        ({"start": "2026-03-04T10:00:30Z"}, "invalid-arguments"),
        ({"start": "2026-03-04T10:00:00+15:00"}, "invalid-arguments"),
        ({"start": "9999-12-31T23:59:00-14:00"}, "invalid-arguments"),
        ({"start": "2100-12-31T23:55:00Z"}, "invalid-arguments"),
        ({"start": "tomorrow"}, "invalid-arguments"),
        ({"duration_minutes": 31}, "invalid-arguments"),
        ({"duration_minutes": 0}, "invalid-arguments"),
        ({"start": "2026-03-02T08:59:00Z"}, "in-the-past"),
        ({"organizer_id": "u-9"}, "not-found"),
        ({"attendee_ids": ["u-3"]}, "inactive-user"),
        ({"room_id": "room-9"}, "not-found"),
        ({"room_id": "room-1", "attendee_ids": ["u-2", "u-4"]}, "room-too-small"),
        ({"start": "2026-03-03T14:30:00Z", "organizer_id": "u-4", "attendee_ids": ["u-2"]}, "conflict"),
        ({"start": "2026-03-03T15:45:00+01:00"}, "conflict"),
        (
            {"start": "2026-03-03T14:30:00Z", "organizer_id": "u-4", "attendee_ids": [], "room_id": "room-2"},
            "conflict",
        ),
    ],
)
def test_an_event_that_does_not_fit_is_refused(changes: dict[str, Any], code: str) -> None:
    """Times, people, rooms, conflicts."""
    assert refusal(World(a_company()), "calendar_create_event", **an_event(**changes)) == code


def test_events_that_touch_do_not_overlap() -> None:
    """Neither does one that was cancelled stand in the way."""
    world = World(a_company())
    answer(world, "calendar_create_event", **an_event(start="2026-03-03T13:30:00Z", room_id="room-2"))
    answer(world, "calendar_create_event", **an_event(start="2026-03-03T15:00:00Z", room_id="room-2"))
    answer(world, "calendar_cancel_event", event_id="EV-1")
    answer(world, "calendar_create_event", **an_event(start="2026-03-03T14:15:00Z", room_id="room-2"))


def test_a_day_is_the_persons_own() -> None:
    """An event late in UTC is on the next day east of it, and on the same day west of it."""
    state = build.with_event(
        a_company(),
        "EV-2",
        "Late",
        "2026-03-03T23:30:00Z",
        "2026-03-04T00:00:00Z",
        organizer="u-1",
        attendees=["u-2"],
    )
    world = World(state)

    def events(user_id: str, date: str) -> list[str]:
        found = answer(world, "calendar_list", user_id=user_id, date=date)["events"]
        return [event["event_id"] for event in found]

    assert events("u-1", "2026-03-03") == ["EV-1"]
    assert events("u-1", "2026-03-04") == ["EV-2"]
    assert events("u-2", "2026-03-03") == ["EV-1", "EV-2"]
    assert events("u-4", "2026-03-03") == []
    assert refusal(world, "calendar_list", user_id="u-1", date="03.03.2026") == "invalid-arguments"
    assert refusal(world, "calendar_list", user_id="u-1", date="2026-02-30") == "invalid-arguments"


def test_moving_keeps_people_room_and_length() -> None:
    """The event is not in its own way; others are."""
    world = World(a_company())
    answer(world, "calendar_create_event", **an_event(start="2026-03-03T16:00:00Z"))
    moved = answer(world, "calendar_move_event", event_id="EV-1", start="2026-03-03T14:30:00Z")
    assert moved == {"event_id": "EV-1", "start": "2026-03-03T14:30:00Z", "end": "2026-03-03T15:30:00Z"}
    for arguments, code in (
        ({"event_id": "EV-1", "start": "2026-03-03T14:30:00Z"}, "no-change"),
        ({"event_id": "EV-1", "start": "2026-03-03T15:30:00Z"}, "conflict"),
        ({"event_id": "EV-1", "start": "2026-03-01T15:30:00Z"}, "in-the-past"),
        ({"event_id": "EV-9", "start": "2026-03-03T15:30:00Z"}, "not-found"),
    ):
        assert refusal(world, "calendar_move_event", **arguments) == code
    longer = {"event_id": "EV-1", "start": "2026-03-03T14:00:00Z", "duration_minutes": 120}
    assert answer(world, "calendar_move_event", **longer)["end"] == "2026-03-03T16:00:00Z"


def test_an_event_is_cancelled_once_and_before_it_starts() -> None:
    """A cancelled event cannot be moved either."""
    state = build.with_event(
        a_company(), "EV-2", "Now", "2026-03-02T08:30:00Z", "2026-03-02T09:30:00Z", organizer="u-4"
    )
    world = World(state)
    assert refusal(world, "calendar_cancel_event", event_id="EV-2") == "in-the-past"
    assert answer(world, "calendar_cancel_event", event_id="EV-1")["status"] == "cancelled"
    assert refusal(world, "calendar_cancel_event", event_id="EV-1") == "invalid-transition"
    again = {"event_id": "EV-1", "start": "2026-03-04T15:30:00Z"}
    assert refusal(world, "calendar_move_event", **again) == "invalid-transition"


def test_slots_lie_within_everybodys_working_hours() -> None:
    """From 09:00 at -05:00 to 17:00 at +01:00 there are two hours, less what is taken."""
    world = World(a_company())

    def starts(date: str, minutes: int, *users: str) -> list[str]:
        arguments = {"user_ids": list(users), "duration_minutes": minutes, "date": date}
        return [slot["start"][11:16] for slot in answer(world, "calendar_find_slot", **arguments)["slots"]]

    assert starts("2026-03-04", 60, "u-1", "u-2") == ["14:00", "14:30", "15:00"]
    assert starts("2026-03-04", 120, "u-1", "u-2") == ["14:00"]
    assert starts("2026-03-03", 60, "u-1", "u-2") == ["15:00"]
    assert starts("2026-03-02", 30, "u-4") == ["09:00", "09:30", "10:00"]
    assert starts("2026-03-02", 30, "u-1") == ["09:00", "09:30", "10:00"]
    for date, minutes in (("2026-03-04", 125), ("2026-03-07", 30), ("2026-03-01", 30)):
        arguments = {"user_ids": ["u-1", "u-2"], "duration_minutes": minutes, "date": date}
        assert refusal(world, "calendar_find_slot", **arguments) == "no-slot"
    gone = {"user_ids": ["u-3"], "duration_minutes": 30, "date": "2026-03-04"}
    assert refusal(world, "calendar_find_slot", **gone) == "inactive-user"


def test_rooms_are_listed_by_what_they_hold() -> None:
    """All of them, or those that are large enough."""
    world = World(a_company())
    assert [room["room_id"] for room in answer(world, "calendar_list_rooms")["rooms"]] == ["room-1", "room-2"]
    large = answer(world, "calendar_list_rooms", min_capacity=3)["rooms"]
    assert [room["room_id"] for room in large] == ["room-2"]
