"""Scores in Markdown: the summary, the comparisons, every run, the dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from esac_ag.report.costs import cost_shown
from esac_ag.report.counts import critical_summary
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.numbers import (
    NO_VALUE,
    interval_words,
    maybe_points,
    percent,
    points,
    signed_points,
)
from esac_ag.report.view import ArmComparison, CostMeasure, GroupComparison, ReportView, Run, RunState
from esac_ag.statistics.estimates import NotEstimable, SignFlipReference


def summary_table(view: ReportView) -> Iterator[str]:
    """One line per arm: score, difference, interval, counts, critical failures, money."""
    comparisons = {item.arm: item for item in view.comparisons}
    counts = {item.arm: item for item in view.counts}
    costs = {item.arm: item for item in view.costs}
    control, confidence = code(view.header.control), percent(view.method.confidence)
    yield from table(
        (
            *("Arm", "Agent", "Mean check score", f"Difference to {control}", f"{confidence} interval"),
            *("Tasks paired", "Runs graded", "Runs with a critical failure", "Cost per run"),
        ),
        [
            (
                *(code(item.arm), item.agent_kind, maybe_points(item.mean)),
                *_difference_cells(comparisons.get(item.arm)),
                f"{counts[item.arm].graded} of {counts[item.arm].planned}",
                critical_summary(view, item.arm),
                cost_shown(view, costs[item.arm], CostMeasure.COST),
            )
            for item in view.scores
        ],
    )


def comparison_sections(view: ReportView) -> Iterator[str]:
    """A section for every arm against the control."""
    groups = {item.task: (item.family, item.contrast) for item in view.task_arms}
    for comparison in view.comparisons:
        kind = "primary" if comparison.primary else "secondary"
        yield f"## {code(comparison.arm)} minus {code(comparison.control)} ({kind} comparison)"
        yield ""
        yield from (f"- {safe(sentence, limit=2000)}" for sentence in comparison.words)
        yield ""
        yield from _pairs_table(comparison, groups)
        yield ""
        yield from _groups_table(comparison)
        yield ""


def run_section(view: ReportView) -> Iterator[str]:
    """The run-to-run spread: every run's score, and the summary over repetitions."""
    yield "## Every run"
    yield ""
    yield (
        "Check score (0 to 100) of each repetition in turn, then their mean, extremes and sample standard "
        "deviation (SD). A run without a score says why."
    )
    yield ""
    yield from table(
        ("Task", "Arm", "Agent", "Runs", "Scored", "Mean", "Minimum", "Maximum", "SD"),
        [
            (
                *(_task_cell(item.task, item.title), code(item.arm), item.agent_kind),
                ", ".join(_run_words(run) for run in item.runs),
                f"{item.summary.n} of {item.summary.planned}",
                *(maybe_points(value) for value in (item.summary.mean, item.summary.minimum)),
                *(maybe_points(value) for value in (item.summary.maximum, item.summary.sd)),
            )
            for item in view.task_arms
        ],
    )
    yield ""


def dimension_section(view: ReportView) -> Iterator[str]:
    """Each dimension by arm."""
    shown = [item for item in view.dimensions if item.tasks_scored]
    yield "## Check scores by dimension"
    yield ""
    if not shown:
        yield "No run has a score."
        yield ""
        return
    yield from table(
        (
            "Dimension",
            "Arm",
            "Agent",
            "Mean over tasks",
            "Tasks scored",
            "Difference to control",
            "Tasks paired",
        ),
        [
            (
                *(
                    item.dimension,
                    code(item.arm),
                    item.agent_kind,
                    maybe_points(item.mean),
                    item.tasks_scored,
                ),
                NO_VALUE if item.arm == view.header.control else maybe_points(item.difference, signed=True),
                NO_VALUE if item.arm == view.header.control else item.tasks_paired,
            )
            for _, members in groupby(shown, key=lambda item: item.dimension)
            for item in members
        ],
    )
    yield ""


def _pairs_table(comparison: ArmComparison, groups: dict[str, tuple[str, str]]) -> Iterator[str]:
    yield from table(
        (
            *("Task", "Family", "Right scope", "Agent", code(comparison.arm), code(comparison.control)),
            *("Difference", "Runs scored (arm, control, planned)"),
        ),
        [
            (
                *(code(item.task), *(safe(group) for group in groups[item.task]), comparison.agent_kind),
                *(maybe_points(item.arm_mean), maybe_points(item.control_mean)),
                f"{maybe_points(item.difference)}: {item.difference.reason}"
                if isinstance(item.difference, NotEstimable)
                else signed_points(item.difference.value),
                f"{item.arm_n}, {item.control_n}, {item.planned}",
            )
            for item in comparison.pairs
        ],
    )


def _groups_table(comparison: ArmComparison) -> Iterator[str]:
    rows = [("all tasks", comparison.overall)]
    rows += [(f"family {safe(item.group)}", item.result) for item in comparison.families]
    rows += [(f"scope {safe(item.group)}", item.result) for item in comparison.contrasts]
    yield from table(
        (
            *("Over", "Agent", "Tasks paired", "Mean difference", "Interval", "SD between tasks"),
            *("Sign-flip share", "If missing runs were worst or best"),
        ),
        [
            (
                *(name, comparison.agent_kind, f"{item.tasks_paired} of {item.tasks_planned}"),
                *(maybe_points(item.mean, signed=True), interval_words(item.interval), maybe_points(item.sd)),
                f"{item.sign_flip.two_sided_share:.4g}"
                if isinstance(item.sign_flip, SignFlipReference)
                else "not estimable",
                f"{signed_points(item.bounds.low)} or {signed_points(item.bounds.high)}"
                if item.missing_runs
                else "nothing is missing",
            )
            for name, item in rows
        ],
    )
    yield ""
    yield from _reasons("family", comparison.families)
    yield from _reasons("scope", comparison.contrasts)


def _reasons(kind: str, groups: Sequence[GroupComparison]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for item in groups:
        if isinstance(item.result.interval, NotEstimable):
            reasons.setdefault(item.result.interval.reason, []).append(safe(item.group))
    for reason, names in reasons.items():
        yield f"- Interval not estimable by {kind} for {', '.join(names)}: {safe(reason)}."


def _difference_cells(comparison: ArmComparison | None) -> tuple[str, str, str]:
    if comparison is None:
        return (NO_VALUE, NO_VALUE, NO_VALUE)
    overall = comparison.overall
    paired = f"{overall.tasks_paired} of {overall.tasks_planned}"
    return (maybe_points(overall.mean, signed=True), interval_words(overall.interval), paired)


def _task_cell(task: str, title: str) -> str:
    return f"{code(task)} {safe(title)}" if title else code(task)


def _run_words(run: Run) -> str:
    if run.state is not RunState.GRADED or run.score is None:
        return run.state
    return points(run.score)
