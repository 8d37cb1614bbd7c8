"""Arms ranked by their mean score, each with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.plural import plural
from esac_ag.report.chart_marks import PLOT, SCORES, WORDS, axis, linked, mark, span, svg, text
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, ranked, reason_of
from esac_ag.report.numbers import level_words, maybe_points, points
from esac_ag.report.view import ArmScores, Baseline
from esac_ag.statistics.estimates import Estimate, IntervalEstimate

_ROW = 40
_TOP = 14


def rank_plot(measured: Measured, baseline: Baseline | None, links: Links) -> str:
    """One row per arm, the highest mean on top; last what the untouched snapshots score on the hidden checks.

    Args:
        measured: quality or check scores.
        baseline: the score of doing nothing, of check scores; none otherwise.
        links: where marks lead.
    """
    order = [item.arm for item in measured.scores]
    rows = ranked(measured.scores)
    drawn = [part for number, item in enumerate(rows) for part in _row(item, number, order, links)]
    count = len(rows)
    if baseline is not None:
        drawn += _untouched(baseline, _TOP + _ROW * count)
        count += 1
    bottom = _TOP + _ROW * count
    spoken = "; ".join(
        f"{item.arm}: {maybe_points(item.mean)}, interval {level_words(item.interval)}" for item in rows
    )
    parts = [*axis(SCORES, _TOP, bottom, signed=False), *drawn]
    title = f"Arms by mean {measured.titled}, 0 to 100, with intervals over tasks"
    return svg(f"ranks-{measured.name}", title, spoken, bottom + 28, parts)


def _row(item: ArmScores, number: int, order: list[str], links: Links) -> Iterator[str]:
    y = _TOP + _ROW * number + _ROW / 2
    yield text(PLOT[0] - 16, y - 2, item.arm, "name", anchor="end", most=44)
    tasks = f"{item.tasks_scored} of {plural(item.tasks_planned, 'task')} scored"
    yield text(PLOT[0] - 16, y + 14, tasks, "soft", anchor="end")
    if not isinstance(item.mean, Estimate):
        yield text(PLOT[0] + 6, y + 5, reason_of(item.mean), "gap-words")
        return
    style = order.index(item.arm)
    shapes = [mark(style, SCORES.at(item.mean.value), y, 7)]
    if isinstance(item.interval, IntervalEstimate):
        shapes.insert(0, span(SCORES, item.interval.low, item.interval.high, y, f"line-{style % 6}", cap=7))
    shown = f"{points(item.mean.value)} ({level_words(item.interval)})"
    yield linked(links.arm(item.arm), f"{item.arm}: {shown}", *shapes)
    if isinstance(item.interval, IntervalEstimate):
        yield text(WORDS, y + 5, shown)
    else:
        yield text(WORDS, y - 2, points(item.mean.value))
        yield text(WORDS, y + 14, "interval not estimable", "soft")


def _untouched(baseline: Baseline, top: float) -> Iterator[str]:
    y = top + _ROW / 2
    known = f"{baseline.tasks_known} of {plural(len(baseline.tasks), 'task')} known"
    yield text(PLOT[0] - 16, y - 2, "untouched snapshot", "name", anchor="end")
    yield text(PLOT[0] - 16, y + 14, known, "soft", anchor="end")
    if isinstance(baseline.mean, Estimate):
        x = SCORES.at(baseline.mean.value)
        cross = f'<path class="cross" d="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12"/>'
        shown = points(baseline.mean.value)
        yield linked("#baseline", f"untouched snapshot: {shown}", cross)
        yield text(WORDS, y + 5, f"{shown}, by the tasks' proofs")
    else:
        yield text(PLOT[0] + 6, y + 5, reason_of(baseline.mean), "gap-words")
