"""The paired differences of an arm to the control, a row per task; at the foot their mean and interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from esac_ag.plural import plural
from esac_ag.report.chart_marks import (
    LABEL_CHARS,
    PLOT,
    WORD_CHARS,
    WORDS,
    Scale,
    axis,
    linked,
    mark,
    scale_around,
    span,
    svg,
    text,
    upright,
)
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, reason_of
from esac_ag.report.numbers import interval_words, maybe_points, signed_points
from esac_ag.report.view import ArmComparison, TaskArm
from esac_ag.statistics.estimates import Estimate, IntervalEstimate
from esac_ag.statistics.pairs import TaskPair

_ROW = 42
_TOP = 34
_BELOW = 30


@dataclass(frozen=True, slots=True)
class RepetitionDifference:
    """Arm minus control in one repetition, where both runs have a score."""

    repetition: int
    points: float
    attempt_id: str


def repetition_differences(arm: TaskArm, control: TaskArm) -> list[RepetitionDifference]:
    """Those repetitions in which both have a score; the others have no difference, and are none of zero."""
    other = {run.repetition: run.score for run in control.runs if run.score is not None}
    return [
        RepetitionDifference(run.repetition, run.score - other[run.repetition], run.attempt_id)
        for run in arm.runs
        if run.score is not None and run.attempt_id is not None and run.repetition in other
    ]


def pair_scale(measured: Measured, threshold: float) -> Scale:
    """One scale for all arms of a study, so that their plots can be laid side by side."""
    values: list[float] = []
    for item in measured.comparisons:
        for pair in item.pairs:
            arm, control = (measured.by_task_and_arm[pair.task, one] for one in (item.arm, item.control))
            values += [one.points for one in repetition_differences(arm, control)]
            values += [pair.difference.value] if isinstance(pair.difference, Estimate) else []
        if isinstance(item.overall.interval, IntervalEstimate):
            values += [item.overall.interval.low, item.overall.interval.high]
    return scale_around(values, 1.5 * threshold or 1.0)


def pair_plot(
    measured: Measured, comparison: ArmComparison, threshold: float, scale: Scale, links: Links
) -> str:
    """The plot of one comparison; a task without a pair is a gap with its reason.

    Args:
        measured: quality or check scores.
        comparison: of these very scores.
        threshold: of practical improvement, points.
        scale: of all comparisons.
        links: where marks lead.
    """
    style = [item.arm for item in measured.scores].index(comparison.arm)
    pairs = sorted_pairs(measured, comparison)
    bottom = _TOP + _ROW * len(pairs)
    parts = [*_ground(scale, threshold, bottom + _ROW)]
    for number, pair in enumerate(pairs):
        parts += _row(measured, comparison, pair, _TOP + _ROW * number, (scale, style, links))
    parts.append(f'<line class="rule" x1="0" y1="{bottom}" x2="1000" y2="{bottom}"/>')
    parts += _foot(comparison, bottom, scale, style)
    what = f"{comparison.arm} minus {comparison.control}"
    title = f"{what}: paired difference in {measured.titled}, points, by task"
    name = f"pairs-{measured.name}-{style}"
    return svg(name, title, _spoken(pairs, comparison), bottom + _ROW + _BELOW, parts)


def sorted_pairs(measured: Measured, comparison: ArmComparison) -> list[TaskPair]:
    """By family, then in the manifest's order."""
    return sorted(
        comparison.pairs, key=lambda pair: measured.by_task_and_arm[pair.task, comparison.arm].family
    )


def _ground(scale: Scale, threshold: float, bottom: float) -> Iterator[str]:
    left, right = scale.at(-threshold), scale.at(threshold)
    height = bottom - _TOP + 6
    yield f'<rect class="band" x="{left:.1f}" y="{_TOP - 6}" width="{right - left:.1f}" height="{height:g}"/>'
    yield from axis(scale, _TOP - 6, bottom, signed=True)
    for x in (left, right):
        yield upright(x, _TOP - 6, bottom, "bound")
    yield upright(scale.at(0), _TOP - 6, bottom, "zero")
    yield text(scale.at(0), 12, f"within ±{threshold:g}: below the threshold", "soft", anchor="middle")


def _row(
    measured: Measured,
    comparison: ArmComparison,
    pair: TaskPair,
    top: float,
    how: tuple[Scale, int, Links],
) -> Iterator[str]:
    scale, style, links = how
    arm, control = (measured.by_task_and_arm[pair.task, one] for one in (comparison.arm, comparison.control))
    y = top + _ROW / 2
    yield text(PLOT[0] - 16, y - 3, arm.title or pair.task, "name", anchor="end", most=LABEL_CHARS)
    where = f"{pair.task} · {arm.family} · {arm.contrast}" if arm.title else f"{arm.family} · {arm.contrast}"
    yield text(PLOT[0] - 16, y + 13, where, "soft", anchor="end", most=LABEL_CHARS + 4)
    if not isinstance(pair.difference, Estimate):
        yield span(scale, scale.low, scale.high, y + 11, "gap")
        yield text(PLOT[0] + 6, y + 4, f"no pair: {pair.difference.reason}", "gap-words")
        return
    single = repetition_differences(arm, control)
    if len(single) > 1:
        ends = [one.points for one in single]
        yield span(scale, min(ends), max(ends), y + 9, f"range line-{style % 6}")
    # In a study without attempts on the page the range is enough.
    for one in single if links.lists_attempts else ():
        title = f"{pair.task}, repetition {one.repetition}: {signed_points(one.points)}"
        dot = mark(style, scale.at(one.points), y + 9, 3.5, hollow=True)
        yield linked(links.attempt(one.attempt_id), title, dot)
    shown = signed_points(pair.difference.value)
    yield linked(
        links.pair(pair.task, comparison.arm),
        f"{pair.task}: {shown}, {comparison.arm} {maybe_points(pair.arm_mean)}, {comparison.control} "
        f"{maybe_points(pair.control_mean)}",
        mark(style, scale.at(pair.difference.value), y - 3, 6),
    )
    yield text(WORDS, y - 3, shown, "name")
    yield text(WORDS, y + 13, _runs_words(pair), "soft", most=WORD_CHARS)


def _runs_words(pair: TaskPair) -> str:
    if pair.missing_runs == 0:
        return f"{pair.planned} of {plural(pair.planned, 'run')} each"
    return f"runs scored: {pair.arm_n} and {pair.control_n} of {pair.planned}"


def _foot(comparison: ArmComparison, top: float, scale: Scale, style: int) -> Iterator[str]:
    overall, y = comparison.overall, top + _ROW / 2
    paired = f"{overall.tasks_paired} of {plural(overall.tasks_planned, 'task')} paired"
    yield text(PLOT[0] - 16, y - 3, "mean of the tasks", "name", anchor="end")
    yield text(PLOT[0] - 16, y + 13, paired, "soft", anchor="end")
    if not isinstance(overall.mean, Estimate):
        yield text(PLOT[0] + 6, y + 5, reason_of(overall.mean), "gap-words")
        return
    shapes = [mark(style, scale.at(overall.mean.value), y, 8)]
    if isinstance(overall.interval, IntervalEstimate):
        interval = overall.interval
        shapes.insert(0, span(scale, interval.low, interval.high, y, f"thick line-{style % 6}", cap=8))
    shown = f"{signed_points(overall.mean.value)} ({interval_words(overall.interval)})"
    yield linked(f"#versus:{comparison.arm}", f"mean difference {shown}", *shapes)
    yield text(WORDS, y - 3, signed_points(overall.mean.value), "name")
    known = isinstance(overall.interval, IntervalEstimate)
    yield text(WORDS, y + 13, interval_words(overall.interval) if known else "interval not estimable", "soft")


def _spoken(pairs: Sequence[TaskPair], comparison: ArmComparison) -> str:
    single = "; ".join(
        f"{pair.task}: {signed_points(pair.difference.value)}"
        if isinstance(pair.difference, Estimate)
        else f"{pair.task}: no pair"
        for pair in pairs
    )
    overall = comparison.overall
    return f"{single}; mean {maybe_points(overall.mean, signed=True)}, {interval_words(overall.interval)}"
