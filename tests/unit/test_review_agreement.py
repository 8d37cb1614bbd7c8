"""Agreement statistics against published worked examples and closed forms; degenerate data says why."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from scipy.stats import beta

from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.study.agreement import (
    AgreementInterval,
    agreement,
    alpha_interval,
    alpha_ordinal,
    guessed_arms,
    weighted_kappa,
)

NONE = math.nan
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)
"""Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section C: four observers, 12 units."""
BINARY = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], dtype=np.float64)
"""The same, section A: two observers, ten units."""
ABSTRACTORS = {(0, 0): 13, (1, 1): 20, (1, 2): 7, (2, 1): 4, (2, 2): 56}
"""Gwet, Handbook of Inter-Rater Reliability: two abstractors, 100 records; `cont3x3abstractors` of irrCAC."""


def test_alpha_is_that_of_the_published_example() -> None:
    """Ordinal 0.815; our scale begins at 0, which changes nothing."""
    assert alpha_ordinal(KRIPPENDORFF - 1) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize("reviewers", [2, 3, 5])
def test_alpha_of_points_is_the_librarys(reviewers: int) -> None:
    """The closed form and the general one give the same number."""
    drawn = np.random.default_rng(11).integers(0, 81, size=(reviewers, 30))
    points = drawn.astype(np.float64) * 1.25
    expected = krippendorff.alpha(reliability_data=points, level_of_measurement="interval")
    assert alpha_interval(points) == pytest.approx(expected)


def test_alpha_of_two_categories_is_that_of_the_published_example() -> None:
    """0.095, on whatever level."""
    assert alpha_ordinal(BINARY) == pytest.approx(0.095, abs=5e-4)
    assert alpha_interval(BINARY) == pytest.approx(0.095, abs=5e-4)


def test_weighted_kappa_is_that_of_the_published_example() -> None:
    """0.8921569 with quadratic weights, as irrCAC's manual shows."""
    pairs = [pair for pair, count in ABSTRACTORS.items() for _ in range(count)]
    assert weighted_kappa(np.array(pairs, dtype=np.float64).T) == pytest.approx(0.8921569, abs=1e-7)


def test_weighted_kappa_is_what_its_table_gives() -> None:
    """Cohen's definition, cell by cell, on random scores."""
    drawn = np.random.default_rng(7).integers(0, 5, size=(2, 50)).astype(np.float64)
    table = np.zeros((5, 5))
    for first, second in drawn.T.astype(int):
        table[first, second] += 1 / 50
    weights = np.subtract.outer(np.arange(5), np.arange(5)) ** 2
    expected = 1 - (weights * table).sum() / (weights * np.outer(table.sum(1), table.sum(0))).sum()
    assert weighted_kappa(drawn) == pytest.approx(expected)


@pytest.mark.parametrize("shift", [0, 1])
def test_perfect_agreement_is_one_and_a_constant_shift_is_not(shift: int) -> None:
    """Unlike a correlation."""
    first = np.array([0, 1, 2, 3, 2, 1], dtype=np.float64)
    kappa = weighted_kappa(np.array([first, first + shift]))
    assert isinstance(kappa, float)
    assert (kappa == 1) == (shift == 0)


def test_everything_alike_is_not_estimable_and_never_perfect() -> None:
    """Agreement by chance alone would be perfect as well."""
    found = agreement(
        "scope", {"ada": [3, 3, 3], "ben": [3, 3, 3]}, ["a", "b", "c"], categories=True, seed="s"
    )
    for measure in (found.kappa, found.alpha):
        assert isinstance(measure.estimate, NotEstimable)
        assert isinstance(measure.interval, NotEstimable)
        assert "one and the same score" in measure.estimate.reason
    assert found.equal == 3


def test_kappa_is_of_two_and_the_total_has_none() -> None:
    """Both are said, not guessed."""
    three = agreement(
        "scope", {name: [1, 2, 3] for name in "abc"}, ["a", "b", "c"], categories=True, seed="s"
    )
    assert isinstance(three.kappa.estimate, NotEstimable)
    assert isinstance(three.alpha.estimate, Estimate)
    total = agreement(
        "total", {name: [1.5, 2, 3] for name in "ab"}, ["a", "b", "c"], categories=False, seed="s"
    )
    assert isinstance(total.kappa.estimate, NotEstimable)
    assert total.alpha.estimate == Estimate(value=1.0)


def test_nothing_scored_is_not_estimable() -> None:
    """No data is not zero."""
    found = agreement("scope", {"ada": [], "ben": []}, [], categories=True, seed="s")
    assert isinstance(found.alpha.estimate, NotEstimable)


def test_intervals_are_over_tasks_and_come_out_the_same_again() -> None:
    """They hold the estimate, follow from the seed, and too few tasks give none."""
    rng = np.random.default_rng(3)
    first = rng.integers(0, 5, 60)
    second = np.clip(first + rng.integers(-1, 2, 60), 0, 4)
    scores = {"ada": [float(one) for one in first], "ben": [float(one) for one in second]}
    tasks = [f"task-{number % 12}" for number in range(60)]
    found = agreement("scope", scores, tasks, categories=True, seed="s")
    again = agreement("scope", scores, tasks, categories=True, seed="s")
    assert found == again
    for measure in (found.kappa, found.alpha):
        assert isinstance(measure.interval, AgreementInterval)
        assert isinstance(measure.estimate, Estimate)
        assert measure.interval.low < measure.estimate.value < measure.interval.high <= 1
    few = agreement("scope", scores, ["a", "b"] * 30, categories=True, seed="s")
    assert isinstance(few.kappa.interval, NotEstimable)
    assert isinstance(few.kappa.estimate, Estimate)


def test_repetitions_of_a_task_are_drawn_together() -> None:
    """Ten copies of each submission make no interval narrower."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 5, 12)
    second = np.clip(first + rng.integers(-2, 3, 12), 0, 4)
    widths = []
    for copies in (1, 10):
        scores = {
            name: [float(one) for one in np.repeat(values, copies)]
            for name, values in (("ada", first), ("ben", second))
        }
        tasks = [str(number) for number in np.repeat(np.arange(12), copies)]
        interval = agreement("scope", scores, tasks, categories=True, seed="s").kappa.interval
        assert isinstance(interval, AgreementInterval)
        widths.append(interval.high - interval.low)
    assert widths[1] == pytest.approx(widths[0], rel=0.05)


def test_guesses_are_compared_with_chance() -> None:
    """Clopper and Pearson's interval by the beta distribution; no idea is no guess."""
    truth = {f"p-{number}": "careful" if number % 2 else "neutral" for number in range(20)}
    guesses: dict[str, str | None] = {**truth, "p-0": None, "p-2": "careful"}
    found = guessed_arms("ada", guesses, truth, 2)
    assert (found.packets, found.guessed, found.right, found.chance) == (20, 19, 18, 0.5)
    assert found.interval_low == pytest.approx(beta.ppf(0.025, 18, 2))
    assert found.interval_high == pytest.approx(beta.ppf(0.975, 19, 1))
    assert found.above_chance is True


def test_guesses_at_chance_leave_the_review_blind() -> None:
    """Half of two arms."""
    truth = {f"p-{number}": "careful" if number % 2 else "neutral" for number in range(20)}
    assert guessed_arms("ada", dict.fromkeys(truth, "careful"), truth, 2).above_chance is False


def test_no_guess_is_not_a_share_of_zero() -> None:
    """And says nothing about the blinding."""
    found = guessed_arms("ada", {"p-1": None}, {"p-1": "careful"}, 2)
    assert isinstance(found.share, NotEstimable)
    assert (found.interval_low, found.above_chance) == (None, None)
