"""A suite report as GitHub-flavoured Markdown; foreign text is neither markup, HTML nor a table's border."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import table
from esac_ag.report.suite_view import CheckRow, ItemRow, RunRow, SuiteView
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


def render_suite_markdown(view: SuiteView) -> str:
    """The whole report, ending in one line feed."""
    lines = [
        f"# {safe(view.header.version_tag)}",
        "",
        f"**{view.decision.verdict}**: {safe(total_words(view))}",
        "",
        *(f"- {safe(reason)}" for reason in view.decision.reasons),
        "",
        *(f"> {safe(notice)}\n" for notice in view.notices),
        "## Categories",
        "",
        *_categories(view),
        "",
        f"Efficiency modifier: {safe(modifier_words(view.modifier))}",
        "",
        "## The run",
        "",
        *table(("What", "Value"), [(name, safe(value)) for name, value in facts_of_run(view)]),
        "",
        "## Items",
        "",
        *(line for item in view.items for line in _item(item)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _categories(view: SuiteView) -> Iterator[str]:
    return table(
        ("Category", "Points", "Share", "Items full", "partial", "none", "not run", "Gate 60 %"),
        [
            (
                *(row.title, earned(row.earned, row.points), category_percent(row)),
                *(row.counts.full, row.counts.partial, row.counts.none, row.counts.not_run),
                gate_words(row),
            )
            for row in view.categories
        ],
    )


def _item(item: ItemRow) -> Iterator[str]:
    yield f"### {safe(item.id)}: {safe(item_words(item))}"
    yield ""
    yield f"{safe(item.title)}. {safe(item.measures)}"
    yield ""
    if (spread := spread_words(item)) is not None:
        yield safe(spread)
        yield ""
    for run in item.runs:
        yield from _run(item, run)


def _run(item: ItemRow, run: RunRow) -> Iterator[str]:
    yield safe(run_words(item, run))
    yield ""
    rows = [("check", check) for check in run.checks]
    for number, judgment in enumerate(run.judgments, 1):
        rows += [(judgment_words(number, judgment), criterion) for criterion in judgment.criteria]
    if rows:
        yield from table(("Kind", "Check", "Weight", "Result", "Why"), [_check(*row) for row in rows])
        yield ""
    for call in run.calls:
        name = "" if call.tool is None else f" {safe(call.tool)} {safe(call.arguments or '')}"
        yield f"{call.index + 1}. {'ok' if call.ok else safe(call.error or 'error')}:{name or ' call'}"
    if run.calls:
        yield ""
    if run.final_text:
        yield f"Answer: {safe(run.final_text)}"
        yield ""


def _check(kind: str, check: CheckRow) -> tuple[str, str, str, str, str]:
    shares = percent(100 * check.share), percent(100 * check.fraction)
    return kind, safe(check.id), *shares, safe(why_words(check))
