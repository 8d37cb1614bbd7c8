"""Paired differences of a task and their bounds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.statistics.estimates import Estimate, NotEstimable, estimate
from esac_ag.statistics.pairs import pair

SCORES = st.lists(st.floats(min_value=0, max_value=100), min_size=0, max_size=3)


def test_a_difference_is_arm_minus_control_of_the_means() -> None:
    """Repetitions are averaged first, each side on its own."""
    found = pair("t", [80.0, 90.0], [50.0, 70.0], 2)
    assert found.difference == estimate(25.0)
    assert (found.bounds.low, found.bounds.high) == (25.0, 25.0)
    assert found.missing_runs == 0


def test_one_run_on_each_side_is_enough_for_a_difference() -> None:
    """A missing repetition is counted and bounded, and does not take the task away."""
    found = pair("t", [80.0], [50.0, 70.0], 2)
    assert found.difference == estimate(20.0)
    assert (found.arm_n, found.control_n, found.missing_runs) == (1, 2, 1)
    assert (found.bounds.low, found.bounds.high) == (-20.0, 30.0)


@pytest.mark.parametrize(
    ("arm", "control", "reason"),
    [
        ([], [50.0], "the arm has no run with a score"),
        ([50.0], [], "the control has no run with a score"),
        ([], [], "neither arm nor control has a run with a score"),
    ],
)
def test_a_task_without_both_sides_has_no_difference(
    arm: list[float], control: list[float], reason: str
) -> None:
    """The reason names the side that is missing."""
    assert pair("t", arm, control, 1).difference == NotEstimable(reason=reason)


@given(SCORES, SCORES)
def test_the_bounds_are_those_of_brute_force(arm: list[float], control: list[float]) -> None:
    """Filling every missing run with 0 or 100 in all ways gives the same extremes."""
    found = pair("t", arm, control, 3)
    missing = found.missing_runs
    ends = []
    for filling in itertools.product((0.0, 100.0), repeat=missing):
        full_arm = [*arm, *filling[: 3 - len(arm)]]
        full_control = [*control, *filling[3 - len(arm) :]]
        ends.append(sum(full_arm) / 3 - sum(full_control) / 3)
    assert found.bounds.low == pytest.approx(min(ends), abs=1e-6)
    assert found.bounds.high == pytest.approx(max(ends), abs=1e-6)


@given(SCORES, SCORES)
def test_swapping_arm_and_control_turns_the_sign(arm: list[float], control: list[float]) -> None:
    """The difference and its bounds are antisymmetric."""
    forth, back = pair("t", arm, control, 3), pair("t", control, arm, 3)
    assert (forth.bounds.low, forth.bounds.high) == pytest.approx((-back.bounds.high, -back.bounds.low))
    if isinstance(forth.difference, Estimate):
        assert isinstance(back.difference, Estimate)
        assert forth.difference.value == pytest.approx(-back.difference.value)


@pytest.mark.parametrize("score", [-0.1, 100.1, float("nan")])
def test_a_score_outside_its_range_is_refused(score: float) -> None:
    """The bounds hold only for scores of 0 to 100."""
    with pytest.raises(ValueError, match="outside 0 to 100"):
        pair("t", [score], [50.0], 1)


def test_more_scores_than_planned_runs_are_refused() -> None:
    """A score too many means that something was counted twice."""
    with pytest.raises(ValueError, match="2 scores of 1 planned"):
        pair("t", [1.0], [1.0, 2.0], 1)
