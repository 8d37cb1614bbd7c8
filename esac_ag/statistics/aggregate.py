"""Repetitions within one task: their mean and their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esac_ag.record import Record
from esac_ag.statistics.estimates import Estimate, MaybeEstimate, NotEstimable, estimate


class RunSummary(Record):
    """The runs of one task under one arm, or any other set of numbers."""

    planned: int
    n: int
    """Runs with a score."""
    mean: MaybeEstimate
    minimum: MaybeEstimate
    maximum: MaybeEstimate
    sd: MaybeEstimate
    """One sample standard deviation, n - 1 in the denominator."""


def summarise(values: Sequence[float], planned: int) -> RunSummary:
    """Count, mean, minimum, maximum and sample standard deviation of the values that are known.

    Raises:
        ValueError: more values than were planned, or a value that is not finite.
    """
    if len(values) > planned:
        raise ValueError(f"{len(values)} values of {planned} planned")
    nothing = NotEstimable(reason=f"none of {planned} planned runs has a score")
    return RunSummary(
        planned=planned,
        n=len(values),
        mean=mean(values, nothing),
        minimum=estimate(min(values)) if values else nothing,
        maximum=estimate(max(values)) if values else nothing,
        sd=sample_sd(values) if values else nothing,
    )


def mean(values: Sequence[float], nothing: NotEstimable) -> Estimate | NotEstimable:
    """Arithmetic mean, exactly summed (`math.fsum`); `nothing` when there are no values.

    Raises:
        ValueError: a value is not finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is not finite")
    return estimate(math.fsum(values) / len(values)) if values else nothing


def sample_sd(values: Sequence[float]) -> Estimate | NotEstimable:
    """Square root of the unbiased sample variance (n - 1); needs two values."""
    if len(values) < 2:  # noqa: PLR2004  (n - 1 must not be zero)
        return NotEstimable(reason=f"n = {len(values)}: a spread needs two values")
    centre = math.fsum(values) / len(values)
    return estimate(math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)))
