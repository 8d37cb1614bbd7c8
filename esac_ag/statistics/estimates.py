"""What a statistic is: an estimate, or not estimable with the reason. Never NaN, never a zero for no data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from esac_ag.manifest.plan import IntervalMethod
from esac_ag.record import Record

DECIMALS = 9
"""Estimates are rounded to as many decimals: far beyond meaning, and above what processors differ in."""

SAME = 1e-9
"""Differences of scores (0 to 100) that are closer than this are the same number."""


class NotEstimable(Record):
    """The data cannot answer, and why."""

    status: Literal["not-estimable"] = "not-estimable"
    reason: str
    """A clause in plain words, without a full stop."""


class Estimate(Record):
    """One number."""

    status: Literal["estimated"] = "estimated"
    value: float


class IntervalEstimate(Record):
    """A confidence interval and all that is needed to compute it again."""

    status: Literal["estimated"] = "estimated"
    low: float
    high: float
    confidence: float
    """Nominal, as a share: 0.95."""
    method: IntervalMethod
    replicates: int
    seed: str
    stream: tuple[str, ...]
    """Name of the random stream under the seed."""
    degenerate_replicates: int
    """Resamples without variance; the studentised method counts them as infinitely far out."""
    cut: bool
    """Whether an end lay outside the possible range and was set to the range's end."""


class SignFlipReference(Record):
    """Where the observed mean lies among the means under all sign flips of the differences."""

    status: Literal["estimated"] = "estimated"
    differences: int
    flips: int
    """Sign patterns: 2 to the power of `differences` where they are enumerated."""
    enumerated: bool
    """Whether all patterns were taken; else they were drawn under the plan's seed, the observed one
    included."""
    two_sided_share: float
    """Share of the flips whose mean is at least as far from zero as the observed mean."""
    smallest_share: float
    """The smallest share that differences of these sizes, and so many patterns, could have given."""


MaybeEstimate = Annotated[Estimate | NotEstimable, Field(discriminator="status")]
MaybeInterval = Annotated[IntervalEstimate | NotEstimable, Field(discriminator="status")]
MaybeSignFlip = Annotated[SignFlipReference | NotEstimable, Field(discriminator="status")]


def estimate(value: float) -> Estimate:
    """The value as an estimate, rounded to `DECIMALS`; negative zero becomes zero."""
    return Estimate(value=rounded(value))


def rounded(value: float) -> float:
    """A plain float, rounded to `DECIMALS`; negative zero becomes zero."""
    return round(float(value), DECIMALS) + 0.0
