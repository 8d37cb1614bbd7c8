"""The sign-flip reference distribution of a mean paired difference, and the interval that it gives.

Were arm and control exchangeable within every task, each difference could as well have had the other
sign. All 2 ** n sign patterns then give equally likely means (Fisher, The Design of Experiments, 1935,
section 21; Pitman 1937; Ernst, "Permutation methods", Statistical Science 19, 2004). Beyond `MOST_TASKS` the
patterns are drawn, and the observed one is counted among them, so that no share is zero (Phipson & Smyth,
"Permutation p-values should never be zero", Statistical Applications in Genetics and Molecular Biology 9,
2010).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from esac_ag.statistics.estimates import SAME, NotEstimable, SignFlipReference
from esac_ag.statistics.resampling import Floats, raw_rows

MOST_TASKS = 20
"""2 ** 20 patterns are enumerated in some milliseconds and 16 MiB; beyond that patterns are drawn."""

DRAWS = 19_999
"""Patterns that are drawn beyond that; with the observed one they make 20,000."""


def sign_flip_reference(
    differences: Sequence[float], seed: int | None = None
) -> SignFlipReference | NotEstimable:
    """Where the observed mean lies among the means under the sign patterns.

    The pattern that was observed is among them, so the share is never zero. It stands beside the
    interval and the single differences and is no verdict.

    Args:
        differences: one per task, in points.
        seed: of the patterns beyond `MOST_TASKS` differences; without it these are not estimable.

    Raises:
        ValueError: a difference is not finite.
    """
    if not all(map(math.isfinite, differences)):
        raise ValueError("a difference is not finite")
    n = len(differences)
    if n < 2:  # noqa: PLR2004  (with one difference both patterns lie equally far from zero)
        return NotEstimable(
            reason="no task has a pair" if n == 0 else "n = 1: both signs lie equally far from zero"
        )
    if n > MOST_TASKS and seed is None:
        return NotEstimable(reason=f"n = {n}: all sign patterns are enumerated up to {MOST_TASKS} tasks only")
    zeros = sum(abs(value) <= SAME for value in differences)
    if zeros == n:
        return NotEstimable(reason="all differences are zero, so every sign pattern gives the same mean")
    observed = abs(math.fsum(differences))
    totals = np.abs(_totals(differences, seed))
    share = int(np.count_nonzero(totals >= observed - n * SAME)) / len(totals)
    return SignFlipReference(
        differences=n,
        flips=len(totals),
        enumerated=n <= MOST_TASKS,
        two_sided_share=share,
        smallest_share=max(2.0 ** (1 + zeros - n), 1 / len(totals)),
    )


def one_sided_share(differences: Sequence[float], seed: int) -> float:
    """Share of the sign patterns whose sum is at least the observed one; for at least one difference."""
    totals = _totals(differences, seed)
    return int(np.count_nonzero(totals >= math.fsum(differences) - len(differences) * SAME)) / len(totals)


def sign_flip_ends(values: Floats, tail: float, draws: int, seed: int) -> tuple[float, float] | NotEstimable:
    """The interval of all means that the one-sided sign-flip tests at level `tail` do not reject.

    Exact where the differences are symmetric about their mean, whatever their shape. The mean of a subset of
    the differences is not above the true mean exactly when flipping that subset raises the sum, so the ends
    are order statistics of the means of all 2 ** n - 1 subsets (Hartigan, "Using subsample values as typical
    values", Journal of the American Statistical Association 64, 1969). Beyond `MOST_TASKS` values `draws`
    random subsets stand for all.
    """
    means = np.sort(_subset_means(values, draws, seed))
    place = math.floor(tail * (len(means) + 1) + SAME)
    if place < 1:
        return NotEstimable(
            reason=f"n = {len(values)}: {len(means) + 1} sign patterns cannot give tails of {tail:.3g}"
        )
    return float(means[place - 1]), float(means[-place])


def _subset_means(values: Floats, draws: int, seed: int) -> Floats:
    if len(values) <= MOST_TASKS:
        totals, counts = np.zeros(1), np.zeros(1)
        for value in values:
            totals = np.concatenate((totals, totals + value))
            counts = np.concatenate((counts, counts + 1))
        found: Floats = totals[1:] / counts[1:]
        return found
    means = np.full(draws, values.mean())
    for start, chosen in _coins(draws, len(values), seed):
        counts = chosen.sum(axis=1)
        some = counts > 0
        means[start : start + len(chosen)][some] = (chosen @ values)[some] / counts[some]
    return means


def _totals(differences: Sequence[float], seed: int | None) -> Floats:
    """Sums under the sign patterns, the observed one among them."""
    if len(differences) <= MOST_TASKS or seed is None:
        return _signed_totals(differences)
    values = np.sort(np.asarray(differences, dtype=np.float64))
    totals = np.empty(DRAWS + 1)
    totals[DRAWS] = math.fsum(differences)
    for start, heads in _coins(DRAWS, len(values), seed):
        totals[start : start + len(heads)] = (2 * heads - 1) @ values
    return totals


def _signed_totals(differences: Sequence[float]) -> Floats:
    """Sums under all sign patterns, shape (2 ** n,)."""
    totals = np.zeros(1)
    for value in differences:
        totals = np.concatenate((totals - value, totals + value))
    return totals


def _coins(rows: int, columns: int, seed: int) -> Iterator[tuple[int, Floats]]:
    """Fair coins as 0.0 or 1.0, from every bit of the draws: number of the first row, and the rows."""
    for start, raw in raw_rows(rows, -(-columns // 64), seed):
        octets = raw.astype("<u8").view(np.uint8)
        yield start, np.unpackbits(octets, axis=1, count=columns).astype(np.float64)
