"""The exact sign-flip reference distribution of a mean paired difference.

Were arm and control exchangeable within every task, each difference could as well have had the other
sign. All 2 ** n sign patterns then give equally likely means (Fisher, The Design of Experiments, 1935,
section 21; Pitman 1937; Ernst, "Permutation methods", Statistical Science 19, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from esac_ag.statistics.estimates import SAME, NotEstimable, SignFlipReference

MOST_TASKS = 20
"""2 ** 20 patterns are enumerated in some milliseconds and 8 MiB; beyond that nothing is sampled."""


def sign_flip_reference(differences: Sequence[float]) -> SignFlipReference | NotEstimable:
    """Where the observed mean lies among the means under all sign patterns.

    The pattern that was observed is among them, so the share is never zero. It stands beside the
    interval and the single differences and is no verdict.

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
    if n > MOST_TASKS:
        return NotEstimable(reason=f"n = {n}: all sign patterns are enumerated up to {MOST_TASKS} tasks only")
    zeros = sum(abs(value) <= SAME for value in differences)
    if zeros == n:
        return NotEstimable(reason="all differences are zero, so every sign pattern gives the same mean")
    totals = np.abs(_signed_totals(differences))
    observed = abs(math.fsum(differences))
    return SignFlipReference(
        differences=n,
        flips=2**n,
        two_sided_share=int(np.count_nonzero(totals >= observed - n * SAME)) / 2**n,
        smallest_share=2.0 ** (1 + zeros - n),
    )


def _signed_totals(differences: Sequence[float]) -> npt.NDArray[np.float64]:
    """Sums under all sign patterns, shape (2 ** n,)."""
    totals = np.zeros(1)
    for value in differences:
        totals = np.concatenate((totals - value, totals + value))
    return totals
