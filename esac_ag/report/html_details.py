"""Sections of the page below the scores: dimensions, failed checks, critical failures, costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from esac_ag.report.check_words import FAILED_CHECKS, baselines, tally_words, untouched_words
from esac_ag.report.costs import cost_shown
from esac_ag.report.counts import CRITICAL, critical_kinds, critical_shown
from esac_ag.report.html_blocks import Block, Cell, Link, Section, grouped_table, num, paragraph, table
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, measures, reason_of
from esac_ag.report.numbers import COST_NAMES, NO_VALUE, maybe_points
from esac_ag.report.price_words import COSTS, price_words
from esac_ag.report.view import AttemptRow, CheckTally, CostMeasure, ReportView


def dimension_section(view: ReportView, links: Links) -> Section:
    """Each dimension by arm, and the hidden checks that failed."""
    blocks = [_dimension_table(view, measured, links.of(measured.name)) for measured in measures(view)]
    return Section("dimensions", "Scores by dimension", tuple(blocks))


def _dimension_table(view: ReportView, measured: Measured, links: Links) -> Block:
    shown = [item for item in measured.dimensions if item.tasks_scored]
    if not shown:
        return paragraph(f"No run has a {measured.words}.")
    control = view.header.control
    rows = [
        (
            Cell(item.dimension),
            Cell(item.arm, links.arm(item.arm)),
            Cell(item.agent_kind),
            num(maybe_points(item.mean)),
            num(item.tasks_scored),
            num(NO_VALUE if item.arm == control else _difference(item.difference)),
            num(NO_VALUE if item.arm == control else item.tasks_paired),
        )
        for _, members in groupby(shown, key=lambda item: item.dimension)
        for item in members
    ]
    head = (
        "Dimension",
        "Arm",
        "Agent",
        "Mean over tasks",
        "Tasks scored",
        f"Difference to {control}",
        "Tasks paired",
    )
    return table(f"Mean {measured.titled} by dimension and arm, 0 to 100", head, rows)


def _difference(value: object) -> str:
    return reason_of(value) or maybe_points(value, signed=True)  # type: ignore[arg-type]


def check_section(view: ReportView, links: Links) -> Section:
    """Which hidden checks failed, how often, and in which attempts."""
    if not view.failed_checks:
        graded = sum(item.graded for item in view.counts)
        words = "No hidden check failed in any graded run." if graded else "No run is graded."
        return Section("checks", "Hidden checks that failed", (paragraph(words),))
    failing: dict[tuple[str, str, str], list[AttemptRow]] = {}
    for row in view.attempts if links.lists_attempts else ():
        for check in row.failed_checks:
            failing.setdefault((row.task, row.arm, check), []).append(row)
    untouched = baselines(view.baseline)
    groups = [
        (
            "",
            [
                (
                    Cell(item.check, code=True),
                    Cell(item.task),
                    Cell(item.dimension),
                    Cell(item.critical or NO_VALUE, tone="bad" if item.critical else ""),
                    Cell(untouched_words(untouched.get(task), item.check)),
                    *(
                        _tally(tally, task, failing.get((task, tally.arm, item.check), []), links)
                        for tally in item.arms
                    ),
                )
                for item in members
            ],
        )
        for task, members in groupby(view.failed_checks, key=lambda item: item.task)
    ]
    head = ("Check", "Task", "Dimension", "Critical", "Untouched snapshot", *(arm.arm for arm in view.counts))
    caption = "Graded runs in which a hidden check failed, by arm, with the repetitions"
    blocks = (paragraph(FAILED_CHECKS), grouped_table(caption, head, groups))
    return Section("checks", "Hidden checks that failed", blocks)


def _tally(tally: CheckTally, task: str, rows: list[AttemptRow], links: Links) -> Cell:
    ordered = sorted(rows, key=lambda row: row.repetition)
    singles = tuple(Link(f"r{row.repetition}", links.attempt(row.attempt_id)) for row in ordered)
    whole = "" if singles or not tally.failed else links.runs(task, tally.arm)
    return num(tally_words(tally), whole, singles)


def critical_section(view: ReportView, links: Links) -> Section:
    """Critical failures per arm, by the review and by hidden checks, and every one with what shows it."""
    blocks = [paragraph(CRITICAL)]
    for measured in measures(view):
        blocks += _critical(measured, links.of(measured.name))
    return Section("critical", "Critical failures", tuple(blocks))


def _critical(measured: Measured, links: Links) -> Iterator[Block]:
    head = ("Arm", "Agent", "Runs with any", "Runs by kind")
    rows = [
        (
            Cell(item.arm, links.arm(item.arm)),
            Cell(item.agent_kind),
            num(critical_shown(item)),
            Cell(critical_kinds(item)),
        )
        for item in measured.critical_counts
    ]
    if not rows:
        return
    yield table(f"Critical failures by arm, named by {measured.found_by}", head, rows)
    if measured.critical_runs:
        single = [
            (
                Cell(item.kind, tone="bad"),
                *(Cell(words) for words in (item.arm, item.agent_kind, item.task)),
                num(item.repetition),
                Cell(item.attempt_id, links.attempt(item.attempt_id), code=True),
                Cell(links=_evidence(links, item.attempt_id)),
            )
            for item in measured.critical_runs
        ]
        columns = ("Kind", "Arm", "Agent", "Task", "Repetition", "Attempt", "Evidence")
        caption = f"Every critical failure named by {measured.found_by}, with its evidence"
        yield table(caption, columns, single)


def _evidence(links: Links, attempt_id: str) -> tuple[Link, ...]:
    return tuple(Link(words, href) for words, href in links.evidence(links.rows[attempt_id]))


def cost_section(view: ReportView, links: Links) -> Section:
    """Costs per graded run, apart from any score."""
    rows = [(Cell("agent"), *(Cell(item.agent_kind) for item in view.costs))]
    rows += [
        (
            Cell(COST_NAMES[measure]),
            *(num(cost_shown(view, item, measure), links.arm(item.arm)) for item in view.costs),
        )
        for measure in CostMeasure
    ]
    arms = tuple(item.arm for item in view.costs)
    blocks = (
        paragraph(COSTS),
        table("Mean per graded run, by arm", ("Per graded run", *arms), rows),
        paragraph(price_words(view.prices)),
    )
    return Section("costs", "Costs", blocks)
