"""A plan tells counts, time and cost, and what it does not know."""

from __future__ import annotations

import pytest

from esac_ag.manifest.plan import AgentKind, Limits
from esac_ag.schedule import CostBasis, TimeBasis, make_plan
from tests.builders_report import a_manifest


def test_a_plan_counts_blocks_and_cells() -> None:
    """4 tasks, 3 arms and 2 repetitions are 8 blocks and 24 runs."""
    plan = make_plan(a_manifest())
    assert (plan.tasks, plan.arms, plan.repetitions, plan.blocks, plan.cells) == (4, 3, 2, 8, 24)


def test_without_a_measurement_every_run_takes_its_whole_time_limit() -> None:
    """24 runs, 5 at a time, take 5 rounds of agent and grader limit."""
    plan = make_plan(a_manifest(), concurrency=5)
    assert plan.duration_s == pytest.approx(5 * (900 + 120))
    assert plan.duration_basis is TimeBasis.WORST_CASE


def test_a_measured_run_gives_time_and_cost() -> None:
    """Measured figures are multiplied and labelled as measured."""
    plan = make_plan(a_manifest(), run_s=2.0, run_cost=0.5)
    assert (plan.duration_s, plan.duration_basis) == (48.0, TimeBasis.MEASURED)
    assert (plan.cost, plan.currency, plan.cost_basis) == (12.0, "USD", CostBasis.MEASURED)


def test_an_unknown_cost_is_none_and_not_zero() -> None:
    """Token prices without token limits bound nothing."""
    plan = make_plan(a_manifest())
    assert (plan.cost, plan.currency, plan.cost_basis) == (None, None, CostBasis.UNKNOWN)


def test_a_scripted_study_has_no_cost_to_estimate() -> None:
    """A scripted agent calls no model, and nobody should read a zero as a price."""
    plan = make_plan(a_manifest(agent=AgentKind.SCRIPTED))
    assert (plan.cost, plan.cost_basis) == (None, CostBasis.NO_MODEL)


def test_a_cost_limit_bounds_the_cost() -> None:
    """24 runs of at most 0.25 USD each."""
    plan = make_plan(a_manifest(limits=Limits(cost_usd=0.25)))
    assert (plan.cost, plan.currency, plan.cost_basis) == (6.0, "USD", CostBasis.COST_LIMIT)


def test_token_limits_with_prices_bound_the_cost() -> None:
    """A million tokens in at 1 and half a million out at 4, 24 times."""
    plan = make_plan(a_manifest(limits=Limits(input_tokens=1_000_000, output_tokens=500_000)))
    assert plan.cost == pytest.approx(72.0)
    assert plan.cost_basis is CostBasis.TOKEN_LIMITS


def test_token_limits_without_prices_bound_nothing() -> None:
    """Without a price table the cost is unknown."""
    limits = Limits(input_tokens=1_000_000, output_tokens=500_000)
    assert make_plan(a_manifest(limits=limits, prices=False)).cost is None
