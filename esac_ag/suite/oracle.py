"""The oracle: every item's reference policy, played as a model would be: the scale itself is measured.

What nobody can do here is left out and stays "not run": programs without a runner, judged items without a
judge. Nothing is taken for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from esac_ag.suite.contract import CheckResult, Instance, Item, Policy, Trace
from esac_ag.suite.play import Programs, estimated_tokens, is_program_item, measured, play
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.replication import JUDGMENTS, MODEL_RUNS, ItemResult, RunResult

Judge = Callable[[Item, Instance, Trace], tuple[CheckResult, ...]]
"""One judgment of a run as checks, all criteria of the item's rubric."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Who does what cannot be done in memory; none leaves the items that need it out."""

    programs: Programs | None = None
    judge: Judge | None = None


IN_MEMORY = Helpers()

NEEDS_PROGRAMS = "its programs and hidden tests need a sandbox, and none is used here"
NEEDS_JUDGE = "its checks are the judge's criteria, and no judge is asked here"


def instance_of(item: Item, dataset_seed: str) -> Instance:
    """The item's instance under a dataset seed."""
    return item.generate(instance_seeds(dataset_seed, item.id))


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
    trace = play(item, instance, policy, helpers.programs)
    trace = trace.model_copy(update={"tokens": estimated_tokens(instance, trace)})
    judgments = (
        tuple(helpers.judge(item, instance, trace) for _ in range(JUDGMENTS))
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
    results = []
    for item in items:
        instance = instance_of(item, dataset_seed)
        if missing_helper(item, instance, helpers) is None:
            runs = range(MODEL_RUNS if item.rubric else 1)
            played = tuple(run_result(item, instance, item.reference(instance), helpers) for _ in runs)
            results.append(ItemResult(item_id=item.id, runs=played))
    return tuple(results)
