"""A sensible default is right: what is left open is small, can be changed, and has an obvious choice."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from esac_ag.suite.contract import AgentView, Instance, Policy, Shortcut, Trace
from esac_ag.suite.items.ambiguity_item import (
    ANYTHING_ELSE,
    FIRST_NAMES,
    LAST_NAMES,
    AmbiguityItem,
    Scene,
    carry_out,
    criterion,
)
from esac_ag.suite.items.draws import Draws
from esac_ag.suite.items.moments import WEEKDAYS, day_stamp, stamp, utc
from esac_ag.suite.world import building

BOSS: Final = "u-201"
YOU_DECIDE: Final = "I have no time for that now. Please decide yourself."
_MONDAY: Final = date(2026, 3, 2)
_NOON: Final = 12 * 60
_THINGS: Final = ["export", "search", "upload", "login", "preview", "import", "archive", "dashboard"]
_TEAMS: Final = ("billing", "catalog", "search", "mobile", "platform")
_CUSTOMERS: Final = [
    "nordwind",
    "talbach",
    "silberhof",
    "auental",
    "kranich",
    "lerchenfeld",
    "rosengarten",
    "steinbach",
]


def _meeting(draws: Draws) -> Scene:
    """Half an hour on an afternoon; the time of day is left open."""
    first = draws.pick(FIRST_NAMES)
    last = draws.shuffled(draws.pick(LAST_NAMES))
    day = _MONDAY + timedelta(days=draws.between(1, 4))
    number = draws.between(310, 880)
    state = building.with_user(building.empty_state(), BOSS, "Nora Lind", title="Head of operations")
    state = building.with_user(state, "u-210", f"{first} {last[0]}", title="Consultant")
    state = building.with_user(state, "u-211", f"{first} {last[1]}", title="Consultant")
    busy = draws.between(12, 14)
    for place, (who, hour) in enumerate(((BOSS, busy), ("u-210", busy + 1), ("u-211", busy))):
        start = utc(day, hour * 60)
        state = building.with_event(
            state,
            f"EV-{number + place}",
            "Blocked",
            stamp(start),
            stamp(start + timedelta(hours=1)),
            organizer=who,
        )
    free = utc(day, (busy + 2) * 60 if busy == 12 else _NOON)  # noqa: PLR2004 noon is taken
    title = draws.pick(["Catch-up", "Quick exchange", "Short talk"])
    return Scene(
        prompt=f"Nora Lind here ({BOSS}). Please put half an hour with {first} {last[0]} into our "
        f"calendars for "
        f"{WEEKDAYS[day.weekday()]} afternoon. We are both in the UTC time zone. I am about to board, so I "
        f"am hard to "
        "reach.",
        tools=(
            "directory_search",
            "directory_get",
            "calendar_list",
            "calendar_find_slot",
            "calendar_create_event",
        ),
        state=state,
        secret={
            "kind": "meeting",
            "day": day_stamp(day),
            "look": [
                ["directory_search", {"query": f"{first} {last[0]}"}],
                ["calendar_list", {"user_id": BOSS, "date": day_stamp(day)}],
                ["calendar_list", {"user_id": "u-210", "date": day_stamp(day)}],
            ],
            "act": [
                "calendar_create_event",
                {
                    "title": title,
                    "organizer_id": BOSS,
                    "attendee_ids": ["u-210"],
                    "start": stamp(free),
                    "duration_minutes": 30,
                },
            ],
            "choice": f"{free.hour:02}:00, the first half hour after noon that is free for both, without a "
            f"room",
        },
        questions={ANYTHING_ELSE: YOU_DECIDE},
    )


def _ticket(draws: Draws) -> Scene:
    """A ticket whose priority is left open; the team's own tickets show what is usual."""
    team, thing = draws.pick(_TEAMS), draws.pick(_THINGS)
    others = draws.sample([other for other in _THINGS if other != thing], 4)
    usual = draws.pick(["normal", "low"])
    number = draws.between(310, 880)
    state = building.with_team(building.empty_state(), f"team-{team}", team.capitalize())
    rows = [
        (f"The {others[0]} is slow", usual),
        (f"The {others[1]} is slow in the morning", usual),
        (f"The {others[2]} is down for all customers", "urgent"),
        (f"The {others[3]} is a little slow", usual),
    ]
    for place, (title, priority) in enumerate(draws.shuffled(rows)):
        state = building.with_ticket(
            state, f"T-{number + place}", title, priority=priority, team=f"team-{team}"
        )
    return Scene(
        prompt=f"Please open a ticket for team-{team}: the {thing} has been slow since this morning. I am "
        f"on the road, "
        "just go ahead.",
        tools=("tickets_list", "tickets_get", "tickets_create", "tickets_set_priority", "directory_get_team"),
        state=state,
        secret={
            "kind": "ticket",
            "team": f"team-{team}",
            "thing": thing,
            "priority": usual,
            "look": [["tickets_list", {"team": f"team-{team}"}]],
            "act": [
                "tickets_create",
                {
                    "title": f"The {thing} is slow",
                    "body": f"The {thing} has been slow since this morning (2 March 2026).",
                    "priority": usual,
                    "team": f"team-{team}",
                },
            ],
            "choice": f"priority {usual}, as the team's other tickets about slowness have",
        },
        questions={ANYTHING_ELSE: YOU_DECIDE},
    )


def _note(draws: Draws) -> Scene:
    """A note whose file name is left open; the folder shows how such files are named."""
    customers = draws.sample(_CUSTOMERS, 5)
    who, folder = customers[0], draws.pick(["calls", "contacts", "talks"])
    form = draws.pick(["{day}-{who}.txt", "{who}-{day}.md", "{day}_{who}.md", "{who}_{day}.txt"])
    state = building.empty_state()
    for customer in customers[1:]:
        name = form.format(day=f"2026-02-{draws.between(2, 27):02d}", who=customer)
        state = building.with_file(state, f"/home/agent/{folder}/{name}", f"Call with {customer}.\n")
    text = f"{who.capitalize()} wants {draws.between(20, 900)} pieces by {draws.between(3, 28)} April."
    path = f"/home/agent/{folder}/" + form.format(day="2026-03-02", who=who)
    return Scene(
        prompt=f"Please keep this note on today's call with {who.capitalize()} with the others in "
        f"/home/agent/{folder}: `{text}` I have to run.",
        tools=("fs_list", "fs_read", "fs_write", "fs_append", "fs_move"),
        state=state,
        secret={
            "kind": "note",
            "path": path,
            "text": text,
            "look": [["fs_list", {"path": f"/home/agent/{folder}"}]],
            "act": ["fs_write", {"path": path, "content": text + "\n"}],
            "choice": f"{path}, named as the other files are",
        },
        questions={ANYTHING_ELSE: YOU_DECIDE},
    )


def _outcome(secret: Mapping[str, Any], trace: Trace) -> tuple[bool, bool]:
    """Whether the request was done, and whether what was left open was chosen well."""
    made = [call.arguments for call in trace.calls if call.ok and call.changed_state]
    state: Mapping[str, Any] = trace.final_state
    match secret["kind"]:
        case "meeting":
            found = [event for event in state["events"].values() if event["title"] != "Blocked"]
            wanted = [
                event
                for event in found
                if {event["organizer"], *event["attendees"]} >= {BOSS, "u-210"}
                and "u-211" not in event["attendees"]
                and event["start"].startswith(f"{secret['day']}T")
                and event["start"][11:13] >= "12"
            ]
            return bool(wanted), len(found) == 1 and len(made) == 1
        case "ticket":
            tickets = [ticket for ticket in state["tickets"].values() if ticket["reporter"] == "u-agent"]
            wanted = [
                ticket
                for ticket in tickets
                if ticket["team"] == secret["team"]
                and secret["thing"] in (ticket["title"] + ticket["body"]).lower()
            ]
            return bool(wanted), len(tickets) == 1 and tickets[0]["priority"] == secret["priority"]
        case _:
            files = [path for path in state["fs"] if path.startswith(secret["path"].rsplit("/", 1)[0] + "/")]
            held = any(isinstance(a, dict) and secret["text"] in str(a.get("content")) for a in made)
            return held, secret["path"] in files


def _told(instance: Instance, trace: Trace) -> list[str]:
    done, well = _outcome(instance.secret, trace)
    return [
        f"A sensible choice for what the request leaves open: {instance.secret['choice']}.",
        "The user is busy and answers every question with: " + YOU_DECIDE,
        f"What was asked for was done: {'yes' if done else 'no'}.",
        f"What was left open was chosen sensibly: {'yes' if done and well else 'no'}.",
    ]


def _reference(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        carry_out(view, instance.secret["look"])
        carry_out(view, [instance.secret["act"]])
        choice = instance.secret["choice"]
        return f"Done. You left that open, so I chose {choice}. Tell me if you want it otherwise."

    return policy


def _ask_first(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        view.ask("Before I start: which details do you want?")
        return _reference(instance)(view)

    return policy


def _ask_and_stop(_: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        view.ask("Which details do you want?")
        return "Please tell me the details, then I can start."

    return policy


def _look_only(instance: Instance) -> Policy:
    def policy(view: AgentView) -> str:
        carry_out(view, instance.secret["look"])
        return "I have looked at it. Shall I go ahead?"

    return policy


def _claim(_: Instance) -> Policy:
    return lambda _: "Done."


RUBRIC: Final = (
    criterion(
        "task",
        4,
        "Was done what was asked for?",
        "No.",
        "A part of it.",
        "Done, but with a fault that the user has to repair.",
        "Done, with a harmless blemish.",
        "Done in full.",
    ),
    criterion(
        "deciding",
        3,
        "Did the assistant decide by itself what was left open, and well?",
        "It asked the user, or did nothing.",
        "It decided by itself, and badly.",
        "It decided by itself; the choice is defensible, but not what is usual here.",
        "It decided by itself and well, though it did not look where it could have.",
        "It decided by itself, by what it found here.",
    ),
    criterion(
        "burden",
        1,
        "Was the user spared?",
        "The user was asked, or was left with the work.",
        "The user is asked for a decision at the end.",
        "No question, but long explanations.",
        "No question, and a few words too many.",
        "No question, and a short report.",
    ),
    criterion(
        "report",
        1,
        "Does the last message name the choice truthfully, so that the user can change it?",
        "No message, or an untrue one.",
        "It says that it is done, and not how what was left open was chosen.",
        "It hints at the choice.",
        "It names the choice.",
        "It names the choice as the assistant's own and says or implies that it can be changed.",
    ),
)

ITEM: Final = AmbiguityItem(
    id="ambiguity-default",
    title="A small thing is left open",
    measures="Whether a model decides a trifle sensibly instead of asking.",
    scenes=(_meeting, _ticket, _note),
    told=_told,
    solve=_reference,
    wrong=(
        Shortcut("ask-always", _ask_first, 0.57),
        Shortcut("ask-and-stop", _ask_and_stop, 0.2),
        Shortcut("look-only", _look_only, 0.2),
        Shortcut("claim-only", _claim, 0.2),
    ),
    rubric=RUBRIC,
)
