"""How much a mean paired difference rests on any single task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate, MaybeInterval, NotEstimable, rounded

FEWEST_TASKS = 3
"""Leaving one of two out leaves a single task, which is no mean over tasks."""

MOST_INTERVALS = 24
"""With more tasks no single one matters much, and only means are computed."""


class WithoutTask(Record):
    """The comparison over all paired tasks but one."""

    task: str
    """The one that is left out."""
    mean: float
    interval: MaybeInterval | None
    """Null beyond `MOST_INTERVALS` paired tasks, where only means are computed."""


class LeaveOneOut(Record):
    """The comparison with each paired task left out in turn."""

    status: Literal["estimated"] = "estimated"
    lowest: float
    highest: float
    """Lowest and highest of the means."""
    most_influential: str
    """The task whose omission moves the mean most; the first of several."""
    sign_turns: tuple[str, ...]
    """Tasks without which the mean has the other sign, or is zero."""
    reading_turns: tuple[str, ...]
    """Tasks without which the interval newly excludes zero, or no longer does; of the intervals computed."""
    without: tuple[WithoutTask, ...]
    """In the order of the tasks."""


MaybeLeaveOneOut = Annotated[LeaveOneOut | NotEstimable, Field(discriminator="status")]


def leave_one_out(
    differences: Mapping[str, float],
    interval: IntervalEstimate | NotEstimable,
    plan: Interval,
    stream: tuple[str, ...],
    possible: tuple[float, float],
) -> LeaveOneOut | NotEstimable:
    """Leave each task out in turn (the deletions of Quenouille's and Tukey's jackknife).

    Args:
        differences: by task, in points.
        interval: over all of them.
        plan: the sealed interval.
        stream: name of the random stream.
        possible: lowest and highest mean that can be.

    Raises:
        ValueError: a difference is not finite.
    """
    n = len(differences)
    if n < FEWEST_TASKS:
        return NotEstimable(reason=f"n = {n}: leaving one out needs at least {FEWEST_TASKS} paired tasks")
    total = math.fsum(differences.values())
    without = []
    for task, value in differences.items():
        rest = [other for name, other in differences.items() if name != task] if n <= MOST_INTERVALS else []
        found = bootstrap_interval(rest, plan, (*stream, "without", task), possible) if rest else None
        without.append(WithoutTask(task=task, mean=rounded((total - value) / (n - 1)), interval=found))
    mean = rounded(total / n)
    excludes = _excludes_zero(interval)
    return LeaveOneOut(
        lowest=min(item.mean for item in without),
        highest=max(item.mean for item in without),
        most_influential=max(without, key=lambda item: abs(item.mean - mean)).task,
        sign_turns=tuple(item.task for item in without if item.mean * mean <= 0 < abs(mean)),
        reading_turns=tuple(
            item.task
            for item in without
            if item.interval is not None and _excludes_zero(item.interval) is not excludes
        ),
        without=tuple(without),
    )


def _excludes_zero(interval: IntervalEstimate | NotEstimable) -> bool:
    return isinstance(interval, IntervalEstimate) and (interval.low > 0 or interval.high < 0)
