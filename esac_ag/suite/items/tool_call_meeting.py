"""One event from a wordy request: two time zones, namesakes, a room by capacity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from esac_ag.suite.contract import Json
from esac_ag.suite.world import building

from .draws import Draws
from .moments import clock_time, local, offset, spoken_day, stamp, utc
from .tool_call_first import Call, Draft, FirstCallItem

EAST: Final = (
    ("Kathmandu", 345), ("Pune", 330), ("Adelaide", 630), ("Auckland", 780), ("Osaka", 540), ("Manila", 480),
)  # fmt: skip
WEST: Final = (
    ("Toronto", -240), ("Denver", -360), ("St. John's", -150), ("Honolulu", -600), ("Recife", -180),
)  # fmt: skip
NAMESAKES: Final = (
    ("Marta Kowalska", "Marta Kowalczyk"), ("Jon Aalto", "John Aalto"), ("Priya Nair", "Priya Naidu"),
    ("Lena Vogel", "Lena Vogl"), ("Sofia Marin", "Sofia Marini"), ("Tomas Rybar", "Tomas Ryba"),
    ("Elin Strand", "Elin Strandh"), ("Omar Haddad", "Omar Hadad"), ("Ana Duarte", "Anna Duarte"),
)  # fmt: skip
TITLES: Final = (
    "billing lead", "billing analyst", "storage lead", "storage engineer", "ledger lead", "ledger analyst",
)  # fmt: skip
ROOMS: Final = ("Fjord", "Fell", "Birch", "Beech", "Harbour", "Harvest")
SUBJECTS: Final = ("Ledger", "Storage", "Billing", "Archive", "Gateway", "Tariff", "Payroll", "Customs")
OCCASIONS: Final = ("cutover", "handover", "dry run", "go/no-go", "retrospective", "walkthrough")


@dataclass(frozen=True, slots=True)
class _Person:
    id: str
    name: str
    title: str
    city: str
    offset_minutes: int
    manager: str
    """Full name."""

    @property
    def first_name(self) -> str:
        return self.name.split()[0]

    @property
    def line(self) -> str:
        return f"- {self.id}: {self.name}, {self.title}, {self.city}, reports to {self.manager}"


def _people(draws: Draws) -> tuple[_Person, ...]:
    names = [name for pair in draws.sample(NAMESAKES, 3) for name in draws.shuffled(pair)]
    ids = draws.distinct(110, 890, len(names))
    titles = draws.shuffled(TITLES)
    cities = draws.shuffled((*draws.sample(EAST, 3), *draws.sample(WEST, 3)))
    managers = [draws.pick([other for other in names if other != name]) for name in names]
    return tuple(
        _Person(f"u-{number}", name, title, city, minutes, manager)
        for number, name, title, (city, minutes), manager in zip(
            ids, names, titles, cities, managers, strict=True
        )
    )


def _namesake(people: tuple[_Person, ...], person: _Person) -> _Person:
    place = people.index(person)
    return people[place + 1 - 2 * (place % 2)]


def _state(
    draws: Draws, people: tuple[_Person, ...], rooms: list[tuple[str, str, int]], start: datetime
) -> dict[str, Any]:
    state = building.empty_state()
    by_name = {person.name: person.id for person in people}
    for person in people:
        state = building.with_user(
            state,
            person.id,
            person.name,
            title=person.title,
            location=person.city,
            utc_offset=offset(person.offset_minutes),
            manager=by_name[person.manager],
        )
    for room_id, name, capacity in rooms:
        state = building.with_room(state, room_id, name, capacity)
    for index, number in enumerate(draws.distinct(200, 900, 3)):
        # On other days, so that nobody is taken.
        begin = start + timedelta(days=2 + index)
        state = building.with_event(
            state,
            f"EV-{number}",
            f"{draws.pick(SUBJECTS)} {draws.pick(OCCASIONS)}",
            stamp(begin),
            stamp(begin + timedelta(minutes=30)),
            organizer=draws.pick(people).id,
        )
    return state


def build(draws: Draws) -> Draft:
    """Draw an instance."""
    people = _people(draws)
    organizer, second, third = _cast(draws, people)
    east, west = draws.pick(EAST), draws.pick(WEST)
    day = date(2026, 3, draws.between(10, 24))
    # Late enough in UTC that the eastern office writes the next day already.
    start = utc(day, 1440 - 5 * draws.between(1, east[1] // 5))
    minutes = 5 * draws.between(5, 23)
    end = start + timedelta(minutes=minutes)
    guests = draws.between(2, 9)
    seats = 3 + guests
    capacities = draws.shuffled((seats - 1, seats + draws.between(0, 1), seats + 3, seats + 6))
    names = draws.sample(ROOMS, 4)
    numbers = draws.distinct(2, 60, 4)
    rooms = [
        (f"room-{number}", name, size)
        for number, name, size in zip(numbers, names, capacities, strict=True)
    ]  # fmt: skip
    room = min((room for room in rooms if room[2] >= seats), key=lambda room: room[2])
    cramped = next(room for room in rooms if room[2] == seats - 1)
    title = f"{draws.pick(SUBJECTS)} {draws.pick(OCCASIONS)}"
    begins, ends = local(start, east[1]), local(end, west[1])
    prompt = "\n".join(
        [
            (
                f'Please put one event on the calendar, title "{title}". The {organizer.first_name} who is '
                f"{organizer.title} organises it. Two more of our people attend: whoever {organizer.name} "
                f"reports to, and {third.first_name} from {third.city}. {guests} guests sit in the room with "
                "these three; guests are not in the directory. Take the smallest room that seats everybody."
            ),
            "",
            (
                f"It starts on {spoken_day(begins)} at {clock_time(begins)} in {east[0]} "
                f"(UTC{offset(east[1])}) and is over when the clock in {west[0]} (UTC{offset(west[1])}) "
                f"shows {clock_time(ends)} on {spoken_day(ends)}. We hand times to the calendar in UTC, "
                "with a Z."
            ),
            "",
            "People:",
            *(person.line for person in people),
            "",
            "Rooms: " + ", ".join(f"{room_id} {name} ({size} seats)" for room_id, name, size in rooms) + ".",
        ]
    )
    arguments: dict[str, Json] = {
        "title": title,
        "organizer_id": organizer.id,
        "attendee_ids": [second.id, third.id],
        "start": stamp(start),
        "duration_minutes": minutes,
        "room_id": room[0],
    }
    tool = "calendar_create_event"
    return Draft(
        prompt=prompt,
        state=_state(draws, people, rooms, start),
        call=Call(tool, arguments),
        derived=(),
        computed=(stamp(start), stamp(start)[:16], str(minutes)),
        lures={
            "local-time-as-utc": Call(tool, {**arguments, "start": stamp(begins)}),
            "namesake": Call(tool, {**arguments, "organizer_id": _namesake(people, organizer).id}),
            "guests-uncounted": Call(tool, {**arguments, "room_id": cramped[0]}),
            "find-slot-instead": Call(
                "calendar_find_slot",
                {
                    "user_ids": [organizer.id, second.id, third.id],
                    "duration_minutes": minutes,
                    "date": stamp(start)[:10],
                },
            ),
        },
    )


def _cast(draws: Draws, people: tuple[_Person, ...]) -> tuple[_Person, _Person, _Person]:
    organizer = draws.pick(people)
    second = next(person for person in people if person.name == organizer.manager)
    third = draws.pick([person for person in people if person not in {organizer, second}])
    return organizer, second, third


ITEM: Final = FirstCallItem(
    id="tool-call-meeting",
    title="One event across two time zones",
    measures="Whether times, people and a room of a wordy request arrive exactly in one call.",
    offered=(
        "calendar_list",
        "calendar_find_slot",
        "calendar_list_rooms",
        "calendar_move_event",
        "calendar_create_event",
        "calendar_cancel_event",
        "directory_search",
        "messages_send",
    ),
    build=build,
    lures=("local-time-as-utc", "namesake", "guests-uncounted", "find-slot-instead"),
    tokens=(8_000, 11_000, 15_000, 20_000, 30_000),
)
