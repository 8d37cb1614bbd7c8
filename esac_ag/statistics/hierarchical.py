"""The hierarchical bootstrap: tasks are drawn, within strata if asked, and then runs within each drawn task.

Sources: Davison & Hinkley, Bootstrap Methods and their Application, 1997, section 3.8; Field & Welsh,
"Bootstrapping clustered data", Journal of the Royal Statistical Society B 69, 2007. Means over runs carry the
run-to-run variance already, so drawing the runs again counts it somewhat more than once: this interval stands
beside the one over tasks, to show what the runs add, and does not take its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.estimates import SAME, NotEstimable, rounded
from esac_ag.statistics.resampling import Floats, indices, quantile, raw_rows

FEWEST_TASKS = 3
FEWEST_OF_A_STRATUM = 2
"""A stratum with a single task would always give that task, as if it were known without error."""

MOST_DRAWS = 20_000_000
"""Runs drawn for one interval; large studies get fewer replicates, and the record says how many."""

_FEWEST_REPLICATES = 200


@dataclass(frozen=True, slots=True)
class TaskRuns:
    """The scores of a task's runs, at least one of each."""

    task: str
    stratum: str
    arm: tuple[float, ...]
    control: tuple[float, ...]


class ResampledInterval(Record):
    """Quantiles of resampled means, and what is needed to compute them again."""

    status: Literal["estimated"] = "estimated"
    mean: float
    low: float
    high: float
    confidence: float
    replicates: int
    seed: str
    stream: tuple[str, ...]
    units: dict[str, int]
    """What was drawn, and of how many: tasks and runs, or runs and blocks."""
    strata: int


MaybeResampled = Annotated[ResampledInterval | NotEstimable, Field(discriminator="status")]


def hierarchical_interval(
    tasks: Sequence[TaskRuns], plan: Interval, stream: tuple[str, ...], *, stratified: bool = False
) -> ResampledInterval | NotEstimable:
    """Percentile interval of the mean paired difference when tasks and runs are drawn.

    Args:
        tasks: those with runs on both sides; their order has no effect.
        plan: gives confidence, replicates and seed.
        stream: name of the random stream.
        stratified: draw as many tasks of each stratum as it has; otherwise of all together.

    Raises:
        ValueError: a task without a run on both sides.
    """
    if not all(item.arm and item.control for item in tasks):
        raise ValueError("a task has no run of the arm, or none of the control")
    ordered = sorted(tasks, key=lambda item: (item.stratum, item.task) if stratified else (item.task,))
    strata = list(_strata(ordered)) if stratified else [(0, len(ordered))]
    if stratified and len(strata) == 1:
        return NotEstimable(reason=f"all tasks are of one stratum, {ordered[0].stratum}")
    refusal = _refusal(ordered, strata)
    if refusal is not None:
        return refusal
    runs = [list(item.arm) for item in ordered], [list(item.control) for item in ordered]
    per_replicate = len(ordered) + sum(max(map(len, side)) * len(side) for side in runs)
    replicates = min(plan.replicates, max(_FEWEST_REPLICATES, MOST_DRAWS // per_replicate))
    seed = Seeds(plan.seed).number("hierarchical", *stream)
    means = np.sort(_means(_Side.of(runs[0]), _Side.of(runs[1]), strata, replicates, seed))
    if means[-1] - means[0] <= SAME:
        return NotEstimable(reason="zero variance: all resamples have the same mean")
    tail = (1 - plan.confidence) / 2
    differences = [
        sum(arm) / len(arm) - sum(control) / len(control) for arm, control in zip(*runs, strict=True)
    ]
    return ResampledInterval(
        mean=rounded(sum(differences) / len(differences)),
        low=rounded(quantile(means, tail)),
        high=rounded(quantile(means, 1 - tail)),
        confidence=plan.confidence,
        replicates=replicates,
        seed=plan.seed,
        stream=stream,
        units={"tasks": len(ordered), "runs": sum(len(one) for side in runs for one in side)},
        strata=len(strata),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Runs of one arm, padded: scores of shape (tasks, most runs), counts of shape (tasks,)."""

    scores: Floats
    counts: Floats

    @classmethod
    def of(cls, runs: list[list[float]]) -> _Side:
        """The runs of each task, filled up with zeros that are never chosen."""
        most = max(map(len, runs))
        padded = [one + [0.0] * (most - len(one)) for one in runs]
        return cls(np.asarray(padded, dtype=np.float64), np.asarray([len(one) for one in runs], float))

    def means(self, drawn: np.typing.NDArray[np.intp], numbers: Floats) -> Floats:
        """Means of the redrawn runs of the drawn tasks, shape of `drawn`; numbers are whole, 0 to 2 ** 53."""
        counts = self.counts[drawn]
        width = self.scores.shape[1]
        # Scaling by a power of two is exact, so it may go with the counts, of which there are fewer.
        places = (numbers * (counts * 2.0**-53)[..., None]).astype(np.intp)
        places += width * drawn[..., None]
        chosen = self.scores.ravel().take(places)
        if (self.counts == width).all():
            whole: Floats = chosen.sum(axis=-1) / counts
            return whole
        used = np.arange(numbers.shape[-1]) < counts[..., None]
        found: Floats = np.where(used, chosen, 0.0).sum(axis=-1) / counts
        return found


def _means(arm: _Side, control: _Side, strata: list[tuple[int, int]], replicates: int, seed: int) -> Floats:
    tasks, most = len(arm.counts), (arm.scores.shape[1], control.scores.shape[1])
    means = np.empty(replicates)
    for start, raw in raw_rows(replicates, tasks * (1 + sum(most)), seed):
        picks, rest = raw[:, :tasks], raw[:, tasks:]
        drawn = np.concatenate(
            [low + indices(picks[:, low:high], high - low) for low, high in strata], axis=1
        )
        numbers = (rest >> np.uint64(11)).astype(np.float64).reshape(len(raw), tasks, -1)
        found = arm.means(drawn, numbers[..., : most[0]]) - control.means(drawn, numbers[..., most[0] :])
        means[start : start + len(raw)] = found.mean(axis=1)
    return means


def _strata(ordered: Sequence[TaskRuns]) -> Iterable[tuple[int, int]]:
    start = 0
    for place in range(1, len(ordered) + 1):
        if place == len(ordered) or ordered[place].stratum != ordered[start].stratum:
            yield start, place
            start = place


def _refusal(ordered: Sequence[TaskRuns], strata: list[tuple[int, int]]) -> NotEstimable | None:
    if len(ordered) < FEWEST_TASKS:
        return NotEstimable(reason=f"n = {len(ordered)}: at least {FEWEST_TASKS} paired tasks are needed")
    alone = [ordered[low].stratum for low, high in strata if high - low < FEWEST_OF_A_STRATUM]
    if alone and len(strata) > 1:
        return NotEstimable(
            reason=f"a single paired task in {', '.join(alone)}: no spread within the stratum"
        )
    return None
