"""Paired differences, arm minus control, one per task, and what missing runs could make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esac_ag.record import Record
from esac_ag.statistics.aggregate import mean
from esac_ag.statistics.estimates import (
    Estimate,
    MaybeEstimate,
    MaybeInterval,
    MaybeSignFlip,
    NotEstimable,
    estimate,
    rounded,
)

LOWEST_SCORE, HIGHEST_SCORE = 0.0, 100.0


class Bounds(Record):
    """The lowest and highest value that the missing runs could still bring about."""

    low: float
    high: float


class TaskPair(Record):
    """One task under an arm and under the control."""

    task: str
    arm_n: int
    """Runs with a score, of `planned`."""
    control_n: int
    planned: int
    """Repetitions of each of both."""
    arm_mean: MaybeEstimate
    control_mean: MaybeEstimate
    difference: MaybeEstimate
    """Arm minus control, of the means over the runs that have a score."""
    bounds: Bounds
    """The difference when every missing run takes the worst or the best score for the arm."""

    @property
    def missing_runs(self) -> int:
        """Planned runs of both arms that have no score."""
        return 2 * self.planned - self.arm_n - self.control_n


class PairedComparison(Record):
    """Arm minus control, the task being the unit."""

    tasks_planned: int
    tasks_paired: int
    """Tasks where both have at least one run with a score."""
    unpaired: tuple[str, ...]
    """Ids of the other tasks."""
    missing_runs: int
    """Planned runs of arm and control without a score, in all tasks."""
    mean: MaybeEstimate
    """Mean difference over the paired tasks, each counting once."""
    sd: MaybeEstimate
    """Sample standard deviation of the differences between tasks."""
    interval: MaybeInterval
    sign_flip: MaybeSignFlip
    bounds: Bounds
    """Mean difference over all planned tasks when every missing run takes the worst or best score."""


def pair(task: str, arm: Sequence[float], control: Sequence[float], planned: int) -> TaskPair:
    """The paired difference of one task from the scores (0 to 100) of its runs.

    The bounds are the worst and best case for outcomes of known range (Horowitz & Manski, Journal of
    the American Statistical Association 95, 2000): they assume nothing of why runs are missing.

    Raises:
        ValueError: more scores than planned runs, or a score outside 0 to 100.
    """
    for scores in (arm, control):
        if len(scores) > planned:
            raise ValueError(f"{len(scores)} scores of {planned} planned runs")
        if not all(LOWEST_SCORE <= score <= HIGHEST_SCORE for score in scores):
            raise ValueError("a score is outside 0 to 100")
    nothing = NotEstimable(reason=f"none of {planned} planned runs has a score")
    return TaskPair(
        task=task,
        arm_n=len(arm),
        control_n=len(control),
        planned=planned,
        arm_mean=mean(arm, nothing),
        control_mean=mean(control, nothing),
        difference=_difference(arm, control),
        bounds=Bounds(
            low=rounded(_filled(arm, planned, LOWEST_SCORE) - _filled(control, planned, HIGHEST_SCORE)),
            high=rounded(_filled(arm, planned, HIGHEST_SCORE) - _filled(control, planned, LOWEST_SCORE)),
        ),
    )


def _difference(arm: Sequence[float], control: Sequence[float]) -> Estimate | NotEstimable:
    match bool(arm), bool(control):
        case True, True:
            return estimate(math.fsum(arm) / len(arm) - math.fsum(control) / len(control))
        case False, True:
            return NotEstimable(reason="the arm has no run with a score")
        case True, False:
            return NotEstimable(reason="the control has no run with a score")
        case _:
            return NotEstimable(reason="neither arm nor control has a run with a score")


def _filled(scores: Sequence[float], planned: int, filler: float) -> float:
    return (math.fsum(scores) + filler * (planned - len(scores))) / planned
