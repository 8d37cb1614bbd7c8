"""What a design would show: shares of simulated studies.

Simulation in place of formulas: Morris, White & Crowther, "Using simulation studies to evaluate statistical
methods", Statistics in Medicine 38, 2019, whose Monte Carlo standard errors are given beside every rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import assert_never

import numpy as np
from scipy.special import betaincinv

from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.equivalence import EquivalenceReading, reading_of
from esac_ag.statistics.estimates import Estimate, IntervalEstimate, MaybeEstimate, NotEstimable, estimate
from esac_ag.statistics.simulation import PowerDesign, SimulatedStudy, simulate, true_effect_points

Decide = Callable[[SimulatedStudy], str]
"""A decision rule: the name of its verdict on a study. Rates are counted by name."""


_RATE_CONFIDENCE = 0.95


class IntervalVerdict(StrEnum):
    """What the interval alone says of the sign."""

    BENEFIT = "benefit"
    HARM = "harm"
    OPEN = "open"
    NOT_ESTIMABLE = "not-estimable"


class Rate(Record):
    """A share of simulated studies, 0 to 1."""

    share: float
    standard_error: float
    """Monte Carlo standard error, `sqrt(share * (1 - share) / studies)`."""
    low: float
    """Ends of its exact 95 % interval over simulations (Clopper & Pearson, Biometrika 26, 1934)."""
    high: float


class PowerResult(Record):
    """What the studies of one design came to."""

    design: PowerDesign
    interval: Interval
    studies: int
    true_effect_points: float
    """Differs from the design's where scores are cut."""
    estimable: Rate
    """Studies with an interval; all other rates are of all studies."""
    coverage: Rate
    """Intervals that hold the true effect."""
    width_points: MaybeEstimate
    """Median width of the intervals."""
    excludes_zero: Rate
    """The power to see the sign: intervals on the true effect's side of zero (any side without an effect)."""
    above_threshold: Rate
    """The power to see practical improvement: intervals above the threshold."""
    equivalent: Rate
    """Intervals within the threshold on both sides, at the same confidence."""
    wrong_sign: Rate
    """Intervals wholly on the other side of zero than the true effect; 0 without an effect."""
    false_benefit: Rate
    """Intervals above zero although the true effect is not."""
    false_improvement: Rate
    """Intervals above the threshold although the true effect is not."""
    decisions: dict[str, Rate]
    """By verdict of the decision rule."""


def by_interval(study: SimulatedStudy) -> str:
    """The plainest decision rule: on which side of zero the interval lies."""
    match study.interval:
        case NotEstimable():
            return IntervalVerdict.NOT_ESTIMABLE
        case IntervalEstimate(low=low, high=high):
            if low > 0:
                return IntervalVerdict.BENEFIT
            return IntervalVerdict.HARM if high < 0 else IntervalVerdict.OPEN
        case _:
            assert_never(study.interval)


def power_of(
    design: PowerDesign, interval: Interval, studies: int, decide: Decide = by_interval
) -> PowerResult:
    """Simulate studies of the design and count what their intervals, and a decision rule, say.

    Args:
        design: sizes, spreads and effect.
        interval: method, confidence, replicates, and the seed of everything that is drawn.
        studies: how many, at least 1.
        decide: the rule whose verdicts are counted.

    Raises:
        ValueError: no studies.
    """
    if studies < 1:
        raise ValueError("at least one study")
    verdicts: Counter[str] = Counter()
    ends: list[tuple[float, float]] = []
    for study in simulate(design, interval, studies):
        verdicts[decide(study)] += 1
        if isinstance(study.interval, IntervalEstimate):
            ends.append((study.interval.low, study.interval.high))
    return _result(design, interval, studies, ends, verdicts)


def _result(
    design: PowerDesign,
    interval: Interval,
    studies: int,
    ends: list[tuple[float, float]],
    verdicts: Counter[str],
) -> PowerResult:
    truth = true_effect_points(design)
    threshold = design.threshold_points

    def rate(holds: Callable[[float, float], bool]) -> Rate:
        return rate_of(sum(holds(low, high) for low, high in ends), studies)

    def sees_the_sign(low: float, high: float) -> bool:
        return (low > 0 and truth >= 0) or (high < 0 and truth <= 0)

    def sees_the_other_sign(low: float, high: float) -> bool:
        return (low > 0 > truth) or (high < 0 < truth)

    return PowerResult(
        design=design,
        interval=interval,
        studies=studies,
        true_effect_points=round(truth, 3),
        estimable=rate_of(len(ends), studies),
        coverage=rate(lambda low, high: low <= truth <= high),
        width_points=_median_width(ends),
        excludes_zero=rate(sees_the_sign),
        above_threshold=rate(lambda low, _: low > threshold),
        equivalent=rate(lambda low, high: reading_of(low, high, threshold) is EquivalenceReading.EQUIVALENT),
        wrong_sign=rate(sees_the_other_sign),
        false_benefit=rate(lambda low, _: low > 0 >= truth),
        false_improvement=rate(lambda low, _: low > threshold >= truth),
        decisions={name: rate_of(count, studies) for name, count in sorted(verdicts.items())},
    )


def _median_width(ends: list[tuple[float, float]]) -> Estimate | NotEstimable:
    if not ends:
        return NotEstimable(reason="no simulated study has an interval")
    return estimate(float(np.median([high - low for low, high in ends])))


def rate_of(count: int, studies: int) -> Rate:
    """The share of simulated studies with its simulation error; of none, the interval still has a width."""
    share = count / studies
    tail = (1 - _RATE_CONFIDENCE) / 2
    return Rate(
        share=share,
        standard_error=math.sqrt(share * (1 - share) / studies),
        low=float(betaincinv(count, studies - count + 1, tail)) if count else 0.0,
        high=float(betaincinv(count + 1, studies - count, 1 - tail)) if count < studies else 1.0,
    )
