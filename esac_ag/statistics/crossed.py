"""The crossed bootstrap: runs and shared blocks are drawn independently, strata and mirrors are preserved.

For designs where every run of a system meets every block (a policy that plays all worlds, an agent that takes
all items of a pool), so that runs share the blocks' luck. Sources: Owen, "The pigeonhole bootstrap", The
Annals of Applied Statistics 1, 2007; McCullagh, "Resampling and exchangeable arrays", Bernoulli 6, 2000. Its
variance errs on the long side by about the variance of a single cell's noise, which no resampling of rows and
columns avoids (McCullagh 2000).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from esac_ag.clock import Seeds
from esac_ag.manifest.plan import Interval
from esac_ag.statistics.estimates import SAME, NotEstimable, rounded
from esac_ag.statistics.hierarchical import ResampledInterval
from esac_ag.statistics.resampling import Floats, indices, quantile, raw_rows

FEWEST = 2
"""Runs of a system, and mirror groups of a stratum: one alone shows no variance."""

Scores = Sequence[Sequence[float | None]]
"""Shape (runs, blocks); null is a game that was not scored."""


@dataclass(frozen=True, slots=True)
class Block:
    """A shared block: its stratum, and the group of mirrored blocks that are drawn together."""

    id: str
    stratum: str
    mirror: str
    """Name of the group within the stratum; a block without mirrors has a group of its own."""


def crossed_interval(
    scores: Scores,
    blocks: Sequence[Block],
    plan: Interval,
    stream: tuple[str, ...],
    *,
    control: Scores | None = None,
    weights: Mapping[str, float] | None = None,
) -> ResampledInterval | NotEstimable:
    """Percentile interval of a system's weighted mean score, or of its difference to a control.

    Runs count equally, blocks equally within their stratum, and strata by their weights. Systems have runs of
    their own and share the blocks. A missing score is no zero and does not shrink a denominator: the interval
    is unavailable.

    Args:
        scores: of the system's runs, in the order of the blocks.
        blocks: at least one.
        plan: gives confidence, replicates and seed.
        stream: name of the random stream.
        control: scores of the other system's runs on the same blocks.
        weights: by stratum, above zero; equal when left out. They are scaled to a sum of one.

    Raises:
        ValueError: scores of another number of blocks, a block twice, or weights of other strata.
    """
    _check(scores, control, blocks, weights)
    refusal = _refusal([scores, *([] if control is None else [control])], blocks)
    if refusal is not None:
        return refusal
    system = np.asarray(scores, dtype=np.float64)
    other = None if control is None else np.asarray(control, dtype=np.float64)
    share = _shares(blocks, weights)
    means = np.sort(_means(system, other, blocks, share, plan, stream))
    if means[-1] - means[0] <= SAME:
        return NotEstimable(reason="zero variance: all resamples have the same mean")
    tail = (1 - plan.confidence) / 2
    column = share / _sizes(blocks)
    mean = float(system.mean(axis=0) @ column) - (
        0.0 if other is None else float(other.mean(axis=0) @ column)
    )
    return ResampledInterval(
        mean=rounded(mean),
        low=rounded(quantile(means, tail)),
        high=rounded(quantile(means, 1 - tail)),
        confidence=plan.confidence,
        replicates=plan.replicates,
        seed=plan.seed,
        stream=stream,
        units={
            "runs": len(system),
            **({} if other is None else {"control_runs": len(other)}),
            "blocks": len(blocks),
            "mirror_groups": len({(block.stratum, block.mirror) for block in blocks}),
        },
        strata=len({block.stratum for block in blocks}),
    )


def _check(
    scores: Scores, control: Scores | None, blocks: Sequence[Block], weights: Mapping[str, float] | None
) -> None:
    rows = [*scores, *(control or ())]
    if not blocks or any(len(row) != len(blocks) for row in rows):
        raise ValueError("each run needs one score, or null, per block")
    if len({block.id for block in blocks}) != len(blocks):
        raise ValueError("a block is named twice")
    if weights is not None and (
        set(weights) != {block.stratum for block in blocks} or not all(w > 0 for w in weights.values())
    ):
        raise ValueError("weights are above zero, one per stratum")


def _refusal(systems: list[Scores], blocks: Sequence[Block]) -> NotEstimable | None:
    if any(len(system) < FEWEST for system in systems):
        return NotEstimable(reason="a single run cannot estimate the variance between runs")
    gaps = sum(
        value is None or not math.isfinite(value) for system in systems for row in system for value in row
    )
    if gaps:
        return NotEstimable(reason=f"{gaps} scores are missing: the result is incomplete")
    groups: dict[str, set[str]] = {}
    for block in blocks:
        groups.setdefault(block.stratum, set()).add(block.mirror)
    alone = sorted(name for name, members in groups.items() if len(members) < FEWEST)
    if alone:
        return NotEstimable(
            reason=f"a single block, or mirror group, in {', '.join(alone)}: no spread within it"
        )
    return None


def _sizes(blocks: Sequence[Block]) -> Floats:
    """Blocks of each block's stratum, shape (blocks,)."""
    names = [block.stratum for block in blocks]
    return np.asarray([names.count(name) for name in names], dtype=np.float64)


def _shares(blocks: Sequence[Block], weights: Mapping[str, float] | None) -> Floats:
    """Weight of each block's stratum over the sum of the strata's, shape (blocks,)."""
    known = weights or dict.fromkeys((block.stratum for block in blocks), 1.0)
    total = math.fsum(known.values())
    return np.asarray([known[block.stratum] / total for block in blocks], dtype=np.float64)


def _means(
    system: Floats,
    other: Floats | None,
    blocks: Sequence[Block],
    share: Floats,
    plan: Interval,
    stream: tuple[str, ...],
) -> Floats:
    seeds = Seeds(plan.seed)

    def redrawn(scores: Floats, name: str) -> Floats:
        """Means over redrawn runs, shape (replicates, blocks)."""
        drawn = _counts(len(scores), plan.replicates, seeds.number("crossed", name, *stream))
        found: Floats = drawn @ scores / len(scores)
        return found

    drawn = _block_counts(blocks, plan.replicates, seeds, stream)
    columns = drawn * share / _stratum_totals(drawn, blocks)
    rows = redrawn(system, "runs")
    if other is not None:
        rows = rows - redrawn(other, "control-runs")
    found: Floats = (rows * columns).sum(axis=1)
    return found


def _block_counts(blocks: Sequence[Block], replicates: int, seeds: Seeds, stream: tuple[str, ...]) -> Floats:
    """How often each block is drawn, shape (replicates, blocks); mirrors always equally often."""
    counts = np.empty((replicates, len(blocks)))
    for stratum in sorted({block.stratum for block in blocks}):
        groups = sorted({block.mirror for block in blocks if block.stratum == stratum})
        drawn = _counts(len(groups), replicates, seeds.number("crossed", "blocks", stratum, *stream))
        for place, block in enumerate(blocks):
            if block.stratum == stratum:
                counts[:, place] = drawn[:, groups.index(block.mirror)]
    return counts


def _stratum_totals(columns: Floats, blocks: Sequence[Block]) -> Floats:
    """Sum over each block's stratum in every replicate, shape of `columns`."""
    totals = np.empty_like(columns)
    names = np.asarray([block.stratum for block in blocks])
    for stratum in set(names):
        inside = names == stratum
        totals[:, inside] = columns[:, inside].sum(axis=1, keepdims=True)
    return totals


def _counts(size: int, replicates: int, seed: int) -> Floats:
    """How often each of `size` units is drawn, shape (replicates, size)."""
    counts = np.empty((replicates, size))
    for start, raw in raw_rows(replicates, size, seed):
        drawn: npt.NDArray[np.intp] = indices(raw, size)
        flat = drawn + np.arange(len(raw))[:, None] * size
        counts[start : start + len(raw)] = np.bincount(flat.ravel(), minlength=len(raw) * size).reshape(
            -1, size
        )
    return counts
