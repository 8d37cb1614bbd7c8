"""The order in which the cells of a study run: randomised complete blocks.

A block is one repetition of one task and holds every arm once, in random order; the blocks themselves
are shuffled. Whatever drifts while a study runs (a service, the machine) thus meets all arms alike, up to
the length of a block (R. A. Fisher, The Design of Experiments, 1935, "randomised blocks").

The order is a function of the seed, the ids and the repetitions alone. It is the same on every platform
and Python version: each draw is a SHA-256 number (`clock.Seeds.number`) and the shuffle is written out
here, so that no library's generator or shuffle is part of it. The order in which tasks and arms are
listed is no part of it either: ids are sorted first, and each block draws from a stream of its own name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeVar

from pydantic import JsonValue

from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, sha256_of
from esac_ag.clock import Seeds
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import AgentKind, Manifest
from esac_ag.record import Record

T = TypeVar("T")

ALGORITHM: Final = "randomised-complete-blocks/1"


def make_schedule(seed: str, tasks: Sequence[str], arms: Sequence[str], repetitions: int) -> tuple[Cell, ...]:
    """All cells in the order in which they run; each (task, arm, repetition) exactly once.

    Args:
        seed: the manifest's `schedule.seed`.
        tasks: task ids; their order has no effect.
        arms: arm ids; their order has no effect.
        repetitions: runs of each task under each arm, at least 1.

    Raises:
        InputRefused: no tasks, no arms, an id twice, or fewer than one repetition.
    """
    _refuse_unless_distinct("tasks", tasks)
    _refuse_unless_distinct("arms", arms)
    if repetitions < 1:
        raise InputRefused(
            "A schedule needs at least one repetition.",
            where="/repetitions",
            expected="1 or more",
            found=str(repetitions),
            remedy="set repetitions to 1 or more",
        )
    seeds = Seeds(seed)
    blocks = [(task, repetition) for task in sorted(tasks) for repetition in range(1, repetitions + 1)]
    return tuple(
        Cell(task=task, arm=arm, repetition=repetition)
        for task, repetition in _shuffled(blocks, seeds, "schedule", "blocks")
        for arm in _shuffled(sorted(arms), seeds, "schedule", "block", task, repetition)
    )


def schedule_document(
    seed: str, tasks: Sequence[str], arms: Sequence[str], repetitions: int
) -> dict[str, JsonValue]:
    """The contents of `schedule.json`: algorithm, seed and the cells in order.

    Raises:
        InputRefused: as `make_schedule`.
    """
    cells = make_schedule(seed, tasks, arms, repetitions)
    return {
        "algorithm": ALGORITHM,
        "seed": seed,
        "cells": [cell.model_dump(mode="json") for cell in cells],
    }


def schedule_bytes(seed: str, tasks: Sequence[str], arms: Sequence[str], repetitions: int) -> bytes:
    """The bytes of `schedule.json`: the document in RFC 8785 form.

    Raises:
        InputRefused: as `make_schedule`.
    """
    return canonical_json(schedule_document(seed, tasks, arms, repetitions))


def schedule_sha256(seed: str, tasks: Sequence[str], arms: Sequence[str], repetitions: int) -> str:
    """Digest of `schedule.json`, as the manifest seals it (`schedule.sha256`).

    Raises:
        InputRefused: as `make_schedule`.
    """
    return sha256_of(schedule_document(seed, tasks, arms, repetitions))


class TimeBasis(StrEnum):
    """What an estimate of a study's duration rests on."""

    MEASURED = "measured"
    """Seconds per run that somebody measured."""
    WORST_CASE = "worst-case"
    """Every run uses its whole time limit, and so does its grading."""


class CostBasis(StrEnum):
    """What an estimate of a study's cost rests on."""

    MEASURED = "measured"
    """Cost per run that somebody measured."""
    COST_LIMIT = "cost-limit"
    """Every run uses its whole `cost_usd` limit."""
    TOKEN_LIMITS = "token-limits"  # noqa: S105  (tokens of a model)
    """Every run uses its whole token limits at the prices of the manifest, nothing cached."""
    NO_MODEL = "no-model"
    """A scripted agent calls no model; there is no price to multiply."""
    UNKNOWN = "unknown"
    """Neither a measured cost, nor a cost limit, nor token limits with prices."""


class Plan(Record):
    """What a study will take, without retries."""

    tasks: int
    arms: int
    repetitions: int
    blocks: int
    """Tasks times repetitions."""
    cells: int
    """Blocks times arms: the runs to do."""
    concurrency: int
    duration_s: float
    duration_basis: TimeBasis
    cost: float | None
    """In `currency`; null is unknown, never zero."""
    currency: str | None
    cost_basis: CostBasis


def make_plan(
    manifest: Manifest,
    *,
    concurrency: int = 1,
    run_s: float | None = None,
    run_cost: float | None = None,
) -> Plan:
    """Counts with a rough estimate of time and cost.

    Args:
        manifest: the plan of the study.
        concurrency: runs at the same time, at least 1.
        run_s: measured seconds of one run with its grading; the limits' worst case when left out.
        run_cost: measured cost of one run in the currency of the price table.
    """
    blocks = len(manifest.tasks) * manifest.repetitions
    cells = blocks * len(manifest.arms)
    limits = manifest.limits
    worst_s = limits.wall_clock_s + limits.grader.wall_clock_s
    each, currency, basis = _run_cost(manifest, run_cost)
    return Plan(
        tasks=len(manifest.tasks),
        arms=len(manifest.arms),
        repetitions=manifest.repetitions,
        blocks=blocks,
        cells=cells,
        concurrency=concurrency,
        duration_s=math.ceil(cells / concurrency) * (worst_s if run_s is None else run_s),
        duration_basis=TimeBasis.WORST_CASE if run_s is None else TimeBasis.MEASURED,
        cost=None if each is None else cells * each,
        currency=currency,
        cost_basis=basis,
    )


def _run_cost(manifest: Manifest, measured: float | None) -> tuple[float | None, str | None, CostBasis]:
    limits, prices = manifest.limits, manifest.prices
    if measured is not None:
        return measured, prices.currency if prices else None, CostBasis.MEASURED
    if manifest.agent.kind is AgentKind.SCRIPTED:
        return None, None, CostBasis.NO_MODEL
    if limits.cost_usd is not None:
        return limits.cost_usd, "USD", CostBasis.COST_LIMIT
    price = prices.per_million.get(manifest.model.name) if prices else None
    if prices is None or price is None or price.input is None or price.output is None:
        return None, None, CostBasis.UNKNOWN
    if limits.input_tokens is None or limits.output_tokens is None:
        return None, None, CostBasis.UNKNOWN
    total = limits.input_tokens * price.input + limits.output_tokens * price.output
    return total / 1e6, prices.currency, CostBasis.TOKEN_LIMITS


def _shuffled(items: Sequence[T], seeds: Seeds, *names: str | int) -> list[T]:
    """Fisher-Yates from the end (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P).

    A 256-bit number modulo at most some thousand items: its bias is below 2 ** -240.
    """
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        chosen = seeds.number(*names, last) % (last + 1)
        result[last], result[chosen] = result[chosen], result[last]
    return result


def _refuse_unless_distinct(what: str, ids: Sequence[str]) -> None:
    twice = sorted({item for item in ids if ids.count(item) > 1})
    if not ids or twice:
        raise InputRefused(
            f"A schedule needs {what}, each once.",
            where=f"/{what}",
            expected="one or more ids, each once",
            found=f"{', '.join(twice)} more than once" if twice else "none",
            remedy=f"list each of the {what} once",
        )
