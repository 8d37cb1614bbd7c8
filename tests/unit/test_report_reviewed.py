"""What a review found stands in every form of the report, beside what the hidden checks found."""

from __future__ import annotations

import csv
import io
import re

import pytest

from esac_ag.report.build import build_view
from esac_ag.report.html_page import render_html
from esac_ag.report.machine import render_csv
from esac_ag.report.markdown import render_markdown
from esac_ag.report.publication_rows import rows_csv
from esac_ag.report.publication_view import PublishedAttempt
from esac_ag.report.sensitivity_render import render_sensitivity_csv
from esac_ag.report.view import ReportView
from esac_ag.report.words import answer
from esac_ag.statistics.estimates import Estimate
from tests.builders_report_page import a_reviewed_pilot


@pytest.fixture(scope="module")
def view() -> ReportView:
    """A pilot after its review, with missing runs."""
    return build_view(a_reviewed_pilot())


@pytest.fixture(scope="module")
def page(view: ReportView) -> str:
    """Its page."""
    return render_html(view)


def test_quality_scores_rest_on_something_too(view: ReportView, page: str) -> None:
    """The decision is made on them: leaving a task out, equivalence, Holm, lost runs are told of them."""
    assert view.review is not None
    assert view.review.sensitivity is not None
    assert view.sensitivity is not None
    (quality, checks) = (item.arms[0].result for item in (view.review.sensitivity, view.sensitivity))
    assert quality.equivalence != checks.equivalence
    section = page[page.index('id="sensitivity"') : page.index('id="limits"')]
    assert section.index("Of the quality scores") < section.index("Of the check scores")
    for words in ("leaving one task out", "equivalence within", "after Holm", "planned runs without a score"):
        of_quality, _, of_checks = section.partition("Of the check scores")
        assert words in of_quality
        assert words in of_checks
    text = render_markdown(view)
    assert "### Sensitivity of the quality scores" in text
    assert "### Sensitivity of the check scores" in text
    rows = list(csv.DictReader(io.StringIO(render_sensitivity_csv(view))))
    assert {row["measure"] for row in rows} == {"quality", "checks"}


def test_critical_failures_of_the_review_stand_beside_those_of_the_checks(
    view: ReportView, page: str
) -> None:
    """They reject and forbid like the others: counted, listed with their attempts, and in every table."""
    assert view.review is not None
    found = view.review.critical_runs
    assert found
    assert found != view.critical_runs
    section = page[page.index('id="critical"') : page.index('id="costs"')]
    of_review, _, of_checks = section.partition("named by hidden checks")
    assert "named by the review" in of_review
    for run in found:
        assert f'href="#attempt-{run.attempt_id}"' in of_review
    assert any(run.attempt_id not in of_checks for run in found)
    counted = {item.arm: item for item in view.review.critical_counts}
    assert sum(item.runs_with_any for item in counted.values()) == len({run.attempt_id for run in found})
    text = render_markdown(view)
    shown = counted[found[0].arm]
    assert f"; by the review {shown.runs_with_any} of {shown.graded}" in text
    assert "Named by the review:" in text
    rows = csv.DictReader(io.StringIO(render_csv(view)["report.csv"]))
    told = {row["attempt_id"]: row["critical_by_review"] for row in rows if row["row_kind"] == "attempt"}
    assert {one for one, kinds in told.items() if kinds} == {run.attempt_id for run in found}


def test_differences_in_quality_are_in_the_table_of_pairs(view: ReportView) -> None:
    """One row per task, arm and kind of score: the page's figures can be drawn again from the table."""
    assert view.review is not None
    rows = list(csv.DictReader(io.StringIO(render_csv(view)["report.csv"])))
    pairs = [row for row in rows if row["row_kind"] == "pair"]
    assert len(pairs) == 2 * len(view.comparisons) * view.header.tasks
    first = view.review.comparisons[0].pairs[0]
    assert isinstance(first.difference, Estimate)
    shown = next(row for row in pairs if row["measure"] == "quality" and row["task"] == first.task)
    assert float(shown["difference"]) == pytest.approx(first.difference.value)


def test_costs_and_means_of_groups_lead_to_their_runs(view: ReportView, page: str) -> None:
    """Every figure leads to the attempts behind it, one step or two away."""
    costs = page[page.index('id="costs"') : page.index('id="agreement"')]
    for arm in view.costs:
        assert f'href="#arm:checks:{arm.arm}"' in costs
    group = view.comparisons[0].families[0]
    row = re.search(rf"<th[^>]*>\s*family {group.group}(.*?)</th>", page, re.DOTALL)
    assert row is not None
    assert row.group(1).count('href="#pair:') == len(group.tasks)


def test_the_answer_tells_quality_first_and_its_mark(view: ReportView) -> None:
    """What decides is not left out of the sentence that everybody reads."""
    quality, _, checks = view.answer.partition("On hidden checks, ")
    assert quality.startswith(f"In quality by the review, {view.header.primary_arm} scored ")
    assert checks.startswith(f"{view.header.primary_arm} scored ")
    assert view.review is not None
    primary = next(item for item in view.review.comparisons if item.primary)
    assert isinstance(primary.overall.mean, Estimate)
    assert f"{abs(primary.overall.mean.value):.1f} points" in quality
    rehearsed = view.review.model_copy(update={"is_rehearsal": True, "provisional": True})
    found = answer(a_reviewed_pilot().manifest, view.comparisons, rehearsed)
    assert found.startswith("In quality by the review (scripted reviewers: a rehearsal, no evidence), ")


def test_published_rows_hold_the_quality_and_what_the_review_found_critical(view: ReportView) -> None:
    """A third person gets both kinds of score from the public table."""
    told = {
        row.attempt_id: PublishedAttempt(**dict(row), spoiled_gradings=0, artifacts={})
        for row in view.attempts
    }
    found = list(csv.DictReader(io.StringIO(rows_csv(told.values()).decode())))
    assert [row["quality"] for row in found] == [
        "" if row.quality is None else f"{row.quality:.9g}" for row in view.attempts
    ]
    assert view.review is not None
    critical = {run.attempt_id for run in view.review.critical_runs}
    assert {row["attempt_id"] for row in found if row["critical_by_review"]} == critical
