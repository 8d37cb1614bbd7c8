"""A study's report as one HTML page that opens from disk: no script, no network, no other file.

Every value is escaped by the template engine after its invisible characters became visible, or by the plots;
a content security policy forbids what the page does not need.
"""

from __future__ import annotations

from esac_ag.report.decision_words import outcome_words
from esac_ag.report.html_attempts import attempt_section
from esac_ag.report.html_blocks import Section
from esac_ag.report.html_details import check_section, cost_section, critical_section, dimension_section
from esac_ag.report.html_links import Links
from esac_ag.report.html_opening import counts_section, manipulation_section, sealed_section
from esac_ag.report.html_scores import pair_section, rank_section, runs_section
from esac_ag.report.html_style import REPORT_STYLE
from esac_ag.report.html_template import REPORT_PAGE
from esac_ag.report.html_verdict import (
    agreement_section,
    corrections_section,
    decision_section,
    limits_section,
    next_section,
    sensitivity_section,
)
from esac_ag.report.suite_html import render_page
from esac_ag.report.view import ReportView


def render_html(view: ReportView) -> str:
    """The whole page, ending in one line feed."""
    decided = next((item for item in view.decisions if item.primary), None)
    return render_page(
        REPORT_PAGE,
        REPORT_STYLE,
        title=f"Report of the study {view.header.study_id}",
        view=view,
        verdict=None
        if decided is None
        else outcome_words(decided.decision.outcome, preliminary=decided.decision.preliminary),
        decided=decided,
        sections=sections(view),
    )


def sections(view: ReportView) -> tuple[Section, ...]:
    """All sections below the answer, in the order of use."""
    links = Links(view)
    return (
        sealed_section(view),
        manipulation_section(view),
        counts_section(view, links),
        rank_section(view, links),
        pair_section(view, links),
        runs_section(view, links),
        dimension_section(view, links),
        check_section(view, links),
        critical_section(view, links),
        cost_section(view, links),
        agreement_section(view),
        decision_section(view, links),
        sensitivity_section(view),
        limits_section(view),
        corrections_section(view),
        next_section(view),
        attempt_section(view, links),
    )
