"""The report as Markdown: the answer first, then the tables, then what it is worth."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.report.decision_markdown import decision_section, revision_lines
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.manipulation_text import manipulation_section
from esac_ag.report.markdown_checks import check_section, next_section
from esac_ag.report.markdown_results import (
    comparison_sections,
    dimension_section,
    run_section,
    summary_table,
)
from esac_ag.report.markdown_review import review_sections
from esac_ag.report.markdown_table import code, table
from esac_ag.report.markdown_treatment import cost_section, critical_section, incident_section
from esac_ag.report.sealed_words import sealed_rows
from esac_ag.report.sensitivity_render import sensitivity_section
from esac_ag.report.view import ReportView


def render_markdown(view: ReportView) -> str:
    """The whole report, GitHub-flavoured, ending in one line feed.

    Whatever an agent or an author wrote is escaped: it is neither markup nor HTML nor a table's border.
    """
    lines = [
        f"# Report of the study {code(view.header.study_id)}",
        "",
        *revision_lines(view),
        *_notices(view),
        f"**{safe(view.answer, limit=2000)}**",
        "",
        *summary_table(view),
        "",
        *decision_section(view),
        *_counts(view),
        *manipulation_section(view.manipulation, tuple(item.arm for item in view.counts)),
        *review_sections(view),
        *comparison_sections(view),
        *sensitivity_section(view),
        *run_section(view),
        *dimension_section(view),
        *check_section(view),
        *critical_section(view),
        *cost_section(view),
        *incident_section(view),
        *_sealed(view),
        *_limits(view),
        *next_section(view),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _notices(view: ReportView) -> Iterator[str]:
    for notice in view.notices:
        yield f"> **{safe(notice)}**"
        yield ""


def _counts(view: ReportView) -> Iterator[str]:
    yield "## Runs and attempts"
    yield ""
    yield (
        "Planned runs are graded, invalid (the grader could not judge), waiting for grading, missing, or "
        "stopped (not launched, because their arm was stopped by rule). Graded runs ended by themselves, at "
        "a limit, or with an agent error; all three are scored. Spoiled "
        "and cancelled attempts are no runs: they were, or will be, done again."
    )
    yield ""
    yield from table(
        (
            *("Arm", "Agent", "Planned", "Graded", "of these: completed", "at a limit", "agent error"),
            *("Invalid", "Not yet graded", "Missing", "Stopped", "Changed nothing", "Spoiled attempts"),
            "Cancelled attempts",
        ),
        [
            (
                *(code(item.arm), item.agent_kind, item.planned, item.graded, item.completed, item.limit),
                *(item.agent_error, item.invalid, item.ungraded, item.missing, item.stopped),
                item.unchanged,
                *(item.infra_attempts, item.cancelled_attempts),
            )
            for item in view.counts
        ],
    )
    yield ""


def _sealed(view: ReportView) -> Iterator[str]:
    yield "## What was sealed"
    yield ""
    yield from table(
        ("What", "Value"),
        [
            (row.what, code(row.value) if row.code else safe(row.value, limit=1000))
            for row in sealed_rows(view)
        ],
    )
    yield ""


def _limits(view: ReportView) -> Iterator[str]:
    yield "## Limits of the claim"
    yield ""
    for sentence in view.limits_of_claim:
        yield f"- {safe(sentence, limit=2000)}"
