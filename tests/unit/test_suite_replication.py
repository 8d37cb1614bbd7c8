"""Runs and judgments become one fraction, and the two sources of chance stay apart."""

from __future__ import annotations

import pytest

from esac_ag.errors import HarnessError
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import RunEnd, Tokens
from esac_ag.suite.replication import (
    ItemResult,
    RunResult,
    item_efficiency,
    item_outcome,
    model_failed,
    spread,
)
from tests.builders_suite import RUBRIC, SCALE, MadeUpItem, a_check, a_judgment, a_run, a_trace

PLAIN = MadeUpItem(id="code-1", category=Category.CODE)
JUDGED = MadeUpItem(id="ambiguity-1", category=Category.AMBIGUITY, rubric=RUBRIC, efficiency=None)


def judged(*scores: int, end: RunEnd = RunEnd.ANSWERED) -> RunResult:
    """A run whose judgments give both criteria that score each."""
    return a_run(checks=(), trace=a_trace(end=end), judgments=[a_judgment(score, score) for score in scores])


def outcome_of(*runs: RunResult) -> float:
    """The fraction of the judged item."""
    return item_outcome(JUDGED, ItemResult(item_id=JUDGED.id, runs=runs)).fraction


def test_a_deterministic_item_runs_once_and_has_no_spread() -> None:
    """Its fraction is its checks'."""
    found = item_outcome(PLAIN, ItemResult(item_id=PLAIN.id, runs=(a_run(0.25),)))
    assert (found.fraction, found.observations, found.spread) == (0.25, ((0.25,),), None)


def test_a_model_failure_on_a_deterministic_item_is_scored_by_its_checks() -> None:
    """A turn limit keeps what was done until then."""
    run = a_run(0.5, trace=a_trace(end=RunEnd.TURN_LIMIT))
    assert item_outcome(PLAIN, ItemResult(item_id=PLAIN.id, runs=(run,))).fraction == 0.5


def test_four_observations_are_averaged() -> None:
    """4, 2, 3 and 1 of 4 are 10 of 16."""
    assert outcome_of(judged(4, 2), judged(3, 1)) == 0.625


def test_deterministic_checks_of_a_judged_item_weigh_in_each_observation() -> None:
    """Rubric weights 2 and 1 beside a failed check of weight 3: half is lost."""
    run = a_run(checks=(a_check("fetched", 0.0, 3),), judgments=[a_judgment(4, 4)] * 2)
    assert outcome_of(run, run) == 0.5


@pytest.mark.parametrize("end", [end for end in RunEnd if end is not RunEnd.ANSWERED])
def test_a_model_failure_on_one_run_counts_zero_for_that_run(end: RunEnd) -> None:
    """It needs no judge, and the other run keeps its half."""
    assert model_failed(end)
    assert outcome_of(judged(4, 4), judged(end=end)) == 0.5
    assert outcome_of(judged(end=end), judged(end=end)) == 0.0


@pytest.mark.parametrize(
    "runs",
    [
        (judged(4, 4),),
        (judged(4, 4),) * 3,
        (judged(4, 4), judged(4)),
        (judged(4, 4), judged(4, 4, 4)),
        (judged(4, 4), a_run(judgments=[(a_check("did-the-task"),)] * 2)),
    ],
)
def test_a_judged_item_that_lacks_a_run_or_a_judgment_has_no_score(runs: tuple[RunResult, ...]) -> None:
    """What is missing is infrastructure, never a zero and never left out of the mean."""
    with pytest.raises(HarnessError):
        outcome_of(*runs)


def test_a_deterministic_item_with_two_runs_or_a_judgment_is_refused() -> None:
    """Nobody picks the better of two."""
    for runs in ((a_run(), a_run()), (a_run(judgments=[a_judgment(4, 4)]),)):
        with pytest.raises(HarnessError):
            item_outcome(PLAIN, ItemResult(item_id=PLAIN.id, runs=runs))


def test_a_judge_that_wavers_shows_as_judge_variance_alone() -> None:
    """Both runs mean 0.75 with judgments half apart: within 0.125, and no sign of the model."""
    found = spread([[0.5, 1.0], [1.0, 0.5]], [False, False])
    assert found.judge.value == 0.125
    assert found.model.value == 0.0


def test_a_model_that_wavers_shows_as_model_variance_alone() -> None:
    """A steady judge sees one run at 1 and one at 0.5."""
    found = spread([[1.0, 1.0], [0.5, 0.5]], [False, False])
    assert found.judge.value == 0.0
    assert found.model.value == 0.125


def test_the_judges_part_is_taken_out_of_the_model_variance() -> None:
    """Run means 0.75 and 0.25 vary by 0.125; the judge's 0.125 over two judgments is half of that."""
    found = spread([[0.5, 1.0], [0.0, 0.5]], [False, False])
    assert (found.model.value, found.judge.value) == (0.0625, 0.125)


def test_a_failed_run_is_evidence_about_the_model_and_none_about_the_judge() -> None:
    """Its zeros are no judgments."""
    found = spread([[0.5, 1.0], [0.0, 0.0]], [False, True])
    assert found.judge.value == 0.125
    assert found.model.value == 0.28125 - 0.03125


def test_what_cannot_be_estimated_says_why() -> None:
    """Two failed runs tell nothing of the judge, one run nothing of the model."""
    failed = spread([[0.0, 0.0], [0.0, 0.0]], [True, True])
    assert (failed.judge.value, failed.judge.why_not) == (None, "no run was judged twice")
    assert failed.model.value == 0.0
    alone = spread([[1.0, 1.0]], [False])
    assert (alone.model.value, alone.model.why_not) == (None, "the model ran once only")


def test_efficiency_is_kept_for_eligible_items_and_counts_only_completed_ones() -> None:
    """The scale places every run, the fraction says whether it counts."""
    result = ItemResult(item_id=PLAIN.id, runs=(a_run(trace=a_trace(tokens=Tokens(input=1200, output=1))),))
    full, most = (item_efficiency(PLAIN, result, fraction) for fraction in (1.0, 0.99))
    assert full is not None
    assert most is not None
    assert (full.action_share, full.token_bounds) == (1.0, (0.8, 0.8))
    assert (most.action_share, most.token_bounds) == (0.0, (0.0, 0.0))
    assert item_efficiency(JUDGED, ItemResult(item_id=JUDGED.id, runs=(judged(4, 4),) * 2), 1.0) is None


def test_an_eligible_judged_item_averages_the_levels_of_its_runs() -> None:
    """One run at level 6 and one at level 1 are a half."""
    item = MadeUpItem(id="ambiguity-1", category=Category.AMBIGUITY, rubric=RUBRIC, efficiency=SCALE)
    costly = a_run(checks=(), trace=a_trace(tokens=Tokens(input=9000, output=0)), judgments=())
    result = ItemResult(item_id=item.id, runs=(judged(4, 4), costly))
    found = item_efficiency(item, result, 1.0)
    assert found is not None
    assert (found.action_share, found.token_bounds) == (1.0, (0.5, 0.5))
