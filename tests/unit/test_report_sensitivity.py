"""The report's section on sensitivity: complete, no more in words than in numbers, the same in CSV."""

from __future__ import annotations

import csv
import io

import pytest

from esac_ag.manifest.plan import IntervalMethod, Phase
from esac_ag.report.build import build_view
from esac_ag.report.markdown import render_markdown
from esac_ag.report.sensitivity_render import COLUMNS, render_sensitivity_csv
from esac_ag.report.view import ReportView
from esac_ag.statistics.equivalence import Equivalence, EquivalenceReading
from esac_ag.statistics.estimates import NotEstimable
from esac_ag.statistics.hierarchical import ResampledInterval
from tests.builders_report import a_manifest, a_package, a_study, varied_score

TASKS = [f"task-{number}" for number in range(12)]


def a_view(gain: float = 10.0, *, tasks: list[str] | None = None, lost: int = 0) -> ReportView:
    """A primary study of 12 tasks in three families; the candidate gains in every other task."""
    names = tasks or TASKS
    place = {name: number for number, name in enumerate(names)}
    study = a_study(
        lambda cell: (
            None
            if cell.arm == "markskill" and cell.repetition == 1 and place[cell.task] < lost
            else 50.0 + (gain if cell.arm == "markskill" and place[cell.task] % 2 else 0.0)
        ),
        manifest=a_manifest(tasks=names, phase=Phase.PRIMARY),
        packages={
            name: a_package(
                name, family=f"family-{number % 3}", contrast=("restraint", "expansion")[number % 2]
            )
            for number, name in enumerate(names)
        },
    )
    return build_view(study)


def section(view: ReportView) -> str:
    """The section in Markdown."""
    text = render_markdown(view)
    start = text.index("## Sensitivity")
    return text[start : text.index("\n## ", start + 5)]


def test_every_comparison_has_its_sensitivity() -> None:
    """All parts for both arms, and the other methods than the sealed one."""
    found = a_view().sensitivity
    assert found is not None
    assert [(item.arm, item.primary) for item in found.arms] == [
        ("current-restraint", False),
        ("markskill", True),
    ]
    result = found.arms[1].result
    methods = [item.method for item in result.methods]
    assert IntervalMethod.STUDENTISED_SMOOTHED in methods
    assert IntervalMethod.STUDENTISED not in methods
    assert isinstance(result.runs_redrawn, ResampledInterval)
    assert isinstance(result.runs_redrawn_by_family, ResampledInterval)
    assert result.runs_redrawn_by_family.strata == 3
    assert isinstance(result.equivalence, Equivalence)
    assert result.attainable.tasks == 12


def test_secondary_arms_and_groups_are_adjusted_and_the_primary_is_not() -> None:
    """Holm over the secondary arms, and over families and scopes of each arm."""
    found = a_view().sensitivity
    assert found is not None
    over = {item.over: item for item in found.adjustments}
    assert list(over) == [
        "secondary comparisons",
        "families and scopes of current-restraint",
        "families and scopes of markskill",
    ]
    assert "markskill" not in {share.name for share in over["secondary comparisons"].shares}
    groups = over["families and scopes of markskill"]
    names = [f"family family-{number}" for number in range(3)] + ["scope expansion"]
    assert sorted(share.name for share in groups.shares) == names
    assert groups.left_out == ("scope restraint",)
    assert all(share.adjusted >= share.share for share in groups.shares)


@pytest.mark.parametrize(
    ("gain", "reading", "words"),
    [
        (40.0, EquivalenceReading.BETTER, "better by more than the threshold"),
        (10.0, EquivalenceReading.NOT_WORSE, "a loss beyond the threshold is excluded"),
        (-10.0, EquivalenceReading.NOT_BETTER, "a gain beyond the threshold is excluded"),
    ],
)
def test_equivalence_is_said_as_far_as_it_is_shown(
    gain: float, reading: EquivalenceReading, words: str
) -> None:
    """Half of the tasks gain, so the mean is half of the gain."""
    view = a_view(gain)
    assert view.sensitivity is not None
    found = view.sensitivity.arms[1].result.equivalence
    assert isinstance(found, Equivalence)
    assert found.reading is reading
    assert words in section(view)


def test_lost_runs_are_compared_between_the_arms() -> None:
    """Three lost runs of one arm stand beside none of the other."""
    assert "3 and 0 of 24 each | a difference of +12.5 percentage points" in section(a_view(lost=3))
    assert "0 and 0 of 24 each | nothing is lost" in section(a_view())


def test_few_tasks_are_told_what_is_out_of_reach() -> None:
    """Four tasks cannot give 5 % whatever the effect."""
    text = section(a_view(tasks=TASKS[:4]))
    assert "0.05 needs 6 tasks; 0.05 is out of reach whatever the effect" in text
    assert "16 sign patterns cannot give tails" in text


def test_no_difference_at_all_is_not_estimable_with_its_reason() -> None:
    """The other arm equals the control in every run: nothing to resample, and no zero that says otherwise."""
    view = a_view()
    assert view.sensitivity is not None
    result = view.sensitivity.arms[0].result
    for found in (result.runs_redrawn, result.bayesian, result.equivalence, result.detectable):
        assert isinstance(found, NotEstimable)
        assert "zero variance" in found.reason


def test_the_csv_holds_numbers_where_there_are_some() -> None:
    """Every row of the section, and the adjusted shares; words only where there is no number."""
    view = build_view(a_study(varied_score, manifest=a_manifest(tasks=TASKS, phase=Phase.PRIMARY)))
    rows = list(csv.DictReader(io.StringIO(render_sensitivity_csv(view))))
    assert tuple(rows[0]) == COLUMNS
    intervals = [row for row in rows if row["what"].startswith("interval by")]
    assert intervals
    for row in intervals:
        assert float(row["low"]) < float(row["high"])
        assert row["value"] == ""
    assert {row["agent_kind"] for row in rows} == {"chat"}
    (adjusted,) = [row for row in rows if "after Holm, secondary" in row["what"]]
    assert 0 <= float(adjusted["value"]) <= 1


def test_a_study_without_another_arm_has_no_section() -> None:
    """A report read from before, without sensitivity, renders without it."""
    view = a_view()
    before = view.model_copy(update={"sensitivity": None})
    assert "## Sensitivity" not in render_markdown(before)
    assert len(render_sensitivity_csv(before).splitlines()) == 1
