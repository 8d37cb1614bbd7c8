"""Bar and radar chart of the category percentages, as inline SVG.

What is missing is drawn as a gap: a category that is not complete has no point in the radar, and no line to
its neighbours; its bar ends where the known points end, and a dashed box shows what is open.
Colours are classes of the page's style sheet (`suite_html_style`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from esac_ag.report.suite_view import CategoryRow
from esac_ag.report.suite_words import GATE_PERCENT, NOT_RUN, category_percent

WIDTH: Final = 640
LABEL: Final = 230
BAR: Final = 280
STEP: Final = 34
TOP: Final = 26
THICK: Final = 18

CENTRE: Final = (320, 200)
RADIUS: Final = 140
RINGS: Final = (20, 40, 60, 80, 100)

Point = tuple[float, float]


def bar_chart(categories: Sequence[CategoryRow]) -> str:
    """One horizontal bar a category, with the gate at 60 %."""
    height = TOP + STEP * len(categories) + 8
    gate = LABEL + BAR * GATE_PERCENT / 100
    parts = [
        *(part for number, row in enumerate(categories) for part in _bar(row, TOP + STEP * number)),
        f'<line class="gate" x1="{gate:g}" y1="18" x2="{gate:g}" y2="{height - 4}"/>',
        f'<text class="small" x="{gate:g}" y="13" text-anchor="middle">gate {GATE_PERCENT:g} %</text>',
    ]
    return _svg("bar", "Category percentages as bars", _spoken(categories), height, parts)


def radar_chart(categories: Sequence[CategoryRow]) -> str:
    """One axis a category; only complete categories have a point."""
    count = len(categories)
    known = [row.percent if row.counts.not_run == 0 else None for row in categories]
    parts = [*_rings(count)]
    for number, row in enumerate(categories):
        parts += _axis(row, number, count, missing=known[number] is None)
    parts += _outline(known)
    return _svg("radar", "Category percentages as a radar", _spoken(categories), 400, parts)


def _bar(row: CategoryRow, top: int) -> Iterator[str]:
    middle = top + THICK - 4
    yield f'<text x="{LABEL - 10}" y="{middle}" text-anchor="end">{escape(row.title)}</text>'
    share = row.percent or 0.0
    if row.percent is not None:
        yield f'<rect class="track" x="{LABEL}" y="{top}" width="{BAR}" height="{THICK}"/>'
        yield (
            f'<rect class="{_class(row)}" x="{LABEL}" y="{top}" width="{BAR * share / 100:.2f}" '
            f'height="{THICK}"/>'
        )
    if row.counts.not_run:
        start = LABEL + BAR * share / 100
        yield (
            f'<rect class="gap" x="{start:.2f}" y="{top}" width="{LABEL + BAR - start:.2f}" '
            f'height="{THICK}"/>'
        )
    yield f'<text x="{LABEL + BAR + 8}" y="{middle}">{escape(category_percent(row))}</text>'


def _class(row: CategoryRow) -> str:
    if row.passed is None:
        return "open"
    return "good" if row.passed else "bad"


def _rings(count: int) -> Iterator[str]:
    for ring in RINGS:
        name = "gate ring" if ring == GATE_PERCENT else "ring"
        points = _points([_at(number, count, ring) for number in range(count)])
        yield f'<polygon class="{name}" points="{points}"/>'


def _axis(row: CategoryRow, number: int, count: int, *, missing: bool) -> Iterator[str]:
    x, y = _at(number, count, 100)
    name = "axis missing" if missing else "axis"
    yield f'<line class="{name}" x1="{CENTRE[0]}" y1="{CENTRE[1]}" x2="{x:.2f}" y2="{y:.2f}"/>'
    x, y = _at(number, count, 112)
    side = x - CENTRE[0]
    anchor = "middle" if abs(side) < 1 else ("start" if side > 0 else "end")
    if row.counts.not_run == row.counts.items:
        shown = NOT_RUN
    else:
        shown = "incomplete" if missing else category_percent(row)
    label = f"{escape(row.id)} {escape(shown)}"
    yield f'<text class="small" x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{label}</text>'


def _outline(known: Sequence[float | None]) -> Iterator[str]:
    count = len(known)
    at = [None if share is None else _at(number, count, share) for number, share in enumerate(known)]
    whole = [point for point in at if point is not None]
    if len(whole) == count:
        yield f'<polygon class="area" points="{_points(whole)}"/>'
    for number, start in enumerate(at):
        end = at[(number + 1) % count]
        if start is not None and end is not None:
            yield (
                f'<line class="edge" x1="{start[0]:.2f}" y1="{start[1]:.2f}" '
                f'x2="{end[0]:.2f}" y2="{end[1]:.2f}"/>'
            )
    for point in whole:
        yield f'<circle class="dot" cx="{point[0]:.2f}" cy="{point[1]:.2f}" r="4"/>'


def _at(number: int, count: int, share: float) -> Point:
    angle = 2 * math.pi * number / count - math.pi / 2
    reach = RADIUS * share / 100
    return CENTRE[0] + reach * math.cos(angle), CENTRE[1] + reach * math.sin(angle)


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def _spoken(categories: Sequence[CategoryRow]) -> str:
    return "; ".join(f"{row.title}: {category_percent(row)}" for row in categories)


def _svg(name: str, title: str, spoken: str, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg id="{name}-chart" class="chart" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">'
    )
    words = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(spoken)}</desc>'
    return "\n".join([head, words, *parts, "</svg>"])
