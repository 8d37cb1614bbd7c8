"""The section on sensitivity as rows of words: what, value, note. Markdown and CSV show the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, assert_never

from esac_ag.plural import plural
from esac_ag.report.measured import Measured, measures
from esac_ag.report.numbers import (
    METHOD_NAMES,
    NOT_ESTIMABLE,
    interval_words,
    percent,
    points,
    signed_points,
)
from esac_ag.report.sensitivity_view import ArmSensitivity, StudySensitivity
from esac_ag.report.view import ReportView
from esac_ag.statistics.attainable import AttainableShare, DetectableEffect
from esac_ag.statistics.attrition import Attrition
from esac_ag.statistics.bayesian import BayesianShares
from esac_ag.statistics.equivalence import Equivalence, EquivalenceReading
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable, SignFlipReference
from esac_ag.statistics.hierarchical import ResampledInterval
from esac_ag.statistics.leave_one_out import LeaveOneOut

SENSITIVITY: Final = (
    "What was sealed stands above. This tells what it rests on: other methods, single tasks, runs, lost "
    "runs, and what so many tasks can show at all."
)


class Row(NamedTuple):
    """One line of the section."""

    what: str
    value: str
    """In words."""
    note: str = ""
    number: float | None = None
    low: float | None = None
    high: float | None = None


def compared_measures(view: ReportView) -> list[tuple[Measured, StudySensitivity]]:
    """What there is of each kind of score, quality first; none without a comparison."""
    found = [(measured, measured.sensitivity) for measured in measures(view)]
    return [(measured, item) for measured, item in found if item is not None and item.arms]


def rows_of(item: ArmSensitivity) -> Iterator[Row]:
    """Every line for one arm."""
    found = item.result
    for other in found.methods:
        yield _interval(f"interval by {METHOD_NAMES[other.method]}", other.interval)
    yield _redrawn("interval when runs are drawn again within tasks", found.runs_redrawn)
    yield _redrawn("the same, tasks drawn within families", found.runs_redrawn_by_family)
    yield from _bayesian(found.bayesian)
    yield from _equivalence(found.equivalence)
    yield from _left_out(found.leave_one_out)
    yield _attainable(found.attainable)
    yield _detectable(found.detectable)
    yield from _attrition(item, found.attrition)


def _interval(what: str, found: IntervalEstimate | NotEstimable) -> Row:
    match found:
        case NotEstimable(reason=reason):
            return Row(what, NOT_ESTIMABLE, reason)
        case IntervalEstimate(low=low, high=high):
            return Row(what, interval_words(found), low=low, high=high)
        case _:
            assert_never(found)


def _redrawn(what: str, found: ResampledInterval | NotEstimable) -> Row:
    match found:
        case NotEstimable(reason=reason):
            return Row(what, NOT_ESTIMABLE, reason)
        case ResampledInterval():
            return Row(
                what,
                f"{signed_points(found.low)} to {signed_points(found.high)}",
                f"hierarchical bootstrap, {found.replicates:,} replicates",
                number=found.mean,
                low=found.low,
                high=found.high,
            )
        case _:
            assert_never(found)


def _bayesian(found: BayesianShares | NotEstimable) -> Iterator[Row]:
    match found:
        case NotEstimable(reason=reason):
            yield Row("Bayesian bootstrap", NOT_ESTIMABLE, reason)
        case BayesianShares():
            yield Row(
                "Bayesian bootstrap: mean above zero",
                f"{found.above_zero:.3f}",
                f"above the threshold {found.above_threshold:.3f}, within it {found.within_threshold:.3f}, "
                f"below minus it {found.below_minus_threshold:.3f}; shares of {found.draws:,} draws of a "
                "population of tasks like these",
                number=found.above_zero,
            )
        case _:
            assert_never(found)


def _equivalence(found: Equivalence | NotEstimable) -> Iterator[Row]:
    match found:
        case NotEstimable(reason=reason):
            yield Row("equivalence", NOT_ESTIMABLE, reason)
        case Equivalence():
            confidence = percent(found.interval.confidence)
            yield Row(
                f"equivalence within {found.threshold_points:g} points",
                _reading(found.reading),
                f"{confidence} interval {interval_words(found.interval)}; "
                f"sign-flip share against the threshold {found.sign_flip_share:.4g}",
                low=found.interval.low,
                high=found.interval.high,
            )
        case _:
            assert_never(found)


def _reading(reading: EquivalenceReading) -> str:
    match reading:
        case EquivalenceReading.EQUIVALENT:
            return "shown: no difference that matters"
        case EquivalenceReading.BETTER:
            return "excluded: better by more than the threshold"
        case EquivalenceReading.WORSE:
            return "excluded: worse by more than the threshold"
        case EquivalenceReading.NOT_WORSE:
            return "not shown; a loss beyond the threshold is excluded"
        case EquivalenceReading.NOT_BETTER:
            return "not shown; a gain beyond the threshold is excluded"
        case EquivalenceReading.OPEN:
            return "not shown; gain and loss beyond the threshold are both possible"
        case _:
            assert_never(reading)


def _left_out(found: LeaveOneOut | NotEstimable) -> Iterator[Row]:
    match found:
        case NotEstimable(reason=reason):
            yield Row("leaving one task out", NOT_ESTIMABLE, reason)
        case LeaveOneOut():
            turns = [
                f"without {_listed(tasks)} {what}"
                for tasks, what in (
                    (found.sign_turns, "the mean loses its sign"),
                    (found.reading_turns, "the interval says otherwise about zero"),
                )
                if tasks
            ]
            note = "; ".join(turns) or "no single task turns the result"
            yield Row(
                "mean difference, leaving one task out",
                f"{signed_points(found.lowest)} to {signed_points(found.highest)}",
                f"most by {found.most_influential}; {note}",
                low=found.lowest,
                high=found.highest,
            )
        case _:
            assert_never(found)


def _attainable(found: AttainableShare) -> Row:
    together = f"; with {found.comparisons} comparisons together {found.smallest_adjusted:.4g}"
    enough = "" if found.attainable else f"; {found.alpha:.4g} is out of reach whatever the effect"
    return Row(
        f"smallest sign-flip share that {plural(found.tasks, 'task')} can give",
        f"{found.smallest_share:.4g}",
        f"{found.alpha:.4g} needs {plural(found.fewest_tasks, 'task')}"
        + (together if found.comparisons > 1 else "")
        + enough,
        number=found.smallest_share,
    )


def _detectable(found: DetectableEffect | NotEstimable) -> Row:
    match found:
        case NotEstimable(reason=reason):
            return Row("smallest effect that this design detects", NOT_ESTIMABLE, reason)
        case DetectableEffect():
            return Row(
                f"smallest effect detected with power {percent(found.power)}",
                f"{points(found.points)} points",
                f"{points(found.points_low)} to {points(found.points_high)} by the uncertainty of the SD; "
                "paired t-test",
                number=found.points,
                low=found.points_low,
                high=found.points_high,
            )
        case _:
            assert_never(found)


def _attrition(item: ArmSensitivity, found: Attrition) -> Iterator[Row]:
    note = "nothing is lost"
    if found.arm_missing or found.control_missing:
        note = f"a difference of {found.difference_points:+.1f} percentage points"
        if isinstance(found.sign_flip, SignFlipReference):
            note += f"; sign-flip share over tasks {found.sign_flip.two_sided_share:.4g}"
    yield Row(
        f"planned runs without a score, {item.arm} and {item.control}",
        f"{found.arm_missing} and {found.control_missing} of {found.planned} each",
        note,
        number=found.difference_points,
    )


def _listed(names: tuple[str, ...], most: int = 3) -> str:
    shown = " or ".join(names[:most])
    return shown if len(names) <= most else f"{shown} (or {len(names) - most} more)"
