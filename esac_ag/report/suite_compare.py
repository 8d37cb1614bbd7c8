"""Two suite reports side by side; never across major versions (amendment 001 §9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from esac_ag.errors import InputRefused
from esac_ag.record import Record, Sha256
from esac_ag.report.escaping import visible
from esac_ag.report.numbers import NO_VALUE
from esac_ag.report.suite_view import SuiteView
from esac_ag.report.suite_words import points
from esac_ag.suite.constitution import ACTION_POINTS, TOKEN_POINTS, Pool
from esac_ag.suite.verdict import Verdict

_VERSION: Final = re.compile(r"\A(?P<suite>[A-Z-]+) v(?P<major>\d+)\.\d+\Z")


class ComparedSide(Record):
    """One of the two runs."""

    version_tag: str
    model: str
    agent: str
    arm: str | None
    pool: Pool
    seed_fingerprint: Sha256
    judge: str | None
    verdict: Verdict


class ComparedRow(Record):
    """One figure of both runs."""

    name: str
    out_of: float
    a: float | None
    """Null when it is missing or unavailable."""
    b: float | None
    difference: float | None
    """b minus a; null when either is missing."""


class SuiteComparison(Record):
    """Two runs side by side."""

    a: ComparedSide
    b: ComparedSide
    warnings: tuple[str, ...]
    total: ComparedRow
    categories: tuple[ComparedRow, ...]
    modifier: tuple[ComparedRow, ...]
    items: tuple[ComparedRow, ...]


def compare_reports(a: SuiteView, b: SuiteView) -> SuiteComparison:
    """Both reports' figures, b minus a.

    Raises:
        InputRefused: the reports are of different suites or major versions.
    """
    if _major(a) != _major(b):
        raise InputRefused(
            "Scores are never comparable across major versions.",
            expected="two reports of one major version",
            found=f"{visible(a.header.suite_version)} and {visible(b.header.suite_version)}",
            remedy="Run the suite again under one version.",
        )
    return SuiteComparison(
        a=_side(a),
        b=_side(b),
        warnings=tuple(_warnings(a, b)),
        total=_row("Total", a.out_of, _total(a), _total(b)),
        categories=tuple(_categories(a, b)),
        modifier=(
            _row("Efficiency: action", ACTION_POINTS, _action(a), _action(b)),
            _row("Efficiency: tokens", TOKEN_POINTS, _tokens(a), _tokens(b)),
        ),
        items=tuple(_items(a, b)),
    )


def render_comparison_text(comparison: SuiteComparison) -> str:
    """The comparison for a terminal, ending in one line feed."""
    sides = [f"{name}: {_side_words(side)}" for name, side in (("A", comparison.a), ("B", comparison.b))]
    rows = [comparison.total, *comparison.categories, *comparison.modifier, *comparison.items]
    width = max(len(visible(row.name)) for row in rows)
    lines = [
        *sides,
        "",
        *(f"! {warning}" for warning in comparison.warnings),
        *([""] if comparison.warnings else []),
        f"{'':<{width}}  {'of':>6}  {'A':>8}  {'B':>8}  {'B - A':>8}",
        *(_row_words(row, width) for row in rows),
    ]
    return "".join(f"{visible(line).rstrip()}\n" for line in lines)


def _major(view: SuiteView) -> tuple[str, str]:
    match = _VERSION.match(view.header.suite_version)
    if match is None:
        raise InputRefused(
            "A report has a version that cannot be read.", found=visible(view.header.suite_version)
        )
    return match["suite"], match["major"]


def _warnings(a: SuiteView, b: SuiteView) -> Iterator[str]:
    one, two = a.header, b.header
    if one.suite_version != two.suite_version:
        yield f"The minor versions differ: {one.suite_version} and {two.suite_version}."
    if one.harness_version != two.harness_version:
        yield f"The implementations differ: esac-ag {one.harness_version} and {two.harness_version}."
    if one.pool is not two.pool:
        yield f"The pools differ: {one.pool} and {two.pool}."
    if one.seed_fingerprint != two.seed_fingerprint:
        yield "The seeds differ: the two runs saw different instances."
    if one.judge != two.judge:
        yield f"The judges differ: {one.judge or 'none'} and {two.judge or 'none'}."
    if one.decoding != two.decoding:
        yield "The decoding parameters differ."
    for name, view in (("A", a), ("B", b)):
        if not view.header.strictly_comparable:
            yield f"{name} is not strictly comparable: its decoding is not the suite's."
        if view.decision.verdict in (Verdict.INCOMPLETE, Verdict.NOT_VALID, Verdict.UNDECIDED):
            yield f"{name} has no final result: {view.decision.verdict}."
    if _weights(a) != _weights(b):
        yield "The items or their points differ; only items of both reports are compared."


def _categories(a: SuiteView, b: SuiteView) -> Iterator[ComparedRow]:
    other = {row.id: row for row in b.categories}
    for row in a.categories:
        known = [
            side.earned if side is not None and side.counts.not_run == 0 else None
            for side in (row, other.get(row.id))
        ]
        yield _row(row.title, row.points, *known)


def _items(a: SuiteView, b: SuiteView) -> Iterator[ComparedRow]:
    other = {item.id: item for item in b.items}
    for item in a.items:
        if item.id in other:
            yield _row(item.id, item.points, item.earned, other[item.id].earned)


def _total(view: SuiteView) -> float | None:
    return None if view.counts.not_run else view.total.points


def _action(view: SuiteView) -> float | None:
    return None if view.counts.not_run else view.modifier.action_points


def _tokens(view: SuiteView) -> float | None:
    return None if view.counts.not_run else view.modifier.token_points


def _weights(view: SuiteView) -> dict[str, float]:
    return {item.id: item.points for item in view.items}


def _row(name: str, out_of: float, a: float | None, b: float | None) -> ComparedRow:
    difference = None if a is None or b is None else b - a
    return ComparedRow(name=name, out_of=out_of, a=a, b=b, difference=difference)


def _side(view: SuiteView) -> ComparedSide:
    header = view.header
    return ComparedSide(
        version_tag=header.version_tag,
        model=header.model,
        agent=header.agent,
        arm=header.arm,
        pool=header.pool,
        seed_fingerprint=header.seed_fingerprint,
        judge=header.judge,
        verdict=view.decision.verdict,
    )


def _side_words(side: ComparedSide) -> str:
    arm = f", arm {side.arm}" if side.arm else ""
    return f"{side.verdict}  {side.model} ({side.agent}{arm}), {side.pool} pool, {side.version_tag}"


def _row_words(row: ComparedRow, width: int) -> str:
    a, b = ("missing" if value is None else points(value) for value in (row.a, row.b))
    change = NO_VALUE if row.difference is None else f"{round(row.difference, 2) + 0.0:+.2f}"
    return f"{visible(row.name):<{width}}  {points(row.out_of):>6}  {a:>8}  {b:>8}  {change:>8}"
