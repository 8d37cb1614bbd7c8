"""Power by simulation against the closed form, its false decisions, calibration, and the command."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from esac_ag.cli.app import app
from esac_ag.conduct.power import (
    PowerReport,
    StudyCalibration,
    calibrated_from,
    spreads_of,
)
from esac_ag.manifest.plan import AgentKind, Interval
from esac_ag.statistics.attainable import paired_power
from esac_ag.statistics.calibration import calibrate
from esac_ag.statistics.estimates import Estimate, estimate
from esac_ag.statistics.power import IntervalVerdict, PowerResult, power_of
from esac_ag.statistics.simulation import (
    EffectShape,
    PowerDesign,
    SimulatedStudy,
    simulate,
    true_effect_points,
)
from tests.builders_conduct import a_runnable_study, folder_of, run

LINE_RATES = 7
"""Rates in a line of the table of intervals."""
PLAN = Interval(replicates=199, seed="1")


def a_design(
    *,
    effect: float = 5.0,
    tasks: int = 12,
    task_sd: float = 6.0,
    run_sd: float = 6.0,
    reviewer_sd: float = 0.0,
    shape: EffectShape = EffectShape.NORMAL,
) -> PowerDesign:
    """A primary study with moderate spreads."""
    return PowerDesign(
        tasks=tasks,
        repetitions=3,
        effect_points=effect,
        task_sd_points=task_sd,
        run_sd_points=run_sd,
        reviewer_sd_points=reviewer_sd,
        shape=shape,
    )


def result(design: PowerDesign, studies: int = 600) -> PowerResult:
    """What the design comes to."""
    return power_of(design, PLAN, studies)


def test_simulated_power_is_that_of_the_paired_t_test() -> None:
    """With Student's test as the decision rule it is the closed form; the wider default sees less."""

    def by_students_test(study: SimulatedStudy) -> str:
        return "seen" if stats.ttest_1samp(study.differences, 0.0).pvalue <= 0.05 else "not seen"

    design = a_design(effect=6.0)
    sd = math.sqrt(design.task_sd_points**2 + 2 * design.run_sd_points**2 / 3)
    expected = paired_power(6.0 / sd, 12, 0.05)
    found = power_of(design, PLAN, 1500, by_students_test)
    seen = found.decisions["seen"]
    assert abs(seen.share - expected) < 4 * seen.standard_error
    assert seen.share - 0.1 < found.excludes_zero.share <= seen.share
    assert found.estimable.share == 1.0


@pytest.mark.parametrize("shape", list(EffectShape))
def test_without_an_effect_every_benefit_is_false(shape: EffectShape) -> None:
    """And there are few: at most the tail of the interval, a little more where effects are skewed."""
    found = result(a_design(effect=0.0, shape=shape))
    assert found.true_effect_points == pytest.approx(0.0, abs=0.5)
    if shape is not EffectShape.LUMPY:
        assert (
            found.false_benefit.share == found.decisions.get(IntervalVerdict.BENEFIT, found.wrong_sign).share
        )
    assert found.false_benefit.share <= 0.05
    assert found.wrong_sign.share <= 0.05
    assert found.false_improvement.share <= found.false_benefit.share + 1e-9


def test_wrong_signs_are_those_on_the_other_side_of_the_truth() -> None:
    """A small loss among wide spreads is sometimes taken for a gain, never counted as power."""
    found = result(a_design(effect=-1.0, task_sd=15.0))
    assert found.wrong_sign == found.false_benefit
    assert found.wrong_sign.share > 0
    assert found.excludes_zero.share == found.decisions[IntervalVerdict.HARM].share


def test_more_tasks_narrow_the_interval_and_repetitions_only_their_part() -> None:
    """Four times the tasks halve the width; noiseless runs leave the spread between tasks."""
    widths = {tasks: result(a_design(tasks=tasks), 200).width_points for tasks in (12, 48)}
    values = {tasks: width.value for tasks, width in widths.items() if isinstance(width, Estimate)}
    assert values[48] == pytest.approx(values[12] / 2, rel=0.15)
    quiet = result(a_design(run_sd=0.0), 200).width_points
    assert isinstance(quiet, Estimate)
    assert 0.5 * values[12] < quiet.value < values[12]


def test_a_tight_study_of_no_effect_shows_equivalence() -> None:
    """Small spreads: the interval lies within the threshold on both sides."""
    assert result(a_design(effect=0.0, task_sd=2.0, run_sd=2.0), 200).equivalent.share > 0.95
    assert result(a_design(effect=0.0, task_sd=20.0), 200).equivalent.share < 0.05


def test_reviewers_noise_is_averaged_over_reviewers() -> None:
    """Two reviewers with an error of 10 add as much as a run's own spread of 10 / sqrt(2)."""
    design = a_design(run_sd=0.0, reviewer_sd=10.0)
    assert design.noise_sd_points == pytest.approx(10 / math.sqrt(2))
    arm, control = next((study.arm, study.control) for study in simulate(design, PLAN, 1))
    assert arm.shape == control.shape == (12, 3)
    many = [study.control for study in simulate(design, PLAN, 200)]
    assert np.mean([scores.std(axis=1, ddof=1) ** 2 for scores in many]) == pytest.approx(50, rel=0.1)


def test_lumpy_scores_are_bounded_steps_whose_truth_is_computed() -> None:
    """Scores of 0 to 100 in tens; cutting at 100 takes away from large effects, and the truth says so."""
    design = a_design(effect=30.0, shape=EffectShape.LUMPY)
    studies = list(simulate(design, PLAN, 800))
    scores = np.concatenate([study.arm.ravel() for study in studies])
    assert set(np.unique(scores)) <= {10.0 * step for step in range(11)}
    truth = true_effect_points(design)
    assert 20 < truth < 29
    assert np.mean([study.differences for study in studies]) == pytest.approx(truth, abs=0.4)
    assert true_effect_points(a_design(effect=30.0)) == 30.0


@pytest.mark.parametrize("shape", [EffectShape.NORMAL, EffectShape.SKEWED])
def test_effects_have_the_mean_and_spread_asked_for(shape: EffectShape) -> None:
    """Whatever their shape."""
    design = a_design(tasks=10_000, run_sd=0.0, shape=shape)
    (study,) = simulate(design, Interval(replicates=100, seed="4"), 1)
    assert np.mean(study.differences) == pytest.approx(5.0, abs=0.25)
    assert np.std(study.differences) == pytest.approx(6.0, rel=0.08)


def test_any_decision_rule_can_be_counted() -> None:
    """A rule is a function of one study; its verdicts come back as shares by name."""

    def by_tasks(study: SimulatedStudy) -> str:
        gains = sum(difference > 0 for difference in study.differences)
        return "most tasks gain" if gains > 6 else "not most"

    seen = Counter(by_tasks(study) for study in simulate(a_design(), PLAN, 100))
    found = power_of(a_design(), PLAN, 100, by_tasks)
    assert {name: rate.share for name, rate in found.decisions.items()} == {
        name: count / 100 for name, count in seen.items()
    }


def test_the_same_seed_gives_the_same_result() -> None:
    """And another one another."""
    assert result(a_design(), 50) == result(a_design(), 50)
    other = power_of(a_design(), Interval(replicates=199, seed="2"), 50)
    assert other.width_points != result(a_design(), 50).width_points


def test_no_study_is_no_simulation() -> None:
    """A share of nothing is not zero."""
    with pytest.raises(ValueError, match="at least one"):
        power_of(a_design(), PLAN, 0)


def test_components_of_variance_come_out_by_hand() -> None:
    """Runs 10 apart in each pair have variance 50; effects 0, 10, 20 have 100, of which runs explain 50."""
    control = {task: [45.0, 55.0] for task in "abc"}
    arm = {"a": [45.0, 55.0], "b": [55.0, 65.0], "c": [65.0, 75.0]}
    found = calibrate(control, [arm])
    assert found.run_sd_points == estimate(math.sqrt(50))
    assert found.task_sd_points == estimate(math.sqrt(50))
    assert (found.run_degrees, found.task_degrees, found.floored) == (6, 2, False)


def test_calibration_recovers_the_spreads_of_a_simulated_study() -> None:
    """4,000 tasks with a spread of 6 and runs of 9."""
    design = a_design(tasks=4000, run_sd=9.0)
    (study,) = simulate(design, Interval(replicates=100, seed="3"), 1)
    names = [str(number) for number in range(4000)]
    control, arm = (dict(zip(names, scores.tolist(), strict=True)) for scores in (study.control, study.arm))
    found = calibrate(control, [arm])
    assert isinstance(found.run_sd_points, Estimate)
    assert isinstance(found.task_sd_points, Estimate)
    assert found.run_sd_points.value == pytest.approx(9.0, rel=0.03)
    assert found.task_sd_points.value == pytest.approx(6.0, rel=0.1)


def test_a_spread_that_runs_explain_is_set_to_zero_and_said() -> None:
    """Equal effects with noisy runs: the moment estimate is below zero."""
    control = {task: [0.0, 100.0] for task in "abc"}
    found = calibrate(control, [control])
    assert (found.task_sd_points, found.floored) == (estimate(0.0), True)


@pytest.mark.parametrize(
    ("control", "arms", "assumed"),
    [
        ({"a": [1.0], "b": [2.0]}, [{"a": [3.0], "b": [1.0]}], {"tasks", "runs"}),
        ({"a": [1.0, 2.0]}, [{"a": [2.0, 4.0]}], {"tasks"}),
        ({"a": [1.0, 2.0]}, [], {"tasks"}),
    ],
)
def test_what_a_study_does_not_tell_is_assumed_and_said(
    control: dict[str, list[float]], arms: list[dict[str, list[float]]], assumed: set[str]
) -> None:
    """One repetition, or one task: ten points, with reason and option; what is given is not assumed."""
    study = calibrated(control, arms)
    found = spreads_of(study, None, None)
    assert found.task_sd_points == 10.0
    said = [notice for notice in found.notices if "ASSUMED to be 10 points" in notice]
    assert {
        what for what in ("tasks", "runs") if any(f"between {what} (" in text for text in said)
    } == assumed
    given = spreads_of(study, 4.0, 3.0)
    assert (given.task_sd_points, given.run_sd_points) == (4.0, 3.0)
    assert not any("ASSUMED" in notice for notice in given.notices)


def test_a_study_without_any_spread_is_warned_of() -> None:
    """Runs all alike, effects all alike: zeros are taken, and said to show nothing."""
    control = {task: [50.0, 50.0] for task in "abc"}
    found = spreads_of(calibrated(control, [{task: [60.0, 60.0] for task in "abc"}]), None, None)
    assert (found.task_sd_points, found.run_sd_points) == (0.0, 0.0)
    text = " ".join(found.notices)
    for words in ("spread between tasks is taken as 0", "spread between runs is taken as 0", "no interval"):
        assert words in text
    assert "no interval" not in " ".join(spreads_of(calibrated(control, [control]), None, 5.0).notices)


def test_a_spread_of_few_degrees_of_freedom_is_said_to_be_one() -> None:
    """Two tasks leave one."""
    study = calibrated({"a": [1.0, 9.0], "b": [2.0, 4.0]}, [{"a": [50.0, 54.0], "b": [1.0, 9.0]}])
    text = " ".join(spreads_of(study, None, None).notices)
    assert "between tasks rests on 1 degree of freedom" in text
    assert "between runs rests on 4 degrees of freedom" in text


def calibrated(control: dict[str, list[float]], arms: list[dict[str, list[float]]]) -> StudyCalibration:
    """Spreads of a study of a model."""
    return StudyCalibration(study_id="s", agent_kind=AgentKind.CHAT, spreads=calibrate(control, arms))


def test_notices_say_what_the_spreads_are_worth() -> None:
    """Assumed, from scripts, or set to zero."""
    spreads = calibrate({task: [0.0, 100.0] for task in "abc"}, [{task: [0.0, 100.0] for task in "abc"}])
    scripted = StudyCalibration(study_id="s", agent_kind=AgentKind.SCRIPTED, spreads=spreads)
    assert [notice.split(":")[0] for notice in spreads_of(None, None, 1.0).notices] == [
        "The spreads are assumptions"
    ]
    told = spreads_of(scripted, None, None).notices
    assert "no evidence about any model" in told[0]
    assert "set to 0" in told[1]


def test_the_command_prints_a_line_for_each_effect() -> None:
    """By default without an effect, at the threshold, and at twice the threshold."""
    told = CliRunner().invoke(app, ["power", "--studies", "20", "--tasks", "6", "--threshold", "4"])
    assert told.exit_code == 0
    assert "assumptions" in told.stdout
    assert [line.split()[0] for line in told.stdout.splitlines() if line.count("%") == LINE_RATES] == [
        "0.0",
        "+4.0",
        "+8.0",
    ]


def test_the_command_gives_its_record_as_json() -> None:
    """With everything that was assumed."""
    argv = ["power", "--studies", "5", "--effect", "3", "--shape", "lumpy", "--reviewer-sd", "8", "--json"]
    told = CliRunner().invoke(app, [*argv, "--method", "paired-bootstrap-bca"])
    report = PowerReport.model_validate_json(told.stdout)
    assert [item.design.effect_points for item in report.results] == [3.0]
    assert report.results[0].design.shape is EffectShape.LUMPY
    assert json.loads(told.stdout)["results"][0]["interval"]["method"] == "paired-bootstrap-bca"


def test_the_command_refuses_a_method_that_there_is_not() -> None:
    """And names those there are."""
    told = CliRunner().invoke(app, ["power", "--method", "magic"])
    assert told.exit_code == 2
    assert "paired-bootstrap-bca" in told.output


def test_a_finished_study_calibrates_the_next(tmp_path: Path) -> None:
    """Its spreads are shown with its name; scripts are named as scripts; options go before it."""
    study = a_runnable_study(tmp_path)
    run(study)
    folder = folder_of(study).path
    spreads = calibrated_from(folder).spreads
    assert spreads.run_degrees > 0
    argv = ["power", "--from", str(folder), "--studies", "5", "--json"]
    report = PowerReport.model_validate_json(CliRunner().invoke(app, argv).stdout)
    assert report.calibration is not None
    assert report.calibration.spreads == spreads
    assert isinstance(spreads.run_sd_points, Estimate)
    assert report.results[0].design.run_sd_points == spreads.run_sd_points.value
    given = CliRunner().invoke(app, [*argv, "--run-sd", "7"]).stdout
    assert PowerReport.model_validate_json(given).results[0].design.run_sd_points == 7.0
