"""The sealed plan of a suite run: its order, its cells, and digests that tell no held-out instance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, sha256_of, sha256_of_bytes
from esac_ag.clock import Seeds
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PUBLIC_SEED, Category
from esac_ag.suite.contract import HiddenTest, Instance
from esac_ag.suite.plan import (
    PLAN_VERSION,
    ItemReference,
    SuitePlan,
    play_order,
    references,
    schedule_document,
    schedule_of,
    sealed_instance,
)
from esac_ag.suite.pools import instance_of
from esac_ag.suite.replication import runs_of
from tests.builders_items import whole_digest
from tests.builders_suite_run import HELD_OUT_SEED, JUDGED, PROGRAM, QUICK, a_judge, a_sealed_run, items_named

ARMS = ("neutral", "careful", "terse")


def references_of(*names: str) -> tuple[ItemReference, ...]:
    """Items as a plan of the public pool names them."""
    return references(items_named(*names), PUBLIC_SEED)


def cells_of(seed: str, items: tuple[ItemReference, ...], arms: tuple[str, ...] = ARMS) -> list[Cell]:
    """The cells of a schedule."""
    cells = schedule_document(seed, items, arms)["cells"]
    assert isinstance(cells, list)
    return [Cell.model_validate(cell) for cell in cells]


def cost(name: str) -> int:
    """What an item costs at most, in output tokens."""
    item = item_named(name)
    return item.turns * item.output_tokens * (2 if item.rubric else 1)


def test_every_item_is_played_once_in_an_order_of_its_own() -> None:
    """The order follows from the items alone, however they are listed."""
    ordered = play_order(bank())
    assert sorted(item.id for item in ordered) == sorted(item.id for item in bank())
    shuffled = list(bank())
    for number in range(3):
        Seeds("order").stream(number).shuffle(shuffled)
        assert play_order(shuffled) == ordered


def test_nothing_is_an_order_of_nothing() -> None:
    """No items, no rounds."""
    assert play_order([]) == ()


def test_each_round_takes_every_category_that_is_left_cheapest_first() -> None:
    """The first seven items are the cheapest of the seven categories, in order of cost."""
    ordered = play_order(bank())
    first = ordered[: len(Category)]
    assert {item.category for item in first} == set(Category)
    assert [cost(item.id) for item in first] == sorted(cost(item.id) for item in first)
    assert cost(ordered[0].id) == min(cost(item.id) for item in bank())
    for category in Category:
        costs = [cost(item.id) for item in ordered if item.category is category]
        assert costs == sorted(costs)


def test_no_category_is_played_again_before_all_others_that_are_left() -> None:
    """An early tally tells of every category."""
    seen: Counter[Category] = Counter()
    sizes = Counter(item.category for item in bank())
    for item in play_order(bank()):
        behind = [
            category for category in Category if seen[category] < min(seen[item.category], sizes[category])
        ]
        assert behind == []
        seen[item.category] += 1


def test_judged_items_are_played_twice_and_others_once() -> None:
    """Amendment 001 §5."""
    assert {item.id: runs_of(item) for item in bank()} == {
        item.id: 2 if item.category is Category.AMBIGUITY else 1 for item in bank()
    }


def test_every_item_arm_and_run_is_a_cell_once() -> None:
    """As many cells as runs times arms."""
    items = references(bank(), PUBLIC_SEED)
    cells = cells_of("seed", items)
    wanted = {(item.id, arm, run) for item in items for arm in ARMS for run in range(1, item.runs + 1)}
    assert len(cells) == len(wanted)
    assert {(cell.task, cell.arm, cell.repetition) for cell in cells} == wanted


def test_arms_of_a_run_stand_side_by_side_in_the_order_of_items() -> None:
    """What drifts while a run lasts meets all arms alike."""
    items = references(bank(), PUBLIC_SEED)
    blocks = [key for key, _ in groupby(cells_of("s", items), key=lambda cell: (cell.task, cell.repetition))]
    assert blocks == [(item.id, run) for item in items for run in range(1, item.runs + 1)]


def test_the_order_of_arms_is_drawn_for_each_run_from_the_seed() -> None:
    """All six orders of three arms come up, another seed draws others, and the listing has no part in it."""
    items = references(bank(), PUBLIC_SEED)
    cells = cells_of("seed", items)
    orders = {tuple(cell.arm for cell in cells[at : at + 3]) for at in range(0, len(cells), 3)}
    assert len(orders) == 6
    assert cells_of("seed", items, ("terse", "neutral", "careful")) == cells
    assert cells_of("another", items) != cells


def test_the_schedule_seals_the_whole_document() -> None:
    """Its digest is the one of `schedule.json`, and differs with seed, items, runs and arms."""
    items = references_of(*QUICK)
    sealed = schedule_of("seed", items, ARMS)
    assert sealed.sha256 == sha256_of(schedule_document("seed", items, ARMS))
    assert sealed.algorithm == "cheapest-first-interleaved/1"
    more_runs = (items[0].model_copy(update={"runs": 2}), *items[1:])
    others = [
        schedule_of("other", items, ARMS),
        schedule_of("seed", items[:-1], ARMS),
        schedule_of("seed", tuple(reversed(items)), ARMS),
        schedule_of("seed", more_runs, ARMS),
        schedule_of("seed", items, ARMS[:2]),
    ]
    assert len({sealed.sha256, *(other.sha256 for other in others)}) == 1 + len(others)


def with_changed_secret(instance: Instance) -> Instance:
    """Another expected value."""
    return replace(instance, secret={**instance.secret, "more": 1})


def with_changed_tool(instance: Instance) -> Instance:
    """Another description of a tool."""
    first, *rest = instance.tools
    return replace(instance, tools=(first.model_copy(update={"description": "Else."}), *rest))


def with_changed_test(instance: Instance) -> Instance:
    """Another hidden test."""
    first, *rest = instance.hidden_tests
    changed = HiddenTest(id=first.id, source=first.source + "\n", weight=first.weight)
    return replace(instance, hidden_tests=(changed, *rest))


@pytest.mark.parametrize(
    ("item", "change"),
    [
        ("tool-call-refund", lambda instance: replace(instance, prompt=instance.prompt + " ")),
        ("tool-call-refund", with_changed_secret),
        ("tool-call-refund", with_changed_tool),
        ("tool-call-refund", lambda instance: replace(instance, initial_state={})),
        ("ambiguity-ask", lambda instance: replace(instance, questions={})),
        (PROGRAM, with_changed_test),
        (PROGRAM, lambda instance: replace(instance, files={**instance.files, "more.py": ""})),
    ],
)
def test_whatever_changes_in_an_instance_changes_what_is_sealed(
    item: str, change: Callable[[Instance], Instance]
) -> None:
    """The secret part is sealed as well."""
    instance = instance_of(item_named(item), PUBLIC_SEED)
    assert sealed_instance(PUBLIC_SEED, change(instance)) != sealed_instance(PUBLIC_SEED, instance)


def test_an_instance_is_sealed_the_same_whenever_it_is_drawn() -> None:
    """Drawing it again is how a seal is checked."""
    for item in bank():
        first, second = (instance_of(item, HELD_OUT_SEED) for _ in range(2))
        assert whole_digest(first) == whole_digest(second)
        assert sealed_instance(HELD_OUT_SEED, first) == sealed_instance(HELD_OUT_SEED, second)


def test_a_seal_cannot_be_checked_without_the_seed() -> None:
    """The very same instance has another seal under another seed, and no plain digest of it is the seal."""
    instance = instance_of(item_named("tool-call-refund"), HELD_OUT_SEED)
    seals = {sealed_instance(seed, instance) for seed in (HELD_OUT_SEED, "other", PUBLIC_SEED)}
    assert len(seals) == 3
    document: dict[str, JsonValue] = {
        "item_id": instance.item_id,
        "prompt": instance.prompt,
        "tools": [tool.model_dump(mode="json") for tool in instance.tools],
        "initial_state": dict(instance.initial_state),
        "secret": dict(instance.secret),
        "files": dict(instance.files),
        "hidden_tests": [],
        "questions": dict(instance.questions),
    }
    assert seals.isdisjoint({sha256_of_bytes(canonical_json(document)), whole_digest(instance)})


def test_another_seed_seals_other_instances() -> None:
    """Of every item."""
    public, other = ({one.id: one.instance_sha256 for one in references(bank(), seed)} for seed in ("a", "b"))
    assert [name for name in public if public[name] == other[name]] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"suite": {"name": "study", "version": PLAN_VERSION}}, "suite.name is study, not esac-ag"),
        ({"status": "draft"}, "Input should be"),
        ({"items": []}, "at least 1 item"),
        ({"pool": "secret"}, "Input should be"),
        ({"more": 1}, "Extra inputs"),
        ({"seed": HELD_OUT_SEED}, "Extra inputs"),
    ],
)
def test_a_plan_of_something_else_is_refused(tmp_path: Path, change: dict[str, object], said: str) -> None:
    """A study's name, a draft, no items, an unknown pool or key; there is no place for the seed."""
    run = a_sealed_run(tmp_path, "tool-call-refund")
    with pytest.raises(ValidationError, match=said):
        SuitePlan.model_validate_json(json.dumps(run.data | change))


def test_a_sealed_plan_tells_its_cells(tmp_path: Path) -> None:
    """Item ids in the order of play, judged items twice, and the digest that it sealed."""
    plan = a_sealed_run(tmp_path, *QUICK, JUDGED, judge=a_judge()).plan
    assert plan.item_ids == tuple(item.id for item in play_order(items_named(*QUICK, JUDGED)))
    assert Counter(cell.task for cell in plan.cells()) == dict.fromkeys(QUICK, 1) | {JUDGED: 2}
    assert plan.schedule == schedule_of(plan.schedule.seed, plan.items, plan.arm_ids)
    assert plan.arm_ids == ("neutral",)
