"""The page's last section: every attempt with its evidence."""

from __future__ import annotations

from esac_ag.report.costs import value_of
from esac_ag.report.html_blocks import Cell, Link, Row, Section, grouped_table, num, paragraph
from esac_ag.report.html_links import MOST_ATTEMPTS, Links, attempt_place
from esac_ag.report.numbers import NO_VALUE, UNAVAILABLE, amount, points
from esac_ag.report.view import AttemptRow, CostMeasure, ReportView


def attempt_section(view: ReportView, links: Links) -> Section:
    """A row per attempt, those that do not count too; or where they are, in a large study."""
    title = f"Attempts ({len(view.attempts):,})"
    if not links.lists_attempts:
        words = (
            f"More than {MOST_ATTEMPTS:,} attempts: they are in report.csv and report.parquet beside this "
            "page, one row each. The table of every run leads to each attempt's own record."
        )
        return Section("attempts", title, (paragraph(words),))
    head = (
        *("Attempt", "Task", "Arm", "Repetition", "Agent", "Outcome", "Check score", "Quality score"),
        *("Failed checks", "Critical failures", "Seconds", "Cost", "Evidence"),
    )
    currency = view.prices.currency if view.prices else ""
    rows = [_row(row, links, currency) for row in view.attempts]
    words = (
        "In the order of the schedule. Evidence is in the study's folder, beside the report: those files "
        "that the ledger names."
    )
    table = grouped_table("Every attempt", head, [("", rows)], wide=True)
    return Section("attempts", title, (paragraph(words), table))


def _row(row: AttemptRow, links: Links, currency: str) -> Row:
    cost = row.costs.cost
    return Row(
        (
            Cell(row.attempt_id, code=True),
            Cell(row.task),
            Cell(row.arm),
            num(row.repetition),
            Cell(row.agent_kind),
            Cell(_outcome(row)),
            num(_score(row.score, row)),
            num(NO_VALUE if row.quality is None else points(row.quality)),
            Cell(", ".join(row.failed_checks) or NO_VALUE),
            _critical(row),
            num(_amount(row, CostMeasure.LATENCY_S)),
            num(UNAVAILABLE if cost is None else f"{amount(CostMeasure.COST, cost)} {currency}".rstrip()),
            Cell(
                "" if row.files else "no file",
                links=tuple(Link(words, href) for words, href in links.evidence(row)),
            ),
        ),
        attempt_place(row.attempt_id),
    )


def _critical(row: AttemptRow) -> Cell:
    found = [*row.critical_failures, *(f"{kind} (by the review)" for kind in row.critical_by_review)]
    return Cell(", ".join(found) or NO_VALUE, tone="bad" if found else "")


def _outcome(row: AttemptRow) -> str:
    limit = f" ({row.limit})" if row.limit else ""
    launch = f", launch {row.ordinal}" if row.ordinal and row.ordinal > 1 else ""
    counted = "" if row.counts else ", does not count"
    return f"{row.outcome}{limit}{launch}{counted}"


def _score(value: float | None, row: AttemptRow) -> str:
    if value is not None:
        return points(value)
    return row.state.value if row.state is not None else NO_VALUE


def _amount(row: AttemptRow, measure: CostMeasure) -> str:
    value = value_of(row.costs, measure)
    return UNAVAILABLE if value is None else amount(measure, value)
