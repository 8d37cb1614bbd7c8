"""The live tally: what a line says, what it sums up, and what it keeps to itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.conduct.suite_tally import SuiteTally
from esac_ag.suite.bank import bank
from esac_ag.suite.contract import RunEnd, Tokens
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.records import ItemGrading
from esac_ag.suite.scoring import item_points
from tests.builders_suite_run import (
    JUDGED,
    QUICK,
    a_grading,
    a_judge,
    a_judgment,
    a_run_result,
    a_sealed_run,
    a_skill,
)

REFUND, NAME, _ = QUICK
WORTH = item_points(bank())


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> SuitePlan:
    """A plan of three deterministic items and a judged one."""
    return a_sealed_run(tmp_path_factory.mktemp("plan"), *QUICK, JUDGED, judge=a_judge()).plan


@pytest.fixture(scope="module")
def plan_with_arms(tmp_path_factory: pytest.TempPathFactory) -> SuitePlan:
    """A plan with an arm beside the control."""
    folder = tmp_path_factory.mktemp("arms")
    return a_sealed_run(folder, *QUICK, arms={"careful": a_skill(folder / "skill")}).plan


def a_tally(plan: SuitePlan, before: Sequence[ItemGrading] = ()) -> tuple[SuiteTally, list[str]]:
    """A tally and the lines that it has told."""
    lines: list[str] = []
    tally = SuiteTally(plan, lines.append, before)
    tally.planned(len(plan.cells()), len(before))
    return tally, lines


def grade(tally: SuiteTally, grading: ItemGrading, outcome: Outcome = Outcome.COMPLETED) -> None:
    """A run is graded, and finished."""
    tally.graded(grading)
    tally.finished(grading.cell, outcome, GradingStatus.GRADED)


def shown(points: float) -> str:
    """Points as the tally writes them."""
    return f"{points:.2f}"


def test_an_item_of_one_run_is_told_with_points_levels_and_sum(plan: SuitePlan) -> None:
    """What it earned of what it is worth, actions, tokens, and what the items so far come to."""
    tally, lines = a_tally(plan)
    grade(tally, a_grading(REFUND, a_run_result(1.0)))
    grade(tally, a_grading(NAME, a_run_result(0.5)))
    first, second = WORTH[REFUND], WORTH[NAME]
    assert lines[0] == "5 runs, 0 done"
    assert lines[1] == (
        f"[1/5] {REFUND}: {shown(first)} of {shown(first)} points, actions 6/6, tokens 6/6; "
        f"so far {shown(first)} of {shown(first)}"
    )
    assert lines[2] == (
        f"[2/5] {NAME}: {shown(second / 2)} of {shown(second)} points; "
        f"so far {shown(first + second / 2)} of {shown(first + second)}"
    )


def test_a_judged_item_is_told_when_both_of_its_runs_are_judged(plan: SuitePlan) -> None:
    """The first run tells no points; the four observations are averaged."""
    tally, lines = a_tally(plan)
    grade(tally, a_grading(JUDGED, a_run_result(judgments=[a_judgment(4), a_judgment(2)]), run=1))
    grade(tally, a_grading(JUDGED, a_run_result(judgments=[a_judgment(0), a_judgment(2)]), run=2))
    worth = WORTH[JUDGED]
    assert lines[1] == f"[1/5] {JUDGED}: completed, run 1 of 2"
    assert lines[2].startswith(f"[2/5] {JUDGED}: {shown(worth / 2)} of {shown(worth)} points; so far")


def test_runs_at_the_same_time_tell_their_item_once(plan: SuitePlan) -> None:
    """Both were graded before the first of them was finished."""
    tally, lines = a_tally(plan)
    gradings = [
        a_grading(JUDGED, a_run_result(judgments=[a_judgment(4)] * 2), run=number) for number in (1, 2)
    ]
    for grading in gradings:
        tally.graded(grading)
    for grading in gradings:
        tally.finished(grading.cell, Outcome.COMPLETED, GradingStatus.GRADED)
    assert lines[1] == f"[1/5] {JUDGED}: completed, run 1 of 2"
    assert "points" in lines[2]


def test_a_judged_item_with_a_failed_run_counts_it_as_nothing(plan: SuitePlan) -> None:
    """A failed run needs no judge and earns nothing (amendment 001 §5)."""
    tally, lines = a_tally(plan)
    grade(tally, a_grading(JUDGED, a_run_result(end=RunEnd.TIME_LIMIT), run=1), Outcome.LIMIT)
    grade(tally, a_grading(JUDGED, a_run_result(judgments=[a_judgment(4)] * 2), run=2))
    assert lines[1] == f"[1/5] {JUDGED}: limit, run 1 of 2"
    assert f"{shown(WORTH[JUDGED] / 2)} of {shown(WORTH[JUDGED])} points" in lines[2]


def test_unknown_tokens_are_unknown_and_no_level(plan: SuitePlan) -> None:
    """No data is never zero."""
    tally, lines = a_tally(plan)
    grade(tally, a_grading(REFUND, a_run_result(1.0, tokens=Tokens())))
    assert "actions 6/6, tokens unknown;" in lines[1]


def test_a_run_that_missed_its_goal_tells_no_levels(plan: SuitePlan) -> None:
    """Efficiency counts for completed items only."""
    tally, lines = a_tally(plan)
    grade(tally, a_grading(REFUND, a_run_result(0.0, end=RunEnd.TURN_LIMIT)), Outcome.LIMIT)
    assert lines[1] == (
        f"[1/5] {REFUND}: 0.00 of {shown(WORTH[REFUND])} points; so far 0.00 of {shown(WORTH[REFUND])}"
    )


def test_a_resumed_run_goes_on_with_the_sums(plan: SuitePlan) -> None:
    """Gradings of earlier sessions count, half of a judged item for nothing yet."""
    half = a_grading(JUDGED, a_run_result(judgments=[a_judgment(4)] * 2), run=1)
    tally, lines = a_tally(plan, [a_grading(REFUND, a_run_result(1.0)), half])
    one = WORTH[REFUND]
    assert lines == [f"5 runs, 2 done; so far {shown(one)} of {shown(one)}"]
    grade(tally, a_grading(JUDGED, a_run_result(judgments=[a_judgment(4)] * 2), run=2))
    both = one + WORTH[JUDGED]
    assert lines[1].startswith(f"[3/5] {JUDGED}:")
    assert lines[1].endswith(f"so far {shown(both)} of {shown(both)}")


def test_a_grading_that_is_told_twice_counts_once(plan: SuitePlan) -> None:
    """A grading that was written and not yet in the ledger is made again."""
    tally, lines = a_tally(plan)
    tally.graded(a_grading(REFUND, a_run_result(0.0)))
    grade(tally, a_grading(REFUND, a_run_result(1.0)))
    assert lines[1].endswith(f"so far {shown(WORTH[REFUND])} of {shown(WORTH[REFUND])}")


def test_with_arms_no_score_is_told(plan_with_arms: SuitePlan) -> None:
    """Whoever watches stays blind, on every line, after a resumption too; no line names an arm."""
    before = a_grading(QUICK[2], a_run_result(1.0), arm="careful")
    tally, lines = a_tally(plan_with_arms, [before])
    grade(tally, a_grading(REFUND, a_run_result(1.0)))
    grade(tally, a_grading(REFUND, a_run_result(0.0), arm="careful"))
    assert lines == [
        "6 runs, 1 done; scores are told when the run is finished",
        f"[2/6] {REFUND}: completed",
        f"[3/6] {REFUND}: completed",
    ]


def test_with_arms_efficiency_is_not_told_either(plan_with_arms: SuitePlan) -> None:
    """Levels are told for completed items only, and so they tell the score."""
    tally, lines = a_tally(plan_with_arms)
    grade(tally, a_grading(REFUND, a_run_result(1.0), arm="careful"))
    assert "6/6" not in lines[1]


@pytest.mark.parametrize(
    ("retry_in_s", "then"), [(None, "no retry is left"), (0.0, "again in 0.0 s"), (2.34, "again in 2.3 s")]
)
def test_a_failure_of_the_infrastructure_is_told_with_what_comes_next(
    plan: SuitePlan, retry_in_s: float | None, then: str
) -> None:
    """No score, and no count of runs."""
    tally, lines = a_tally(plan)
    tally.spoiled(Cell(task=REFUND, arm="neutral", repetition=1), "gone", retry_in_s=retry_in_s)
    assert lines[1] == f"infrastructure: {REFUND}: gone; {then}"


def test_a_launch_tells_nothing(plan: SuitePlan) -> None:
    """A line comes when the run is done."""
    tally, lines = a_tally(plan)
    tally.launched(Cell(task=REFUND, arm="neutral", repetition=1))
    assert lines == ["5 runs, 0 done"]


def test_a_whole_run_is_tallied_to_what_its_report_says(tmp_path: Path) -> None:
    """The last line's sum is the sum over the items of the report."""
    run = a_sealed_run(tmp_path)
    lines: list[str] = []
    tally = SuiteTally(run.plan, lines.append)
    opened = run.opened(graded=tally.graded)
    run_study(opened, concurrency=2, watcher=tally)
    view = write_suite_reports(run.folder.path).views["neutral"]
    earned = sum(item.earned or 0.0 for item in view.items)
    assert lines[-1].endswith(f"so far {shown(earned)} of {shown(sum(WORTH[name] for name in QUICK))}")
