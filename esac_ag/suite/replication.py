"""What an item's runs come to: one run, or two runs with two judgments each (amendment 001 §5).

A deterministic item runs once. A judge-graded item runs twice, each response is judged twice, and the four
observations are averaged. A model failure on one of the runs counts 0 for that run and needs no judge.

With observations `y[i][j]`, run `i` and judgment `j` of `J = 2`:

- judge variance: the mean over the judged runs of the sample variance (divisor `J - 1`) of their judgments;
- model variance: the sample variance (divisor 1) of the two runs' means, less the judge's part in it, which
  is the mean over both runs of `judge variance of the run / J` (0 for a run that failed); never below 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import variance
from typing import Annotated, Final

from pydantic import Field

from esac_ag.errors import HarnessError
from esac_ag.record import Record
from esac_ag.suite.contract import CheckResult, Fraction, Item, RunEnd, Trace
from esac_ag.suite.efficiency import ActionFacts, ItemEfficiency, run_levels, total_tokens
from esac_ag.suite.scoring import is_complete, item_fraction

MODEL_RUNS: Final = 2
JUDGMENTS: Final = 2


class RunResult(Record):
    """One run of an instance by the model, as the engine hands it over."""

    trace: Trace
    checks: tuple[CheckResult, ...]
    """Results of the item's deterministic checks; may be empty for a judge-graded item."""
    facts: ActionFacts
    judgments: tuple[tuple[CheckResult, ...], ...] = ()
    """Each judgment as checks (`judging.judgment_checks`); empty for a deterministic item or a failed run."""


class ItemResult(Record):
    """All runs of one item; an item whose runs are not all there has no result yet."""

    item_id: str
    runs: Annotated[tuple[RunResult, ...], Field(min_length=1)]
    retries: Annotated[int, Field(ge=0)] = 0
    """Requests repeated after failures of the infrastructure."""


class Variance(Record):
    """A variance on the scale of item fractions, or why there is none."""

    value: float | None
    why_not: str = ""


class Spread(Record):
    """The two sources of chance of a judge-graded item, apart."""

    model: Variance
    judge: Variance


class ItemOutcome(Record):
    """An item's fraction and the observations behind it."""

    fraction: Fraction
    observations: tuple[tuple[Fraction, ...], ...]
    """By run, then by judgment; a failed run of a judge-graded item holds zeros."""
    spread: Spread | None
    """Null for deterministic items, which run once."""


def runs_of(item: Item) -> int:
    """How often a model plays an item."""
    return MODEL_RUNS if item.rubric else 1


def model_failed(end: RunEnd) -> bool:
    """Whether the run ended in a model failure; these are scored and not retried (amendment 001 §8)."""
    return end is not RunEnd.ANSWERED


def item_outcome(item: Item, result: ItemResult) -> ItemOutcome:
    """Fraction of an item from all of its runs.

    Raises:
        HarnessError: runs or judgments are not as many as the protocol says.
    """
    if not item.rubric:
        return _deterministic(item, result)
    if len(result.runs) != MODEL_RUNS:
        raise _protocol(item, f"{MODEL_RUNS} runs", f"{len(result.runs)}")
    observed = tuple(_observations(item, run) for run in result.runs)
    return ItemOutcome(
        fraction=_mean([_mean(run) for run in observed]),
        observations=observed,
        spread=spread(observed, tuple(model_failed(run.trace.end) for run in result.runs)),
    )


def run_fraction(item: Item, run: RunResult) -> float:
    """Fraction of one run by itself, for whoever looks at runs; an item's own is over all of its runs.

    Raises:
        HarnessError: the run has not the judgments that the protocol says.
    """
    if item.rubric:
        return _mean(_observations(item, run))
    return _deterministic(item, ItemResult(item_id=item.id, runs=(run,))).fraction


def item_efficiency(item: Item, result: ItemResult, fraction: float) -> ItemEfficiency | None:
    """The item on its own scale; none when it is not eligible."""
    scale = item.efficiency
    if scale is None:
        return None
    return ItemEfficiency(
        item_id=item.id,
        completed=is_complete(fraction),
        runs=tuple(run_levels(scale, run.facts, total_tokens(run.trace.tokens)) for run in result.runs),
    )


def spread(observations: Sequence[Sequence[float]], failed: Sequence[bool]) -> Spread:
    """Model variance and judge variance by the formulas above."""
    judged = [
        run for run, lost in zip(observations, failed, strict=True) if not lost and len(run) >= JUDGMENTS
    ]
    if not judged:
        none = Variance(value=None, why_not="no run was judged twice")
        return Spread(model=_model_variance(observations, 0.0), judge=none)
    within = [variance(run) for run in judged]
    noise = math.fsum(value / len(run) for value, run in zip(within, judged, strict=True))
    return Spread(
        model=_model_variance(observations, noise / len(observations)),
        judge=Variance(value=_mean(within)),
    )


def _model_variance(observations: Sequence[Sequence[float]], noise: float) -> Variance:
    if len(observations) < MODEL_RUNS:
        return Variance(value=None, why_not="the model ran once only")
    return Variance(value=max(0.0, variance([_mean(run) for run in observations]) - noise))


def _observations(item: Item, run: RunResult) -> tuple[float, ...]:
    if model_failed(run.trace.end):
        return (0.0,) * JUDGMENTS
    if len(run.judgments) != JUDGMENTS:
        raise _protocol(item, f"{JUDGMENTS} judgments of a response", f"{len(run.judgments)}")
    rubric = {criterion.id for criterion in item.rubric}
    if any({check.id for check in judgment} != rubric for judgment in run.judgments):
        raise _protocol(item, "every criterion in each judgment", "other checks")
    return tuple(item_fraction((*run.checks, *judgment)) for judgment in run.judgments)


def _deterministic(item: Item, result: ItemResult) -> ItemOutcome:
    if len(result.runs) != 1:
        raise _protocol(item, "one run", f"{len(result.runs)}")
    run = result.runs[0]
    if run.judgments:
        raise _protocol(item, "no judgment", f"{len(run.judgments)}")
    fraction = item_fraction(run.checks)
    return ItemOutcome(fraction=fraction, observations=((fraction,),), spread=None)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _protocol(item: Item, expected: str, found: str) -> HarnessError:
    return HarnessError(
        "An item's runs do not follow the replication protocol.",
        where=f"item {item.id}",
        expected=expected,
        found=found,
    )
