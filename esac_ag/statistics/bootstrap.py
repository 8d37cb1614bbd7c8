"""Intervals of a mean paired difference by the bootstrap over tasks.

Sources: Efron & Tibshirani, An Introduction to the Bootstrap, 1993 (percentile: chapter 13, bootstrap-t:
12.5, BCa: 14.3); DiCiccio & Efron, "Bootstrap confidence intervals", Statistical Science 11, 1996;
Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015, on what
each is worth at small n.

Resampling draws from PCG64's raw 64-bit output, whose stream numpy promises to keep; the mapping to
indices is ours, so that numpy's own distributions may change without a report changing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.statistics.estimates import SAME, IntervalEstimate, NotEstimable, rounded

FEWEST_TASKS = 3
"""An interval needs at least as many differences: two have no shape to resample."""

_CHUNK_DRAWS = 1 << 20
_Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Resamples:
    """Means and standard errors of all resamples, shape (replicates,) each."""

    means: _Floats
    standard_errors: _Floats


@dataclass(frozen=True, slots=True)
class _Ends:
    low: float
    high: float


def bootstrap_interval(
    differences: Sequence[float], plan: Interval, stream: tuple[str, ...], possible: tuple[float, float]
) -> IntervalEstimate | NotEstimable:
    """The two-sided interval of the mean of the differences, one per task.

    Args:
        differences: one paired difference per task, in points; their order has no effect.
        plan: method, nominal confidence, replicates and seed, as the manifest sealed them.
        stream: name of the random stream, so that every comparison draws for itself.
        possible: lowest and highest mean that can be; ends outside are set to these.

    Raises:
        ValueError: a difference is not finite.
    """
    if not all(map(math.isfinite, differences)):
        raise ValueError("a difference is not finite")
    refusal = _refusal(differences)
    if refusal is not None:
        return refusal
    # Sorted, because the mean does not depend on order and neither should the draws.
    values = np.sort(np.asarray(differences, dtype=np.float64))
    resamples = _resample(values, plan.replicates, Seeds(plan.seed).number("interval", *stream))
    ends = _ends(plan.method, values, resamples, (1 - plan.confidence) / 2)
    if isinstance(ends, NotEstimable):
        return ends
    low, high = (min(max(end, possible[0]), possible[1]) for end in (ends.low, ends.high))
    return IntervalEstimate(
        low=rounded(low),
        high=rounded(high),
        confidence=plan.confidence,
        method=plan.method,
        replicates=plan.replicates,
        seed=plan.seed,
        stream=stream,
        degenerate_replicates=int(np.count_nonzero(resamples.standard_errors <= SAME)),
        cut=(low, high) != (ends.low, ends.high),
    )


def _refusal(differences: Sequence[float]) -> NotEstimable | None:
    if not differences:
        return NotEstimable(reason="no task has a pair")
    if len(differences) < FEWEST_TASKS:
        return NotEstimable(
            reason=f"n = {len(differences)} paired task{'s' * (len(differences) > 1)}: "
            f"an interval over tasks needs at least {FEWEST_TASKS}"
        )
    if max(differences) - min(differences) <= SAME:
        return NotEstimable(
            reason=f"zero variance: all {len(differences)} differences are the same, "
            "so resampling them shows no uncertainty"
        )
    return None


def _resample(values: _Floats, replicates: int, seed: int) -> _Resamples:
    """Draw `replicates` samples of `len(values)` with replacement, in chunks of bounded memory."""
    generator = np.random.PCG64(seed)
    rows = max(1, _CHUNK_DRAWS // len(values))
    means, errors = np.empty(replicates), np.empty(replicates)
    for start in range(0, replicates, rows):
        stop = min(start + rows, replicates)
        raw = generator.random_raw((stop - start) * len(values)).reshape(stop - start, len(values))
        # The upper 32 bits scaled to 0..n-1 (Lemire 2019, without rejection: bias below n / 2 ** 32).
        indices = ((raw >> np.uint64(32)) * np.uint64(len(values))) >> np.uint64(32)
        drawn = values[indices.astype(np.intp)]
        means[start:stop] = drawn.mean(axis=1)
        errors[start:stop] = drawn.std(axis=1, ddof=1) / math.sqrt(len(values))
    return _Resamples(means, errors)


def _ends(
    method: IntervalMethod, values: _Floats, resamples: _Resamples, tail: float
) -> _Ends | NotEstimable:
    match method:
        case IntervalMethod.PERCENTILE:
            return _percentile(resamples, tail)
        case IntervalMethod.BCA:
            return _bca(values, resamples, tail)
        case IntervalMethod.STUDENTISED:
            return _studentised(values, resamples, tail)
        case _:
            assert_never(method)


def _percentile(resamples: _Resamples, tail: float) -> _Ends:
    """Quantiles of the resampled means (Efron & Tibshirani 1993, section 13.3)."""
    ordered = np.sort(resamples.means)
    return _Ends(_quantile(ordered, tail), _quantile(ordered, 1 - tail))


def _bca(values: _Floats, resamples: _Resamples, tail: float) -> _Ends | NotEstimable:
    """Bias-corrected and accelerated (Efron & Tibshirani 1993, equations 14.9 to 14.15).

    Resampled means equal to the observed one count half, as in `scipy.stats.bootstrap`. The
    acceleration is the jackknife's, which for a mean reduces to a sixth of the skewness over root n.
    """
    centre = float(values.mean())
    below = np.count_nonzero(resamples.means < centre - SAME)
    at = np.count_nonzero(np.abs(resamples.means - centre) <= SAME)
    share = (below + at / 2) / len(resamples.means)
    if not 0 < share < 1:
        return NotEstimable(reason="all resampled means lie on one side of the observed mean")
    bias = float(ndtri(share))
    deviations = values - centre
    acceleration = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))
    levels = []
    for z in (float(ndtri(tail)), float(ndtri(1 - tail))):
        room = 1 - acceleration * (bias + z)
        if room <= 0:
            return NotEstimable(reason="the differences are too skewed for the BCa correction")
        levels.append(float(ndtr(bias + (bias + z) / room)))
    ordered = np.sort(resamples.means)
    return _Ends(_quantile(ordered, levels[0]), _quantile(ordered, levels[1]))


def _studentised(values: _Floats, resamples: _Resamples, tail: float) -> _Ends | NotEstimable:
    """Bootstrap-t (Efron & Tibshirani 1993, equations 12.20 to 12.22).

    A resample without variance has no standard error: its t is infinite, on the side of its mean. It is
    kept and not dropped, for dropping it makes the interval too short; when such resamples reach
    the quantile, there is no finite end to report.
    """
    centre = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    off = resamples.means - centre
    off[np.abs(off) <= SAME] = 0.0
    degenerate = resamples.standard_errors <= SAME
    t = np.where(
        degenerate,
        np.where(off == 0.0, 0.0, np.copysign(np.inf, off)),
        off / np.where(degenerate, 1.0, resamples.standard_errors),
    )
    t.sort()
    low_t, high_t = _quantile(t, tail), _quantile(t, 1 - tail)
    if not (math.isfinite(low_t) and math.isfinite(high_t)):
        share = np.count_nonzero(degenerate) / len(degenerate)
        return NotEstimable(
            reason=f"{share:.1%} of the resamples have no variance (few tasks, or many equal differences), "
            "so the studentised interval has no finite end"
        )
    return _Ends(centre - high_t * error, centre - low_t * error)


def _quantile(ordered: _Floats, level: float) -> float:
    """Linear between order statistics (Hyndman & Fan 1996, type 7); infinite when a neighbour is."""
    position = level * (len(ordered) - 1)
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    if not (np.isfinite(below) and np.isfinite(above)):
        return float(below if np.isinf(below) else above)
    return float(below + (above - below) * (position - math.floor(position)))
