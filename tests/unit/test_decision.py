"""The decision rules: every clause at its border, what is not known, and which clause comes first."""

from __future__ import annotations

from typing import Any

import pytest

from esac_ag.manifest.decision import DecisionRules
from esac_ag.statistics.estimates import estimate
from esac_ag.study.clauses import EXPANSION, RESTRAINT
from esac_ag.study.decision_records import ClauseName, ClauseState, DecisionOutcome
from esac_ag.study.evidence import Measure
from tests.builders_decision import (
    RUNS,
    UNKNOWN,
    a_critical,
    an_interval,
    burdens,
    decided,
    families,
    outcome_of,
    scopes,
    state_of,
)

HELD, NOT_HELD, UNSURE = ClauseState.HELD, ClauseState.NOT_HELD, ClauseState.NOT_ESTIMABLE
REJECT, BENEFIT = DecisionOutcome.REJECT, DecisionOutcome.BENEFIT
OPEN, NEUTRAL = DecisionOutcome.INCONCLUSIVE, DecisionOutcome.NEUTRAL
NO_GAIN: dict[str, Any] = {"mean": estimate(0.0), "interval": an_interval(-3.0, 4.9)}


def test_a_clear_gain_without_any_harm_is_a_provisional_benefit() -> None:
    """Every clause that could forbid it is known not to hold."""
    decision = decided()
    assert decision.outcome is BENEFIT
    assert not decision.preliminary
    held = [clause.name for clause in decision.clauses if clause.state is not NOT_HELD]
    assert held == [ClauseName.IMPROVEMENT]


@pytest.mark.parametrize(
    ("arm", "control", "graded", "state"),
    [
        (2, 0, 3, HELD),
        (1, 0, 3, NOT_HELD),
        (3, 1, 3, NOT_HELD),
        (2, 0, 0, UNSURE),
        (2, 0, 1, HELD),
    ],
)
def test_a_critical_failure_is_reproduced_by_two_runs_and_no_run_of_the_control(
    arm: int, control: int, graded: int, state: ClauseState
) -> None:
    """One run is chance, the control's own failure is the task's, and an unseen control tells nothing."""
    changes: dict[str, Any] = {"critical": (a_critical(arm, control, graded),)}
    assert state_of(ClauseName.REPRODUCED_CRITICAL, **changes) is state
    assert (outcome_of(**changes) is REJECT) is (state is HELD)


def test_a_single_new_critical_failure_forbids_a_benefit_and_rejects_nothing() -> None:
    """The protocol asks for no observed new critical failure."""
    decision = decided(critical=(a_critical(1),))
    assert decision.outcome is OPEN
    assert decision.clause(ClauseName.NEW_CRITICAL).state is HELD
    assert decision.clause(ClauseName.NEW_CRITICAL).attempts == ("arm-0",)


def test_an_arm_without_any_graded_run_showed_no_failure_because_nothing_was_seen() -> None:
    """Nothing seen is not none."""
    assert state_of(ClauseName.NEW_CRITICAL, arm_missing=RUNS) is UNSURE


@pytest.mark.parametrize(
    ("name", "contrast"),
    [(ClauseName.UNDER_SCOPING, EXPANSION), (ClauseName.RESTRUCTURING, RESTRAINT)],
)
@pytest.mark.parametrize(
    ("differences", "state"),
    [
        ((-12.5, -12.5, -12.5, -12.5), HELD),
        ((-12.5, -12.5, -12.5, -12.4), NOT_HELD),
        ((-20, -20, -20), NOT_HELD),
        ((-20, -20, -20, -20, 20, 20), HELD),
        ((-20, -20, -20, None), UNSURE),
        ((-20, -20, -20, -20, None, None), HELD),
        ((-20, None, None), NOT_HELD),
    ],
)
def test_scope_is_systematically_worse_on_most_tasks_of_an_intended_scope(
    name: ClauseName, contrast: str, differences: tuple[float | None, ...], state: ClauseState
) -> None:
    """By half an anchor each; what is not known is counted both ways, and only what both say is said."""
    tasks = scopes(contrast, *(None if value is None else float(value) for value in differences))
    assert state_of(name, tasks=tasks) is state
    other = {ClauseName.UNDER_SCOPING: ClauseName.RESTRUCTURING}.get(name, ClauseName.UNDER_SCOPING)
    assert state_of(other, tasks=tasks) is NOT_HELD
    expected = {HELD: REJECT, UNSURE: OPEN, NOT_HELD: BENEFIT}
    assert outcome_of(tasks=tasks) is expected[state]


def test_as_many_tasks_with_better_scope_make_worse_scope_no_system() -> None:
    """Half worse and half better is chance, whatever share was sealed; what is not known may turn it."""
    rules = DecisionRules(scope_worse_share=0.5)
    for sixth, state in ((20.0, NOT_HELD), (0.0, HELD), (None, UNSURE)):
        tasks = scopes(EXPANSION, -20.0, -20.0, -20.0, 20.0, 20.0, sixth)
        assert state_of(ClauseName.UNDER_SCOPING, rules, tasks=tasks) is state


def test_one_task_of_a_scope_shows_nothing_systematic() -> None:
    """Below the least number of tasks the clause is not estimable, not false."""
    one = tuple(task for task in scopes(EXPANSION, -50.0) if task.family == "ownership")
    assert state_of(ClauseName.UNDER_SCOPING, tasks=one) is UNSURE


@pytest.mark.parametrize(
    ("mean", "noise", "state"),
    [
        (-5.0, 0.1, NOT_HELD),
        (-5.1, 0.1, HELD),
        (-5.1, 2.03, HELD),
        (-5.1, 2.04, UNSURE),
        (-5.1, None, UNSURE),
        (None, 0.1, UNSURE),
    ],
)
def test_a_family_regresses_below_the_threshold_and_beyond_run_to_run_noise(
    mean: float | None, noise: float | None, state: ClauseState
) -> None:
    """Exactly the threshold is no regression; a loss within noise is neither one nor none."""
    changes: dict[str, Any] = {"families": families(mean, noise=noise)}
    assert state_of(ClauseName.FAMILY_REGRESSION, **changes) is state
    assert outcome_of(**changes) is {HELD: REJECT, UNSURE: OPEN, NOT_HELD: BENEFIT}[state]


def test_without_a_demand_on_noise_the_mean_alone_is_a_regression() -> None:
    """The rules are data: zero standard errors ask for none."""
    rules = DecisionRules(family_noise=0.0)
    assert state_of(ClauseName.FAMILY_REGRESSION, rules, families=families(-5.1, noise=None)) is HELD


def test_a_loss_over_all_tasks_is_a_regression_though_no_family_shows_it_alone() -> None:
    """The whole study sees more than two tasks of a family do."""
    changes: dict[str, Any] = {
        "families": families(*[-6.0] * 6, noise=10.0),
        "mean": estimate(-6.0),
        "interval": an_interval(-11.0, -1.0),
    }
    assert outcome_of(**changes) is REJECT
    assert outcome_of(**changes | {"interval": an_interval(-13.0, 0.0)}) is OPEN


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"mean": estimate(5.0)}, HELD),
        ({"mean": estimate(4.99)}, NOT_HELD),
        ({"interval": an_interval(0.0, 20.0)}, NOT_HELD),
        ({"interval": an_interval(0.01, 20.0)}, HELD),
        ({"interval": UNKNOWN}, UNSURE),
        ({"mean": UNKNOWN, "interval": UNKNOWN}, UNSURE),
        ({"families": families(0.0, 0.0, 0.0, 0.0, -1.0, -1.0)}, HELD),
        ({"families": families(-1.0, -1.0, -1.0)}, NOT_HELD),
        ({"families": families(-1.0, -1.0, None)}, UNSURE),
        ({"families": families(-1.0, None)}, HELD),
        ({"families": families()[:1]}, UNSURE),
    ],
)
def test_an_improvement_needs_the_threshold_the_interval_and_most_families(
    changes: dict[str, Any], state: ClauseState
) -> None:
    """At the threshold exactly it is one; an interval that touches zero is none."""
    assert state_of(ClauseName.IMPROVEMENT, **changes) is state


@pytest.mark.parametrize(("behaviour", "outcome"), [(-5.0, BENEFIT), (-5.1, OPEN), (None, OPEN)])
def test_a_material_loss_of_correctness_forbids_a_benefit(
    behaviour: float | None, outcome: DecisionOutcome
) -> None:
    """So does one that nobody can tell."""
    assert outcome_of(behaviour=UNKNOWN if behaviour is None else estimate(behaviour)) is outcome


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"burdens": burdens(cost=1.25)}, HELD),
        ({"burdens": burdens(cost=1.24)}, NOT_HELD),
        ({"burdens": burdens(latency=1.25)}, HELD),
        ({"burdens": burdens(lines=1.49)}, NOT_HELD),
        ({"burdens": burdens(lines=1.5)}, HELD),
        ({"burdens": burdens(cost=None)}, UNSURE),
        ({"burdens": burdens(cost=None, lines=2.0)}, HELD),
        ({"burdens": burdens(cost=2.0), "interval": an_interval(-3.0, 5.0)}, NOT_HELD),
        ({"burdens": burdens(cost=2.0), "interval": an_interval(-30.0, 4.9)}, HELD),
        ({"burdens": burdens(cost=2.0), "interval": UNKNOWN}, UNSURE),
    ],
)
def test_a_burden_without_quality_prefers_neutral(changes: dict[str, Any], state: ClauseState) -> None:
    """The interval excludes a gain of the threshold, and one cost is at its ratio."""
    assert state_of(ClauseName.BURDEN, **NO_GAIN | changes) is state
    assert (outcome_of(**NO_GAIN | changes) is NEUTRAL) is (state is HELD)


def test_neither_gain_nor_burden_is_inconclusive_and_says_why() -> None:
    """The reasons carry what both clauses found."""
    decision = decided(**NO_GAIN)
    assert decision.outcome is OPEN
    assert any("the mean reaches the threshold" in reason for reason in decision.reasons)
    assert any("no cost is at its ratio" in reason for reason in decision.reasons)


HARM: dict[str, Any] = {"tasks": scopes(EXPANSION, *[-20.0] * 6)}
CRITICAL: dict[str, Any] = {"critical": (a_critical(2),)}


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        (CRITICAL | {"inadmissible": ("calibration",)}, OPEN),
        (CRITICAL | {"waiting_runs": 5}, REJECT),
        (CRITICAL | {"arm_missing": RUNS // 2}, REJECT),
        (HARM | {"waiting_runs": 1}, OPEN),
        (HARM | {"arm_missing": 4}, OPEN),
        (HARM | {"arm_missing": 3}, REJECT),
        (HARM, REJECT),
        (HARM | NO_GAIN | {"burdens": burdens(cost=2.0)}, REJECT),
        ({"burdens": burdens(cost=9.0)}, BENEFIT),
        ({"waiting_runs": 1}, OPEN),
        ({"unreviewed_runs": 1}, OPEN),
        ({"control_missing": 4}, OPEN),
        ({"control_missing": 3}, BENEFIT),
        ({"doubts": ("too few tasks",)}, OPEN),
        (NO_GAIN | {"burdens": burdens(cost=2.0), "doubts": ("too few tasks",)}, NEUTRAL),
        (NO_GAIN | {"burdens": burdens(cost=2.0), "waiting_runs": 1}, OPEN),
    ],
)
def test_the_first_step_that_says_something_decides(
    changes: dict[str, Any], outcome: DecisionOutcome
) -> None:
    """Inadmissible, then critical, then incomplete, then other harm, benefit, burden."""
    decision = decided(**changes)
    assert decision.outcome is outcome
    assert decision.reasons


@pytest.mark.parametrize(
    "changes", [{"waiting_runs": 1}, {"unreviewed_runs": 2}, {"arm_missing": 9}, {"inadmissible": ("why",)}]
)
def test_what_is_missing_is_the_reason_of_an_inconclusive_decision(changes: dict[str, Any]) -> None:
    """A reader is told what has to be supplied."""
    reasons = " ".join(decided(**changes).reasons)
    word = next(str(value if isinstance(value, int) else value[0]) for value in changes.values())
    assert word in reasons


def test_check_scores_and_a_model_alone_decide_preliminarily() -> None:
    """The protocol decides on quality scores of people."""
    assert decided(measure=Measure.CHECKS).preliminary
    assert decided(measure=Measure.REHEARSAL).preliminary
    assert decided(provisional=True).preliminary


def test_a_clause_shows_its_numbers_beside_their_thresholds() -> None:
    """Whoever reads it can apply the rule again."""
    figures = decided().clause(ClauseName.IMPROVEMENT).figures
    shown = [(figure.value, figure.test, figure.threshold, figure.met) for figure in figures]
    assert shown[0] == (estimate(10.0), "at least", 5.0, True)
    assert shown[1] == (estimate(4.0), "above", 0.0, True)
    assert shown[2] == (estimate(1.0), "above", 0.5, True)


def test_the_rules_own_thresholds_come_before_the_studys() -> None:
    """What is null takes the study's threshold of practical improvement."""
    rules = DecisionRules(improvement_points=11.0, family_points=1.0, correctness_points=20.0)
    assert state_of(ClauseName.IMPROVEMENT, rules) is NOT_HELD
    assert state_of(ClauseName.FAMILY_REGRESSION, rules, families=families(-2.0, noise=0.5)) is HELD
    assert state_of(ClauseName.CORRECTNESS_LOSS, rules, behaviour=estimate(-19.0)) is NOT_HELD
