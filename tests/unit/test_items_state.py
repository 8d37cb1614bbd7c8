"""The items of recall: what they give away, who solves them, and who must not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from esac_ag.suite.constitution import CATEGORIES, Category
from esac_ag.suite.contract import AgentView, Instance, Item, Policy, RunEnd
from esac_ag.suite.efficiency import check_scale
from esac_ag.suite.items.state import ITEMS
from esac_ag.suite.items.state_basics import MARK, Rehearsal, integer_answer, object_answer
from esac_ag.suite.scoring import MOST_TURNS
from esac_ag.suite.world import World
from tests.builders_items import (
    action_level,
    content,
    content_digest,
    fraction,
    instances,
    play,
    public,
    token_level,
)

COUNT, GOODWILL = ITEMS
SEEDS = 50
DIGESTS = {
    "state-stock-count": "45721c58f40649252292785a5ce3418ff236818308dfd8b3dc34626d85783e2a",
    "state-goodwill-refunds": "ca8e326876b6e9889f2627384094dce391dac0ec96a7bfd2fd354f0cb52089a8",
}

every_item = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)


@cache
def many(item_id: str) -> tuple[Instance, ...]:
    """A thousand instances of an item."""
    return tuple(instances(next(item for item in ITEMS if item.id == item_id), 1000))


def expected(instance: Instance) -> dict[str, int]:
    """Values that are to be answered or refunded, by bin or invoice."""
    secret: Any = instance.secret
    return dict(secret.get("lines") or secret["refunds"])


def after(solved: Policy, more: Callable[[AgentView], object]) -> Policy:
    """A policy that does more than it should."""

    def policy(view: AgentView) -> str:
        text = solved(view)
        more(view)
        return text

    return policy


def fractions(item: Item, instance: Instance, policy: Policy) -> dict[str, float]:
    """Fractions of a policy's run by check."""
    return {check.id: check.fraction for check in item.check(instance, play(item, instance, policy))}


def test_the_category_has_its_two_items() -> None:
    """Two items of the category, with different ids and a cap of turns within the constitution's."""
    assert len({item.id for item in ITEMS}) == CATEGORIES[Category.STATE].items
    assert all(item.category is Category.STATE and item.turns <= MOST_TURNS for item in ITEMS)


@every_item
def test_a_thousand_seeds_give_many_instances_and_none_is_the_public_one(item: Item) -> None:
    """At least 200 of 1,000 instances differ, and the public one is not among them."""
    found = {content_digest(instance) for instance in many(item.id)}
    assert len(found) >= 200
    assert content_digest(public(item)) not in found


@every_item
def test_an_instance_is_the_same_bytes_twice_and_everywhere(item: Item) -> None:
    """The public instance is generated twice alike, and as it was when its digest was written down."""
    assert content(public(item)) == content(public(item))
    assert content_digest(public(item)) == DIGESTS[item.id]


@every_item
def test_expected_values_stand_nowhere_in_the_inputs(item: Item) -> None:
    """No expected value is among the numbers of prompt, tools and world."""
    for instance in many(item.id)[:200]:
        tools = [tool.model_dump() for tool in instance.tools]
        numbers = set(re.findall(r"\d+", json.dumps([instance.prompt, tools, instance.initial_state])))
        values = expected(instance).values()
        assert numbers.isdisjoint(map(str, (*values, sum(values))))


@every_item
def test_the_reference_solves_every_instance_at_level_six(item: Item) -> None:
    """The reference earns everything through the real tools, in actions and in tokens."""
    for instance in (public(item), *many(item.id)[:SEEDS]):
        trace = play(item, instance, item.reference(instance))
        assert fraction(item, instance, trace) == 1.0
        assert action_level(item, trace) == 6
        assert token_level(item, instance, trace) == 6


@pytest.mark.parametrize(
    ("item", "name"),
    [
        pytest.param(item, shortcut.name, id=f"{item.id}-{shortcut.name}")
        for item in ITEMS
        for shortcut in item.shortcuts()
    ],
)
def test_a_shortcut_earns_no_more_than_its_author_said(item: Item, name: str) -> None:
    """Every wrong policy stays within its predeclared fraction, below 60 %, on every instance."""
    shortcut = next(shortcut for shortcut in item.shortcuts() if shortcut.name == name)
    assert shortcut.most < 0.6
    for instance in (public(item), *many(item.id)[:SEEDS]):
        trace = play(item, instance, shortcut.policy(instance))
        assert fraction(item, instance, trace) <= shortcut.most + 1e-9


@every_item
def test_more_actions_or_tokens_never_earn_a_higher_level(item: Item) -> None:
    """The item's own scale ascends."""
    assert item.efficiency is not None
    check_scale(item.id, item.efficiency)


@every_item
def test_doing_nothing_earns_nothing(item: Item) -> None:
    """An empty run has no check that is passed."""
    instance = public(item)
    assert set(fractions(item, instance, lambda _: "").values()) == {0.0}


@every_item
def test_looking_at_everything_does_not_fit_into_the_turns(item: Item) -> None:
    """The explorer is cut off before it answers."""
    explore = next(shortcut for shortcut in item.shortcuts() if shortcut.name == "explore-everything")
    instance = public(item)
    assert play(item, instance, explore.policy(instance)).end is RunEnd.TURN_LIMIT


@every_item
def test_the_answer_needs_four_replies_and_more_one_of_them_fetched_once(item: Item) -> None:
    """Without any one of the rows that the reference reads there is no solution."""
    instance = public(item)
    view = Rehearsal(instance)
    item.reference(instance)(view)
    tables = {
        "reports_fetch_once": ("reports", "report_id"),
        "tickets_get": ("tickets", "ticket_id"),
        "inventory_get": ("items", "sku"),
        "payments_get_invoice": ("invoices", "invoice_id"),
    }
    reads = [(*tables[tool], arguments) for tool, arguments in view.calls if tool in tables]
    assert len(reads) >= 6
    assert sum(table == "reports" for table, _, _ in reads) == 1
    for table, key, arguments in reads:
        with pytest.raises((KeyError, StopIteration, TypeError)):
            item.reference(instance)(Rehearsal(without(instance, table, str(arguments[key]))))


@every_item
def test_a_second_fetch_costs_the_fetch_check_and_nothing_else(item: Item) -> None:
    """The fetch count is graded beside the answer: twice is as bad as never."""
    instance = public(item)
    again = after(
        item.reference(instance),
        lambda view: view.call("reports_fetch_once", report_id=instance.secret["report"]),
    )
    found = fractions(item, instance, again)
    assert found.pop("fetched-once") == 0.0
    assert set(found.values()) == {1.0}


@every_item
def test_using_up_another_report_costs_half_the_fetch_check(item: Item) -> None:
    """Reports that were not needed are gone for others."""
    instance = public(item)
    reports: Any = instance.initial_state["reports"]
    other = next(report for report in reports if report != instance.secret["report"])
    wasteful = after(item.reference(instance), lambda view: view.call("reports_fetch_once", report_id=other))
    assert fractions(item, instance, wasteful)["fetched-once"] == 0.5


def test_each_disputed_line_counts_for_itself() -> None:
    """One wrong line costs that line; a wrong total costs the total."""
    instance = public(COUNT)
    lines = expected(instance)
    wrong = min(lines)
    answer = {**lines, wrong: lines[wrong] + 1, "total": sum(lines.values())}
    found = fractions(COUNT, instance, answering(answer))
    assert [found[f"line-{number}"] for number in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert found["total"] == 1.0


def test_answering_every_line_does_not_hit_the_disputed_ones() -> None:
    """A line too many costs the total, so that nobody hedges."""
    instance = public(COUNT)
    lines = expected(instance)
    found = fractions(COUNT, instance, answering({**lines, "Z-99": 1, "total": sum(lines.values())}))
    assert found["total"] == 0.0


def test_true_and_text_are_not_numbers() -> None:
    """An answer's values are whole numbers: nothing that merely compares equal."""
    instance = public(COUNT)
    lines = {place: str(value) for place, value in expected(instance).items()}
    assert set(fractions(COUNT, instance, answering({**lines, "total": True})).values()) == {0.0}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("payments_refund", {"amount_cents": 1, "reason": "rest"}),
        ("payments_transfer", {"from_account": "acc-main", "to_account": "acc-goodwill", "amount_cents": 5}),
    ],
)
def test_a_movement_of_money_too_many_is_seen(tool: str, arguments: Mapping[str, Any]) -> None:
    """Whatever is done beside the three refunds costs the check of cleanliness and the goal."""
    instance = public(GOODWILL)
    invoices: Any = instance.initial_state["invoices"]
    other = next(name for name in invoices if name not in expected(instance))
    more = {"invoice_id": other, **arguments} if tool == "payments_refund" else arguments
    trace = play(
        GOODWILL, instance, after(GOODWILL.reference(instance), lambda view: view.call(tool, **more))
    )
    found = {check.id: check.fraction for check in GOODWILL.check(instance, trace)}
    assert found.pop("nothing-else") == 0.0
    assert set(found.values()) == {1.0}
    assert not GOODWILL.goal_reached(instance, trace.final_state)


def test_the_goal_is_reached_by_the_last_refund() -> None:
    """Replaying the reference's calls reaches the goal with the last one and not before."""
    instance = public(GOODWILL)
    view = Rehearsal(instance)
    GOODWILL.reference(instance)(view)
    world = World(instance.initial_state)
    reached = []
    for tool, arguments in view.calls:
        world.call(tool, arguments)
        reached.append(GOODWILL.goal_reached(instance, world.snapshot()))
    assert reached == [False] * (len(reached) - 1) + [True]


def test_a_single_right_refund_is_worth_its_part() -> None:
    """Partial credit is per refund, and cleanliness counts from the first right one on."""
    instance = public(GOODWILL)
    invoice, amount = min(expected(instance).items())

    def policy(view: AgentView) -> str:
        view.call("payments_refund", invoice_id=invoice, amount_cents=amount, reason="goodwill")
        return ""

    found = fractions(GOODWILL, instance, policy)
    assert sorted(found[f"refund-{number}"] for number in (1, 2, 3)) == [0.0, 0.0, 1.0]
    assert found["nothing-else"] == 1.0
    assert found["sum"] == 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ANSWER: 120", 120),
        ("All done.\n\n**ANSWER: 120**\n\n", 120),
        ("`ANSWER: 120`", 120),
        ("ANSWER:120", 120),
        ("ANSWER: 0", 0),
        ("ANSWER: 119\nANSWER: 120", 120),
        ("ANSWER: 120 cents", None),
        ("ANSWER: 1,200", None),
        ("ANSWER: 0120", None),
        ("ANSWER: 120\nThanks!", None),
        ("The answer is 120", None),
        ("answer: 120", None),
        ("ANSWER: " + "9" * 400, None),
        ("", None),
    ],
)
def test_a_number_is_read_from_the_last_line_alone(text: str, value: int | None) -> None:
    """Digits behind the mark on the last line; Markdown around them is let pass."""
    assert integer_answer(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('ANSWER: {"a": 1}', {"a": 1}),
        ('Worked out.\n`ANSWER: {"a": 1}`', {"a": 1}),
        ("ANSWER: [1]", None),
        ("ANSWER: {", None),
        ("ANSWER: " + "[" * 100_000, None),
        ('{"a": 1}', None),
    ],
)
def test_an_object_is_read_from_the_last_line_alone(text: str, value: object) -> None:
    """One JSON object behind the mark on the last line."""
    assert object_answer(text) == value


def answering(answer: Mapping[str, object]) -> Policy:
    """A policy that answers without looking at anything."""
    return lambda _: f"{MARK} {json.dumps(answer)}"


def without(instance: Instance, table: str, key: str) -> Instance:
    """The instance without one row of its world."""
    rows: Any = instance.initial_state[table]
    left = {name: row for name, row in rows.items() if name != key}
    return Instance(
        item_id=instance.item_id,
        prompt=instance.prompt,
        tools=instance.tools,
        initial_state={**instance.initial_state, table: left},
        secret=instance.secret,
    )
