"""A simulated review: several reviewers, their anchored dimensions, and an adjudicator where they disagree.

A reviewer errs in each dimension by as much, independently, so that the error of the weighted total has the
standard deviation that was asked for. The total itself is not rounded to anchors: the spreads that a design
states are those of final scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from esac_ag.manifest.package import DIMENSION_WEIGHTS, HIGHEST_ANCHOR, Dimension
from esac_ag.manifest.plan import MaterialDisagreement
from esac_ag.statistics.estimates import SAME
from esac_ag.statistics.pairs import HIGHEST_SCORE
from esac_ag.statistics.resampling import Booleans, Floats

_ANCHOR: Final = HIGHEST_SCORE / HIGHEST_ANCHOR
"""Points from one anchor of a dimension to the next."""
_WEIGHTS: Final = np.array([DIMENSION_WEIGHTS[name] for name in Dimension])


@dataclass(frozen=True, slots=True)
class Reviewers:
    """Who reviews every run."""

    count: int
    sd_points: float
    """Of one reviewer's error in the total."""
    dimension_sd_points: float
    """Of a run's true dimensions about its true total."""
    disagreement: MaterialDisagreement | None
    """From where on the adjudicator, who errs as a reviewer does, decides alone; none: never."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review made of runs; arrays have the runs' shape."""

    error: Floats
    """Of the total, in points."""
    dimensions: dict[Dimension, Floats]
    """0 to 100, from the anchors that the reviewers, or the adjudicator, gave."""


def reviewed(runs: Floats, reviewers: Reviewers, rng: np.random.Generator) -> Reviewed:
    """Review runs of these true totals.

    Args:
        runs: 0 to 100 and somewhat beyond, any shape.
        reviewers: who reviews.
        rng: draws deviations and errors.
    """
    # Weighted deviations sum to zero: a run's dimensions give its total.
    deviations = reviewers.dimension_sd_points * rng.standard_normal((len(_WEIGHTS), *runs.shape))
    deviations -= np.tensordot(_WEIGHTS, deviations, axes=1) / _WEIGHTS.sum()
    # Without errors all reviewers say the same: one of them is enough.
    count = reviewers.count if reviewers.sd_points else 1
    in_dimension = reviewers.sd_points / math.sqrt(float((_WEIGHTS**2).sum()))
    errors = in_dimension * rng.standard_normal((count + 1, len(_WEIGHTS), *runs.shape))
    totals = np.tensordot(errors, _WEIGHTS, axes=(1, 0))
    anchors = np.clip(np.round((runs + deviations + errors) / _ANCHOR), 0.0, HIGHEST_ANCHOR)
    apart = _material(anchors[:count], totals[:count], reviewers.disagreement)
    given = np.where(apart, anchors[count], anchors[:count].mean(axis=0)) * _ANCHOR
    return Reviewed(
        error=np.where(apart, totals[count], totals[:count].mean(axis=0)),
        dimensions=dict(zip(Dimension, given, strict=True)),
    )


def _material(anchors: Floats, totals: Floats, rule: MaterialDisagreement | None) -> Booleans:
    """Which runs go to the adjudicator; the first axis of both is the reviewer."""
    if rule is None:
        return np.zeros(totals.shape[1:], dtype=np.bool_)
    in_dimension = (np.ptp(anchors, axis=0) >= rule.dimension_points).any(axis=0)
    apart: Booleans = in_dimension | (np.ptp(totals, axis=0) > rule.total_points + SAME)
    return apart
