"""What the plots of a study's report are drawn of: scales, marks and words, as inline SVG.

Every mark is a link to what is behind it, with a title; the tables beside a plot hold the same links for the
keyboard, so marks take no tab stops. Arms differ by shape and by label, and by colour last. Colours are
classes of the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from esac_ag.report.escaping import visible
from esac_ag.report.numbers import points, signed_points

WIDTH: Final = 1000
PLOT: Final = (378, 780)
"""Left and right end of the plotting area; labels stand left of it, words right."""
WORDS: Final = 796
LABEL_CHARS: Final = 42
WORD_CHARS: Final = 30
ARM_STYLES: Final = 6
"""Shapes and colours; a study with more arms repeats them, and its labels do not."""
_TICKS: Final = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """Points on the horizontal axis."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The x of a value; one outside is drawn at the nearest end."""
        inside = min(max(value, self.low), self.high)
        return PLOT[0] + (PLOT[1] - PLOT[0]) * (inside - self.low) / (self.high - self.low)

    def ticks(self) -> Iterator[float]:
        """Round values, the ends included if they are round."""
        step = _step(self.high - self.low)
        number = math.ceil(self.low / step)
        while number * step <= self.high:
            yield number * step
            number += 1


SCORES: Final = Scale(0.0, 100.0)
"""All scores go from 0 to 100, and are shown so: a difference looks as large as it is."""


def scale_around(values: Sequence[float], least: float) -> Scale:
    """A scale of differences that holds zero and all values, in whole steps.

    Args:
        values: in points.
        least: it reaches at least so far to both sides.
    """
    low, high = min((-least, *values)), max((least, *values))
    step = _step(high - low)
    return Scale(step * math.floor(low / step), step * math.ceil(high / step))


def _step(width: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are about `_TICKS` of them."""
    power = 10.0 ** math.floor(math.log10(width / _TICKS))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width / _TICKS)


def axis(scale: Scale, top: float, bottom: float, *, signed: bool) -> Iterator[str]:
    """Grid lines with their values below."""
    for tick in scale.ticks():
        x = scale.at(tick)
        shown = signed_points(tick) if signed else points(tick)
        yield f'<line class="grid" x1="{x:.1f}" y1="{top:g}" x2="{x:.1f}" y2="{bottom:g}"/>'
        yield text(x, bottom + 17, shown.removesuffix(".0"), "tick", anchor="middle")


def text(x: float, y: float, words: str, name: str = "", *, anchor: str = "start", most: int = 0) -> str:
    """Words at a place, escaped; longer ones than `most` characters are cut, and whole in the title."""
    words = visible(words)
    cut = 0 < most < len(words)
    shown = escape(words[: most - 1] + "…" if cut else words)
    title = f"<title>{escape(words)}</title>" if cut else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    kind = f' class="{name}"' if name else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{side}>{shown}{title}</text>'


def linked(href: str, title: str, *shapes: str) -> str:
    """Shapes that lead somewhere."""
    return (
        f'<a href="{escape(href)}" tabindex="-1"><title>{escape(visible(title))}</title>{"".join(shapes)}</a>'
    )


def mark(style: int, x: float, y: float, size: float, *, hollow: bool = False) -> str:
    """The mark of an arm: circle, square, triangle, diamond, or one of two triangles more."""
    name = f"arm-{style % ARM_STYLES}" + (" hollow" if hollow else "")
    if style % ARM_STYLES == 0:
        return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{size:g}"/>'
    corners = {
        1: ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        2: ((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
        3: ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        4: ((0, 1.15), (1.1, -0.85), (-1.1, -0.85)),
        5: ((1.15, 0), (-0.85, 1.1), (-0.85, -1.1)),
    }[style % ARM_STYLES]
    places = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
    return f'<polygon class="{name}" points="{places}"/>'


def span(scale: Scale, low: float, high: float, y: float, name: str, *, cap: float = 0) -> str:
    """A horizontal line between two values, with caps of that height at its ends."""
    left, right = scale.at(low), scale.at(high)
    path = f"M{left:.1f} {y:.1f}H{right:.1f}"
    if cap:
        path += "".join(f"M{x:.1f} {y - cap:.1f}v{2 * cap:g}" for x in (left, right))
    return f'<path class="{name}" d="{path}"/>'


def upright(x: float, top: float, bottom: float, name: str) -> str:
    """A vertical line."""
    return f'<line class="{name}" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'


def svg(name: str, title: str, spoken: str, height: float, parts: Sequence[str]) -> str:
    """A whole plot; its title and description are what a screen reader says of it."""
    head = (
        f'<svg id="{escape(name)}" class="chart" role="group" aria-labelledby="{escape(name)}-t" '
        f'aria-describedby="{escape(name)}-d" viewBox="0 0 {WIDTH} {height:g}">'
    )
    words = (
        f'<title id="{escape(name)}-t">{escape(visible(title))}</title>'
        f'<desc id="{escape(name)}-d">{escape(visible(spoken))}</desc>'
    )
    return "\n".join([head, words, *parts, "</svg>"])
