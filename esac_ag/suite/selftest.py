"""The suite tests itself: the reference solves every item, no shortcut earns more than its author said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Literal

from esac_ag.record import Record, Sha256
from esac_ag.suite.constitution import THRESHOLD, TOLERANCE, Category, Pool
from esac_ag.suite.contract import Fraction, Instance, Item, Policy
from esac_ag.suite.efficiency import BEST_LEVEL, RunLevels, run_levels, total_tokens
from esac_ag.suite.oracle import Helpers, missing_helper, run_result
from esac_ag.suite.pools import instance_of
from esac_ag.suite.replication import RunResult
from esac_ag.suite.scoring import is_complete, item_fraction

REFERENCE: Final = "reference"


class Place(StrEnum):
    """Where policies were played."""

    MEMORY = "memory"
    """In this process: worlds, programs and hidden tests."""
    CONTAINERS = "containers"
    """As a model's run: tools and programs in the agent's container, hidden tests in the grader's."""


class PolicyStanding(StrEnum):
    """What became of one policy on one item."""

    MET = "met"
    MISSED = "missed"
    NOT_RUN = "not-run"
    """It could not be measured here; this is no pass."""


class PolicyResult(Record):
    """One policy on one item."""

    policy: str
    most: Fraction
    """The predeclared fraction: to be reached by the reference, not to be passed by a shortcut."""
    standing: PolicyStanding
    fraction: Fraction | None
    """Null when it was not measured."""
    action_level: int | None = None
    """Null when the item is not eligible for the modifier, and for shortcuts."""
    token_level: int | None = None
    """Likewise; by estimated tokens."""
    why: str = ""


class ItemSelftest(Record):
    """All policies of one item."""

    item_id: str
    category: Category
    judged_by: str | None
    """Who gave the fractions of a judged item; null for deterministic items, and when nobody judged."""
    policies: tuple[PolicyResult, ...]

    @property
    def standing(self) -> PolicyStanding:
        """Missed if any policy missed, not run if any was not measured."""
        found = {policy.standing for policy in self.policies}
        order = (PolicyStanding.MISSED, PolicyStanding.NOT_RUN, PolicyStanding.MET)
        return next(standing for standing in order if standing in found)


class SuiteSelftest(Record):
    """The whole self-test."""

    format_version: Literal[1]
    pool: Pool
    seed_fingerprint: Sha256
    place: Place
    items: tuple[ItemSelftest, ...]
    met: int
    missed: int
    not_run: int
    """Policies by standing."""

    @property
    def holds(self) -> bool:
        """Whether no policy that was measured missed its fraction."""
        return self.missed == 0


def selftest(
    items: Sequence[Item], dataset_seed: str, helpers: Helpers, *, pool: Pool, seed_fingerprint: Sha256
) -> SuiteSelftest:
    """Play all policies on all items, in memory."""
    tested = [item_selftest(item, instance_of(item, dataset_seed), helpers) for item in items]
    return whole_selftest(tested, Place.MEMORY, pool=pool, seed_fingerprint=seed_fingerprint)


def whole_selftest(
    tested: Sequence[ItemSelftest], place: Place, *, pool: Pool, seed_fingerprint: Sha256
) -> SuiteSelftest:
    """Items that were tested, with their sums."""
    counts = Counter(policy.standing for item in tested for policy in item.policies)
    return SuiteSelftest(
        format_version=1,
        pool=pool,
        seed_fingerprint=seed_fingerprint,
        place=place,
        items=tuple(tested),
        met=counts[PolicyStanding.MET],
        missed=counts[PolicyStanding.MISSED],
        not_run=counts[PolicyStanding.NOT_RUN],
    )


def item_selftest(item: Item, instance: Instance, helpers: Helpers) -> ItemSelftest:
    """Play all policies on one item."""
    missing = missing_helper(item, instance, helpers)
    judge = helpers.judge if item.rubric else None
    policies = [(REFERENCE, 1.0, item.reference(instance))]
    policies += [(cut.name, cut.most, cut.policy(instance)) for cut in item.shortcuts()]
    return ItemSelftest(
        item_id=item.id,
        category=item.category,
        judged_by=None if judge is None else judge.name,
        policies=tuple(
            _policy(item, instance, name, most, policy, helpers)
            if missing is None
            else PolicyResult(
                policy=name, most=most, standing=PolicyStanding.NOT_RUN, fraction=None, why=missing
            )
            for name, most, policy in policies
        ),
    )


def _policy(
    item: Item, instance: Instance, name: str, most: float, policy: Policy, helpers: Helpers
) -> PolicyResult:
    run = run_result(item, instance, policy, helpers)
    fraction = min(_observed(run)) if name == REFERENCE else max(_observed(run))
    levels = _levels(item, run) if name == REFERENCE else None
    why = _reference_fault(fraction, levels) if name == REFERENCE else _shortcut_fault(fraction, most)
    return PolicyResult(
        policy=name,
        most=most,
        standing=PolicyStanding.MISSED if why else PolicyStanding.MET,
        fraction=fraction,
        action_level=None if levels is None else levels.action_level,
        token_level=None if levels is None else levels.token_level,
        why=why,
    )


def _observed(run: RunResult) -> list[float]:
    """The item's fraction by each judgment; by the checks alone for a deterministic item."""
    return [item_fraction((*run.checks, *judgment)) for judgment in run.judgments or ((),)]


def _levels(item: Item, run: RunResult) -> RunLevels | None:
    if item.efficiency is None:
        return None
    return run_levels(item.efficiency, run.facts, total_tokens(run.trace.tokens))


def _reference_fault(fraction: float, levels: RunLevels | None) -> str:
    if not is_complete(fraction):
        return "the reference does not solve its item"
    if levels is not None and (levels.action_level, levels.token_level) != (BEST_LEVEL, BEST_LEVEL):
        return "the reference does not earn level 6 in actions and tokens"
    return ""


def _shortcut_fault(fraction: float, most: float) -> str:
    if most >= THRESHOLD:
        return "its predeclared fraction would pass"
    return "it earns more than was predeclared" if fraction > most + TOLERANCE else ""
