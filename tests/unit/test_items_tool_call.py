"""Items of category tool-call: one right first call, worked out from the request alone."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from pydantic import JsonValue

from esac_ag.suite.constitution import CATEGORIES, PUBLIC_SEED, Category
from esac_ag.suite.contract import AgentView, Instance, Item, Trace
from esac_ag.suite.efficiency import action_facts, goal_index, run_levels
from esac_ag.suite.items.offers import leaks, state_text
from esac_ag.suite.items.tool_call import ITEMS
from esac_ag.suite.items.tool_call_first import secret_call
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.scoring import MOST_TURNS, check_bank, item_points
from esac_ag.suite.world import digest
from tests.builders_items import fraction, instances, play

each_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
MEETING = next(item for item in ITEMS if item.id == "tool-call-meeting")
PUBLIC_PROMPTS = {
    "tool-call-meeting": "2179a7d5adf3ce09",
    "tool-call-refund": "3d639900cc81e511",
    "tool-call-stock": "ade4e2f6fed39058",
    "tool-call-ticket": "8bde9475e1ecc9ad",
    "tool-call-rotation": "d39fc8e95748619e",
}


def fingerprint(instance: Instance) -> str:
    """A digest of all that differs between an item's instances."""
    parts = [instance.prompt, instance.initial_state, dict(instance.secret)]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def shown(instance: Instance) -> str:
    """All that a model is shown before its first call."""
    return "\n".join([instance.prompt, *(tool.model_dump_json() for tool in instance.tools)])


def first_call(item: Item, instance: Instance, tool: str, arguments: dict[str, JsonValue]) -> Trace:
    """A run of one call."""

    def policy(view: AgentView) -> str:
        view.call(tool, **arguments)
        return "Done."

    return play(item, instance, policy)


def test_there_are_as_many_items_as_the_constitution_says() -> None:
    """Five items share the category's ten points equally."""
    assert len(ITEMS) == CATEGORIES[Category.TOOL_CALL].items
    assert set(item_points(ITEMS).values()) == {2.0}
    assert all(item.turns <= MOST_TURNS for item in ITEMS)
    with pytest.raises(Exception, match="drifted"):
        check_bank(ITEMS[:4])


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
def test_nothing_that_has_to_be_worked_out_is_shown(item: Item) -> None:
    """Derived values are not in the prompt or the tools, computed ones not in the state either."""
    for instance in instances(item, 100):
        secret: Any = instance.secret
        worked_out = [*secret["derived"], *secret["computed"]]
        assert not leaks(worked_out, shown(instance))
        assert not leaks(secret["computed"], state_text(instance.initial_state))
        arguments = {str(value).lstrip("-") for value in secret_call(instance).arguments.values()}
        assert arguments & set(worked_out), "no argument has to be worked out"


@each_item
def test_the_reference_earns_everything_and_level_six(item: Item) -> None:
    """One call is the whole solution, and it reaches the goal."""
    for instance in instances(item, 60):
        trace = play(item, instance, item.reference(instance))
        assert fraction(item, instance, trace) == 1.0
        goals = {digest(trace.final_state)} if item.goal_reached(instance, trace.final_state) else set()
        facts = action_facts(trace.calls, goal_index(trace.calls, goals.__contains__))
        assert goals
        assert item.efficiency is not None
        levels = run_levels(item.efficiency, facts, 4000)
        assert (facts.calls, levels.action_level, levels.token_level) == (1, 6, 6)


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
    earned = {
        shortcut.name: fraction(item, instance, play(item, instance, shortcut.policy(instance)))
        for shortcut in item.shortcuts()
    }
    assert earned == dict.fromkeys(earned, 0.0)
    assert {"null", "peeking", "public-example"} <= earned.keys()


@each_item
def test_the_right_call_after_a_wrong_one_earns_nothing(item: Item) -> None:
    """The first try is what counts, a rejected one included."""
    instance = next(instances(item, 1))
    call = secret_call(instance)

    def policy(view: AgentView) -> str:
        view.call(call.tool)
        view.call(call.tool, **call.arguments)
        return "Done at the second try."

    trace = play(item, instance, policy)
    assert item.goal_reached(instance, trace.final_state)
    assert fraction(item, instance, trace) == 0.0


@each_item
def test_a_further_change_costs_a_fifth(item: Item) -> None:
    """The right call followed by another change is right, but not clean."""
    instance = next(instances(item, 1))
    call = secret_call(instance)
    trace = play(item, instance, item.reference(instance))
    again = trace.calls[0].model_copy(update={"index": 1, "state_before": "0" * 64})
    assert trace.calls[0].tool == call.tool
    assert fraction(item, instance, trace.model_copy(update={"calls": (*trace.calls, again)})) == 0.8


def test_the_same_moment_in_utc_may_be_spelled_otherwise_and_ids_come_in_any_order() -> None:
    """`+00:00` is `Z`, seconds may be left away, and attendees are a set."""
    instance = next(instances(MEETING, 1))
    call = secret_call(instance)
    attendees: Any = call.arguments["attendee_ids"]
    arguments = {
        **call.arguments,
        "start": f"{str(call.arguments['start'])[:-1]}+00:00",
        "attendee_ids": list(reversed(attendees)),
    }
    assert fraction(MEETING, instance, first_call(MEETING, instance, call.tool, arguments)) == 1.0


def test_a_local_offset_is_not_utc() -> None:
    """The request asks for UTC; the same moment with another offset is not what was asked for."""
    instance = next(instances(MEETING, 1))
    call = secret_call(instance)
    start = str(call.arguments["start"])
    hour = int(start[11:13])
    shifted = f"{start[:11]}{hour - 1:02}{start[13:-1]}-01:00"
    trace = first_call(MEETING, instance, call.tool, {**call.arguments, "start": shifted})
    assert trace.calls[0].ok
    assert fraction(MEETING, instance, trace) == 0.0


def test_a_missing_call_is_explained() -> None:
    """Each check says why it failed."""
    instance = next(instances(MEETING, 1))
    results = MEETING.check(instance, play(MEETING, instance, lambda _: ""))
    assert results[0].why == "no tool was called"
