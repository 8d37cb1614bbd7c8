"""The self-test and the oracle: what holds, what misses, and what is honestly left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from esac_ag.errors import HarnessError
from esac_ag.report.suite_machine import without_times
from esac_ag.report.suite_oracle import oracle_report
from esac_ag.report.suite_view import SuiteView
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PINNED_JUDGE, Category, Pool
from esac_ag.suite.contract import Instance, Item, Shortcut
from esac_ag.suite.oracle import (
    IN_MEMORY,
    NEEDS_JUDGE,
    NEEDS_PROGRAMS,
    RULES,
    Helpers,
    oracle_results,
)
from esac_ag.suite.pools import resolve_seed
from esac_ag.suite.scoring import Standing
from esac_ag.suite.selftest import REFERENCE, Place, PolicyStanding, SuiteSelftest, selftest
from esac_ag.suite.verdict import Verdict

PUBLIC = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
HELD_OUT = resolve_seed(Pool.HELD_OUT, flag="0dd5eed" * 8, environment=None, file=None)
LEFT_OUT = {Category.CODE, Category.RECOVERY, Category.AMBIGUITY}


NOBODY = Helpers()
WITHOUT_A_JUDGE = replace(IN_MEMORY, judge=None)
PINNED_BY_NAME = replace(IN_MEMORY, judge=replace(RULES, name=PINNED_JUDGE))
"""For the verdict alone: as if the pinned judge had judged as the rules do."""


def played(
    *items: Item, helpers: Helpers = IN_MEMORY, seed: str = PUBLIC.seed, pool: Pool = Pool.PUBLIC
) -> SuiteSelftest:
    """The self-test of some items, or of all."""
    return selftest(items or bank(), seed, helpers, pool=pool, seed_fingerprint="ab" * 32)


def oracle(helpers: Helpers = IN_MEMORY, items: Sequence[Item] = bank()) -> SuiteView:
    """The oracle's report."""
    return oracle_report(
        items,
        PUBLIC,
        oracle_results(items, PUBLIC.seed, helpers),
        judge=helpers.judge,
        harness_version="0.1.0",
        started_at="2026-10-01T10:00:00.000Z",
        ended_at="2026-10-01T10:00:01.000Z",
    )


class Altered:
    """An item with other shortcuts or another reference."""

    def __init__(self, item: Item, **changes: object) -> None:
        self._item, self._changes = item, changes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the item has)
        return self._changes.get(name, getattr(self._item, name))


def test_all_policies_of_all_items_keep_what_was_declared() -> None:
    """The whole bank is played in memory: nothing is left out and nothing misses."""
    found = played()
    assert (found.missed, found.not_run, found.place) == (0, 0, Place.MEMORY)
    assert found.met == sum(1 + len(item.shortcuts()) for item in bank())


def test_what_rules_judged_is_labelled_so_and_nothing_else_is() -> None:
    """Whoever reads the result sees that no model judged."""
    for item in played().items:
        judged = item.category is Category.AMBIGUITY
        assert item.judged_by == ("fixed rules, no model" if judged else None)


@pytest.mark.parametrize(
    ("helpers", "left_out", "why"),
    [
        (WITHOUT_A_JUDGE, {Category.AMBIGUITY}, NEEDS_JUDGE),
        (replace(IN_MEMORY, programs=None), {Category.CODE, Category.RECOVERY}, NEEDS_PROGRAMS),
    ],
    ids=["no-judge", "no-programs"],
)
def test_what_a_missing_helper_would_do_is_not_run(
    helpers: Helpers, left_out: set[Category], why: str
) -> None:
    """Missing is neither zero nor passed, and has a reason."""
    found = played(helpers=helpers)
    assert found.holds
    assert {item.category for item in found.items if item.standing is PolicyStanding.NOT_RUN} == left_out
    for item in found.items:
        for policy in item.policies if item.category in left_out else ():
            assert (policy.standing, policy.fraction, policy.why) == (PolicyStanding.NOT_RUN, None, why)
            assert item.judged_by is None


def test_a_held_out_seed_tests_as_well() -> None:
    """The self-test says of any seed whether its instances work, and tells no answers."""
    found = played(seed=HELD_OUT.seed, pool=Pool.HELD_OUT)
    assert found.holds
    assert HELD_OUT.seed not in found.model_dump_json()


@pytest.mark.parametrize(
    ("most", "policy", "why"),
    [
        (0.3, "reference", "it earns more than was predeclared"),
        (0.6, "null", "its predeclared fraction would pass"),
    ],
)
def test_a_shortcut_that_earns_or_declares_too_much_is_missed(most: float, policy: str, why: str) -> None:
    """A shortcut that solves the item is found out, and so is a declaration of 60 % or more."""
    item = item_named("planning-day")
    how = item.reference if policy == "reference" else lambda _: lambda _: ""
    broken: Any = Altered(item, shortcuts=lambda: (Shortcut("tempting", how, most),))
    found = played(broken)
    row = next(row for row in found.items[0].policies if row.policy == "tempting")
    assert (row.standing, row.why, found.holds) == (PolicyStanding.MISSED, why, False)


def test_a_reference_that_does_not_solve_its_item_is_missed() -> None:
    """Full marks are demanded of the reference."""
    broken: Any = Altered(item_named("planning-day"), reference=lambda _: lambda _: "Done.")
    found = played(broken)
    assert found.items[0].policies[0].policy == REFERENCE
    assert found.items[0].standing is PolicyStanding.MISSED


def test_a_reference_that_wastes_a_call_is_missed() -> None:
    """Level 6 is demanded too."""
    item = item_named("tool-call-stock")

    def wasteful(instance: Instance) -> Any:  # noqa: ANN401 (a policy)
        def policy(view: Any) -> str:  # noqa: ANN401 (a view)
            text = item.reference(instance)(view)
            view.call("inventory_list")
            return text

        return policy

    found = played(Altered(item, reference=wasteful))
    row = found.items[0].policies[0]
    assert (row.fraction, row.standing) == (1.0, PolicyStanding.MISSED)
    assert row.action_level is not None
    assert row.action_level < 6


def test_the_oracle_without_helpers_is_incomplete_and_says_so() -> None:
    """15 items earn everything, 8 did not run, and the verdict is no pass."""
    view = oracle(NOBODY)
    assert view.decision.verdict is Verdict.INCOMPLETE
    assert (view.counts.full, view.counts.not_run) == (15, 8)
    assert {row.category for row in view.items if row.standing is Standing.NOT_RUN} == LEFT_OUT
    assert all(row.action_share == row.token_share == 1.0 for row in view.items if row.runs and row.eligible)


def test_the_oracle_earns_exactly_75_with_level_6_everywhere() -> None:
    """Every item's reference is measured, and the scale's top is reached."""
    view = oracle()
    assert view.total.points == 75.0
    assert view.modifier.points == 5.0
    levels = [run.levels for row in view.items for run in row.runs if row.eligible]
    assert {(level.action_level, level.token_level) for level in levels if level} == {(6, 6)}


def test_a_judge_made_of_rules_makes_no_verdict() -> None:
    """The report names who judged, and claims no pass by a judge that was not asked."""
    view = oracle()
    assert view.header.judge == RULES.name != PINNED_JUDGE
    assert view.decision.verdict is Verdict.NOT_VALID
    assert view.decision.exit_code == 3


def test_the_same_numbers_pass_under_the_pinned_judge() -> None:
    """Only the judge's name keeps the oracle from its verdict."""
    view, passed = oracle(), oracle(PINNED_BY_NAME)
    assert passed.decision.verdict is Verdict.PASS
    assert passed.total == view.total


@pytest.mark.parametrize("helpers", [IN_MEMORY, NOBODY], ids=["in-memory", "nobody"])
def test_two_oracle_runs_give_the_same_bytes(helpers: Helpers) -> None:
    """The report without its times is deterministic."""
    assert without_times(oracle(helpers)) == without_times(oracle(helpers))


def test_the_oracle_leaves_out_what_a_missing_helper_would_do() -> None:
    """With programs and without a judge only the judged items are missing."""
    results = oracle_results(bank(), PUBLIC.seed, WITHOUT_A_JUDGE)
    assert {item.category for item in bank()} - {
        item_named(result.item_id).category for result in results
    } == {Category.AMBIGUITY}


def test_a_drifted_bank_gets_no_report() -> None:
    """The report checks the bank again."""
    with pytest.raises(HarnessError, match="drifted"):
        oracle(items=bank()[1:])
