"""Two suite reports side by side; never across major versions (amendment 001 §9)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from esac_ag.errors import InputRefused
from esac_ag.record import Record, Sha256
from esac_ag.report.escaping import visible
from esac_ag.report.numbers import NO_VALUE, UNAVAILABLE
from esac_ag.report.suite_view import SuiteView
from esac_ag.report.suite_words import points
from esac_ag.suite.constitution import ACTION_POINTS, TOKEN_POINTS, Pool
from esac_ag.suite.verdict import Verdict

_VERSION: Final = re.compile(r"\A(?P<suite>[A-Z-]+) v(?P<major>\d+)\.\d+\Z")


class ComparedSide(Record):
    """One of the two runs."""

    name: str
    """What its column is called."""
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


class UsedRow(Record):
    """What both runs used of something."""

    name: str
    unit: str
    """`runs`, `tokens`, or a currency."""
    a: float | None
    """Null when it is not known of every run."""
    b: float | None
    difference: float | None
    """b minus a; null when either is unknown, or when the numbers of runs differ."""


class SuiteComparison(Record):
    """Two runs side by side."""

    a: ComparedSide
    b: ComparedSide
    warnings: tuple[str, ...]
    total: ComparedRow
    categories: tuple[ComparedRow, ...]
    modifier: tuple[ComparedRow, ...]
    items: tuple[ComparedRow, ...]
    usage: tuple[UsedRow, ...]


def compare_reports(a: SuiteView, b: SuiteView, names: tuple[str, str] = ("A", "B")) -> SuiteComparison:
    """Both reports' figures, b minus a.

    Args:
        a: one report.
        b: the other.
        names: what to call them.

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
        a=_side(names[0], a),
        b=_side(names[1], b),
        warnings=tuple(_warnings(a, b, names)),
        total=_row("Total", a.out_of, _total(a), _total(b)),
        categories=tuple(_categories(a, b)),
        modifier=(
            _row("Efficiency: action", ACTION_POINTS, _action(a), _action(b)),
            _row("Efficiency: tokens", TOKEN_POINTS, _tokens(a), _tokens(b)),
        ),
        items=tuple(_items(a, b)),
        usage=tuple(_usage(a, b)),
    )


def render_comparison_text(comparison: SuiteComparison) -> str:
    """The comparison for a terminal, ending in one line feed."""
    lines = [
        *(f"{side.name}: {side_words(side)}" for side in (comparison.a, comparison.b)),
        "",
        *(f"! {warning}" for warning in comparison.warnings),
        *([""] if comparison.warnings else []),
        *_columns(comparison_table(comparison)),
    ]
    return "".join(f"{visible(line).rstrip()}\n" for line in lines)


def comparison_table(comparison: SuiteComparison) -> tuple[tuple[str, ...], ...]:
    """Every figure as name, allocation, a, b and difference, the head first; cells may hold foreign text."""
    one, two = comparison.a.name, comparison.b.name
    return (
        ("", "of", one, two, f"{two} - {one}"),
        *(_figure_words(row) for row in (comparison.total, *comparison.categories, *comparison.modifier)),
        *(_used_words(row) for row in comparison.usage),
        *(_figure_words(row) for row in comparison.items),
    )


def side_words(side: ComparedSide) -> str:
    """Verdict, model, agent, pool and version of a side on one line; they may hold foreign text."""
    arm = f", arm {side.arm}" if side.arm and side.arm != side.name else ""
    return f"{side.verdict}  {side.model} ({side.agent}{arm}), {side.pool} pool, {side.version_tag}"


def _major(view: SuiteView) -> tuple[str, str]:
    match = _VERSION.match(view.header.suite_version)
    if match is None:
        raise InputRefused(
            "A report has a version that cannot be read.", found=visible(view.header.suite_version)
        )
    return match["suite"], match["major"]


def _warnings(a: SuiteView, b: SuiteView, names: tuple[str, str]) -> Iterator[str]:
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
    if one.reasoning != two.reasoning:
        yield f"The reasoning efforts differ: {one.reasoning or 'not set'} and {two.reasoning or 'not set'}."
    if one.wall_clock_s != two.wall_clock_s:
        yield f"The times per run differ: {_time(one.wall_clock_s)} and {_time(two.wall_clock_s)}."
    for name, view in zip(names, (a, b), strict=True):
        if not view.header.strictly_comparable:
            yield f"{name} is not strictly comparable: {_why_not(view)}."
        if view.decision.verdict in (Verdict.INCOMPLETE, Verdict.NOT_VALID, Verdict.UNDECIDED):
            yield f"{name} has no final result: {view.decision.verdict}."
    if _weights(a) != _weights(b):
        yield "The items or their points differ; only items of both reports are compared."


def _time(wall_clock_s: float | None) -> str:
    return "not told" if wall_clock_s is None else f"{wall_clock_s:g} s"


def _why_not(view: SuiteView) -> str:
    """Why a report is not strictly comparable."""
    if view.header.decoding.pinned:
        return "its runs had less time than the suite gives"
    return "its decoding is not the suite's"


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


def _usage(a: SuiteView, b: SuiteView) -> Iterator[UsedRow]:
    one, two = a.usage, b.usage

    def row(name: str, unit: str, first: float | None, second: float | None) -> UsedRow:
        # What other runs used is no difference between the two sides.
        same = unit == "runs" or one.runs == two.runs
        difference = second - first if same and first is not None and second is not None else None
        return UsedRow(name=name, unit=unit, a=first, b=second, difference=difference)

    yield row("Runs", "runs", one.runs, two.runs)
    yield row("Input tokens", "tokens", one.input_tokens, two.input_tokens)
    yield row("Output tokens", "tokens", one.output_tokens, two.output_tokens)
    costs = a.cost, b.cost
    for currency in sorted({cost.currency for cost in costs if cost is not None}):
        amounts = [cost.model if cost is not None and cost.currency == currency else None for cost in costs]
        yield row(f"Cost of the model ({currency})", currency, *amounts)


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


def _side(name: str, view: SuiteView) -> ComparedSide:
    header = view.header
    return ComparedSide(
        name=name,
        version_tag=header.version_tag,
        model=header.model,
        agent=header.agent,
        arm=header.arm,
        pool=header.pool,
        seed_fingerprint=header.seed_fingerprint,
        judge=header.judge,
        verdict=view.decision.verdict,
    )


def _figure_words(row: ComparedRow) -> tuple[str, ...]:
    a, b = ("missing" if value is None else points(value) for value in (row.a, row.b))
    change = NO_VALUE if row.difference is None else f"{round(row.difference, 2) + 0.0:+.2f}"
    return row.name, points(row.out_of), a, b, change


def _used_words(row: UsedRow) -> tuple[str, ...]:
    decimals = 0 if row.unit in ("runs", "tokens") else 4
    a, b = (UNAVAILABLE if value is None else f"{value:,.{decimals}f}" for value in (row.a, row.b))
    change = NO_VALUE if row.difference is None else f"{round(row.difference, decimals) + 0.0:+,.{decimals}f}"
    return row.name, NO_VALUE, a, b, change


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(visible(cell)) for cell in column) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        shown = (f"{visible(cell):>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([f"{visible(name):<{widths[0]}}", *shown])
