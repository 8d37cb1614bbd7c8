"""Repetitions within a task."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.statistics.aggregate import mean, sample_sd, summarise
from esac_ag.statistics.estimates import Estimate, NotEstimable, estimate

SCORES = st.lists(st.floats(min_value=0, max_value=100), min_size=2, max_size=8)


@given(SCORES)
def test_mean_and_spread_agree_with_the_standard_library(scores: list[float]) -> None:
    """The standard library's exact fractions are the yardstick."""
    summary = summarise(scores, len(scores))
    assert isinstance(summary.mean, Estimate)
    assert isinstance(summary.sd, Estimate)
    assert summary.mean.value == pytest.approx(statistics.fmean(scores), abs=1e-8)
    assert summary.sd.value == pytest.approx(statistics.stdev(scores), abs=1e-6)


@given(SCORES)
def test_the_order_of_repetitions_changes_nothing(scores: list[float]) -> None:
    """A summary is a function of the set of scores."""
    assert summarise(scores, 8) == summarise(scores[::-1], 8)


def test_no_score_is_not_a_zero() -> None:
    """Without any scored run there is nothing to report but the reason."""
    summary = summarise([], 3)
    assert (summary.planned, summary.n) == (3, 0)
    for value in (summary.mean, summary.minimum, summary.maximum, summary.sd):
        assert value == NotEstimable(reason="none of 3 planned runs has a score")


def test_one_score_has_a_mean_but_no_spread() -> None:
    """With n = 1 the denominator n - 1 is zero, so the standard deviation is not estimable."""
    summary = summarise([40.0], 2)
    assert summary.mean == summary.minimum == summary.maximum == estimate(40.0)
    assert isinstance(summary.sd, NotEstimable)
    assert "n = 1" in summary.sd.reason


def test_equal_scores_have_a_spread_of_zero() -> None:
    """Two equal runs are data: their observed spread is zero."""
    assert sample_sd([70.0, 70.0]) == estimate(0.0)


def test_more_scores_than_planned_runs_are_refused() -> None:
    """A score too many means that something was counted twice."""
    with pytest.raises(ValueError, match="3 values of 2 planned"):
        summarise([1.0, 2.0, 3.0], 2)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(value: float) -> None:
    """NaN never enters a mean."""
    with pytest.raises(ValueError, match="not finite"):
        mean([1.0, value], NotEstimable(reason="nothing"))
