"""What a design can show at all: the smallest sign-flip share, and the smallest effect that it detects."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field
from scipy.special import chdtri, nctdtr, stdtrit

from esac_ag.record import Record
from esac_ag.statistics.estimates import SAME, NotEstimable, rounded

FAR = 6.0
"""Noncentrality from which on the tail on the other side does not count."""

_HALVINGS = 50
"""Of the interval that holds the effect: to the last digits of a float."""

USUAL_POWER = 0.8
"""Convention of Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988."""


class AttainableShare(Record):
    """The smallest two-sided sign-flip share that so many tasks can give, whatever the effect."""

    tasks: int
    alpha: float
    smallest_share: float
    """2 of 2 ** tasks: all differences on one side (1 without any task)."""
    comparisons: int
    """Comparisons that Holm's procedure adjusts together, at least 1."""
    smallest_adjusted: float
    """The smallest share after Holm's first step."""
    fewest_tasks: int
    """Tasks that a single comparison needs for a share of at most alpha."""
    attainable: bool
    """Whether `smallest_adjusted` is at most alpha."""


class DetectableEffect(Record):
    """The smallest true mean difference that a paired t-test finds with the power asked for, in points."""

    status: Literal["estimated"] = "estimated"
    tasks: int
    sd: float
    """Sample standard deviation of the paired differences between tasks, in points."""
    alpha: float
    power: float
    points: float
    points_low: float
    """With the lower end of the interval (confidence 1 - alpha) of the standard deviation."""
    points_high: float


MaybeDetectable = Annotated[DetectableEffect | NotEstimable, Field(discriminator="status")]


def attainable_share(tasks: int, alpha: float, comparisons: int = 1) -> AttainableShare:
    """What sign flips of so many tasks can give at best.

    Raises:
        ValueError: a count below 0 tasks or 1 comparison, or alpha outside 0 to 1.
    """
    if tasks < 0 or comparisons < 1 or not 0 < alpha < 1:
        raise ValueError("tasks from 0, comparisons from 1, alpha between 0 and 1")
    smallest = min(1.0, 2.0 ** (1 - tasks))
    adjusted = min(1.0, comparisons * smallest)
    return AttainableShare(
        tasks=tasks,
        alpha=alpha,
        smallest_share=smallest,
        comparisons=comparisons,
        smallest_adjusted=adjusted,
        fewest_tasks=math.ceil(1 - math.log2(alpha) - SAME),
        attainable=adjusted <= alpha,
    )


def detectable_effect(
    sd: float, tasks: int, alpha: float, power: float = USUAL_POWER
) -> DetectableEffect | NotEstimable:
    """The minimum detectable effect of a paired design over tasks, two-sided at level alpha.

    The power of the paired t-test follows the noncentral t distribution with tasks - 1 degrees of freedom and
    noncentrality effect * sqrt(tasks) / sd (Cohen 1988, chapter 2; Bloom, "Minimum detectable effects",
    Evaluation Review 19, 1995). The standard deviation is itself an estimate: its interval is that of the
    chi-square distribution, for normal differences.

    Raises:
        ValueError: sd below 0, or alpha or power outside 0 to 1, or power not above alpha.
    """
    if sd < 0 or not 0 < alpha < power < 1:
        raise ValueError("sd from 0; alpha and power between 0 and 1, power above alpha")
    if tasks < 2:  # noqa: PLR2004  (n - 1 degrees of freedom)
        return NotEstimable(reason=f"n = {tasks}: a spread between tasks needs two")
    if sd <= SAME:
        return NotEstimable(reason="zero variance: the differences show no spread to plan with")
    free = tasks - 1
    per_sd = _standardised(tasks, alpha, power)
    return DetectableEffect(
        tasks=tasks,
        sd=sd,
        alpha=alpha,
        power=power,
        points=rounded(per_sd * sd),
        points_low=rounded(per_sd * sd * math.sqrt(free / float(chdtri(free, alpha / 2)))),
        points_high=rounded(per_sd * sd * math.sqrt(free / float(chdtri(free, 1 - alpha / 2)))),
    )


def paired_power(effect_per_sd: float, tasks: int, alpha: float) -> float:
    """Power of the two-sided paired t-test for an effect in standard deviations of the differences.

    For at least two tasks.
    """
    free, shift = tasks - 1, effect_per_sd * math.sqrt(tasks)
    critical = float(stdtrit(free, 1 - alpha / 2))
    # Far from zero the other tail is below 1e-9, and scipy's series for it does not converge.
    other = float(nctdtr(free, shift, -critical)) if abs(shift) < FAR else 0.0
    return 1 - float(nctdtr(free, shift, critical)) + other


def _standardised(tasks: int, alpha: float, power: float) -> float:
    """Effect in standard deviations that has the power asked for."""
    low, high = 0.0, 1 / math.sqrt(tasks)
    while paired_power(high, tasks, alpha) < power:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if paired_power(middle, tasks, alpha) < power else (low, middle)
    return high
