"""What stands outside the scores in Markdown: critical failures, costs, incidents."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.costs import cost_shown
from esac_ag.report.counts import CRITICAL, critical_kinds, critical_shown
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.incident_words import deviations, incidents
from esac_ag.report.markdown_table import code, table
from esac_ag.report.measured import Measured, measures
from esac_ag.report.numbers import COST_NAMES
from esac_ag.report.price_words import COSTS, price_words
from esac_ag.report.view import CostMeasure, ReportView


def critical_section(view: ReportView) -> Iterator[str]:
    """Critical failures per arm, by the review and by hidden checks, each with the attempt that shows it."""
    yield "## Critical failures"
    yield ""
    yield CRITICAL
    yield ""
    for measured in measures(view):
        yield from _critical(measured)


def _critical(measured: Measured) -> Iterator[str]:
    if not measured.critical_counts:
        return
    yield f"Named by {measured.found_by}:"
    yield ""
    yield from table(
        ("Arm", "Agent", "Runs with any", "Runs by kind"),
        [
            (code(item.arm), item.agent_kind, critical_shown(item), critical_kinds(item))
            for item in measured.critical_counts
        ],
    )
    yield ""
    if measured.critical_runs:
        yield from table(
            ("Arm", "Agent", "Task", "Repetition", "Kind", "Attempt"),
            [
                (
                    *(code(item.arm), item.agent_kind, code(item.task), item.repetition),
                    *(item.kind, code(item.attempt_id)),
                )
                for item in measured.critical_runs
            ],
        )
        yield ""


def cost_section(view: ReportView) -> Iterator[str]:
    """Costs per graded run, apart from any score."""
    yield "## Costs"
    yield ""
    yield COSTS
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
    yield safe(price_words(view.prices), limit=1000)
    yield ""


def incident_section(view: ReportView) -> Iterator[str]:
    """What did not go as planned."""
    yield "## What did not go as planned"
    yield ""
    for item in incidents(view):
        shown = f" ({', '.join(code(attempt) for attempt in item.attempts)})" if item.attempts else ""
        yield f"- {safe(item.words)}{shown}"
    yield from (f"- {safe(text)}" for text in deviations(view))
    yield ""
