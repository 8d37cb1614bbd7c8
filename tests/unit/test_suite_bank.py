"""The bank, its facts, and the exported public pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from esac_ag.canonical import canonical_json
from esac_ag.errors import HarnessError, UsageError
from esac_ag.suite import bank as module
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import CATEGORIES, ITEMS, Category, Pool
from esac_ag.suite.facts import listing
from esac_ag.suite.inspection import answer_key, inspect, public_pool
from esac_ag.suite.pools import CANARY, DatasetSeed, resolve_seed

EXPORTED = Path(__file__).parents[2] / "suite" / "public-v1.0.jsonl"
PUBLIC = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
HELD_OUT = resolve_seed(Pool.HELD_OUT, flag="5eed" * 16, environment=None, file=None)

every_item = pytest.mark.parametrize("item_id", [item.id for item in bank()])


def test_the_bank_has_all_items_in_the_constitutions_order() -> None:
    """23 items; categories come in the constitution's order with as many items as it says."""
    categories = [item.category for item in bank()]
    assert len(categories) == ITEMS
    assert categories == sorted(categories, key=list(Category).index)
    assert {name: categories.count(name) for name in Category} == {
        name: rule.items for name, rule in CATEGORIES.items()
    }


def test_a_bank_that_lacks_an_item_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drift is a hard failure for whoever asks for the bank."""
    short = {**module._ITEMS, Category.STATE: module._ITEMS[Category.STATE][:1]}
    monkeypatch.setattr(module, "_ITEMS", short)
    with pytest.raises(HarnessError) as failure:
        bank.__wrapped__()
    assert "category state" in str(failure.value)


def test_an_unknown_item_is_a_usage_error_that_names_the_items() -> None:
    """Whoever mistypes an id sees what there is."""
    with pytest.raises(UsageError) as failure:
        item_named("planning-stok")
    assert "planning-stock" in failure.value.expected


def test_the_listing_adds_up() -> None:
    """70 points, each category its own."""
    facts = listing(bank())
    assert facts.points == pytest.approx(70)
    for category, rule in CATEGORIES.items():
        own = [item.points for item in facts.items if item.category is category]
        assert sum(own) == pytest.approx(rule.points)


def test_the_exported_public_pool_is_what_the_generators_make() -> None:
    """The committed file equals a fresh export, byte for byte."""
    assert EXPORTED.read_bytes() == public_pool(bank(), PUBLIC)


def test_every_line_of_the_export_has_the_canary_and_no_answers() -> None:
    """One instance a line, greppable, with nothing that only checks may know."""
    lines = [json.loads(line) for line in EXPORTED.read_bytes().splitlines()]
    assert [line["item"]["id"] for line in lines] == [item.id for item in bank()]
    assert all(line["canary"] == CANARY and line["answers"] is None for line in lines)


@pytest.mark.parametrize("dataset", [HELD_OUT, DatasetSeed(Pool.PUBLIC, PUBLIC.source, "another")])
def test_nothing_but_the_public_seed_is_exported(dataset: DatasetSeed) -> None:
    """A held-out pool does not become a file by mistake."""
    with pytest.raises(ValueError, match="only the public pool"):
        public_pool(bank(), dataset)


@every_item
def test_a_public_inspection_has_the_references_run(item_id: str) -> None:
    """It holds prompt, tools, checks or a rubric, and the calls of the reference."""
    shown = inspect(bank(), item_named(item_id), PUBLIC)
    assert shown.prompt
    assert shown.tools
    assert shown.checks or shown.rubric
    assert shown.answers is not None
    assert shown.answers.reference.calls
    assert canonical_json(shown) == canonical_json(inspect(bank(), item_named(item_id), PUBLIC))


@every_item
def test_a_held_out_inspection_has_neither_answers_nor_the_seed(item_id: str) -> None:
    """Answers, user's table and reference stay out, and so does the seed itself."""
    shown = inspect(bank(), item_named(item_id), HELD_OUT)
    assert (shown.answers, shown.canary) == (None, None)
    assert HELD_OUT.seed not in shown.model_dump_json()


def test_programs_of_a_transcript_are_not_said_to_have_run() -> None:
    """The reply of a run is missing, never made up; other replies are the real ones."""
    shown = inspect(bank(), item_named("code-log-report"), PUBLIC)
    assert shown.answers is not None
    replies = {call.tool: call.reply for call in shown.answers.reference.calls}
    assert replies.pop("run_python") is None
    assert all(reply is not None for reply in replies.values())


def test_the_key_has_the_answers_of_every_item() -> None:
    """Expected values of all items, without the seed."""
    key = answer_key(bank(), HELD_OUT)
    assert [answers.item_id for answers in key.items] == [item.id for item in bank()]
    assert all(answers.expected for answers in key.items)
    assert HELD_OUT.seed not in key.model_dump_json()
