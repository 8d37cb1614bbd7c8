"""Simulated paired studies, each analysed exactly as a real one.

Model of a run's score: base of the task + effect of the arm on this task + noise of the run + mean error of
the reviewers. Effects differ between tasks; bases cancel in pairs except where scores are cut to 0..100.
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
from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE
from esac_ag.statistics.resampling import Floats

_RANGE = HIGHEST_SCORE - LOWEST_SCORE
BASE_MEAN, BASE_SD = 60.0, 20.0
"""Of the tasks' scores under the control, in points; they matter for lumpy scores only."""
STEP = 10.0
"""Lumpy scores come in steps of as many points, as from ten checks of equal weight."""
SKEW_SIGMA = 0.75
"""Of the logarithm of skewed effects: skewness 3.3."""
_TRUTH_DRAWS = 200_000

Spread = Annotated[float, Field(ge=0, le=100)]


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

    @property
    def noise_sd_points(self) -> float:
        """Of a run's score about what its task and arm give: the run's own and the reviewers' mean error."""
        return math.hypot(self.run_sd_points, self.reviewer_sd_points / math.sqrt(self.reviewers))


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """One simulated study, as a decision rule sees it."""

    arm: Floats
    """Scores, shape (tasks, repetitions)."""
    control: Floats
    differences: tuple[float, ...]
    """One per task, arm minus control, of the means over repetitions."""
    interval: IntervalEstimate | NotEstimable


def simulate(design: PowerDesign, interval: Interval, studies: int) -> Iterator[SimulatedStudy]:
    """The simulated studies, each with its interval by the method of a real one."""
    rng = np.random.Generator(np.random.PCG64(Seeds(interval.seed).number("power", design.model_dump_json())))
    for number in range(studies):
        arm, control = _scores(design, rng)
        differences = tuple(map(float, arm.mean(axis=1) - control.mean(axis=1)))
        found = bootstrap_interval(differences, interval, ("power", str(number)), (-_RANGE, _RANGE))
        yield SimulatedStudy(arm, control, differences, found)


def true_effect_points(design: PowerDesign) -> float:
    """The mean effect on scores; for lumpy ones over many drawn tasks, with exact chances of the steps."""
    if design.shape is not EffectShape.LUMPY:
        return design.effect_points
    rng = np.random.Generator(np.random.PCG64(Seeds("truth").number(design.model_dump_json())))
    base = rng.normal(BASE_MEAN, BASE_SD, _TRUTH_DRAWS)
    treated = base + _effects(design, rng, _TRUTH_DRAWS)
    return float((_expected(treated, design) - _expected(base, design)).mean())


def _scores(design: PowerDesign, rng: np.random.Generator) -> tuple[Floats, Floats]:
    base = rng.normal(BASE_MEAN, BASE_SD, design.tasks)
    treated = base + _effects(design, rng, design.tasks)
    shape = (design.tasks, design.repetitions)
    arm, control = (
        level[:, None] + design.noise_sd_points * rng.standard_normal(shape) for level in (treated, base)
    )
    if design.shape is EffectShape.LUMPY:
        return _stepped(arm), _stepped(control)
    return arm, control


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
