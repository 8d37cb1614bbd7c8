"""The self-test and the oracle: what holds, what misses, and what is honestly left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from esac_ag.errors import HarnessError
from esac_ag.report.suite_machine import without_times
from esac_ag.report.suite_oracle import oracle_view
from esac_ag.report.suite_view import SuiteView
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PINNED_JUDGE, Category, Pool
from esac_ag.suite.contract import CheckResult, Instance, Item, Shortcut, Trace
from esac_ag.suite.items.ambiguity_item import AmbiguityItem
from esac_ag.suite.judging import Judgment, judgment_checks
from esac_ag.suite.oracle import IN_MEMORY, NEEDS_JUDGE, NEEDS_PROGRAMS, Helpers, oracle_results
from esac_ag.suite.play import Programs
from esac_ag.suite.pools import resolve_seed
from esac_ag.suite.scoring import Standing
from esac_ag.suite.selftest import REFERENCE, PolicyStanding, SuiteSelftest, selftest
from esac_ag.suite.verdict import Verdict
from tests.builders_code_items import grade_in_process, run_in_process
from tests.unit.test_items_ambiguity import JUDGES

PUBLIC = resolve_seed(Pool.PUBLIC, flag=None, environment=None, file=None)
HELD_OUT = resolve_seed(Pool.HELD_OUT, flag="0dd5eed" * 8, environment=None, file=None)
LEFT_OUT = {Category.CODE, Category.RECOVERY, Category.AMBIGUITY}


def judged_by_rules(item: Item, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
    """A judgment by the fixed rules of the ambiguity items' tests; no model."""
    assert isinstance(item, AmbiguityItem)
    return judgment_checks(
        item.rubric, Judgment(scores=JUDGES[item.id](item, instance, trace), reason="by rule")
    )


EVERYBODY = Helpers(programs=Programs(run_in_process, grade_in_process), judge=judged_by_rules)


def played(
    *items: Item, helpers: Helpers = IN_MEMORY, seed: str = PUBLIC.seed, pool: Pool = Pool.PUBLIC
) -> SuiteSelftest:
    """The self-test of some items, or of all."""
    return selftest(items or bank(), seed, helpers, pool=pool, seed_fingerprint="ab" * 32)


def oracle(helpers: Helpers = IN_MEMORY, judge: str | None = None) -> SuiteView:
    """The oracle's report."""
    return oracle_view(
        bank(),
        PUBLIC,
        harness_version="0.1.0",
        started_at="2026-10-01T10:00:00.000Z",
        ended_at="2026-10-01T10:00:01.000Z",
        helpers=helpers,
        judge=judge,
    )


class Altered:
    """An item with other shortcuts or another reference."""

    def __init__(self, item: Item, **changes: object) -> None:
        self._item, self._changes = item, changes

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the item has)
        return self._changes.get(name, getattr(self._item, name))


def test_every_policy_that_can_be_played_in_memory_keeps_what_was_declared() -> None:
    """Nothing misses; what needs programs or a judge is not run, and nothing else is left out."""
    found = played()
    assert found.holds
    assert found.met > 150
    for item in found.items:
        expected = PolicyStanding.NOT_RUN if item.category in LEFT_OUT else PolicyStanding.MET
        assert item.standing is expected


def test_what_is_not_run_has_no_fraction_and_a_reason() -> None:
    """Missing is neither zero nor passed."""
    left_out = [
        (item.category, policy)
        for item in played().items
        for policy in item.policies
        if policy.standing is PolicyStanding.NOT_RUN
    ]
    for category, policy in left_out:
        assert policy.fraction is None
        assert policy.why == (NEEDS_JUDGE if category is Category.AMBIGUITY else NEEDS_PROGRAMS)


def test_with_programs_and_a_judge_all_policies_of_all_items_keep_what_was_declared() -> None:
    """The whole bank: nothing is left out and nothing misses."""
    found = played(helpers=EVERYBODY)
    assert (found.missed, found.not_run) == (0, 0)


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


def test_the_oracle_in_memory_is_incomplete_and_says_so() -> None:
    """15 items earn everything, 8 did not run, and the verdict is no pass."""
    view = oracle()
    assert view.decision.verdict is Verdict.INCOMPLETE
    assert (view.counts.full, view.counts.not_run) == (15, 8)
    assert {row.category for row in view.items if row.standing is Standing.NOT_RUN} == LEFT_OUT
    assert all(row.action_share == row.token_share == 1.0 for row in view.items if row.runs and row.eligible)


def test_the_oracle_earns_exactly_75_once_everything_is_really_played() -> None:
    """Programs run by this process and a judge made of rules: 75.00, level 6 everywhere, PASS."""
    view = oracle(EVERYBODY, PINNED_JUDGE)
    assert view.total.points == 75.0
    assert view.modifier.points == 5.0
    assert view.decision.verdict is Verdict.PASS
    levels = [run.levels for row in view.items for run in row.runs if row.eligible]
    assert {(level.action_level, level.token_level) for level in levels if level} == {(6, 6)}


@pytest.mark.parametrize("helpers", [IN_MEMORY, EVERYBODY], ids=["in-memory", "everybody"])
def test_two_oracle_runs_give_the_same_bytes(helpers: Helpers) -> None:
    """The report without its times is deterministic."""
    judge = PINNED_JUDGE if helpers.judge else None
    assert without_times(oracle(helpers, judge)) == without_times(oracle(helpers, judge))


def test_the_oracle_leaves_out_what_a_missing_helper_would_do() -> None:
    """With programs and without a judge only the judged items are missing."""
    results = oracle_results(bank(), PUBLIC.seed, replace(EVERYBODY, judge=None))
    assert {item.category for item in bank()} - {
        item_named(result.item_id).category for result in results
    } == {Category.AMBIGUITY}


def test_a_drifted_bank_gets_no_report() -> None:
    """The report checks the bank again."""
    with pytest.raises(HarnessError, match="drifted"):
        oracle_view(bank()[1:], PUBLIC, harness_version="0", started_at="", ended_at="")
