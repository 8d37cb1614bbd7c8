"""A suite report for a terminal: plain text without control characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from esac_ag.report.escaping import visible
from esac_ag.report.suite_view import CallRow, CheckRow, ItemRow, RunRow, SuiteView
from esac_ag.report.suite_words import (
    category_percent,
    earned,
    facts_of_run,
    gate_words,
    item_words,
    judgment_words,
    modifier_words,
    percent,
    run_words,
    spread_words,
    total_words,
    why_words,
)

LINE_LENGTH: Final = 110
"""Where sentences are wrapped, in characters."""
ARGUMENTS_LENGTH: Final = 120
"""Longest arguments of a call that are shown, in characters; the JSON report holds them whole."""


def render_suite_text(view: SuiteView) -> str:
    """The whole report, ending in one line feed."""
    outcome = [
        f"Verdict: {view.decision.verdict}",
        *(f"  {reason}" for reason in view.decision.reasons),
        f"Total: {total_words(view)}",
    ]
    lines = [
        view.header.version_tag,
        "",
        *wrapped(outcome),
        "",
        *_categories(view),
        "",
        *wrapped([f"Efficiency modifier: {modifier_words(view.modifier)}"]),
        "",
        *wrapped(f"! {notice}" for notice in view.notices),
        "",
        *_columns([(name, value) for name, value in facts_of_run(view)]),
        "",
        *wrapped(line for item in view.items for line in _item(item)),
        "",
        # Once more, for a terminal that shows the end only.
        *wrapped(outcome),
    ]
    return "".join(f"{visible(line).rstrip()}\n" for line in lines)


def _categories(view: SuiteView) -> Iterator[str]:
    head = ("Category", "Points", "Share", "Full", "Partial", "None", "Not run", "Gate 60 %")
    rows = [
        (
            *(row.title, earned(row.earned, row.points), category_percent(row)),
            *(str(row.counts.full), str(row.counts.partial), str(row.counts.none), str(row.counts.not_run)),
            gate_words(row),
        )
        for row in view.categories
    ]
    return _columns([head, *rows])


def _item(item: ItemRow) -> Iterator[str]:
    yield f"{item.id}: {item_words(item)} — {item.title}"
    if (spread := spread_words(item)) is not None:
        yield f"    {spread}"
    for run in item.runs:
        yield from _run(item, run)


def _run(item: ItemRow, run: RunRow) -> Iterator[str]:
    yield f"    {run_words(item, run)}"
    for check in run.checks:
        yield f"      {_check(check)}"
    for number, judgment in enumerate(run.judgments, 1):
        yield f"      {judgment_words(number, judgment)}"
        for criterion in judgment.criteria:
            yield f"        {_check(criterion)}"
    for call in run.calls:
        yield f"      {_call(call)}"


def _check(check: CheckRow) -> str:
    why = f": {words}" if (words := why_words(check)) else ""
    return f"{percent(100 * check.fraction):>8}  {check.id} (weight {percent(100 * check.share)}){why}"


def _call(call: CallRow) -> str:
    name = "call" if call.tool is None else f"{call.tool} {_cut(call.arguments or '')}"
    return f"{call.index + 1:>4}. {'ok' if call.ok else call.error or 'error'}: {name}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(visible(cell)) for cell in column) for column in zip(*rows, strict=True)]
    # A long last column needs no filling, and would not line up with anything.
    widths[-1] = 0
    for row in rows:
        yield "  ".join(f"{visible(cell):<{width}}" for cell, width in zip(row, widths, strict=True))


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines made visible, with long ones going on below themselves, four characters further in."""
    for line in lines:
        shown = visible(line)
        margin = " " * (len(shown) - len(shown.lstrip()) + 4)
        yield from textwrap.wrap(shown, LINE_LENGTH, subsequent_indent=margin, break_on_hyphens=False)


def _cut(arguments: str) -> str:
    if len(arguments) <= ARGUMENTS_LENGTH:
        return arguments
    return f"{arguments[:ARGUMENTS_LENGTH]}… ({ARGUMENTS_LENGTH} of {len(arguments):,} characters)"
