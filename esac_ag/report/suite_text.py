"""A suite report for a terminal: plain text without control characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
)

SHOWN_LENGTH = 160
"""Longest line of an item; the JSON report holds it whole."""


def render_suite_text(view: SuiteView) -> str:
    """The whole report, ending in one line feed."""
    lines = [
        view.header.version_tag,
        "",
        f"Verdict: {view.decision.verdict}",
        *(f"  {reason}" for reason in view.decision.reasons),
        f"Total: {total_words(view)}",
        "",
        *_categories(view),
        "",
        f"Efficiency modifier: {modifier_words(view.modifier)}",
        "",
        *(f"! {notice}" for notice in view.notices),
        "",
        *_columns([(name, value) for name, value in facts_of_run(view)]),
        "",
        *(_cut(visible(line)) for item in view.items for line in _item(item)),
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
    why = "" if check.why is None else f": {check.why}"
    return f"{percent(100 * check.fraction):>8}  {check.id} (weight {percent(100 * check.share)}){why}"


def _call(call: CallRow) -> str:
    name = "call" if call.tool is None else f"{call.tool} {call.arguments}"
    return f"{call.index:>4}. {'ok' if call.ok else call.error or 'error'}: {name}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(visible(cell)) for cell in column) for column in zip(*rows, strict=True)]
    # A long last column needs no filling, and would not line up with anything.
    widths[-1] = 0
    for row in rows:
        yield "  ".join(f"{visible(cell):<{width}}" for cell, width in zip(row, widths, strict=True))


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN_LENGTH else line[: SHOWN_LENGTH - 1] + "…"
