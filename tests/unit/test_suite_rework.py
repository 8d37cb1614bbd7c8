"""Rework: what takes away one's own earlier change, and what only comes after it."""

from __future__ import annotations

from typing import Any

import pytest

from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import AgentView, Item, ToolCall
from esac_ag.suite.efficiency import action_facts, run_levels
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.own_programs import grade_own, run_own
from esac_ag.suite.play import Programs, measured, play
from esac_ag.suite.pools import instance_of
from esac_ag.suite.rework import effects
from esac_ag.suite.scoring import item_fraction
from esac_ag.suite.world import World, replay
from esac_ag.suite.world import building as build
from tests.builders_items import instances

PROGRAMS = Programs(run_own, grade_own)
Call = tuple[str, dict[str, Any]]


def a_state() -> dict[str, Any]:
    """A small office."""
    state = build.with_user(build.empty_state(), "u-1", "Ann Aalto")
    state = build.with_user(state, "u-2", "Bo Brandt")
    state = build.with_ticket(state, "T-1", "Printer on fire", priority="high")
    state = build.with_ticket(state, "T-2", "Printer on ice", priority="high")
    state = build.with_warehouse(state, "w-1", "North")
    state = build.with_warehouse(state, "w-2", "South")
    state = build.with_item(state, "S-1", "Oak shelf", home="w-1", levels={"w-1": 50, "w-2": 50})
    state = build.with_account(state, "acc-1", "Shop", 90_000)
    for number in (1, 2):
        state = build.with_invoice(state, f"INV-{number}", "Ann", 500, account="acc-1", status="settled")
    return build.with_file(state, "/notes.txt", "one\n")


def rework(*calls: Call) -> int:
    """How often calls rework earlier ones."""
    state = a_state()
    world = World(state)
    for tool, arguments in calls:
        assert world.call(tool, arguments).ok, (tool, arguments)
    states = [state, *replay(state, world.log)]
    return action_facts(
        [ToolCall.model_validate(record) for record in world.log], None, effects(states)
    ).rework


def status(to: str, note: str | None = None) -> Call:
    """A ticket's next status."""
    return "tickets_set_status", {"ticket_id": "T-1", "status": to} | ({"note": note} if note else {})


MEETING = {
    "title": "Review",
    "organizer_id": "u-1",
    "attendee_ids": ["u-2"],
    "start": "2026-03-03T10:00:00Z",
    "duration_minutes": 30,
}
ASSIGN = ("tickets_assign", {"ticket_id": "T-1", "user_id": "u-1"})
PRIORITY = ("tickets_set_priority", {"ticket_id": "T-1", "priority": "urgent"})
ADJUST = {"sku": "S-1", "delta": 5, "reason": "found"}
SHIFT = {"sku": "S-1", "quantity": 5, "from": "w-1", "to": "w-2"}

OVERWRITING: dict[str, tuple[Call, ...]] = {
    "a second value": (PRIORITY, ("tickets_set_priority", {"ticket_id": "T-1", "priority": "low"})),
    "another person": (ASSIGN, ("tickets_assign", {"ticket_id": "T-1", "user_id": "u-2"})),
    "a file twice": (
        ("fs_write", {"path": "/a.txt", "content": "one"}),
        ("fs_write", {"path": "/a.txt", "content": "two"}),
    ),
    "a file that was added to": (
        ("fs_append", {"path": "/notes.txt", "content": "two\n"}),
        ("fs_write", {"path": "/notes.txt", "content": "three\n"}),
    ),
    "a meeting moved again": (
        ("calendar_create_event", MEETING),
        ("calendar_move_event", {"event_id": "EV-1001", "start": "2026-03-03T11:00:00Z"}),
    ),
    "a meeting called off": (
        ("calendar_create_event", MEETING),
        ("calendar_cancel_event", {"event_id": "EV-1001"}),
    ),
    "a status taken back": (ASSIGN, status("in_progress"), status("open")),
    "a reservation given back": (
        ("inventory_reserve", {"sku": "S-1", "quantity": 3, "order_id": "o-1"}),
        ("inventory_release", {"reservation_id": "RS-1001"}),
    ),
    "an adjustment taken back": (
        ("inventory_adjust", ADJUST),
        ("tickets_comment", {"ticket_id": "T-2", "text": "counted"}),
        ("inventory_adjust", {**ADJUST, "delta": -5}),
    ),
    "a transfer taken back": (
        ("inventory_transfer", SHIFT),
        ("inventory_transfer", {**SHIFT, "from": "w-2", "to": "w-1"}),
    ),
}
GOING_ON: dict[str, tuple[Call, ...]] = {
    "a first change": (PRIORITY,),
    "other tickets": (PRIORITY, ("tickets_set_priority", {"ticket_id": "T-2", "priority": "urgent"})),
    "other fields": (ASSIGN, PRIORITY),
    "a status that moves on": (ASSIGN, status("in_progress"), status("resolved", "done"), status("closed")),
    "comment upon comment": (
        ("tickets_comment", {"ticket_id": "T-1", "text": "one"}),
        ("tickets_comment", {"ticket_id": "T-1", "text": "two"}),
    ),
    "a file continued": (
        ("fs_write", {"path": "/a.txt", "content": "one\n"}),
        ("fs_append", {"path": "/a.txt", "content": "two\n"}),
    ),
    "totals that grow": (
        ("inventory_adjust", ADJUST),
        ("inventory_adjust", {**ADJUST, "delta": -4}),
        ("inventory_transfer", SHIFT),
    ),
    "refunds from one account": (
        ("payments_refund", {"invoice_id": "INV-1", "amount_cents": 200, "reason": "a"}),
        ("payments_refund", {"invoice_id": "INV-1", "amount_cents": 300, "reason": "b"}),
        ("payments_refund", {"invoice_id": "INV-2", "amount_cents": 200, "reason": "c"}),
    ),
}


@pytest.mark.parametrize("calls", OVERWRITING.values(), ids=OVERWRITING)
def test_taking_away_ones_own_change_is_rework(calls: tuple[Call, ...]) -> None:
    """Overwritten, deleted, called off or exactly taken back: it counts once."""
    assert rework(*calls) == 1
    assert rework(*calls[:-1]) == 0


@pytest.mark.parametrize("calls", GOING_ON.values(), ids=GOING_ON)
def test_going_on_is_no_rework(calls: tuple[Call, ...]) -> None:
    """What others had written may be replaced, and what adds up takes nothing away."""
    assert rework(*calls) == 0


class Wavering:
    """A view that assigns the first ticket to somebody else of the team before it is assigned as asked."""

    def __init__(self, view: AgentView, users: dict[str, Any]) -> None:
        self._view, self._users = view, users
        self._wavered = False
        self.prompt, self.tools = view.prompt, view.tools

    def call(self, tool: str, /, **arguments: Any) -> str:  # noqa: ANN401  (any JSON)
        """Call a tool."""
        if tool == "tickets_assign" and not self._wavered:
            self._wavered = True
            wanted = self._users[arguments["user_id"]]
            other = next(
                user_id
                for user_id, user in self._users.items()
                if user["team"] == wanted["team"] and user["status"] == "active" and user is not wanted
            )
            self._view.call(tool, **{**arguments, "user_id": other})
        return self._view.call(tool, **arguments)

    def ask(self, question: str) -> str:
        """Ask the user."""
        return self._view.ask(question)


def test_a_goal_reached_by_way_of_a_wrong_value_costs_more_than_a_call() -> None:
    """The goal is reached all the same; the overwritten assignment counts beside the call that made it."""
    item = item_named("planning-release")
    instance = instance_of(item, PUBLIC_SEED)
    state: Any = instance.initial_state
    reference = item.reference(instance)
    trace = play(item, instance, lambda view: reference(Wavering(view, state["users"])))
    facts = measured(item, instance, trace)
    straight = measured(item, instance, play(item, instance, reference))
    assert item_fraction(item.check(instance, trace)) == 1.0
    assert (facts.rework, facts.calls) == (1, straight.calls + 1)
    assert item.efficiency is not None
    assert run_levels(item.efficiency, straight, None).action_level == 6
    assert run_levels(item.efficiency, facts, None).action_level == 4


@pytest.mark.parametrize("item_id", ["code-log-report", "recovery-replay"])
def test_a_second_version_of_a_program_is_rework_and_a_level_less(item_id: str) -> None:
    """The first version was overwritten; the script that was there from the start is not one's own."""
    item = item_named(item_id)
    assert isinstance(item, ProgramItem)
    instance = instance_of(item, PUBLIC_SEED)

    def second_try(view: AgentView) -> str:
        for path in item.reads:
            view.call("read_file", path=path)
        for text in ("print(1)\n", *item.solution(instance).values()):
            view.call("write_file", path=item.program, content=text)
            view.call("run_python", path=item.program, stdin=item.trial(instance))
        view.call("submit", summary="done")
        return "Done."

    levels = []
    for policy, expected in ((item.reference(instance), 0), (second_try, 1)):
        facts = measured(item, instance, play(item, instance, policy, PROGRAMS))
        assert facts.rework == expected
        assert item.efficiency is not None
        levels.append(run_levels(item.efficiency, facts, None).action_level)
    assert levels == [6, 5]


@pytest.mark.parametrize("item", bank(), ids=lambda item: item.id)
def test_a_reference_overwrites_only_what_its_plan_has_to(item: Item) -> None:
    """No reference reworks anything, but for the one meeting that has to be parked."""
    programs = Programs(run_own, lambda _instance, _files: ())
    for instance in instances(item, 5):
        facts = measured(item, instance, play(item, instance, item.reference(instance), programs))
        assert facts.rework == int(item.id == "planning-day")
