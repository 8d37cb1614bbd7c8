"""An arm against the control over several tasks."""

from __future__ import annotations

import pytest

from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.statistics.comparison import compare
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable, SignFlipReference, estimate
from esac_ag.statistics.pairs import TaskPair, pair

PLAN = Interval(method=IntervalMethod.BCA, replicates=500, seed="1")


def pairs_of(differences: list[float | None]) -> list[TaskPair]:
    """Tasks whose control scored 50 and whose arm scored as much more; none is an arm without a run."""
    return [
        pair(f"task-{number}", [] if value is None else [50.0 + value], [50.0], 1)
        for number, value in enumerate(differences)
    ]


def test_every_task_counts_once_whatever_its_runs() -> None:
    """Nine repetitions of one task weigh no more than one of another."""
    found = compare([pair("a", [60.0] * 9, [50.0] * 9, 9), pair("b", [80.0], [50.0], 9)], PLAN, ("x",))
    assert found.mean == estimate(20.0)


def test_a_whole_comparison_has_interval_and_reference() -> None:
    """Four tasks with different gains."""
    found = compare(pairs_of([0.0, 10.0, 20.0, 30.0]), PLAN, ("x",))
    assert (found.tasks_planned, found.tasks_paired, found.unpaired) == (4, 4, ())
    assert found.mean == estimate(15.0)
    assert found.sd == estimate(12.909944487)
    assert isinstance(found.interval, IntervalEstimate)
    assert found.interval.low < 15.0 < found.interval.high
    assert isinstance(found.sign_flip, SignFlipReference)
    assert (found.bounds.low, found.bounds.high, found.missing_runs) == (15.0, 15.0, 0)


def test_a_task_without_a_pair_is_named_and_bounded() -> None:
    """The mean is over the paired tasks, the bounds over all of them."""
    found = compare(pairs_of([10.0, 10.0, 40.0, None]), PLAN, ("x",))
    assert (found.tasks_paired, found.unpaired, found.missing_runs) == (3, ("task-3",), 1)
    assert found.mean == estimate(20.0)
    assert (found.bounds.low, found.bounds.high) == ((60 - 50) / 4, (60 + 50) / 4)


def test_nothing_paired_is_not_estimable_throughout() -> None:
    """No field falls back to zero; the bounds still hold."""
    found = compare(pairs_of([None, None]), PLAN, ("x",))
    for value in (found.mean, found.sd, found.interval, found.sign_flip):
        assert isinstance(value, NotEstimable)
    assert (found.bounds.low, found.bounds.high) == (-50.0, 50.0)


def test_one_pair_has_a_mean_and_nothing_else() -> None:
    """One task shows no spread between tasks."""
    found = compare(pairs_of([10.0]), PLAN, ("x",))
    assert found.mean == estimate(10.0)
    for value in (found.sd, found.interval, found.sign_flip):
        assert isinstance(value, NotEstimable)


def test_equal_differences_have_no_interval() -> None:
    """Zero variance is said, and not shown as an interval of no width."""
    found = compare(pairs_of([10.0] * 5), PLAN, ("x",))
    assert found.sd == estimate(0.0)
    assert isinstance(found.interval, NotEstimable)
    assert "zero variance" in found.interval.reason


@pytest.mark.parametrize("pairs", [[], pairs_of([1.0]) * 2])
def test_no_pairs_or_a_task_twice_are_refused(pairs: list[TaskPair]) -> None:
    """A repetition must never enter as a task of its own."""
    with pytest.raises(ValueError, match="one per task"):
        compare(pairs, PLAN, ("x",))
