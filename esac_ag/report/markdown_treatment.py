"""What stands outside the scores in Markdown: critical failures, costs, incidents."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.costs import cost_shown
from esac_ag.report.counts import critical_shown
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.numbers import COST_NAMES, UNAVAILABLE
from esac_ag.report.view import CostMeasure, ReportView


def critical_section(view: ReportView) -> Iterator[str]:
    """Critical failures per arm, and every one with the attempt that shows it."""
    yield "## Critical failures"
    yield ""
    yield "They stand outside every mean: no score makes up for one."
    yield ""
    yield from table(
        ("Arm", "Agent", "Graded runs with any", "Runs by kind"),
        [
            (
                *(code(item.arm), item.agent_kind, critical_shown(item)),
                ", ".join(f"{kind}: {count}" for kind, count in item.by_kind.items())
                or ("none" if item.graded else UNAVAILABLE),
            )
            for item in view.critical_counts
        ],
    )
    yield ""
    if view.critical_runs:
        yield from table(
            ("Arm", "Agent", "Task", "Repetition", "Kind", "Attempt"),
            [
                (
                    *(code(item.arm), item.agent_kind, code(item.task), item.repetition),
                    *(item.kind, code(item.attempt_id)),
                )
                for item in view.critical_runs
            ],
        )
        yield ""


def cost_section(view: ReportView) -> Iterator[str]:
    """Costs per graded run, apart from any score."""
    yield "## Costs"
    yield ""
    yield (
        f"Mean over the graded runs. A figure that is not known for all of them says for how many it is; one "
        f"that is known for none is {UNAVAILABLE}, as is a price that is not known for all."
    )
    yield ""
    yield from table(
        ("Per graded run", *(code(item.arm) for item in view.costs)),
        [
            ("agent", *(item.agent_kind for item in view.costs)),
            *(
                (COST_NAMES[measure], *(cost_shown(view, item, measure) for item in view.costs))
                for measure in CostMeasure
            ),
        ],
    )
    yield ""
    if view.prices is None:
        yield "The manifest holds no price table, so costs in money are unavailable."
    else:
        prices = view.prices
        yield (
            f"Prices: {safe(prices.source)}, version {safe(prices.version)}, of {safe(prices.date)}, in "
            f"{safe(prices.currency)}. An estimate from usage and list prices, not an invoice."
        )
    yield ""


def incident_section(view: ReportView) -> Iterator[str]:
    """What did not go as planned."""
    incidents = view.incidents
    yield "## What did not go as planned"
    yield ""
    yield f"- Launches beyond a cell's first: {incidents.retries}. Pauses of the study: {incidents.pauses}."
    for item in incidents.stopped:
        shown = ", ".join(code(attempt) for attempt in item.attempts)
        yield f"- Stopped by rule: {code(item.arm)}, for {item.kind} on {code(item.task)} in {shown}."
    yield from (f"- No score: {safe(text)}." for text in incidents.missing)
    for row in view.attempts:
        if not row.counts:
            yield f"- Attempt {code(row.attempt_id)} ({row.outcome}) does not count: {safe(row.reason)}"
        if row.invalid_reason:
            yield f"- Attempt {code(row.attempt_id)} could not be graded: {safe(row.invalid_reason)}"
        for finding in row.findings:
            yield f"- Attempt {code(row.attempt_id)}, left out on export: {safe(finding)}"
    yield from (f"- Deviation: {safe(text)}" for text in incidents.deviations)
    if not incidents.deviations:
        yield "- Deviations from what was sealed: none recorded."
    yield ""
