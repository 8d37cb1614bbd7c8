"""Simulated paired studies, each analysed exactly as a real one.

Model of a run's score: base of the task + effect of the arm on this task + noise of the run + error of the
review. Effects differ between tasks; bases cancel in pairs except where scores are cut to 0..100. What
decision rules look at beside the score is drawn with it: dimensions (`simulated_review`), critical failures,
costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, assert_never

import numpy as np
from pydantic import Field
from scipy.special import ndtr

from esac_ag.clock import Seeds
from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import Interval, MaterialDisagreement
from esac_ag.record import Record
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE
from esac_ag.statistics.resampling import Booleans, Floats
from esac_ag.statistics.simulated_review import Reviewers, reviewed

_RANGE = HIGHEST_SCORE - LOWEST_SCORE
BASE_MEAN, BASE_SD = 60.0, 20.0
"""Of the tasks' scores under the control, in points; they matter for lumpy scores only."""
STEP = 10.0
"""Lumpy scores come in steps of as many points, as from ten checks of equal weight."""
SKEW_SIGMA = 0.75
"""Of the logarithm of skewed effects: skewness 3.3."""
_TRUTH_DRAWS = 200_000
COSTS = 3
"""Costs of a run that are drawn: money, time, changed lines."""

Spread = Annotated[float, Field(ge=0, le=100)]
Chance = Annotated[float, Field(ge=0, le=1)]


class EffectShape(StrEnum):
    """How the arm's effect differs between tasks."""

    NORMAL = "normal"
    SKEWED = "skewed"
    """Shifted log-normal: most tasks gain a little less than the mean, a few very much more."""
    LUMPY = "lumpy"
    """A quarter of the tasks takes most of the effect; scores are cut to 0..100 and come in steps."""


class PowerDesign(Record):
    """A paired study as planned, and what is assumed of the world."""

    tasks: Annotated[int, Field(ge=2, le=10_000)]
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    effect_points: Annotated[float, Field(ge=-100, le=100)]
    """True mean effect of the arm over tasks (before scores are cut, where they are lumpy)."""
    task_sd_points: Spread
    """Standard deviation of the effect between tasks."""
    run_sd_points: Spread
    """Standard deviation of runs of one task under one arm."""
    reviewer_sd_points: Spread = 0.0
    """Standard deviation of one reviewer's error about a run."""
    reviewers: Annotated[int, Field(ge=1, le=100)] = 2
    shape: EffectShape = EffectShape.NORMAL
    threshold_points: Annotated[float, Field(gt=0)] = 5.0
    disagreement: MaterialDisagreement | None = None
    """From where on an adjudicator's score takes the place of the reviewers' mean; null: never."""
    dimension_sd_points: Spread = 10.0
    """Standard deviation of a run's dimensions about its score."""
    critical_chance: Chance = 0.0
    """Of a run of the arm to show a critical failure."""
    control_critical_chance: Chance = 0.0
    cost_ratio: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """What a run of the arm costs in the mean, in money, time and changed lines, to one of the control."""
    cost_sd: Annotated[float, Field(ge=0, le=5)] = 0.5
    """Standard deviation of the logarithm of a run's cost."""

    @property
    def noise_sd_points(self) -> float:
        """Of a run's score about what its task and arm give: the run's own and the reviewers' mean error."""
        return math.hypot(self.run_sd_points, self.reviewer_sd_points / math.sqrt(self.reviewers))


@dataclass(frozen=True, slots=True)
class SimulatedRuns:
    """What runs of one arm show beside their scores; the first axes are (tasks, repetitions)."""

    dimensions: dict[Dimension, Floats]
    """0 to 100."""
    critical: Booleans
    """Whether a run shows a critical failure, always of the same kind."""
    costs: Floats
    """Shape (`COSTS`, tasks, repetitions)."""


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """One simulated study, as a decision rule sees it."""

    arm: Floats
    """Scores, shape (tasks, repetitions)."""
    control: Floats
    differences: tuple[float, ...]
    """One per task, arm minus control, of the means over repetitions."""
    interval: IntervalEstimate | NotEstimable
    arm_runs: SimulatedRuns
    control_runs: SimulatedRuns


def simulate(design: PowerDesign, interval: Interval, studies: int) -> Iterator[SimulatedStudy]:
    """The simulated studies, each with its interval by the method of a real one."""
    rng = np.random.Generator(np.random.PCG64(Seeds(interval.seed).number("power", design.model_dump_json())))
    for number in range(studies):
        (arm, arm_runs), (control, control_runs) = _arms(design, rng)
        differences = tuple(map(float, arm.mean(axis=1) - control.mean(axis=1)))
        found = bootstrap_interval(differences, interval, ("power", str(number)), (-_RANGE, _RANGE))
        yield SimulatedStudy(arm, control, differences, found, arm_runs, control_runs)


def true_effect_points(design: PowerDesign) -> float:
    """The mean effect on scores.

    For lumpy scores over many drawn tasks: with exact chances of the steps, or, where an adjudicator may
    decide, over drawn reviews, which leaves an error of some hundredths of a point.
    """
    if design.shape is not EffectShape.LUMPY:
        return design.effect_points
    rng = np.random.Generator(np.random.PCG64(Seeds("truth").number(design.model_dump_json())))
    base = rng.normal(BASE_MEAN, BASE_SD, _TRUTH_DRAWS)
    treated = base + _effects(design, rng, _TRUTH_DRAWS)
    if design.disagreement is not None and design.reviewer_sd_points:
        (arm, _), (control, _) = (_scored(level[:, None], design, rng) for level in (treated, base))
        return float((arm - control).mean())
    return float((_expected(treated, design) - _expected(base, design)).mean())


def _arms(
    design: PowerDesign, rng: np.random.Generator
) -> tuple[tuple[Floats, SimulatedRuns], tuple[Floats, SimulatedRuns]]:
    """Scores and runs of the arm, then of the control."""
    base = rng.normal(BASE_MEAN, BASE_SD, design.tasks)
    treated = base + _effects(design, rng, design.tasks)
    shape = (design.tasks, design.repetitions)
    (arm, arm_dimensions), (control, control_dimensions) = (
        _scored(np.broadcast_to(level[:, None], shape), design, rng) for level in (treated, base)
    )
    return (
        (arm, _runs(arm_dimensions, design.critical_chance, design.cost_ratio, design, rng)),
        (control, _runs(control_dimensions, design.control_critical_chance, 1.0, design, rng)),
    )


def _scored(
    level: Floats, design: PowerDesign, rng: np.random.Generator
) -> tuple[Floats, dict[Dimension, Floats]]:
    """Scores and dimensions of runs whose tasks and arm give these levels."""
    runs = level + design.run_sd_points * rng.standard_normal(level.shape)
    reviewers = Reviewers(
        design.reviewers, design.reviewer_sd_points, design.dimension_sd_points, design.disagreement
    )
    found = reviewed(runs, reviewers, rng)
    scores = runs + found.error
    return _stepped(scores) if design.shape is EffectShape.LUMPY else scores, found.dimensions


def _runs(
    dimensions: dict[Dimension, Floats],
    critical_chance: float,
    mean_cost: float,
    design: PowerDesign,
    rng: np.random.Generator,
) -> SimulatedRuns:
    shape = (design.tasks, design.repetitions)
    # The log-normal's mean is that of its logarithm and half its variance.
    centre = math.log(mean_cost) - design.cost_sd**2 / 2
    return SimulatedRuns(
        dimensions=dimensions,
        critical=rng.random(shape) < critical_chance,
        costs=np.exp(centre + design.cost_sd * rng.standard_normal((COSTS, *shape))),
    )


def _effects(design: PowerDesign, rng: np.random.Generator, tasks: int) -> Floats:
    match design.shape:
        case EffectShape.NORMAL:
            standard = rng.standard_normal(tasks)
        case EffectShape.SKEWED:
            mean, variance = math.exp(SKEW_SIGMA**2 / 2), math.exp(SKEW_SIGMA**2) - 1
            standard = (np.exp(SKEW_SIGMA * rng.standard_normal(tasks)) - mean) / (mean * math.sqrt(variance))
        case EffectShape.LUMPY:
            # Mean 0 and variance 1: 3/4 * 1/3 + 1/4 * 3.
            standard = np.where(rng.random(tasks) < 0.25, math.sqrt(3), -1 / math.sqrt(3))  # noqa: PLR2004
        case _:
            assert_never(design.shape)
    return design.effect_points + design.task_sd_points * standard


def _stepped(scores: Floats) -> Floats:
    found: Floats = np.clip(np.round(scores / STEP) * STEP, LOWEST_SCORE, HIGHEST_SCORE)
    return found


def _expected(level: Floats, design: PowerDesign) -> Floats:
    """Mean of a stepped score by its level before noise: a step for every limit that is passed."""
    if design.noise_sd_points == 0:
        return _stepped(level)
    limits = np.arange(LOWEST_SCORE + STEP / 2, HIGHEST_SCORE, STEP)
    total = np.zeros_like(level)
    for limit in limits:
        total += STEP * ndtr((level - limit) / design.noise_sd_points)
    return total
