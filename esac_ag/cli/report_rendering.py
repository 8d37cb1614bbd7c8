"""The summary of a report in a terminal: one table, at most 40 lines."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from esac_ag.plural import plural
from esac_ag.report.costs import cost_shown
from esac_ag.report.counts import critical_shown
from esac_ag.report.decision_words import outcome_words
from esac_ag.report.escaping import visible
from esac_ag.report.numbers import NO_VALUE, NOT_ESTIMABLE, UNAVAILABLE, interval_words, maybe_points, percent
from esac_ag.report.view import CostMeasure, ReportView

MOST_ARMS = 8
"""Arms that are shown; the report holds all."""


def print_summary(view: ReportView, console: Console) -> None:
    """Print notices, the answer and a line per arm. Foreign text is neither markup nor terminal control."""
    for notice in view.notices:
        console.print(Text(visible(notice), style="bold yellow"), overflow="fold")
    console.print(_table(view))
    hidden = len(view.scores) - MOST_ARMS
    if hidden > 0:
        console.print(Text(f"and {plural(hidden, 'more arm')} in the report"))
    console.print(Text(visible(view.answer)), overflow="fold")
    for item in view.decisions[:1]:
        outcome = outcome_words(item.decision.outcome, preliminary=item.decision.preliminary)
        console.print(Text(f"Decision on {item.arm}: {outcome}"), overflow="fold")


def _table(view: ReportView) -> Table:
    header = view.header
    costs = [cost_shown(view, arm, CostMeasure.COST) for arm in view.costs]
    priced = not all(cost.startswith(UNAVAILABLE) for cost in costs)
    table = Table(
        title=Text(f"{header.study_id}: {header.agent_program or header.agent_kind} agent, {header.phase}"),
        caption=Text(_caption(view, priced=priced)),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE,
        padding=(0, 1),
        pad_edge=False,
    )
    table.add_column("Arm", no_wrap=True, overflow="ellipsis", min_width=8)
    interval = f"{percent(view.method.confidence)} interval"
    for name in ("Score", "Diff.", interval, "Graded", "Crit.", *(["Cost"] if priced else [])):
        table.add_column(name, justify="right", no_wrap=True)
    comparisons = {item.arm: item.overall for item in view.comparisons}
    rows = zip(view.scores, view.counts, view.critical_counts, costs, strict=True)
    for scores, counts, critical, cost in list(rows)[:MOST_ARMS]:
        compared = comparisons.get(scores.arm)
        table.add_row(
            Text(scores.arm),
            _short(maybe_points(scores.mean)),
            NO_VALUE if compared is None else _short(maybe_points(compared.mean, signed=True)),
            NO_VALUE if compared is None else _short(interval_words(compared.interval)),
            f"{counts.graded}/{counts.planned}",
            _short(critical_shown(critical)).replace(" of ", "/"),
            *([Text(cost)] if priced else []),
        )
    return table


def _caption(view: ReportView, *, priced: bool) -> str:
    cost = "cost per graded run" if priced else "cost unavailable"
    by = "" if view.review is None else " by hidden checks"
    control = view.header.control
    return f"Diff.: to {control}; Crit.: runs with a critical failure{by}; n/e: not estimable; {cost}"


def _short(words: str) -> str:
    """Words that fit a narrow column; the caption explains them."""
    return "n/e" if words.startswith(NOT_ESTIMABLE) else words
