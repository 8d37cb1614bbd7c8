"""What a comparison rests on: other methods, single tasks, runs, the threshold, lost runs, the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.record import Record
from esac_ag.statistics.attainable import (
    AttainableShare,
    MaybeDetectable,
    attainable_share,
    detectable_effect,
)
from esac_ag.statistics.attrition import Attrition, attrition
from esac_ag.statistics.bayesian import MaybeShares, bayesian_shares
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.equivalence import MaybeEquivalence, equivalence
from esac_ag.statistics.estimates import Estimate, MaybeInterval, NotEstimable, SignFlipReference
from esac_ag.statistics.hierarchical import MaybeResampled, TaskRuns, hierarchical_interval
from esac_ag.statistics.holm import holm
from esac_ag.statistics.leave_one_out import MaybeLeaveOneOut, leave_one_out
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE, PairedComparison, TaskPair

_RANGE = HIGHEST_SCORE - LOWEST_SCORE
POSSIBLE = (-_RANGE, _RANGE)

OTHER_METHODS = (
    IntervalMethod.STUDENTISED_SMOOTHED,
    IntervalMethod.STUDENTISED,
    IntervalMethod.BCA,
    IntervalMethod.BAYESIAN,
    IntervalMethod.SIGN_FLIP,
)
MOST_TASKS_FOR_METHODS = 100
"""With more paired tasks the methods agree, and only the sealed one is computed."""


class MethodInterval(Record):
    """The interval by another method than the sealed one."""

    method: IntervalMethod
    interval: MaybeInterval


class Sensitivity(Record):
    """Beside one comparison over all tasks; nothing here replaces what was sealed."""

    methods: tuple[MethodInterval, ...]
    """Empty beyond `MOST_TASKS_FOR_METHODS` paired tasks."""
    runs_redrawn: MaybeResampled
    """Hierarchical bootstrap: tasks, then runs."""
    runs_redrawn_by_family: MaybeResampled
    """The same within families."""
    bayesian: MaybeShares
    equivalence: MaybeEquivalence
    leave_one_out: MaybeLeaveOneOut
    attainable: AttainableShare
    detectable: MaybeDetectable
    attrition: Attrition


class AdjustedShare(Record):
    """A sign-flip share after Holm's adjustment."""

    name: str
    share: float
    adjusted: float


class Adjustment(Record):
    """Shares that are adjusted together."""

    over: str
    """Which comparisons, in words."""
    shares: tuple[AdjustedShare, ...]
    """By size, then name."""
    left_out: tuple[str, ...]
    """Comparisons without a share."""


def sensitivity_of(
    pairs: Sequence[TaskPair],
    runs: Sequence[TaskRuns],
    overall: PairedComparison,
    plan: Interval,
    threshold: float,
    stream: tuple[str, ...],
    comparisons: int,
) -> Sensitivity:
    """All of it for one comparison.

    Args:
        pairs: one per planned task, at least one.
        runs: of the tasks that are paired.
        overall: the comparison of these pairs.
        plan: the sealed interval.
        threshold: of practical importance, in points, above zero.
        stream: names the comparison's random stream.
        comparisons: comparisons that Holm's procedure adjusts together with this one, at least 1.
    """
    known = {item.task: item.difference.value for item in pairs if isinstance(item.difference, Estimate)}
    values = list(known.values())
    alpha = 1 - plan.confidence
    return Sensitivity(
        methods=_methods(values, plan, stream) if len(values) <= MOST_TASKS_FOR_METHODS else (),
        runs_redrawn=hierarchical_interval(runs, plan, stream),
        runs_redrawn_by_family=hierarchical_interval(runs, plan, (*stream, "family"), stratified=True),
        bayesian=bayesian_shares(values, plan, threshold, stream),
        equivalence=equivalence(values, plan, threshold, stream, POSSIBLE),
        leave_one_out=leave_one_out(known, overall.interval, plan, stream, POSSIBLE),
        attainable=attainable_share(len(values), round(alpha, 12), comparisons),
        detectable=overall.sd
        if isinstance(overall.sd, NotEstimable)
        else detectable_effect(overall.sd.value, len(values), round(alpha, 12)),
        attrition=attrition(pairs, Seeds(plan.seed).number("attrition", *stream)),
    )


def adjustment(over: str, comparisons: Mapping[str, PairedComparison]) -> Adjustment:
    """The sign-flip shares of comparisons, by name, after Holm's adjustment; those without one are named."""
    shares = {
        name: item.sign_flip.two_sided_share
        for name, item in comparisons.items()
        if isinstance(item.sign_flip, SignFlipReference)
    }
    adjusted = holm(shares)
    return Adjustment(
        over=over,
        shares=tuple(
            AdjustedShare(name=name, share=shares[name], adjusted=value) for name, value in adjusted.items()
        ),
        left_out=tuple(name for name in comparisons if name not in shares),
    )


def _methods(values: list[float], plan: Interval, stream: tuple[str, ...]) -> tuple[MethodInterval, ...]:
    others = [method for method in OTHER_METHODS if method is not plan.method]
    return tuple(
        MethodInterval(
            method=method,
            interval=bootstrap_interval(
                values, plan.model_copy(update={"method": method}), (*stream, "method", method), POSSIBLE
            ),
        )
        for method in others
    )
