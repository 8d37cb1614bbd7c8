"""The run-to-run spread: every run by task and arm, from the lowest to the highest, with mean and SD."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from esac_ag.plural import plural
from esac_ag.report.chart_marks import (
    LABEL_CHARS,
    PLOT,
    SCORES,
    WORDS,
    axis,
    linked,
    mark,
    span,
    svg,
    text,
    upright,
)
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, unscored
from esac_ag.report.numbers import points
from esac_ag.report.view import Baseline, Run, TaskArm
from esac_ag.statistics.estimates import Estimate

_HEAD = 34
_ROW = 24
_TOP = 4
_APART = 14
"""How far the first and the last of many equal scores lie apart."""


def runs_plot(measured: Measured, baseline: Baseline | None, links: Links) -> str:
    """A row per task and arm; a run without a score is no mark, and is counted in words.

    Args:
        measured: quality or check scores.
        baseline: what the untouched snapshots score, of check scores; none otherwise.
        links: where marks lead.
    """
    order = [item.arm for item in measured.scores]
    untouched = {} if baseline is None else {item.task: item.score for item in baseline.tasks}
    rows: list[str] = []
    y = float(_TOP)
    for task, items in groupby(measured.task_arms, key=lambda item: item.task):
        arms = list(items)
        rows += _head(arms[0], y)
        y += _HEAD
        score = untouched.get(task)
        if isinstance(score, Estimate):
            place = SCORES.at(score.value)
            line = upright(place, y - 4, y + _ROW * len(arms) - 6, "untouched")
            rows.append(linked("#baseline", f"untouched snapshot of {task}: {points(score.value)}", line))
        for item in arms:
            rows += _row(item, order.index(item.arm), y + _ROW / 2 - 4, links)
            y += _ROW
    parts = [*axis(SCORES, _TOP, y, signed=False), *rows]
    title = f"Every run by task and arm: {measured.titled}, 0 to 100"
    return svg(f"runs-{measured.name}", title, _spoken(measured.task_arms), y + 28, parts)


def _head(item: TaskArm, y: float) -> Iterator[str]:
    yield f'<line class="rule" x1="0" y1="{y:g}" x2="1000" y2="{y:g}"/>'
    yield text(0, y + 20, item.title or item.task, "name", most=LABEL_CHARS)
    where = item.task if item.title else f"{item.family} · {item.contrast}"
    yield text(WORDS, y + 20, where, "soft", most=LABEL_CHARS - 8)


def _row(item: TaskArm, style: int, y: float, links: Links) -> Iterator[str]:
    yield text(PLOT[0] - 16, y + 4, item.arm, anchor="end", most=44)
    lost = unscored(item)
    summary = item.summary
    if not isinstance(summary.mean, Estimate):
        yield span(SCORES, 0, 100, y, "gap")
        yield text(WORDS, y + 4, f"no score: {lost}", "gap-words", most=LABEL_CHARS - 8)
        return
    if isinstance(summary.minimum, Estimate) and isinstance(summary.maximum, Estimate):
        yield span(SCORES, summary.minimum.value, summary.maximum.value, y, f"line-{style % 6}")
    shapes = [upright(SCORES.at(summary.mean.value), y - 9, y + 9, f"mean line-{style % 6}")]
    spread = ""
    if isinstance(summary.sd, Estimate):
        spread = f", SD {points(summary.sd.value)}"
        low, high = summary.mean.value - summary.sd.value, summary.mean.value + summary.sd.value
        shapes.insert(0, span(SCORES, low, high, y + 9, f"sd line-{style % 6}", cap=2))
    title = f"{item.task}, {item.arm}: mean {points(summary.mean.value)}{spread}"
    yield linked(links.runs(item.task, item.arm), title, *shapes)
    yield from _marks(item, style, y, links)
    words = f"{points(summary.mean.value)}{spread}; {lost or plural(summary.n, 'run')}"
    yield text(WORDS, y + 4, words, "small", most=LABEL_CHARS - 6)


def _marks(item: TaskArm, style: int, y: float, links: Links) -> Iterator[str]:
    """Every run; in a study without attempts on the page, equal scores are one mark that counts them."""
    if links.lists_attempts:
        for run, off in _apart(item.runs):
            if run.score is not None and run.attempt_id is not None:
                title = f"{item.task}, {item.arm}, repetition {run.repetition}: {points(run.score)}"
                dot = mark(style, SCORES.at(run.score), y + off, 4.5)
                yield linked(links.attempt(run.attempt_id), title, dot)
        return
    counts = Counter(points(run.score) for run in item.runs if run.score is not None)
    for shown, count in sorted(counts.items(), key=lambda one: float(one[0])):
        title = f"{item.task}, {item.arm}: {shown} in {plural(count, 'run')}"
        yield linked(links.runs(item.task, item.arm), title, mark(style, SCORES.at(float(shown)), y, 4.5))


def _apart(runs: Sequence[Run]) -> Iterator[tuple[Run, float]]:
    """Each run with how far down it is drawn: equal scores lie side by side, so that each can be seen."""
    equal = Counter(points(run.score) for run in runs if run.score is not None)
    met: Counter[str] = Counter()
    for run in runs:
        if run.score is not None:
            shown = points(run.score)
            others = equal[shown] - 1
            yield run, (met[shown] - others / 2) * min(6.0, _APART / others) if others else 0.0
            met[shown] += 1


def _spoken(items: Sequence[TaskArm]) -> str:
    """In short: the table below the plot holds every run."""
    scored = sum(item.summary.n for item in items)
    planned = sum(item.summary.planned for item in items)
    return f"{scored} of {plural(planned, 'run')} have a score; the table of every run lists them."
