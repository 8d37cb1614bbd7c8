"""Sections of the page that come before any score: what was sealed, whether arms were loaded, the counts."""

from __future__ import annotations

from collections.abc import Sequence

from esac_ag.report.html_blocks import Block, Cell, Link, Row, Section, bullets, num, paragraph, table
from esac_ag.report.html_links import Links
from esac_ag.report.incident_words import deviations, incidents
from esac_ag.report.manipulation_text import RESULT_WORDS, clause_counts, manipulation_findings
from esac_ag.report.manipulation_view import CLAUSE_WORDS, CheckState
from esac_ag.report.sealed_words import sealed_rows
from esac_ag.report.view import ReportView

MOST_LINES = 200
"""Lines of what did not go as planned; `report.md` holds all."""


def sealed_section(view: ReportView) -> Section:
    """What was sealed, and what was done otherwise."""
    rows = [(Cell(row.what), Cell(row.value, code=row.code)) for row in sealed_rows(view)]
    return Section(
        "sealed",
        "What was sealed, and deviations",
        (
            table("What was sealed before anything ran", ("What", "Value"), rows),
            bullets(list(deviations(view))),
        ),
    )


def manipulation_section(view: ReportView) -> Section:
    """Whether every arm was loaded, and nothing of it elsewhere."""
    check, arms = view.manipulation, [item.arm for item in view.counts]
    reason = f": {check.reason}" if check.reason else ""
    blocks: list[Block] = [paragraph(f"Manipulation check: {RESULT_WORDS[check.state]}{reason}.")]
    if check.clauses:
        rows = [
            (
                Cell(CLAUSE_WORDS[clause.kind]),
                Cell(RESULT_WORDS[clause.state], tone=_tone(clause.state)),
                *(num(count) for count in clause_counts(clause, tuple(arms))),
            )
            for clause in check.clauses
        ]
        caption = (
            "Counted runs in which each clause holds, by arm; a run of which it is not known is told apart"
        )
        blocks.append(table(caption, ("What has to hold", "Result", *arms), rows))
    if findings := list(manipulation_findings(check)):
        blocks.append(bullets(findings))
    return Section("manipulation", "Were the arms loaded?", tuple(blocks))


def _tone(state: CheckState) -> str:
    return {CheckState.PASSED: "good", CheckState.FAILED: "bad", CheckState.NOT_CHECKABLE: ""}[state]


def counts_section(view: ReportView, links: Links) -> Section:
    """Runs and attempts by arm, and everything that did not go as planned."""
    head = (
        *("Arm", "Agent", "Planned", "Graded", "of these: completed", "at a limit", "agent error", "Invalid"),
        *(
            "Not yet graded",
            "Missing",
            "Stopped",
            "Changed nothing",
            "Spoiled attempts",
            "Cancelled attempts",
        ),
    )
    rows = [
        Row(
            (
                Cell(item.arm, links.arm(item.arm)),
                Cell(item.agent_kind),
                *map(num, (item.planned, item.graded, item.completed, item.limit, item.agent_error)),
                *map(num, (item.invalid, item.ungraded, item.missing, item.stopped, item.unchanged)),
                *map(num, (item.infra_attempts, item.cancelled_attempts)),
            )
        )
        for item in view.counts
    ]
    return Section(
        "counts",
        "Runs and attempts",
        (
            paragraph(
                "Planned runs are graded, invalid (the grader could not judge), waiting for grading, "
                "missing, or stopped (their arm was stopped by rule). Graded runs ended by themselves, at "
                "a limit, or with an agent error; all three are scored. Spoiled and cancelled attempts "
                "are no runs: they were, or will be, done again."
            ),
            table("Runs and attempts by arm", head, rows),
            *_incidents(view, links),
        ),
    )


def _incidents(view: ReportView, links: Links) -> Sequence[Block]:
    told = list(incidents(view))
    items = [
        Cell(item.words, links=tuple(Link(attempt, links.attempt(attempt)) for attempt in item.attempts))
        for item in told[:MOST_LINES]
    ]
    if len(told) > MOST_LINES:
        items.append(Cell(f"and {len(told) - MOST_LINES} more lines in report.md"))
    return (paragraph("What did not go as planned:"), bullets(items))
