"""The view counts everything once and never turns nothing into a number."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from esac_ag.attempt import AttemptRecord, Cell, Costs, Outcome
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.manifest.plan import AgentKind, Phase
from esac_ag.report.build import build_view
from esac_ag.report.inputs import LedgerSummary, SpoiledAttempt
from esac_ag.report.view import ArmCosts, CostMean, CostMeasure, ReportView, RunState
from esac_ag.report.words import SCRIPTED_NOTICE
from esac_ag.statistics.estimates import Estimate, IntervalEstimate, NotEstimable, estimate
from tests.builders_report import a_manifest, a_study, an_attempt, varied_score

FIRST = Cell(task="invoice-rounding", arm="markskill", repetition=1)


def cost_of(costs: ArmCosts, measure: CostMeasure) -> CostMean:
    """The mean of one measure."""
    return next(item for item in costs.means if item.measure is measure)


def all_records(value: object) -> Iterator[object]:
    """Everything within a dumped view."""
    yield value
    if isinstance(value, dict):
        for item in value.values():
            yield from all_records(item)
    if isinstance(value, list | tuple):
        for item in value:
            yield from all_records(item)


def test_a_whole_study_is_paired_task_by_task() -> None:
    """Neutral scores 50 everywhere, the candidate 60, 70, 80 and 90: the mean gain is 25."""
    gains = dict(zip((task.id for task in a_manifest().tasks), (10, 20, 30, 40), strict=True))
    view = build_view(a_study(lambda cell: 50.0 + gains[cell.task] * (cell.arm == "markskill")))
    comparison = next(item for item in view.comparisons if item.arm == "markskill")
    assert comparison.primary
    assert [pair.difference for pair in comparison.pairs] == [estimate(gain) for gain in (10, 20, 30, 40)]
    assert comparison.overall.mean == estimate(25.0)
    assert [item.result.mean for item in comparison.contrasts] == [estimate(30.0), estimate(20.0)]
    assert [item.group for item in comparison.contrasts] == ["expansion", "restraint"]
    assert len(comparison.families) == 4


def test_counts_of_every_arm_add_up() -> None:
    """Planned runs are graded, invalid, ungraded or missing, and graded ones have one of three outcomes."""

    def change(attempt: AttemptRecord) -> AttemptRecord:
        outcome = {1: Outcome.LIMIT, 2: Outcome.AGENT_ERROR}[attempt.cell.repetition]
        return attempt.model_copy(update={"outcome": outcome})

    study = a_study(
        lambda cell: None if cell.task == "date-parsing" and cell.repetition == 1 else 80.0,
        invalid=lambda cell: cell.task == "order-workflow" and cell.arm == "markskill",
        change=change,
    )
    first = study.counting[FIRST]
    gradings = {key: value for key, value in study.gradings.items() if key != first}
    view = build_view(
        type(study)(**{name: getattr(study, name) for name in study.__slots__} | {"gradings": gradings})
    )
    for item in view.counts:
        assert item.planned == item.graded + item.invalid + item.ungraded + item.missing == 8
        assert item.graded == item.completed + item.limit + item.agent_error
    mine = view.counts[2]
    assert (mine.graded, mine.invalid, mine.ungraded, mine.missing) == (4, 2, 1, 1)
    assert (mine.completed, mine.limit, mine.agent_error) == (0, 1, 3)


def test_a_run_at_its_limit_is_scored_all_the_same() -> None:
    """The manifest scores incomplete work as it was left."""
    study = a_study(
        lambda _: 40.0, change=lambda attempt: attempt.model_copy(update={"outcome": Outcome.LIMIT})
    )
    assert all(item.mean == estimate(40.0) for item in build_view(study).scores)


def test_an_invalid_grading_is_never_a_score() -> None:
    """It is counted, listed as missing a score, and leaves the pair without a difference."""
    study = a_study(lambda _: 50.0, invalid=lambda cell: cell.arm == "markskill" and cell.task == FIRST.task)
    view = build_view(study)
    pair = next(item for item in view.comparisons if item.primary).pairs[0]
    assert isinstance(pair.difference, NotEstimable)
    assert isinstance(pair.arm_mean, NotEstimable)
    assert (pair.bounds.low, pair.bounds.high) == (-50.0, 50.0)
    runs = next(item.runs for item in view.task_arms if (item.task, item.arm) == (FIRST.task, FIRST.arm))
    assert [(run.state, run.score) for run in runs] == [(RunState.INVALID, None)] * 2
    assert "invoice-rounding, markskill, repetition 1: invalid" in view.incidents.missing


def test_missing_runs_never_lower_a_mean() -> None:
    """A mean is over the runs that have a score; the missing ones stand beside it as bounds."""
    view = build_view(a_study(lambda cell: None if cell == FIRST else 90.0))
    assert next(item for item in view.scores if item.arm == "markskill").mean == estimate(90.0)
    overall = next(item for item in view.comparisons if item.primary).overall
    assert overall.missing_runs == 1
    assert overall.bounds.low == pytest.approx(-45 / 4)
    assert any("Incomplete: 1 of 24" in notice for notice in view.notices)


def test_a_study_without_any_score_is_not_estimable_throughout() -> None:
    """All invalid: no mean, no interval, no zero that was not counted."""
    view = build_view(a_study(lambda _: 50.0, invalid=lambda _: True))
    assert all(isinstance(item.mean, NotEstimable) for item in view.scores)
    for comparison in view.comparisons:
        assert isinstance(comparison.overall.mean, NotEstimable)
        assert isinstance(comparison.overall.interval, NotEstimable)
    for costs in view.costs:
        assert all(isinstance(item.mean, NotEstimable) for item in costs.means)
    assert "not estimable" in view.answer


def test_a_study_that_has_not_begun_can_be_reported() -> None:
    """Nothing ran: every cell is missing and no date is invented."""
    view = build_view(a_study(lambda _: None))
    assert view.header.first_started_at is None
    assert [item.missing for item in view.counts] == [8, 8, 8]
    assert view.attempts == ()


def test_no_number_of_the_view_is_nan_or_infinite() -> None:
    """Whatever is missing, JSON has a number or a reason."""
    view = build_view(a_study(lambda cell: None if cell.repetition == 1 else 0.0))
    numbers = [item for item in all_records(view.model_dump()) if isinstance(item, float)]
    assert numbers
    assert all(math.isfinite(number) for number in numbers)


def test_a_scripted_study_says_so_before_any_number() -> None:
    """The first notice and every row carry the kind of agent."""
    view = build_view(a_study(varied_score, manifest=a_manifest(agent=AgentKind.SCRIPTED)))
    assert view.notices[0].startswith(SCRIPTED_NOTICE)
    assert view.limits_of_claim[0].startswith(SCRIPTED_NOTICE)
    dumped = view.model_dump()
    tables = ("counts", "scores", "comparisons", "task_arms", "dimensions", "critical_counts")
    for name in (*tables, "critical_runs", "costs", "attempts"):
        assert dumped[name]
        assert {row["agent_kind"] for row in dumped[name]} == {AgentKind.SCRIPTED}


@pytest.mark.parametrize(("phase", "said"), [(Phase.CALIBRATION, True), (Phase.PRIMARY, False)])
def test_calibration_says_that_it_is_no_result(phase: Phase, said: bool) -> None:  # noqa: FBT001
    """The protocol excludes calibration from results; a primary study needs no such notice."""
    view = build_view(a_study(varied_score, manifest=a_manifest(phase=phase)))
    assert any("Calibration" in notice for notice in view.notices) is said


def test_spoiled_and_cancelled_attempts_are_counted_and_listed_once() -> None:
    """Whether the ledger, a record or both know them; they are no runs and have no score."""
    manifest = a_manifest()
    infra = an_attempt(FIRST, manifest, ordinal=2, outcome=Outcome.INFRA, reason="the engine went away")
    study = a_study(
        varied_score,
        spoiled=[infra],
        ledger=LedgerSummary(
            spoiled=(
                SpoiledAttempt(
                    attempt_id=infra.attempt_id, cell=FIRST, outcome=Outcome.INFRA, reason="the same one"
                ),
                SpoiledAttempt(
                    attempt_id="lost", cell=FIRST, outcome=Outcome.CANCELLED, reason="the power went out"
                ),
            ),
            retries=2,
            pauses=1,
        ),
    )
    view = build_view(study)
    mine = next(item for item in view.counts if item.arm == "markskill")
    assert (mine.planned, mine.graded, mine.infra_attempts, mine.cancelled_attempts) == (8, 8, 1, 1)
    rows = [row for row in view.attempts if not row.counts]
    assert [(row.attempt_id, row.score, row.state) for row in rows] == [
        (infra.attempt_id, None, None),
        ("lost", None, None),
    ]
    assert len(view.attempts) == 26
    assert (view.incidents.retries, view.incidents.pauses) == (2, 1)


def test_critical_failures_stand_apart_with_the_attempt_that_shows_them() -> None:
    """Scores of 40 and below fail the critical check of the builder's grader."""
    study = a_study(lambda cell: 40.0 if cell == FIRST else 90.0)
    view = build_view(study)
    assert [(item.task, item.repetition, item.kind, item.attempt_id) for item in view.critical_runs] == [
        ("invoice-rounding", 1, CriticalFailure.DATA_LOSS, study.counting[FIRST])
    ]
    assert [item.runs_with_any for item in view.critical_counts] == [0, 0, 1]
    assert view.critical_counts[2].by_kind == {CriticalFailure.DATA_LOSS: 1}


def test_costs_are_means_over_graded_runs_and_tell_how_many_are_known() -> None:
    """Four of eight runs of the candidate lack their turns."""
    unknown = {"invoice-rounding": None, "date-parsing": None}

    def change(attempt: AttemptRecord) -> AttemptRecord:
        turns = unknown.get(attempt.cell.task, 6)
        return attempt.model_copy(update={"costs": attempt.costs.model_copy(update={"turns": turns})})

    view = build_view(a_study(varied_score, change=change))
    turns = cost_of(view.costs[2], CostMeasure.TURNS)
    assert (turns.graded, turns.known, turns.mean) == (8, 4, estimate(6.0))


def test_an_unknown_cost_is_unavailable_and_not_zero() -> None:
    """Nothing known of any run: no mean of any measure."""
    study = a_study(varied_score, change=lambda attempt: attempt.model_copy(update={"costs": Costs()}))
    for measure in CostMeasure:
        item = cost_of(build_view(study).costs[0], measure)
        assert isinstance(item.mean, NotEstimable)
        assert "unavailable" in item.mean.reason


def test_a_known_zero_stays_a_zero() -> None:
    """No dependency added is a figure."""
    view = build_view(a_study(varied_score))
    assert cost_of(view.costs[0], CostMeasure.DEPENDENCIES_ADDED).mean == estimate(0.0)


def test_money_that_is_known_for_some_runs_only_is_unavailable() -> None:
    """A mean of the priced runs would read as the bill of all of them."""

    def change(attempt: AttemptRecord) -> AttemptRecord:
        if attempt.cell != FIRST:
            return attempt
        return attempt.model_copy(update={"costs": attempt.costs.model_copy(update={"cost": None})})

    item = cost_of(build_view(a_study(varied_score, change=change)).costs[2], CostMeasure.COST)
    assert (item.known, item.graded) == (7, 8)
    assert isinstance(item.mean, NotEstimable)


def test_dimensions_are_shares_of_their_own_checks() -> None:
    """At 90 of 100 only the last check fails, which is one of two on verification."""
    view = build_view(a_study(lambda cell: 90.0 if cell.arm == "markskill" else 100.0))
    mine = {item.dimension: item for item in view.dimensions if item.arm == "markskill"}
    assert mine[Dimension.BEHAVIOUR].mean == estimate(100.0)
    assert mine[Dimension.VERIFICATION].mean == estimate(50.0)
    assert mine[Dimension.VERIFICATION].difference == estimate(-50.0)
    control = next(item for item in view.dimensions if item.arm == "neutral")
    assert isinstance(control.difference, NotEstimable)


def test_every_run_is_listed_with_its_spread() -> None:
    """Run-to-run spread: both repetitions, extremes and the sample standard deviation."""
    view = build_view(a_study(lambda cell: 40.0 if cell.repetition == 1 else 60.0))
    for item in view.task_arms:
        assert [run.score for run in item.runs] == [40.0, 60.0]
        assert item.summary.minimum == estimate(40.0)
        assert item.summary.maximum == estimate(60.0)
        assert item.summary.sd == estimate(14.142135624)


def test_zero_variance_is_said_in_words() -> None:
    """The same gain on every task: a mean, no interval, and the reason among the comparison's words."""
    view = build_view(a_study(lambda cell: 70.0 if cell.arm == "markskill" else 60.0))
    comparison = next(item for item in view.comparisons if item.primary)
    assert comparison.overall.mean == estimate(10.0)
    assert any("zero variance" in sentence for sentence in comparison.words)
    assert "zero variance" in view.answer


def test_the_answer_tells_what_the_interval_leaves_open() -> None:
    """Twelve tasks whose interval is wholly beyond the threshold."""
    tasks = [f"task-{number}" for number in range(12)]
    gain = {task: 10.0 * (1 + number % 3) for number, task in enumerate(tasks)}
    study = a_study(
        lambda cell: 50.0 + gain[cell.task] * (cell.arm == "markskill"),
        manifest=a_manifest(tasks=tasks, phase=Phase.PRIMARY),
    )
    view = build_view(study)
    overall = next(item for item in view.comparisons if item.primary).overall
    assert isinstance(overall.interval, IntervalEstimate)
    assert overall.interval.low > 5.0
    assert "markskill scored 20.0 points higher than neutral" in view.answer
    assert "excludes no difference, a gain of 5 points and a loss of 5 points" in view.answer
    assert not any("too few" in sentence for item in view.comparisons for sentence in item.words)


def test_the_same_study_gives_the_same_view_whatever_the_order_of_its_attempts() -> None:
    """A report is a function of what happened, not of how a folder was listed."""
    study = a_study(varied_score)
    turned = type(study)(
        **{name: getattr(study, name) for name in study.__slots__} | {"attempts": study.attempts[::-1]}
    )
    assert build_view(turned) == build_view(study)


def test_scores_of_the_view_are_rounded_numbers() -> None:
    """Estimates hold nine decimals at most, so that processors cannot disagree about a report."""
    view: ReportView = build_view(a_study(varied_score))
    values = [item.mean.value for item in view.scores if isinstance(item.mean, Estimate)]
    assert values
    assert all(value == round(value, 9) for value in values)
