"""Draws for the bootstrap: the same numbers from the same seed, on every platform and version of numpy.

Resampling draws from PCG64's raw 64-bit output, whose stream numpy promises to keep; the mapping to
indices, normal deviates and weights is ours, so that numpy's own distributions may change without a report
changing. Work goes in chunks, so memory stays bounded whatever the number of tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Floats: TypeAlias = npt.NDArray[np.float64]
Booleans: TypeAlias = npt.NDArray[np.bool_]
Raw: TypeAlias = npt.NDArray[np.uint64]

_CHUNK_DRAWS = 1 << 18
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Resamples:
    """Means and standard errors of all resamples, shape (replicates,) each."""

    means: Floats
    standard_errors: Floats


def resample(values: Floats, replicates: int, seed: int, kernel_sd: float = 0.0) -> Resamples:
    """Draw `replicates` samples of `len(values)` with replacement.

    Args:
        values: shape (n,).
        replicates: how many samples.
        seed: of the draws.
        kernel_sd: standard deviation of the normal deviate that is added to each drawn value; with 0 nothing
            is added, and the samples are those of the same seed without a kernel.
    """
    means, errors = np.empty(replicates), np.empty(replicates)
    for start, raw in raw_rows(replicates, len(values), seed):
        drawn = values[indices(raw, len(values))]
        if kernel_sd:
            drawn += kernel_sd * deviates(raw)
        rows = slice(start, start + len(raw))
        means[rows] = drawn.mean(axis=1)
        errors[rows] = drawn.std(axis=1, ddof=1) / math.sqrt(len(values))
    return Resamples(means, errors)


def raw_rows(replicates: int, columns: int, seed: int) -> Iterator[tuple[int, Raw]]:
    """Raw draws in chunks of whole replicates: number of the first one, and shape (some, columns)."""
    generator = np.random.PCG64(seed)
    rows = max(1, _CHUNK_DRAWS // columns)
    for start in range(0, replicates, rows):
        some = min(rows, replicates - start)
        yield start, generator.random_raw(some * columns).reshape(some, columns)


def indices(raw: Raw, size: int) -> npt.NDArray[np.intp]:
    """The upper 32 bits of each draw scaled to 0..size-1 (Lemire 2019, without rejection).

    The bias is below size / 2 ** 32.
    """
    return (((raw >> _HALF) * np.uint64(size)) >> _HALF).astype(np.intp)


def deviates(raw: Raw) -> Floats:
    """The lower 32 bits of each draw as a standard normal deviate, by inversion."""
    found: Floats = ndtri(((raw & _LOWER).astype(np.float64) + 0.5) / 2.0**32)
    return found


def exponentials(raw: Raw) -> Floats:
    """The upper 32 bits of each draw as a standard exponential, by inversion."""
    return -np.log(((raw >> _HALF).astype(np.float64) + 0.5) / 2.0**32)


def quantile(ordered: Floats, level: float) -> float:
    """Linear between order statistics (Hyndman & Fan 1996, type 7); infinite when a neighbour is."""
    position = level * (len(ordered) - 1)
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    if not (np.isfinite(below) and np.isfinite(above)):
        return float(below if np.isinf(below) else above)
    return float(below + (above - below) * (position - math.floor(position)))
