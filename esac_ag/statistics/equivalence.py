"""Whether a mean paired difference is practically nothing: two one-sided tests against a threshold.

Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", Journal of
Pharmacokinetics and Biopharmaceutics 15, 1987. At level alpha the procedure says "equivalent" exactly when
the interval of confidence 1 - 2 * alpha lies within the threshold on both sides. Without that, no difference
seen is not shown to be none.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable
from esac_ag.statistics.sign_flip import one_sided_share


class EquivalenceReading(StrEnum):
    """What the interval says about the threshold; the first that holds, from the top."""

    EQUIVALENT = "equivalent"
    """All of it lies within the threshold."""
    BETTER = "better"
    """All of it lies above the threshold."""
    WORSE = "worse"
    """All of it lies below minus the threshold."""
    NOT_WORSE = "not-worse"
    """It reaches beyond the threshold upward only."""
    NOT_BETTER = "not-better"
    """It reaches beyond the threshold downward only."""
    OPEN = "open"
    """It reaches beyond it on both sides."""


class Equivalence(Record):
    """Two one-sided tests of a mean paired difference against plus and minus the threshold."""

    status: Literal["estimated"] = "estimated"
    threshold_points: float
    alpha: float
    """Level of each of the two tests."""
    interval: IntervalEstimate
    """Of confidence 1 - 2 * alpha, by the sealed method."""
    reading: EquivalenceReading
    sign_flip_share: float
    """The larger of the two one-sided sign-flip shares against the threshold; at most alpha is
    equivalence."""


MaybeEquivalence = Annotated[Equivalence | NotEstimable, Field(discriminator="status")]


def equivalence(
    differences: Sequence[float],
    plan: Interval,
    threshold: float,
    stream: tuple[str, ...],
    possible: tuple[float, float],
) -> Equivalence | NotEstimable:
    """The mean of the differences against plus and minus the threshold.

    Args:
        differences: one per task, in points.
        plan: the sealed interval; alpha is one minus its confidence.
        threshold: of practical importance, in points, above zero.
        stream: name of the random stream.
        possible: lowest and highest mean that can be.

    Raises:
        ValueError: a difference is not finite, or the threshold is not above zero.
    """
    if not threshold > 0:
        raise ValueError("a threshold is above zero")
    alpha = 1 - plan.confidence
    narrower = plan.model_copy(update={"confidence": 1 - 2 * alpha})
    interval = bootstrap_interval(differences, narrower, (*stream, "equivalence"), possible)
    if isinstance(interval, NotEstimable):
        return interval
    seed = Seeds(plan.seed).number("sign-flip", *stream, "equivalence")
    return Equivalence(
        threshold_points=threshold,
        alpha=round(alpha, 12),
        interval=interval,
        reading=reading_of(interval.low, interval.high, threshold),
        sign_flip_share=max(
            one_sided_share([value + threshold for value in differences], seed),
            one_sided_share([threshold - value for value in differences], seed),
        ),
    )


def reading_of(low: float, high: float, threshold: float) -> EquivalenceReading:
    """What an interval says about plus and minus the threshold; ends at it count as beyond."""
    if low > threshold:
        return EquivalenceReading.BETTER
    if high < -threshold:
        return EquivalenceReading.WORSE
    match low > -threshold, high < threshold:
        case True, True:
            return EquivalenceReading.EQUIVALENT
        case True, False:
            return EquivalenceReading.NOT_WORSE
        case False, True:
            return EquivalenceReading.NOT_BETTER
        case _:
            return EquivalenceReading.OPEN
