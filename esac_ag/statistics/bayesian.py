"""The Bayesian bootstrap of a mean paired difference.

Source: Rubin, "The Bayesian bootstrap", The Annals of Statistics 9, 1981. The weights of the tasks are drawn
from the flat Dirichlet distribution: standard exponentials over their sum. It asks what the mean is over a
population that consists of tasks like these, and answers with shares, not with a test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval
from esac_ag.record import Record
from esac_ag.statistics.estimates import SAME, NotEstimable
from esac_ag.statistics.resampling import Floats, exponentials, raw_rows

FEWEST_TASKS = 3
"""Weights on two differences show the line between them and nothing else."""


class BayesianShares(Record):
    """Where the draws of the mean lie; shares of `draws`, 0 to 1."""

    status: Literal["estimated"] = "estimated"
    draws: int
    above_zero: float
    above_threshold: float
    below_minus_threshold: float
    within_threshold: float
    """Between minus the threshold and the threshold, both included."""


MaybeShares = Annotated[BayesianShares | NotEstimable, Field(discriminator="status")]


def bayesian_means(values: Floats, draws: int, seed: int) -> Floats:
    """Weighted means of the values, shape (draws,)."""
    means = np.empty(draws)
    for start, raw in raw_rows(draws, len(values), seed):
        weights = exponentials(raw)
        means[start : start + len(raw)] = (weights @ values) / weights.sum(axis=1)
    return means


def bayesian_shares(
    differences: Sequence[float], plan: Interval, threshold: float, stream: tuple[str, ...]
) -> BayesianShares | NotEstimable:
    """Shares of the draws of the mean above zero and beyond the threshold.

    Args:
        differences: one per task, in points; their order has no effect.
        plan: gives replicates and seed.
        threshold: of practical importance, in points, above zero.
        stream: name of the random stream.

    Raises:
        ValueError: a difference is not finite.
    """
    if not all(map(math.isfinite, differences)):
        raise ValueError("a difference is not finite")
    if len(differences) < FEWEST_TASKS:
        return NotEstimable(reason=f"n = {len(differences)}: at least {FEWEST_TASKS} paired tasks are needed")
    values = np.sort(np.asarray(differences, dtype=np.float64))
    if values[-1] - values[0] <= SAME:
        return NotEstimable(reason=f"zero variance: all {len(values)} differences are the same")
    means = bayesian_means(values, plan.replicates, Seeds(plan.seed).number("bayesian", *stream))

    def share(holds: np.typing.NDArray[np.bool_]) -> float:
        return int(np.count_nonzero(holds)) / len(means)

    return BayesianShares(
        draws=len(means),
        above_zero=share(means > SAME),
        above_threshold=share(means > threshold + SAME),
        below_minus_threshold=share(means < -threshold - SAME),
        within_threshold=share(np.abs(means) <= threshold + SAME),
    )
