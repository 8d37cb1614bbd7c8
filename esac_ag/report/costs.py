"""Costs stand apart from scores: means over the graded runs, and for how many the figure is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final, assert_never

from esac_ag.attempt import Costs, Usage
from esac_ag.report.numbers import UNAVAILABLE, amount
from esac_ag.report.runs import Facts
from esac_ag.report.view import ArmCosts, CostMean, CostMeasure, ReportView, RunState
from esac_ag.statistics.aggregate import mean
from esac_ag.statistics.estimates import Estimate, NotEstimable

_PATHS: Final = {
    measure: f"usage.{measure}" if measure.value in Usage.model_fields else measure.value
    for measure in CostMeasure
}
_ALL: Final[Callable[[Costs], tuple[float | None, ...]]] = attrgetter(*_PATHS.values())
VALUES: Final[Mapping[CostMeasure, Callable[[Costs], float | None]]] = {
    measure: attrgetter(path) for measure, path in _PATHS.items()
}
"""How to take a figure from the costs of a run; none when it is unknown."""


def value_of(costs: Costs, measure: CostMeasure) -> float | None:
    """One figure of one run; none when it is unknown."""
    return VALUES[measure](costs)


def arm_costs(facts: Facts, arm: str) -> ArmCosts:
    """All costs of one arm."""
    graded = [
        run.attempt.costs
        for run in facts.runs_of_arm(arm)
        if run.state is RunState.GRADED and run.attempt is not None
    ]
    # All figures of a run at once: a large study's records are not gone through twelve times.
    columns = list(zip(*map(_ALL, graded), strict=True)) or [()] * len(CostMeasure)
    return ArmCosts(
        arm=arm,
        agent_kind=facts.agent_kind,
        means=tuple(
            _cost_mean(values, measure) for measure, values in zip(CostMeasure, columns, strict=True)
        ),
    )


def _cost_mean(graded: Sequence[float | None], measure: CostMeasure) -> CostMean:
    known = [float(value) for value in graded if value is not None]
    unavailable = NotEstimable(reason=f"unavailable: known for {len(known)} of {len(graded)} graded runs")
    # Money is shown whole or not at all: a mean of the runs that happen to be priced reads as a bill.
    whole = measure is not CostMeasure.COST or len(known) == len(graded)
    return CostMean(
        measure=measure,
        graded=len(graded),
        known=len(known),
        mean=mean(known if whole else [], unavailable),
    )


def cost_shown(view: ReportView, costs: ArmCosts, measure: CostMeasure) -> str:
    """A mean cost as a reader sees it: `12.3`, `12.3 (7 of 8 runs known)`, `unavailable`."""
    item = next(item for item in costs.means if item.measure is measure)
    match item.mean:
        case NotEstimable():
            partly = f" (known for {item.known} of {item.graded})" if item.known else ""
            return UNAVAILABLE + partly
        case Estimate(value=value):
            unit = f" {view.prices.currency}" if measure is CostMeasure.COST and view.prices else ""
            partly = f" ({item.known} of {item.graded} runs known)" if item.known < item.graded else ""
            return amount(measure, value) + unit + partly
        case _:
            assert_never(item.mean)
