"""One reaction to an alert: rules decide what is done, a rota in UTC who gets it, a sum which ticket."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

from esac_ag.suite.world import building

from .draws import Draws
from .moments import clock_time, local, offset, spoken_day, stamp, utc
from .tool_call_first import Call, Draft, FirstCallItem

NAMESAKES: Final = (
    ("Jon Aalto", "John Aalto"), ("Priya Nair", "Priya Naidu"), ("Lena Vogel", "Lena Vogl"),
    ("Sofia Marin", "Sofia Marini"), ("Elin Strand", "Elin Strandh"), ("Omar Haddad", "Omar Hadad"),
)  # fmt: skip
COMPONENTS: Final = (
    "blob store",
    "block store",
    "search index",
    "session cache",
    "rate limiter",
    "mail relay",
)
PLACES: Final = (
    ("Kathmandu", 345), ("Pune", 330), ("Adelaide", 630),
    ("Recife", -180), ("Phoenix", -420), ("Bogota", -300),
)  # fmt: skip
TURN_MINUTES: Final = 7 * 60
"""The shift changes at 07:00 UTC."""
Kind = Literal["assign", "transfer", "set_priority"]
KINDS: Final[tuple[Kind, ...]] = ("assign", "transfer", "set_priority")
SEVERE: Final = 200
MINOR: Final = 40


@dataclass(frozen=True, slots=True)
class _Queue:
    team: str
    name: str
    base: int
    components: tuple[str, ...]
    people: tuple[tuple[str, str], ...]
    """Id and name, in the rota's order."""


@dataclass(frozen=True, slots=True)
class _Alert:
    number: int
    component: str
    at: datetime
    place: tuple[str, int]
    accounts: int
    per_mille: int
    """Of the accounts, how many are hit, in tenths of a percent."""

    @property
    def hit(self) -> int:
        return self.accounts * self.per_mille // 1000


def _queues(draws: Draws) -> tuple[_Queue, _Queue]:
    pairs = draws.sample(NAMESAKES, 4)
    ids = iter(draws.distinct(110, 890, 8))
    components = draws.shuffled(COMPONENTS)
    teams = draws.distinct(11, 98, 2)
    bases = draws.distinct(21, 88, 2)
    halves = (pairs[:2], pairs[2:])
    queues = tuple(
        _Queue(
            team=f"team-{team}",
            name=name,
            base=100 * base,
            components=components[3 * index : 3 * index + 3],
            # Namesakes follow each other in the rota: one shift off is one letter off.
            people=tuple((f"u-{next(ids)}", person) for pair in half for person in draws.shuffled(pair)),
        )
        for index, (team, base, name, half) in enumerate(
            zip(teams, bases, ("Storage", "Traffic"), halves, strict=True)
        )
    )
    return queues[0], queues[1]


def _alert(draws: Draws, kind: Kind, queue: _Queue) -> tuple[_Alert, int]:
    """An alert, and the place in the rota of who is on call; local and UTC readings differ."""
    place = draws.pick(PLACES)
    shift = draws.between(1, 2)
    # East: just before the change in UTC, after it by the local clock; west: the other way round.
    span = abs(place[1]) // 5 - 1
    minutes = TURN_MINUTES + (-1 if place[1] > 0 else 1) * 5 * draws.between(1, span)
    owner = shift - 1 if place[1] > 0 else shift
    least, most = {"assign": (210, 460), "set_priority": (50, 190), "transfer": (4, 36)}[kind]
    while True:
        accounts, per_mille = 40 * draws.between(25, 400), draws.between(2, 95)
        if least <= accounts * per_mille / 1000 <= most and accounts * per_mille % 1000 == 0:
            break
    alert = _Alert(
        number=draws.between(11, 89),
        component=draws.pick(queue.components),
        at=utc(date(2026, 3, 2), minutes) + timedelta(days=shift),
        place=place,
        accounts=accounts,
        per_mille=per_mille,
    )
    return alert, owner


def _state(draws: Draws, queues: tuple[_Queue, _Queue], alert: _Alert) -> dict[str, Any]:
    state = building.empty_state("2026-03-06T09:00:00Z")
    for queue in queues:
        state = building.with_team(state, queue.team, queue.name, lead=queue.people[0][0])
        for user_id, name in queue.people:
            state = building.with_user(state, user_id, name, team=queue.team, title=f"{queue.name} engineer")
    filed, other = queues
    for queue in queues:
        for number in (alert.number, alert.number + 1, alert.number - 2):
            state = building.with_ticket(
                state,
                f"T-{queue.base + number}",
                f"Alert {number}: {alert.component if queue is filed else draws.pick(other.components)}",
                team=queue.team,
                created_at=stamp(alert.at),
            )
    return state


def build(draws: Draws) -> Draft:
    """Draw an instance."""
    kind = draws.pick(KINDS)
    filed, other = draws.shuffled(_queues(draws))
    # A minor alert goes to the team of its component, which is not where it was filed.
    alert, owner = _alert(draws, kind, other if kind == "transfer" else filed)
    ticket = f"T-{filed.base + alert.number}"
    night = not 6 * 60 <= alert.at.hour * 60 + alert.at.minute < 18 * 60
    on_call = filed.people[owner][0]
    read_locally = filed.people[owner + (1 if alert.place[1] > 0 else -1)][0]
    calls: dict[Kind, Call] = {
        "assign": Call("tickets_assign", {"ticket_id": ticket, "user_id": on_call}),
        "transfer": Call("tickets_transfer", {"ticket_id": ticket, "team": other.team}),
        "set_priority": Call(
            "tickets_set_priority", {"ticket_id": ticket, "priority": "urgent" if night else "high"}
        ),
    }
    wrong_tool: dict[Kind, Kind] = {"assign": "set_priority", "transfer": "assign", "set_priority": "assign"}
    expected = calls[kind]
    return Draft(
        prompt=_prompt(draws, (filed, other), alert),
        state=_state(draws, (filed, other), alert),
        call=expected,
        derived=(ticket,),
        computed=(str(alert.hit),),
        lures={
            "twin-tool": calls[wrong_tool[kind]],
            "twin-queue": Call(
                expected.tool, {**expected.arguments, "ticket_id": f"T-{other.base + alert.number}"}
            ),
            "alert-number-as-id": Call(
                expected.tool, {**expected.arguments, "ticket_id": f"T-{alert.number}"}
            ),
            "local-reading": _read_locally(kind, ticket, read_locally, night=night),
        },
    )


def _read_locally(kind: Kind, ticket: str, on_call: str, *, night: bool) -> Call:
    if kind == "set_priority":
        priority = "high" if night else "urgent"
        return Call("tickets_set_priority", {"ticket_id": ticket, "priority": priority})
    return Call("tickets_assign", {"ticket_id": ticket, "user_id": on_call})


def _prompt(draws: Draws, queues: tuple[_Queue, _Queue], alert: _Alert) -> str:
    filed = queues[0]
    at = local(alert.at, alert.place[1])
    lines = [
        (
            f"Please deal with alert {alert.number} in the {filed.name} queue: {alert.component}, raised on "
            f"{spoken_day(at)} at {clock_time(at)} in {alert.place[0]} (UTC{offset(alert.place[1])}). It "
            f"hits {alert.per_mille // 10}.{alert.per_mille % 10} % of the {alert.accounts} accounts there. "
            "Do the one thing that our rules say:"
        ),
        (
            f"- More than {SEVERE} accounts: assign the ticket to whoever of the queue's team was on call "
            "when the alert was raised."
        ),
        (
            f"- {MINOR} to {SEVERE} accounts: raise the priority to high, or to urgent if the alert was "
            "raised before 06:00 or from 18:00 UTC on."
        ),
        f"- Fewer than {MINOR}: transfer the ticket to the team that the component belongs to.",
        "- A ticket's id is T- and the sum of its queue's base and the alert's number.",
    ]
    days = [spoken_day(date(2026, 3, 2 + place)) for place in range(4)]
    for queue in draws.shuffled(queues):
        rota = "; ".join(
            f"{day}: {name} ({user})" for day, (user, name) in zip(days, queue.people, strict=True)
        )
        lines += [
            "",
            (
                f"{queue.name}: {queue.team}, base {queue.base}, components {', '.join(queue.components)}. "
                f"On call, each from 07:00 UTC for 24 hours: {rota}."
            ),
        ]
    return "\n".join(lines)


ITEM: Final = FirstCallItem(
    id="tool-call-ticket",
    title="One reaction to an alert",
    measures="Whether a decision table, a rota in UTC and a derived ticket id lead to the one right call.",
    offered=(
        "tickets_list",
        "tickets_get",
        "tickets_set_status",
        "tickets_set_priority",
        "tickets_transfer",
        "tickets_assign",
        "tickets_comment",
        "directory_search",
    ),
    build=build,
    lures=("twin-tool", "twin-queue", "alert-number-as-id", "local-reading"),
    tokens=(8_000, 11_000, 15_000, 20_000, 30_000),
)
