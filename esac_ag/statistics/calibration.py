"""Spreads of an earlier study, for planning the next one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from esac_ag.record import Record
from esac_ag.statistics.estimates import MaybeEstimate, NotEstimable, estimate

Scores = Mapping[str, Sequence[float]]
"""Scores of the runs, by task."""


class Calibration(Record):
    """Variance components of a study's scores, in points."""

    run_sd_points: MaybeEstimate
    """Of runs of one task under one arm."""
    run_degrees: int
    """Degrees of freedom: runs beyond the first of each task and arm."""
    task_sd_points: MaybeEstimate
    """Of arms' effects between tasks, the share of runs taken off."""
    task_degrees: int
    """Degrees of freedom: paired tasks beyond the first of each comparison."""
    floored: bool
    """Whether runs alone explain more than the spread of the differences, so that the task's is set to 0."""


def calibrate(control: Scores, arms: Sequence[Scores]) -> Calibration:
    """Spreads between runs and between tasks, by the moments of a nested analysis of variance.

    The variance of a paired difference is that of the effects plus that of both means over runs; the latter,
    pooled over all tasks and arms, is subtracted (Searle, Casella & McCulloch, Variance Components, 1992,
    chapter 3). A negative rest is set to 0, and said.
    """
    cells = [runs for scores in (control, *arms) for runs in scores.values() if runs]
    degrees = sum(len(runs) - 1 for runs in cells)
    run_variance = sum(_squares(runs) for runs in cells) / degrees if degrees else None
    squares, noise, free = 0.0, 0.0, 0
    for scores in arms:
        both = [task for task, runs in scores.items() if runs and control.get(task)]
        if len(both) < 2:  # noqa: PLR2004  (n - 1 must not be zero)
            continue
        squares += _squares([_mean(scores[task]) - _mean(control[task]) for task in both])
        shares = [1 / len(scores[task]) + 1 / len(control[task]) for task in both]
        noise += _mean(shares) * (len(both) - 1)
        free += len(both) - 1
    return Calibration(
        run_sd_points=NotEstimable(reason="no task has two runs with a score under one arm")
        if run_variance is None
        else estimate(math.sqrt(run_variance)),
        run_degrees=degrees,
        task_sd_points=_task_sd(squares, noise, free, run_variance),
        task_degrees=free,
        floored=bool(free) and run_variance is not None and squares < noise * run_variance,
    )


def _task_sd(squares: float, noise: float, free: int, run_variance: float | None) -> MaybeEstimate:
    if not free:
        return NotEstimable(reason="no comparison has two paired tasks")
    if run_variance is None:
        return NotEstimable(reason="without repetitions the tasks' spread cannot be told from that of runs")
    return estimate(math.sqrt(max(0.0, squares - noise * run_variance) / free))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> float:
    centre = _mean(values)
    return math.fsum((value - centre) ** 2 for value in values)
