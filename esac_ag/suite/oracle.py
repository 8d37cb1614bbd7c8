"""The oracle: every item's reference policy, played as a model would be: the scale itself is measured.

What nobody can do here is left out and stays "not run": programs without a runner, judged items without a
judge. Nothing is taken for granted, and a judge is always named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from esac_ag.suite.contract import CheckResult, Instance, Item, Policy, Trace
from esac_ag.suite.items.ambiguity_rules import judged_by_rules
from esac_ag.suite.own_programs import OWN_PROGRAMS
from esac_ag.suite.play import (
    Programs,
    Worlds,
    estimated_tokens,
    in_memory,
    is_program_item,
    measured,
    play,
)
from esac_ag.suite.pools import instance_of
from esac_ag.suite.replication import JUDGMENTS, ItemResult, RunResult, runs_of


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges, by name: the report and its verdict rest on that name."""

    name: str
    judge: Callable[[Item, Instance, Trace], tuple[CheckResult, ...]]
    """One judgment of a run as checks, all criteria of the item's rubric."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Who does what items need beside their world; none leaves the items that need it out."""

    programs: Programs | None = None
    judge: Judge | None = None
    worlds: Worlds = in_memory


RULES: Final = Judge("fixed rules, no model", judged_by_rules)
"""Judges the suite's own policies in self-tests; no model is asked, so that no verdict can rest on it."""

IN_MEMORY: Final = Helpers(programs=OWN_PROGRAMS, judge=RULES)
"""Everything in this process: only ever for the suite's own policies."""

NEEDS_PROGRAMS = "its programs and hidden tests need a sandbox, and none is used here"
NEEDS_JUDGE = "its checks are the judge's criteria, and no judge is asked here"


def missing_helper(item: Item, instance: Instance, helpers: Helpers) -> str | None:
    """Why an item cannot be measured; none when it can."""
    if is_program_item(instance) and helpers.programs is None:
        return NEEDS_PROGRAMS
    if item.rubric and helpers.judge is None:
        return NEEDS_JUDGE
    return None


def run_result(item: Item, instance: Instance, policy: Policy, helpers: Helpers) -> RunResult:
    """One run of a policy with its checks, as the engine would hand over a model's.

    Tokens are estimates, for no model spent any.

    Raises:
        HarnessError: the item needs a helper who is missing.
    """
    trace = play(item, instance, policy, helpers.programs, helpers.worlds)
    trace = trace.model_copy(update={"tokens": estimated_tokens(instance, trace)})
    judgments = (
        tuple(helpers.judge.judge(item, instance, trace) for _ in range(JUDGMENTS))
        if item.rubric and helpers.judge is not None
        else ()
    )
    return RunResult(
        trace=trace,
        checks=item.check(instance, trace),
        facts=measured(item, instance, trace),
        judgments=judgments,
    )


def oracle_results(
    items: Sequence[Item], dataset_seed: str, helpers: Helpers = IN_MEMORY
) -> tuple[ItemResult, ...]:
    """Results of all items that can be measured, by the replication protocol."""
    results = (oracle_result(item, instance_of(item, dataset_seed), helpers) for item in items)
    return tuple(result for result in results if result is not None)


def oracle_result(item: Item, instance: Instance, helpers: Helpers) -> ItemResult | None:
    """Result of one item's reference; none when the item cannot be measured."""
    if missing_helper(item, instance, helpers) is not None:
        return None
    runs = range(runs_of(item))
    played = tuple(run_result(item, instance, item.reference(instance), helpers) for _ in runs)
    return ItemResult(item_id=item.id, runs=played)
