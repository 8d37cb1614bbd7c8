"""The dual gate, and what a run's numbers are worth (amendment 001 §10).

60 % in every capability category and 60 % overall (45.00 of 75), within 1e-9; exactly 60 % passes. The
modifier has no gate of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import assert_never

from esac_ag.record import Record
from esac_ag.suite.constitution import (
    CATEGORIES,
    ITEMS,
    PINNED_JUDGE,
    THRESHOLD,
    TOLERANCE,
    TOTAL_POINTS,
)
from esac_ag.suite.efficiency import Modifier
from esac_ag.suite.scoring import CategoryScore, capability_points


class Verdict(StrEnum):
    """What a run comes to. An infrastructure abort is no verdict: nothing is reported as a score."""

    PASS = "PASS"  # noqa: S105  (a verdict)
    FAIL = "FAIL"
    UNDECIDED = "UNDECIDED"
    """Every category passes, and the overall gate hangs on token usage that nobody reported."""
    INCOMPLETE = "INCOMPLETE"
    """Not every item ran."""
    NOT_VALID = "NOT VALID"
    """The judge was not the pinned one; the numbers are still reported."""


class Total(Record):
    """The total out of 75; its bounds differ when the token part is unavailable.

    Of an incomplete run it is what was earned so far: what did not run adds nothing.
    """

    points: float | None
    """Null when the token part is unavailable."""
    low: float
    high: float


class Decision(Record):
    """The verdict and why."""

    verdict: Verdict
    exit_code: int
    reasons: tuple[str, ...]


def exit_code(verdict: Verdict) -> int:
    """What the command line returns."""
    match verdict:
        case Verdict.PASS:
            return 0
        case Verdict.FAIL | Verdict.UNDECIDED | Verdict.INCOMPLETE:
            return 1
        case Verdict.NOT_VALID:
            return 3
        case _:
            assert_never(verdict)


def passes(points: float, allocation: float) -> bool:
    """Whether points reach 60 % of an allocation, within the tolerance."""
    return points >= THRESHOLD * allocation - TOLERANCE


def below_gate(value: float, decimals: int, gate: float | None) -> float:
    """The value rounded for a reader; one below the gate never becomes the gate."""
    near = round(value, decimals) + 0.0
    if gate is not None and value < gate - TOLERANCE and near >= gate:
        scale = 10.0**decimals
        return math.floor(value * scale) / scale
    return near


def total(categories: Iterable[CategoryScore], modifier: Modifier) -> Total:
    """Capability and modifier together."""
    fixed = capability_points(categories) + modifier.action_points
    return Total(
        points=None if modifier.token_points is None else fixed + modifier.token_points,
        low=fixed + modifier.token_low,
        high=fixed + modifier.token_high,
    )


def decide(
    categories: Sequence[CategoryScore],
    modifier: Modifier,
    *,
    judge: str | None,
    judged: bool,
) -> Decision:
    """The verdict.

    An unpinned judge comes first, for no resumption can mend it; then missing items; then the gates.

    Args:
        categories: of the whole bank.
        modifier: with bounds for an unavailable token part.
        judge: the judge actually used; none when nothing was judged.
        judged: whether there is any judgment; runs that failed need none.
    """
    verdict, reasons = _decide(categories, modifier, judge, judged=judged)
    return Decision(verdict=verdict, exit_code=exit_code(verdict), reasons=tuple(reasons))


def _decide(
    categories: Sequence[CategoryScore], modifier: Modifier, judge: str | None, *, judged: bool
) -> tuple[Verdict, list[str]]:
    if judge != PINNED_JUDGE and (judged or judge is not None):
        used = "is not known" if judge is None else f"was {judge}"
        return Verdict.NOT_VALID, [f"The judge {used}; the pinned judge is {PINNED_JUDGE}."]
    ran = sum(score.ran for score in categories)
    if ran != ITEMS or {score.category for score in categories} != set(CATEGORIES):
        return Verdict.INCOMPLETE, [f"{ran} of {ITEMS} items ran."]
    failed = _failed_categories(categories)
    bounds = total(categories, modifier)
    reasons = [*failed]
    if not passes(bounds.high, TOTAL_POINTS):
        most = "" if bounds.points is not None else "at most "
        reasons.append(f"Total: {most}{_below(bounds.high, TOTAL_POINTS)}.")
    if reasons:
        return Verdict.FAIL, reasons
    if not passes(bounds.low, TOTAL_POINTS):
        return Verdict.UNDECIDED, [
            "Every category passes; whether the total does depends on token usage that was not reported."
        ]
    return Verdict.PASS, ["At least 60 % in every category and overall."]


def _failed_categories(categories: Iterable[CategoryScore]) -> list[str]:
    return [
        f"{CATEGORIES[score.category].title}: {_below(score.earned, score.points)}."
        for score in categories
        if score.earned is None or not passes(score.earned, score.points)
    ]


def _below(earned: float | None, allocation: float) -> str:
    """What was earned of an allocation, and what its gate needs."""
    gate = THRESHOLD * allocation
    needed = f"{gate:.2f} are needed"
    if earned is None:
        return f"nothing ran; {needed}"
    share = below_gate(100 * earned / allocation, 1, 100 * THRESHOLD)
    return f"{below_gate(earned, 2, gate):.2f} of {allocation:g} ({share:.1f} %); {needed}"
