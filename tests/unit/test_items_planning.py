"""Items of category planning: a goal state within a budget of calls that rations exploring."""

from __future__ import annotations

import json
import re
from datetime import datetime
from hashlib import sha256
from typing import Any

import pytest
from pydantic import JsonValue

from esac_ag.suite.constitution import CATEGORIES, PUBLIC_SEED, Category
from esac_ag.suite.contract import AgentView, Instance, Item, Policy, RunEnd, ToolCall, Trace
from esac_ag.suite.efficiency import action_facts, goal_index, run_levels
from esac_ag.suite.items.offers import leaks
from esac_ag.suite.items.planning import ITEMS
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.scoring import MOST_TURNS, item_points
from esac_ag.suite.world import digest
from tests.builders_items import MemoryView, fraction, instances, play

each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
REFERENCE_CALLS = {"planning-release": 13, "planning-stock": 12, "planning-day": 10}
PUBLIC_PROMPTS = {
    "planning-release": "f804d24f60609d1a",
    "planning-stock": "7cf73d8a2fa9840f",
    "planning-day": "29c24e6ebecd3a92",
}


def fingerprint(instance: Instance) -> str:
    """A digest of all that differs between an item's instances."""
    parts = [instance.prompt, instance.initial_state, dict(instance.secret)]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def play_without_cap(instance: Instance, policy: Policy) -> Trace:
    """A run whose turns nobody counts, as when all calls come in one turn."""
    view = MemoryView(instance, 1000)
    text = policy(view)
    return Trace(
        calls=tuple(ToolCall.model_validate(record) for record in view.world.log),
        turns=tuple(view.turns),
        final_text=text,
        final_state=view.world.snapshot(),
        end=RunEnd.ANSWERED,
    )


def harmful_call(instance: Instance) -> tuple[str, dict[str, JsonValue]]:
    """A call that works and changes something which the request does not name."""
    state: Any = instance.initial_state
    named = {fact["key"] for fact in _facts(instance)}
    match instance.item_id:
        case "planning-release":
            ticket = next(key for key in state["tickets"] if key not in named)
            return "tickets_comment", {"ticket_id": ticket, "text": "Hello."}
        case "planning-stock":
            sku = next(key for key, item in state["items"].items() if any(item["levels"].values()))
            return "inventory_adjust", {"sku": sku, "delta": 1, "reason": "none"}
        case _:
            event = next(key for key in state["events"] if key not in named)
            return "calendar_cancel_event", {"event_id": event}


def _facts(instance: Instance) -> list[dict[str, Any]]:
    facts: Any = instance.secret["facts"]
    found: list[dict[str, Any]] = facts
    return found


def test_there_are_as_many_items_as_the_constitution_says() -> None:
    """Three items share the category's ten points equally."""
    assert len(ITEMS) == CATEGORIES[Category.PLANNING].items
    assert set(item_points(ITEMS).values()) == {10 / 3}
    assert all(10 <= item.turns <= MOST_TURNS for item in ITEMS)


@each_item
def test_a_thousand_seeds_give_instances_that_do_not_collide_with_the_public_one(item: Item) -> None:
    """At least 200 of 1,000 are distinct, and none is the public instance."""
    public = fingerprint(item.generate(instance_seeds(PUBLIC_SEED, item.id)))
    found = {fingerprint(instance) for instance in instances(item, 1000)}
    assert len(found) >= 200
    assert public not in found


@each_item
def test_a_seed_gives_the_same_bytes_twice(item: Item) -> None:
    """Generating is a pure function of the seed."""
    once = [fingerprint(instance) for instance in instances(item, 5)]
    assert once == [fingerprint(instance) for instance in instances(item, 5)]


@each_item
def test_the_public_prompt_is_the_same_on_every_platform(item: Item) -> None:
    """Its digest is pinned; only a new major version of the suite may change it."""
    prompt = item.generate(instance_seeds(PUBLIC_SEED, item.id)).prompt
    assert sha256(prompt.encode()).hexdigest()[:16] == PUBLIC_PROMPTS[item.id]


@each_item
def test_the_ids_of_the_solution_have_to_be_found(item: Item) -> None:
    """Neither the prompt nor the tools hold them, and no fact of the goal holds at the start."""
    for instance in instances(item, 100):
        hidden: Any = instance.secret["hidden"]
        texts = [instance.prompt, *(tool.model_dump_json() for tool in instance.tools)]
        assert hidden
        assert not leaks(hidden, *texts)
        idle = play(item, instance, lambda _: "Nothing to do.")
        assert {result.fraction for result in item.check(instance, idle)} == {0.0}


@each_item
def test_the_reference_earns_everything_and_level_six(item: Item) -> None:
    """It finds its way by the replies, within the budget, without a call too many."""
    for instance in instances(item, 60):
        trace = play(item, instance, item.reference(instance))
        assert fraction(item, instance, trace) == 1.0
        goals = {digest(trace.final_state)} if item.goal_reached(instance, trace.final_state) else set()
        facts = action_facts(trace.calls, goal_index(trace.calls, goals.__contains__))
        assert goals
        assert (facts.calls, facts.rejected, facts.redundant, facts.after_goal) == (
            REFERENCE_CALLS[item.id],
            0,
            0,
            0,
        )
        assert item.efficiency is not None
        levels = run_levels(item.efficiency, facts, 25_000)
        assert (levels.action_level, levels.token_level) == (6, 6)


@each_item
def test_every_shortcut_earns_no_more_than_was_declared(item: Item) -> None:
    """On no seed does a wrong policy earn more than its author said, which is below 0.6."""
    for shortcut in item.shortcuts():
        assert shortcut.most < 0.6
        for instance in instances(item, 50):
            trace = play(item, instance, shortcut.policy(instance))
            assert fraction(item, instance, trace) <= shortcut.most, shortcut.name


@each_item
def test_shortcuts_hold_on_the_public_instance_too(item: Item) -> None:
    """The memorised example is another one when the public instance itself is played."""
    instance = item.generate(instance_seeds(PUBLIC_SEED, item.id))
    for shortcut in item.shortcuts():
        trace = play(item, instance, shortcut.policy(instance))
        assert fraction(item, instance, trace) <= shortcut.most, shortcut.name


@each_item
def test_calls_beyond_the_budget_do_not_count(item: Item) -> None:
    """A run that reads first and reaches the goal too late earns nothing, however the turns were counted."""
    instance = next(instances(item, 1))
    read_everything = next(found for found in item.shortcuts() if found.name == "read-everything")
    trace = play_without_cap(instance, read_everything.policy(instance))
    assert item.goal_reached(instance, trace.final_state)
    assert len(trace.calls) > item.turns
    assert fraction(item, instance, trace) == 0.0


@each_item
def test_collateral_damage_costs_a_quarter_of_everything(item: Item) -> None:
    """The goal with one thing changed beside it is not the goal."""
    instance = next(instances(item, 1))
    tool, arguments = harmful_call(instance)

    def policy(view: AgentView) -> str:
        view.call(tool, **arguments)
        return item.reference(instance)(view)

    trace = play(item, instance, policy)
    assert trace.calls[0].ok
    assert not item.goal_reached(instance, trace.final_state)
    assert fraction(item, instance, trace) <= 0.75
    assert "also changed" in item.check(instance, trace)[0].why


@each_item
def test_half_of_the_way_earns_part_of_the_points(item: Item) -> None:
    """A reference that stops before its last call keeps the facts that it reached."""
    instance = next(instances(item, 1))
    whole = play(item, instance, item.reference(instance))
    calls = [(call.tool, call.arguments) for call in whole.calls[:-1]]

    def policy(view: AgentView) -> str:
        for tool, arguments in calls:
            assert isinstance(arguments, dict)
            view.call(tool, **arguments)
        return "Out of time."

    assert 0.3 < fraction(item, instance, play(item, instance, policy)) < 0.6


def test_the_time_of_day_in_the_prompt_is_the_one_of_the_goal() -> None:
    """The one time that the request names, read again with its offset, is where that event has to go."""
    item = next(item for item in ITEMS if item.id == "planning-day")
    for instance in instances(item, 100):
        known: Any = instance.secret["known"]
        found = re.search(r"\(UTC([+-]\d\d:\d\d)\).* goes to (\d\d:\d\d) ", instance.prompt)
        assert found
        asked = datetime.fromisoformat(f"{known['date']}T{found[2]}:00{found[1]}")
        fact = next(fact for fact in _facts(instance) if fact["id"] == "moved-second")
        assert datetime.fromisoformat(fact["values"]["start"]) == asked
        assert known["second_misread"] != known["second_to"]
