"""Numbers as a reader sees them; what is not estimable is said in words, never as a zero."""

from __future__ import annotations

from typing import assert_never

from esac_ag.manifest.plan import IntervalMethod
from esac_ag.report.view import CostMeasure
from esac_ag.statistics.estimates import Estimate, IntervalEstimate, NotEstimable

NOT_ESTIMABLE = "not estimable"
UNAVAILABLE = "unavailable"
NO_VALUE = "–"  # noqa: RUF001  (an en dash, where a column has no meaning for a row)

METHOD_NAMES = {
    IntervalMethod.BCA: "paired bootstrap over tasks, BCa",
    IntervalMethod.STUDENTISED: "paired bootstrap over tasks, studentised",
    IntervalMethod.PERCENTILE: "paired bootstrap over tasks, percentile",
    IntervalMethod.STUDENTISED_SMOOTHED: "paired bootstrap over tasks, studentised and smoothed",
    IntervalMethod.BAYESIAN: "Bayesian bootstrap over tasks",
    IntervalMethod.SIGN_FLIP: "inversion of the sign-flip test over tasks",
}

COST_NAMES = {
    CostMeasure.LATENCY_S: "latency (s)",
    CostMeasure.TURNS: "turns",
    CostMeasure.TOOL_CALLS: "tool calls",
    CostMeasure.INPUT_TOKENS: "input tokens",
    CostMeasure.CACHED_INPUT_TOKENS: "input tokens from cache",
    CostMeasure.CACHE_WRITE_TOKENS: "tokens written to cache",
    CostMeasure.OUTPUT_TOKENS: "output tokens",
    CostMeasure.REASONING_TOKENS: "reasoning tokens",
    CostMeasure.CHANGED_LINES: "changed lines",
    CostMeasure.TOUCHED_FILES: "touched files",
    CostMeasure.DEPENDENCIES_ADDED: "dependencies added",
    CostMeasure.COST: "cost",
}


def points(value: float) -> str:
    """A score with one decimal."""
    return f"{_unsigned_zero(value, 1):.1f}"


def signed_points(value: float) -> str:
    """A difference with its sign and one decimal; zero has none."""
    shown = _unsigned_zero(value, 1)
    return f"{shown:+.1f}" if shown else "0.0"


def maybe_points(value: Estimate | NotEstimable, *, signed: bool = False) -> str:
    """A score or difference, or that it is not estimable."""
    match value:
        case Estimate():
            return signed_points(value.value) if signed else points(value.value)
        case NotEstimable():
            return NOT_ESTIMABLE
        case _:
            assert_never(value)


def interval_words(value: IntervalEstimate | NotEstimable) -> str:
    """An interval as `-1.2 to +3.4`, or that it is not estimable."""
    match value:
        case IntervalEstimate():
            return f"{signed_points(value.low)} to {signed_points(value.high)}"
        case NotEstimable():
            return NOT_ESTIMABLE
        case _:
            assert_never(value)


def level_words(value: IntervalEstimate | NotEstimable) -> str:
    """An interval of a score itself as `61.2 to 73.4`, or that it is not estimable."""
    match value:
        case IntervalEstimate():
            return f"{points(value.low)} to {points(value.high)}"
        case NotEstimable():
            return NOT_ESTIMABLE
        case _:
            assert_never(value)


def percent(share: float) -> str:
    """A share as a percentage without needless zeros: `95 %`."""
    return f"{100 * share:.4g} %"


def amount(measure: CostMeasure, value: float) -> str:
    """A cost with as many decimals as help."""
    match measure:
        case CostMeasure.COST:
            return f"{value:,.4f}"
        case CostMeasure.LATENCY_S | CostMeasure.TURNS | CostMeasure.TOOL_CALLS:
            return f"{value:,.1f}"
        case CostMeasure.CHANGED_LINES | CostMeasure.TOUCHED_FILES | CostMeasure.DEPENDENCIES_ADDED:
            return f"{value:,.1f}"
        case (
            CostMeasure.INPUT_TOKENS
            | CostMeasure.CACHED_INPUT_TOKENS
            | CostMeasure.CACHE_WRITE_TOKENS
            | CostMeasure.OUTPUT_TOKENS
            | CostMeasure.REASONING_TOKENS
        ):
            return f"{value:,.0f}"
        case _:
            assert_never(measure)


def _unsigned_zero(value: float, decimals: int) -> float:
    return round(value, decimals) + 0.0
