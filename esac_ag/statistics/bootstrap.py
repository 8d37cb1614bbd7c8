"""Intervals of a mean paired difference, or of one arm's mean, most of them by the bootstrap over tasks.

Sources: Efron & Tibshirani, An Introduction to the Bootstrap, 1993 (percentile: chapter 13, bootstrap-t:
12.5, BCa: 14.3); DiCiccio & Efron, "Bootstrap confidence intervals", Statistical Science 11, 1996;
Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015, on what
each is worth at small n. The draws are those of `resampling`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.plural import plural
from esac_ag.statistics.bayesian import bayesian_means
from esac_ag.statistics.estimates import SAME, IntervalEstimate, NotEstimable, rounded
from esac_ag.statistics.resampling import Floats, Resamples, quantile, resample
from esac_ag.statistics.sign_flip import sign_flip_ends

FEWEST_TASKS = 3
"""An interval needs at least as many differences: two have no shape to resample."""


@dataclass(frozen=True, slots=True)
class _Ends:
    low: float
    high: float
    degenerate: int = 0
    """Resamples without variance."""


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
    return _interval(differences, plan, stream, possible, ("pair", "paired task", "differences"))


def mean_interval(
    task_means: Sequence[float], plan: Interval, stream: tuple[str, ...], possible: tuple[float, float]
) -> IntervalEstimate | NotEstimable:
    """The two-sided interval of one arm's own mean over tasks, by the same method.

    Args:
        task_means: one per task, in points; their order has no effect.
        plan: as the manifest sealed it.
        stream: name of the random stream.
        possible: lowest and highest mean that can be.

    Raises:
        ValueError: a mean is not finite.
    """
    return _interval(task_means, plan, stream, possible, ("score", "scored task", "task means"))


def _interval(
    given: Sequence[float],
    plan: Interval,
    stream: tuple[str, ...],
    possible: tuple[float, float],
    words: tuple[str, str, str],
) -> IntervalEstimate | NotEstimable:
    """The interval; `words` say what no task has, a task that has it, and what the values are."""
    if not all(map(math.isfinite, given)):
        raise ValueError(f"one of the {words[2]} is not finite")
    refusal = _refusal(given, *words)
    if refusal is not None:
        return refusal
    # Sorted, because the mean does not depend on order and neither should the draws.
    values = np.sort(np.asarray(given, dtype=np.float64))
    ends = _ends(values, plan, Seeds(plan.seed).number("interval", *stream))
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
        degenerate_replicates=ends.degenerate,
        cut=(low, high) != (ends.low, ends.high),
    )


def _refusal(given: Sequence[float], what: str, task: str, values: str) -> NotEstimable | None:
    if not given:
        return NotEstimable(reason=f"no task has a {what}")
    if len(given) < FEWEST_TASKS:
        return NotEstimable(
            reason=f"n = {plural(len(given), task)}: an interval over tasks needs at least {FEWEST_TASKS}"
        )
    if max(given) - min(given) <= SAME:
        return NotEstimable(
            reason=f"zero variance: all {len(given)} {values} are the same, "
            "so resampling them shows no uncertainty"
        )
    return None


def _ends(values: Floats, plan: Interval, seed: int) -> _Ends | NotEstimable:
    tail = (1 - plan.confidence) / 2
    match plan.method:
        case IntervalMethod.PERCENTILE:
            return _percentile(resample(values, plan.replicates, seed), tail)
        case IntervalMethod.BCA:
            return _bca(values, resample(values, plan.replicates, seed), tail)
        case IntervalMethod.STUDENTISED:
            return _studentised(values, resample(values, plan.replicates, seed), tail)
        case IntervalMethod.STUDENTISED_SMOOTHED:
            return _smoothed(values, plan.replicates, seed, tail)
        case IntervalMethod.BAYESIAN:
            ordered = np.sort(bayesian_means(values, plan.replicates, seed))
            return _Ends(quantile(ordered, tail), quantile(ordered, 1 - tail))
        case IntervalMethod.SIGN_FLIP:
            found = sign_flip_ends(values, tail, plan.replicates, seed)
            return found if isinstance(found, NotEstimable) else _Ends(*found)
        case _:
            assert_never(plan.method)


def _percentile(resamples: Resamples, tail: float) -> _Ends:
    """Quantiles of the resampled means (Efron & Tibshirani 1993, section 13.3)."""
    ordered = np.sort(resamples.means)
    return _Ends(quantile(ordered, tail), quantile(ordered, 1 - tail), _degenerate(resamples))


def _bca(values: Floats, resamples: Resamples, tail: float) -> _Ends | NotEstimable:
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
    return _Ends(quantile(ordered, levels[0]), quantile(ordered, levels[1]), _degenerate(resamples))


def _studentised(values: Floats, resamples: Resamples, tail: float) -> _Ends | NotEstimable:
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
    low_t, high_t = quantile(t, tail), quantile(t, 1 - tail)
    if not (math.isfinite(low_t) and math.isfinite(high_t)):
        share = np.count_nonzero(degenerate) / len(degenerate)
        return NotEstimable(
            reason=f"{share:.1%} of the resamples have no variance (few tasks, or many equal differences), "
            "so the studentised interval has no finite end"
        )
    return _Ends(centre - high_t * error, centre - low_t * error, _degenerate(resamples))


def _smoothed(values: Floats, replicates: int, seed: int, tail: float) -> _Ends | NotEstimable:
    """Bootstrap-t of smoothed resamples, nowhere nearer to the mean than Student's t.

    A normal deviate of standard deviation s / sqrt(n) is added to every drawn value (Hesterberg,
    "Unbiasing the bootstrap: bootknife sampling vs. smoothing", 2004): resamples then have the variance s **
    2 and not s ** 2 * (n - 1) / n, and none of them is without variance, however lumpy the scores. The
    t-quantiles of few values are too near on the short side of skewed data, so each end is the farther one of
    this and Student's t. Coverage: benchmarks/coverage.py, docs/statistics.md.
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    found = _studentised(values, resample(values, replicates, seed, kernel_sd=error), tail)
    if isinstance(found, NotEstimable):
        return found
    centre, half = float(values.mean()), float(stdtrit(len(values) - 1, 1 - tail)) * error
    return _Ends(min(found.low, centre - half), max(found.high, centre + half), found.degenerate)


def _degenerate(resamples: Resamples) -> int:
    return int(np.count_nonzero(resamples.standard_errors <= SAME))
