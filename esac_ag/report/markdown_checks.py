"""Hidden checks that failed, untouched snapshots, and what next, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.check_words import (
    FAILED_CHECKS,
    UNTOUCHED,
    baseline_words,
    baselines,
    tally_words,
    untouched_words,
)
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.numbers import NO_VALUE, maybe_points
from esac_ag.report.view import ReportView


def check_section(view: ReportView) -> Iterator[str]:
    """In how many runs of each arm a check failed, and whether the untouched snapshot fails it."""
    if view.failed_checks:
        untouched = baselines(view.baseline)
        yield "## Hidden checks that failed"
        yield ""
        yield FAILED_CHECKS
        yield ""
        yield from table(
            (
                *("Check", "Task", "Dimension", "Critical", "Untouched snapshot"),
                *(code(item.arm) for item in view.counts),
            ),
            [
                (
                    *(code(item.check), code(item.task), item.dimension, item.critical or NO_VALUE),
                    untouched_words(untouched.get(item.task), item.check),
                    *map(tally_words, item.arms),
                )
                for item in view.failed_checks
            ],
        )
        yield ""
    if view.baseline is not None:
        yield "## Untouched snapshots"
        yield ""
        known = f"{view.baseline.tasks_known} of {len(view.baseline.tasks)} tasks known"
        yield f"{UNTOUCHED} Mean: {maybe_points(view.baseline.mean)} ({known})."
        yield ""
        rows = [(code(item.task), safe(baseline_words(item))) for item in view.baseline.tasks]
        yield from table(("Task", "Check score of the untouched snapshot"), rows)
        yield ""


def next_section(view: ReportView) -> Iterator[str]:
    """The commands that lead on."""
    if view.next_steps:
        yield ""
        yield "## What next"
        yield ""
        yield from (f"- {safe(step.words)} {code(step.command)}" for step in view.next_steps)
