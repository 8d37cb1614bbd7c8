"""How often the decision rules decide wrongly: real evidence of drawn studies, rates by construction."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from esac_ag.attempt import Cell
from esac_ag.cli.app import app
from esac_ag.conduct.power import PowerReport, power_report
from esac_ag.conduct.power_decisions import DecisionRow, World, worlds
from esac_ag.conduct.power_plan import DecisionPlan, planned_design
from esac_ag.errors import InputRefused
from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.manifest.plan import Interval, MaterialDisagreement, Phase
from esac_ag.report.comparisons import arm_comparison
from esac_ag.report.costs import value_of
from esac_ag.report.decision_evidence import ReviewedFacts, evidence_of
from esac_ag.report.view import CostMeasure
from esac_ag.statistics.power import rate_of
from esac_ag.statistics.simulated_review import Reviewers, reviewed
from esac_ag.statistics.simulation import PowerDesign, SimulatedRuns, SimulatedStudy, simulate
from esac_ag.study.decision_records import DecisionOutcome
from esac_ag.study.evidence import Evidence
from esac_ag.study.quality import QualityScore
from esac_ag.study.simulated import (
    DRAWN_KIND,
    TaskPlace,
    by_rules,
    equal_split,
    evidence_of_simulated,
)
from tests.builders_conduct import a_runnable_study, folder_of, run
from tests.builders_report import a_manifest, a_package, a_study

PLAN = Interval(replicates=199, seed="1")
DEMO = Path("manifests/demo.draft.json")
INTERVAL_ALONE = DecisionRules(
    scope_worse_points=100.0,
    family_points=100.0,
    improvement_points=1e-6,
    improving_families_share=0.0,
    correctness_points=100.0,
)
"""With these nothing but the interval decides on a benefit."""


def a_design(**changes: Any) -> PowerDesign:  # noqa: ANN401
    """A quiet pilot of twelve tasks: what is true shows in every study."""
    quiet = {"task_sd_points": 0.5, "run_sd_points": 0.5, "dimension_sd_points": 0.0, "cost_sd": 0.1}
    whole = {"tasks": 12, "repetitions": 3, "effect_points": 10.0, **quiet}
    return PowerDesign.model_validate(whole | changes)


def rows(
    design: PowerDesign, rules: DecisionRules | None = None, studies: int = 40
) -> dict[World, DecisionRow]:
    """The table by world, of one stated effect."""
    plan = DecisionPlan(rules or DecisionRules(), "a test's", equal_split(design.tasks))
    report = power_report(design, (design.effect_points,), PLAN, studies, plan=plan)
    return {row.world: row for row in report.decisions.rows}


def share(row: DecisionRow, outcome: DecisionOutcome) -> float:
    """Of one outcome."""
    return row.outcomes[outcome].share


def test_what_is_plain_is_decided_rightly_every_time() -> None:
    """A clear gain benefits, the same harm is rejected, and no effect at twice the costs prefers neutral."""
    found = rows(a_design(cost_ratio=2.0))
    assert share(found[World.GAIN], DecisionOutcome.BENEFIT) == 1.0
    assert share(found[World.HARM], DecisionOutcome.REJECT) == 1.0
    assert share(found[World.NO_EFFECT], DecisionOutcome.NEUTRAL) == 1.0
    assert share(rows(a_design())[World.NO_EFFECT], DecisionOutcome.INCONCLUSIVE) == 1.0


def test_rates_are_named_right_or_false_by_the_world() -> None:
    """A benefit is false unless the arm gains, a rejection unless it harms."""
    found = rows(a_design())
    gain, harm, nothing = (found[world] for world in (World.GAIN, World.HARM, World.NO_EFFECT))
    assert (gain.right, gain.false_benefit) == (gain.outcomes[DecisionOutcome.BENEFIT], None)
    assert gain.false_reject == gain.outcomes[DecisionOutcome.REJECT]
    assert (harm.right, harm.false_reject) == (harm.outcomes[DecisionOutcome.REJECT], None)
    assert harm.false_benefit == harm.outcomes[DecisionOutcome.BENEFIT]
    assert nothing.right is None
    assert nothing.false_benefit == nothing.outcomes[DecisionOutcome.BENEFIT]
    assert nothing.false_reject == nothing.outcomes[DecisionOutcome.REJECT]


def test_critical_failures_in_every_run_of_the_arm_reject_always() -> None:
    """Whatever the effect; a rejection is then never false."""
    for row in rows(a_design(critical_chance=1.0)).values():
        assert share(row, DecisionOutcome.REJECT) == 1.0
        assert row.false_reject is None
        assert row.false_benefit is not None


def test_critical_failures_that_the_control_shows_too_are_not_new() -> None:
    """They reject nothing and stand in no benefit's way."""
    gain = rows(a_design(critical_chance=1.0, control_critical_chance=1.0))[World.GAIN]
    assert share(gain, DecisionOutcome.BENEFIT) == 1.0


def test_reproduced_failures_are_as_frequent_as_the_binomial_says() -> None:
    """Of twelve tasks with three runs each, one at least with two failing runs or more."""
    chance = 0.08
    task = stats.binom.sf(1, 3, chance)
    row = rows(a_design(critical_chance=chance), studies=400)[World.GAIN]
    rejected = row.outcomes[DecisionOutcome.REJECT]
    assert abs(rejected.share - (1 - (1 - task) ** 12)) < 4 * rejected.standard_error
    assert share(row, DecisionOutcome.BENEFIT) == pytest.approx((1 - chance) ** 36, abs=0.06)


def test_a_false_benefit_is_no_more_frequent_than_a_false_interval() -> None:
    """Study by study a benefit needs an interval above zero; with these rules it needs nothing else."""
    design = a_design(effect_points=0.0, task_sd_points=8.0, run_sd_points=8.0, dimension_sd_points=10.0)
    for rules in (DecisionRules(), INTERVAL_ALONE):
        plan = DecisionPlan(rules, "a test's", equal_split(12))
        report = power_report(design, (0.0,), PLAN, 400, plan=plan)
        (row,) = report.decisions.rows
        allowed = report.results[0].false_benefit.share
        found = share(row, DecisionOutcome.BENEFIT)
        assert found == allowed if rules is INTERVAL_ALONE else found <= allowed
        assert allowed <= 0.05


def test_a_study_too_small_for_a_benefit_finds_none_and_says_so() -> None:
    """Eleven tasks are fewer than a scored pilot's."""
    report = power_report(a_design(tasks=11), (10.0,), PLAN, 20)
    assert all(share(row, DecisionOutcome.BENEFIT) == 0.0 for row in report.decisions.rows)
    assert any("11 tasks, fewer than the 12" in notice for notice in report.notices)


def test_worlds_are_no_effect_and_both_sides_of_each_stated_one() -> None:
    """Each once, whichever side was stated."""
    assert worlds((0.0, 5.0, -5.0, 10.0)) == (0.0, 5.0, 10.0, -5.0, -10.0)
    assert worlds((0.0,)) == (0.0,)


def test_the_same_seed_gives_the_same_table() -> None:
    """And another one another."""
    noisy = a_design(task_sd_points=8.0, run_sd_points=8.0, reviewer_sd_points=6.0)
    one, again = (power_report(noisy, (5.0,), PLAN, 60) for _ in range(2))
    assert one == again
    other = power_report(noisy, (5.0,), PLAN.model_copy(update={"seed": "2"}), 60)
    assert other.decisions.rows != one.decisions.rows


@pytest.mark.parametrize(("count", "studies"), [(0, 50), (1, 50), (25, 50), (50, 50)])
def test_the_interval_of_a_rate_is_the_exact_one(count: int, studies: int) -> None:
    """Clopper and Pearson's, as scipy computes it; none of fifty is not never."""
    expected = stats.binomtest(count, studies).proportion_ci(0.95, method="exact")
    found = rate_of(count, studies)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_an_adjudicators_score_takes_the_place_of_a_mean_that_is_far_apart() -> None:
    """Two reviewers' errors differ by a normal; beyond ten points one error stands in place of the mean."""
    sd = 8.0
    rule = MaterialDisagreement(dimension_points=4, total_points=10.0)
    runs = np.full((200, 200), 50.0)
    found = reviewed(runs, Reviewers(2, sd, 0.0, rule), np.random.default_rng(1))
    sent = 2 * stats.norm.sf(rule.total_points / (sd * math.sqrt(2)))
    assert np.var(found.error) == pytest.approx(sent * sd**2 + (1 - sent) * sd**2 / 2, rel=0.03)
    without = reviewed(runs, Reviewers(2, sd, 0.0, None), np.random.default_rng(1))
    assert np.var(without.error) == pytest.approx(sd**2 / 2, rel=0.03)
    for dimension in Dimension:
        assert set(np.unique(found.dimensions[dimension])) <= {12.5 * half for half in range(9)}


def test_dimensions_far_apart_go_to_the_adjudicator_too() -> None:
    """With a rule of one anchor every run whose reviewers differ at all is decided by one person."""
    rule = MaterialDisagreement(dimension_points=1, total_points=100.0)
    runs = np.full((50, 50), 50.0)
    found = reviewed(runs, Reviewers(2, 6.0, 0.0, rule), np.random.default_rng(1))
    for dimension in Dimension:
        assert set(np.unique(found.dimensions[dimension])) <= {25.0 * anchor for anchor in range(5)}


def test_a_runs_dimensions_give_its_score() -> None:
    """Deviations weigh out to nothing: without reviewers' errors only the anchors' rounding is left."""
    runs = np.full((100, 100), 50.0)
    found = reviewed(runs, Reviewers(2, 0.0, 10.0, None), np.random.default_rng(2))
    assert not found.error.any()
    assert np.std(found.dimensions[Dimension.SCOPE]) > 5.0
    scored = [
        QualityScore(dimensions={name: found.dimensions[name][0, run] / 25 for name in Dimension}).points
        for run in range(100)
    ]
    assert np.mean(scored) == pytest.approx(50.0, abs=2.0)


def test_simulated_evidence_is_that_of_a_report_on_the_same_runs() -> None:
    """A study with a review, by the report's way and by the simulation's: the same numbers."""
    tasks = [f"task-{number}" for number in range(1, 13)]
    places = equal_split(12)
    draw = np.random.default_rng(5)
    anchors = draw.integers(0, 9, (2, len(Dimension), 12, 3)) / 2
    failing = draw.random((2, 12, 3)) < 0.2

    def score(cell: Cell) -> QualityScore:
        at = (int(cell.arm == "arm"), tasks.index(cell.task), cell.repetition - 1)
        given = {name: float(anchors[at[0], n, at[1], at[2]]) for n, name in enumerate(Dimension)}
        return QualityScore(dimensions=given, critical_failures=(DRAWN_KIND,) if failing[at] else ())

    manifest = a_manifest(tasks=tasks, arms=("neutral", "arm"), repetitions=3, phase=Phase.PRIMARY)
    packages = {
        task: a_package(task, family=place.family, contrast=place.contrast)
        for task, place in zip(tasks, places, strict=True)
    }
    whole = a_study(lambda _: 100.0, manifest=manifest, packages=packages)
    inputs = replace(whole, quality={name: score(cell) for cell, name in whole.counting.items()})
    facts = ReviewedFacts(inputs)
    expected = evidence_of(facts, arm_comparison(facts, "arm"))

    def costs(name: str, measure: CostMeasure) -> list[list[float | None]]:
        return [
            [value_of(one.attempt.costs, measure) for one in facts.runs(task, name) if one.attempt]
            for task in tasks
        ]

    def runs(arm: int) -> SimulatedRuns:
        name = ("neutral", "arm")[arm]
        measures = (CostMeasure.COST, CostMeasure.LATENCY_S, CostMeasure.CHANGED_LINES)
        dimensions = {one: 25 * anchors[arm, number] for number, one in enumerate(Dimension)}
        drawn = np.array([costs(name, measure) for measure in measures], dtype=np.float64)
        return SimulatedRuns(dimensions, failing[arm], drawn)

    control, arm = (np.array([facts.scores(task, name) for task in tasks]) for name in ("neutral", "arm"))
    differences = tuple(map(float, arm.mean(axis=1) - control.mean(axis=1)))
    drawn = SimulatedStudy(arm, control, differences, expected.interval, runs(1), runs(0))
    found = evidence_of_simulated(drawn, places, 5.0)
    for name in ("mean", "interval", "behaviour", "tasks", "families", "burdens", "doubts"):
        assert rounded_off(found, name) == rounded_off(expected, name)
    for name in ("planned_runs", "arm_missing", "control_missing", "waiting_runs"):
        assert rounded_off(found, name) == rounded_off(expected, name)

    def counted(evidence: Evidence) -> list[tuple[str, CriticalFailure, int, int, int]]:
        return [
            (one.task, one.kind, len(one.arm_attempts), len(one.control_attempts), one.control_graded)
            for one in evidence.critical
        ]

    assert counted(found) == counted(expected)


def rounded_off(evidence: Evidence, name: str) -> str:
    """A part of it; a report rounds to nine decimals a step earlier."""
    text = evidence.model_dump_json(include={name})
    return str(json.loads(text, parse_float=lambda number: str(round(float(number), 6))))


def test_a_single_run_of_a_task_tells_no_noise() -> None:
    """A family's loss is then not estimable, so it rejects nothing and forbids every benefit."""
    (study,) = simulate(a_design(repetitions=1, task_sd_points=4.0), PLAN, 1)
    evidence = evidence_of_simulated(study, equal_split(12), 5.0)
    assert {item.noise.status for item in evidence.families} == {"not-estimable"}


def test_places_are_one_for_each_task() -> None:
    """Others would be another study's."""
    (study,) = simulate(a_design(), PLAN, 1)
    with pytest.raises(ValueError, match="3 places for 12 tasks"):
        by_rules(DecisionRules(), equal_split(3), 5.0)(study)


@pytest.mark.parametrize(("tasks", "families"), [(2, 1), (5, 2), (12, 6), (20, 6)])
def test_without_a_plan_tasks_are_split_equally(tasks: int, families: int) -> None:
    """Two tasks or more in each family, of both scopes."""
    places = equal_split(tasks)
    names = [place.family for place in places]
    counts = {names.count(name) for name in names}
    assert (len(places), len(set(names))) == (tasks, families)
    assert max(counts) - min(counts) <= 1
    assert {place.contrast for place in places} == {"restraint", "expansion"}


def told(*argv: str) -> PowerReport:
    """What the command says as JSON."""
    done = CliRunner().invoke(app, ["power", "--studies", "4", "--replicates", "100", "--json", *argv])
    assert done.exit_code == 0, done.output
    return PowerReport.model_validate_json(done.stdout)


def a_draft(folder: Path, **changes: Any) -> Path:  # noqa: ANN401
    """The demonstration's draft, edited, in another folder."""
    draft = json.loads(DEMO.read_text())
    for task in draft["tasks"]:
        task["manifest"] = os.path.relpath(Path("tasks", task["id"], "task.json").resolve(), folder)
    path = folder / "edited.draft.json"
    path.write_text(json.dumps(draft | changes))
    return path


def test_a_draft_gives_its_rules_families_and_sizes(tmp_path: Path) -> None:
    """Options go before it; the table says whose rules decided."""
    path = a_draft(tmp_path, decision={"improvement_points": 50.0}, analysis={"threshold_points": 7.0})
    report = told("--draft", str(path))
    assert report.decisions.rules == DecisionRules(improvement_points=50.0)
    assert report.decisions.rules_from == "those of demo (edited.draft.json)"
    packages = [
        json.loads(Path("tasks", one["id"], "task.json").read_text())
        for one in json.loads(DEMO.read_text())["tasks"]
    ]
    assert {one.family for one in report.decisions.families} == {one["family"] for one in packages}
    design = report.results[0].design
    assert (design.tasks, design.repetitions, design.threshold_points) == (4, 2, 7.0)
    assert any("calibration" in notice for notice in report.notices)
    more = told("--manifest", str(path), "--tasks", "8", "-k", "3", "--threshold", "5")
    assert sum(sum(one.contrasts.values()) for one in more.decisions.families) == 8
    assert (more.results[0].design.repetitions, more.results[0].design.threshold_points) == (3, 5.0)


def test_without_a_plan_the_default_rules_decide_and_the_table_says_so() -> None:
    """Six families, two reviewers, the protocol's rule on disagreement."""
    report = told()
    assert (report.decisions.rules, report.decisions.rules_from) == (DecisionRules(), "the default rules")
    assert [row.effect_points for row in report.decisions.rows] == [0.0, 5.0, 10.0, -5.0, -10.0]
    assert report.results[0].design.disagreement == MaterialDisagreement()


def test_a_sealed_manifest_in_a_studys_folder_is_read_with_its_packages(tmp_path: Path) -> None:
    """Its own kept copies: the workspace may have moved on."""
    study = a_runnable_study(tmp_path)
    run(study)
    folder = folder_of(study)
    found = planned_design(folder.manifest)
    packages = json.loads(folder.tasks.read_text())["packages"]
    assert list(found.decision.places) == [
        TaskPlace(one["family"], one["contrast"]) for one in packages.values()
    ]


@pytest.mark.parametrize("text", ["{}", '{"status": "draft"}', '{"suite": {"name": "esac-ag"}}', "no JSON"])
def test_what_is_no_plan_of_a_study_is_refused(tmp_path: Path, text: str) -> None:
    """With what is wrong, never a traceback."""
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(InputRefused):
        planned_design(path)


def test_everything_is_whole_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is longer, no cell is cut, and every world is told."""
    monkeypatch.setenv("COLUMNS", "80")
    argv = ["power", "--studies", "4", "--replicates", "100", "--effect", "100", "--task-sd", "30"]
    shown = CliRunner().invoke(app, argv).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    for words in (
        "Without an effect: false benefit",
        "With a gain of +100.0: power",
        "With a harm of -100.0",
    ):
        assert words in " ".join(shown.split())
