"""The plots of a study's report: where marks lie, and that what is missing is nowhere drawn as zero."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from esac_ag.attempt import Cell
from esac_ag.report.build import build_view
from esac_ag.report.chart_marks import PLOT, SCORES, Scale, mark, scale_around
from esac_ag.report.chart_pairs import pair_plot, pair_scale, repetition_differences
from esac_ag.report.chart_ranks import rank_plot
from esac_ag.report.chart_runs import runs_plot
from esac_ag.report.html_links import Links
from esac_ag.report.measured import Measured, measures
from esac_ag.report.view import ReportView
from esac_ag.statistics.estimates import Estimate
from tests.builders_report import a_manifest, a_study, varied_score
from tests.builders_report_page import CANDIDATE, a_pilot_with_gaps

SVG = "{http://www.w3.org/2000/svg}"
THRESHOLD = 5.0


@pytest.fixture(scope="module")
def view() -> ReportView:
    """A pilot in which runs are missing."""
    return build_view(a_pilot_with_gaps())


def checks(view: ReportView) -> Measured:
    """Its check scores."""
    return next(item for item in measures(view) if item.name == "checks")


def drawn(plot: str) -> ET.Element:
    """A plot as it is parsed; ids and attributes that are not well-formed are refused."""
    return ET.fromstring(plot.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '))  # noqa: S314


def titles(plot: ET.Element) -> list[str]:
    """What the marks say, in order."""
    return [title.text or "" for link in plot.iter(f"{SVG}a") for title in link.findall(f"{SVG}title")]


def words(plot: ET.Element) -> list[str]:
    """All words that are drawn."""
    return [text.text or "" for text in plot.iter(f"{SVG}text")]


def place(plot: ET.Element, title: str) -> float:
    """The x of the mark whose title begins so."""
    for link in plot.iter(f"{SVG}a"):
        said = link.find(f"{SVG}title")
        if said is not None and (said.text or "").startswith(title):
            shape = link[-1]
            if shape.tag == f"{SVG}circle":
                return float(shape.attrib["cx"])
            corners = [float(one.split(",")[0]) for one in shape.attrib["points"].split()]
            return (min(corners) + max(corners)) / 2
    raise AssertionError(f"no mark {title}")


def paired(view: ReportView, arm: str = CANDIDATE) -> ET.Element:
    """The plot of an arm's paired differences."""
    measured = checks(view)
    comparison = next(item for item in measured.comparisons if item.arm == arm)
    scale = pair_scale(measured, THRESHOLD)
    return drawn(pair_plot(measured, comparison, THRESHOLD, scale, Links(view)))


def test_the_ends_of_a_scale_are_the_ends_of_the_plot() -> None:
    """Zero and a hundred of a score, and a value beyond is drawn at the end."""
    assert (SCORES.at(0), SCORES.at(100)) == PLOT
    assert SCORES.at(50) == sum(PLOT) / 2
    assert (SCORES.at(-3), SCORES.at(120)) == PLOT


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([], -10.0, 10.0), ([2.0], -10.0, 10.0), ([36.7, -20.0], -20.0, 40.0), ([100.0, -100.0], -100.0, 100.0)],
)
def test_a_scale_of_differences_holds_zero_the_threshold_and_every_value(
    values: list[float], low: float, high: float
) -> None:
    """In round steps, so that the axis has round numbers."""
    assert scale_around(values, 7.5) == Scale(low, high)
    ticks = list(scale_around(values, 7.5).ticks())
    assert 0.0 in ticks
    assert ticks[0] == low
    assert ticks[-1] == high


def test_each_arm_has_a_shape_of_its_own() -> None:
    """Six arms differ without any colour."""
    shapes = [mark(style, 0, 0, 10).replace(f"arm-{style}", "") for style in range(6)]
    assert len(set(shapes)) == 6


def test_a_difference_lies_where_its_value_is(view: ReportView) -> None:
    """Every task with a pair has one mark, at its difference."""
    measured, plot = checks(view), paired(view)
    comparison = next(item for item in measured.comparisons if item.arm == CANDIDATE)
    scale = pair_scale(measured, THRESHOLD)
    for pair in comparison.pairs:
        if isinstance(pair.difference, Estimate):
            assert place(plot, f"{pair.task}: ") == pytest.approx(scale.at(pair.difference.value), abs=0.6)


def test_a_task_without_a_pair_is_a_labelled_gap(view: ReportView) -> None:
    """No mark, no number: a dotted line and the reason."""
    plot = paired(view)
    lost = "scope-expansion"
    assert not [title for title in titles(plot) if title.startswith(lost)]
    assert "no pair: the arm has no run with a score" in words(plot)
    assert [path.attrib["class"] for path in plot.iter(f"{SVG}path")].count("gap") == 1
    assert "11 of 12 tasks paired" in words(plot)
    assert f"{lost}: no pair" in (plot.findtext(f"{SVG}desc") or "")


def test_a_repetition_without_both_runs_has_no_difference(view: ReportView) -> None:
    """The third run of the control is missing on one task: two hollow marks there, three elsewhere."""
    plot = paired(view)
    single = [title for title in titles(plot) if ", repetition " in title]
    assert [title.split(":")[0] for title in single if title.startswith("front-end-restraint")] == [
        "front-end-restraint, repetition 1",
        "front-end-restraint, repetition 2",
    ]
    assert len(single) == 10 * 3 + 2
    runs = checks(view).by_task_and_arm
    differences = repetition_differences(
        runs["front-end-restraint", CANDIDATE], runs["front-end-restraint", "neutral"]
    )
    assert [one.repetition for one in differences] == [1, 2]


def test_rows_are_sorted_by_family_and_named_by_title(view: ReportView) -> None:
    """Id, family and contrast stand under each title."""
    shown = [text for text in words(paired(view)) if " · " in text]
    assert [text.split(" · ")[1] for text in shown] == sorted(text.split(" · ")[1] for text in shown)
    assert len(shown) == 12
    assert "Round invoices where they are made" in words(paired(view))


def test_every_run_is_a_mark_and_a_run_without_a_score_is_none(view: ReportView) -> None:
    """As many marks as scores; what is lost is counted in words."""
    plot = drawn(runs_plot(checks(view), view.baseline, Links(view)))
    scored = sum(item.summary.n for item in view.task_arms)
    marks = [title for title in titles(plot) if ", repetition " in title]
    assert len(marks) == scored == 103
    assert [text for text in words(plot) if text.endswith("1 missing")]
    assert [text for text in words(plot) if text.endswith("1 invalid")]
    assert "no score: 3 missing" in words(plot)
    first = view.task_arms[0].runs[0]
    assert first.score is not None
    title = f"{view.task_arms[0].task}, {view.task_arms[0].arm}, repetition 1"
    assert place(plot, title) == pytest.approx(SCORES.at(first.score), abs=0.1)


def test_equal_scores_of_a_row_lie_apart() -> None:
    """Three runs with one score are three marks that can be seen, at the same x."""
    manifest = a_manifest(tasks=["invoice-rounding"], repetitions=3)
    plot = drawn(
        runs_plot(checks(view := build_view(a_study(lambda _: 70.0, manifest=manifest))), None, Links(view))
    )
    marks = [link[-1] for link in plot.iter(f"{SVG}a") if ", repetition " in (link[0].text or "")]
    circles = [shape.attrib for shape in marks if shape.tag == f"{SVG}circle"]
    assert len(circles) == 3
    assert len({circle["cy"] for circle in circles}) == 3
    assert len({circle["cx"] for circle in circles}) == 1


def test_arms_are_ranked_by_mean_and_an_arm_without_one_says_why() -> None:
    """The last row has words and no mark."""
    study = a_study(lambda cell: None if cell.arm == "neutral" else varied_score(cell))
    view = build_view(study)
    plot = drawn(rank_plot(checks(view), view.baseline, Links(view)))
    names = [text.text for text in plot.iter(f"{SVG}text") if text.get("class") == "name"]
    means = {item.arm: item.mean for item in view.scores}
    best = [arm for arm, mean in means.items() if isinstance(mean, Estimate)]
    best.sort(key=lambda arm: -means[arm].value)  # type: ignore[union-attr]
    assert names == [*best, "neutral"]
    assert "not estimable: no run has a score" in words(plot)
    assert not [title for title in titles(plot) if title.startswith("neutral")]


def test_an_interval_that_cannot_be_estimated_is_words_and_no_line() -> None:
    """A mean of one task has a mark, and no interval of no width."""
    view = build_view(a_study(varied_score, manifest=a_manifest(tasks=["invoice-rounding"])))
    plot = drawn(rank_plot(checks(view), None, Links(view)))
    assert words(plot).count("interval not estimable") == 3
    assert not list(plot.iter(f"{SVG}path"))


def test_marks_of_a_study_that_is_too_large_to_list_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores are one mark with their number, and it leads to the row of the task and arm."""
    monkeypatch.setattr("esac_ag.report.html_links.MOST_ATTEMPTS", 5)
    manifest = a_manifest(tasks=["invoice-rounding"], repetitions=4)

    def score(cell: Cell) -> float:
        return 70.0 if cell.repetition > 1 else 40.0

    view = build_view(a_study(score, manifest=manifest))
    plot = drawn(runs_plot(checks(view), None, Links(view)))
    said = [title for title in titles(plot) if " in " in title]
    assert said[:2] == [
        "invoice-rounding, neutral: 40.0 in 1 run",
        "invoice-rounding, neutral: 70.0 in 3 runs",
    ]
    places = {link.attrib["href"] for link in plot.iter(f"{SVG}a")}
    assert places == {f"#runs:checks:{item.arm}:invoice-rounding" for item in view.scores}


def test_hostile_words_in_a_plot_are_dead() -> None:
    """A title is text; an invisible character is seen."""
    study = a_study(varied_score)
    hostile = "<script>alert(1)</script>\u202e&amp;"
    packages = {
        name: package.model_copy(update={"title": hostile, "family": hostile})
        for name, package in study.tasks.items()
    }
    view = build_view(replace(study, tasks=packages))
    for plot in (
        pair_plot(
            checks(view), view.comparisons[0], THRESHOLD, pair_scale(checks(view), THRESHOLD), Links(view)
        ),
        runs_plot(checks(view), None, Links(view)),
    ):
        assert "<script" not in plot
        assert "\u202e" not in plot
        assert any("<script>" in text for text in words(drawn(plot)))
