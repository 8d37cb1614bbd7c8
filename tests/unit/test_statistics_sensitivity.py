"""Equivalence, detectable effects, Holm, single tasks, lost runs, Bayesian shares, drawn sign flips."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.statistics.attainable import (
    DetectableEffect,
    attainable_share,
    detectable_effect,
    paired_power,
)
from esac_ag.statistics.attrition import attrition
from esac_ag.statistics.bayesian import BayesianShares, bayesian_means, bayesian_shares
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.comparison import compare
from esac_ag.statistics.equivalence import Equivalence, EquivalenceReading, equivalence, reading_of
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable, SignFlipReference
from esac_ag.statistics.holm import holm
from esac_ag.statistics.leave_one_out import LeaveOneOut, leave_one_out
from esac_ag.statistics.pairs import pair
from esac_ag.statistics.sensitivity import adjustment
from esac_ag.statistics.sign_flip import one_sided_share, sign_flip_ends, sign_flip_reference

PLAN = Interval(replicates=4000, seed="1")
ANYWHERE = (-math.inf, math.inf)
DIFFERENCES = [12.5, -3.0, 8.25, 0.5, 21.0, -7.75, 4.0, 15.5, 2.25, -1.0, 9.0, 6.5]
DARWIN = [49.0, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Darwin's 15 pairs of Zea mays, eighths of an inch (Fisher 1935, table 3)."""


def test_fishers_own_example_comes_out_as_fisher_counted_it() -> None:
    """1,726 of 32,768 patterns lie as far out as Darwin's maize: 5.267 % (Fisher 1935, section 21)."""
    found = sign_flip_reference(DARWIN)
    assert isinstance(found, SignFlipReference)
    assert (found.flips, found.two_sided_share * found.flips) == (32_768, 1726)


def test_the_reference_is_scipys_permutation_test() -> None:
    """Of paired samples, exact."""
    theirs = stats.permutation_test(
        (DIFFERENCES,), np.mean, permutation_type="samples", n_resamples=10_000, alternative="two-sided"
    )
    found = sign_flip_reference(DIFFERENCES)
    assert isinstance(found, SignFlipReference)
    assert found.two_sided_share == pytest.approx(theirs.pvalue)


def test_drawn_patterns_agree_with_the_normal_distribution_and_are_never_none() -> None:
    """60 differences have 2 ** 60 patterns: 20,000 are drawn, with the observed one among them."""
    values = list(np.random.default_rng(1).normal(1.5, 5, 60))
    found = sign_flip_reference(values, seed=3)
    assert isinstance(found, SignFlipReference)
    assert (found.flips, found.enumerated) == (20_000, False)
    z = abs(sum(values)) / math.sqrt(sum(value**2 for value in values))
    assert found.two_sided_share == pytest.approx(2 * stats.norm.sf(z), abs=0.01)
    assert sign_flip_reference(values, seed=3) == found
    far = sign_flip_reference([10.0] * 60, seed=3)
    assert isinstance(far, SignFlipReference)
    assert far.two_sided_share == far.smallest_share == 1 / 20_000
    assert isinstance(sign_flip_reference(values), NotEstimable)


@given(st.lists(st.integers(min_value=-30, max_value=30), min_size=8, max_size=9, unique=True))
def test_the_inverted_test_holds_what_it_does_not_reject(values: list[int]) -> None:
    """Just inside an end the one-sided sign-flip test keeps the mean, just outside it rejects it."""
    found = sign_flip_ends(np.sort(np.asarray(values, dtype=np.float64)), 0.025, 100, 1)
    assert not isinstance(found, NotEstimable)
    low, high = found

    def share(shifted: list[float]) -> float:
        totals = [
            sum(sign * value for sign, value in zip(signs, shifted, strict=True))
            for signs in itertools.product((-1, 1), repeat=len(shifted))
        ]
        return float(np.mean([total >= sum(shifted) - 1e-9 for total in totals]))

    assert share([value - (low - 1e-6) for value in values]) <= 0.025
    assert share([value - (low + 1e-6) for value in values]) > 0.025
    assert share([(high + 1e-6) - value for value in values]) <= 0.025
    assert share([(high - 1e-6) - value for value in values]) > 0.025


def test_too_few_patterns_give_no_tails() -> None:
    """16 patterns cannot leave out 2.5 % on each side."""
    plan = Interval(method=IntervalMethod.SIGN_FLIP, seed="1")
    found = bootstrap_interval([1.0, 2.0, 3.0, 5.0], plan, ("x",), ANYWHERE)
    assert isinstance(found, NotEstimable)
    assert "16 sign patterns" in found.reason


def test_the_inverted_test_of_many_tasks_comes_close_to_students() -> None:
    """Random subsets stand for all of 2 ** 80."""
    values = np.sort(np.random.default_rng(2).normal(3, 10, 80))
    found = sign_flip_ends(values, 0.025, 20_000, 1)
    theirs = stats.t.interval(0.95, 79, loc=values.mean(), scale=values.std(ddof=1) / math.sqrt(80))
    assert found == pytest.approx(theirs, abs=0.3)


def test_the_bayesian_bootstrap_has_rubins_variance() -> None:
    """The mean's posterior variance is the plug-in variance over n + 1 (Rubin 1981)."""
    values = np.sort(np.asarray(DIFFERENCES))
    means = bayesian_means(values, 100_000, seed=1)
    assert means.mean() == pytest.approx(values.mean(), abs=0.03)
    assert means.var() == pytest.approx(values.var() / (len(values) + 1), rel=0.02)


def test_bayesian_shares_are_those_of_the_draws() -> None:
    """Above zero, beyond the threshold on either side, and within; the last three make the whole."""
    found = bayesian_shares(DIFFERENCES, PLAN, 5.0, ("x",))
    assert isinstance(found, BayesianShares)
    assert found.above_zero > found.above_threshold > 0.4
    assert found.above_threshold + found.within_threshold + found.below_minus_threshold == pytest.approx(1)
    for few, word in (([1.0, 2.0], "n = 2"), ([2.0] * 5, "zero variance")):
        refused = bayesian_shares(few, PLAN, 5.0, ("x",))
        assert isinstance(refused, NotEstimable)
        assert word in refused.reason


@pytest.mark.parametrize(
    ("low", "high", "reading"),
    [
        (-2.0, 3.0, EquivalenceReading.EQUIVALENT),
        (6.0, 9.0, EquivalenceReading.BETTER),
        (-9.0, -6.0, EquivalenceReading.WORSE),
        (-4.0, 9.0, EquivalenceReading.NOT_WORSE),
        (-9.0, 4.0, EquivalenceReading.NOT_BETTER),
        (-6.0, 6.0, EquivalenceReading.OPEN),
        (-5.0, 4.0, EquivalenceReading.NOT_BETTER),
        (-4.0, 5.0, EquivalenceReading.NOT_WORSE),
        (5.0, 9.0, EquivalenceReading.NOT_WORSE),
    ],
)
def test_every_interval_has_one_reading(low: float, high: float, reading: EquivalenceReading) -> None:
    """Ends at the threshold count as beyond it."""
    assert reading_of(low, high, 5.0) is reading


def test_equivalence_is_two_one_sided_tests() -> None:
    """On 40 normal quantiles, where the interval is nearly Student's, it agrees with scipy's two t-tests."""
    for centre in (0.0, 2.0, 3.5):
        values = list(8 * stats.norm.ppf((np.arange(40) + 0.5) / 40) + centre)
        found = equivalence(values, PLAN, 5.0, ("x",), ANYWHERE)
        assert isinstance(found, Equivalence)
        assert found.interval.confidence == pytest.approx(0.9)
        theirs = max(
            stats.ttest_1samp(values, -5.0, alternative="greater").pvalue,
            stats.ttest_1samp(values, 5.0, alternative="less").pvalue,
        )
        assert (found.reading is EquivalenceReading.EQUIVALENT) is bool(theirs <= 0.05)
        assert found.sign_flip_share == pytest.approx(theirs, abs=0.02)


def test_the_sign_flip_form_of_equivalence_is_exact() -> None:
    """The larger one-sided share, by brute force."""
    found = equivalence(DIFFERENCES, PLAN, 5.0, ("x",), ANYWHERE)
    assert isinstance(found, Equivalence)
    shares = []
    for shifted in ([value + 5 for value in DIFFERENCES], [5 - value for value in DIFFERENCES]):
        signs = np.array(list(itertools.product((-1, 1), repeat=12)))
        shares.append(float(np.mean(signs @ np.array(shifted) >= sum(shifted) - 1e-9)))
    assert found.sign_flip_share == max(shares)
    assert one_sided_share([5 - value for value in DIFFERENCES], 1) == shares[1]


def test_equivalence_of_too_little_is_not_estimable() -> None:
    """No interval, no equivalence: nothing seen is not nothing there."""
    assert isinstance(equivalence([1.0, 1.0, 1.0], PLAN, 5.0, ("x",), ANYWHERE), NotEstimable)
    with pytest.raises(ValueError, match="threshold"):
        equivalence(DIFFERENCES, PLAN, 0.0, ("x",), ANYWHERE)


def test_power_is_that_of_the_published_example() -> None:
    """34 pairs find half an SD with power 0.8078 (Faul et al. 2007, G*Power's paired t-test)."""
    assert paired_power(0.5, 34, 0.05) == pytest.approx(0.8077775, abs=1e-6)
    assert paired_power(0.0, 12, 0.05) == pytest.approx(0.05)
    critical = stats.t.ppf(0.975, 11)
    tails = stats.nct.sf(critical, 11, math.sqrt(12)), stats.nct.cdf(-critical, 11, math.sqrt(12))
    assert paired_power(1.0, 12, 0.05) == pytest.approx(sum(tails))


@pytest.mark.parametrize(("tasks", "alpha"), [(2, 0.05), (3, 0.01), (12, 0.05), (400, 0.05), (11_000, 0.01)])
def test_the_detectable_effect_has_the_power_asked_for(tasks: int, alpha: float) -> None:
    """Whatever the number of tasks, and it grows with the spread."""
    found = detectable_effect(10.0, tasks, alpha)
    assert isinstance(found, DetectableEffect)
    assert paired_power(found.points / 10, tasks, alpha) == pytest.approx(0.8, abs=1e-6)
    assert found.points_low < found.points < found.points_high
    wider = detectable_effect(20.0, tasks, alpha)
    assert isinstance(wider, DetectableEffect)
    assert wider.points == pytest.approx(2 * found.points)


def test_a_detectable_effect_carries_the_uncertainty_of_its_spread() -> None:
    """The ends are those of the chi-square interval of a standard deviation, by scipy."""
    found = detectable_effect(10.0, 12, 0.05)
    assert isinstance(found, DetectableEffect)
    ratios = [math.sqrt(11 / stats.chi2.ppf(level, 11)) for level in (0.975, 0.025)]
    assert found.points_low == pytest.approx(found.points * ratios[0])
    assert found.points_high == pytest.approx(found.points * ratios[1])


@pytest.mark.parametrize(("sd", "tasks", "word"), [(0.0, 12, "zero variance"), (5.0, 1, "n = 1")])
def test_without_a_spread_nothing_can_be_planned(sd: float, tasks: int, word: str) -> None:
    """Zero is no spread to plan with."""
    found = detectable_effect(sd, tasks, 0.05)
    assert isinstance(found, NotEstimable)
    assert word in found.reason


def test_what_sign_flips_can_attain_depends_on_tasks_and_comparisons() -> None:
    """Six tasks are the fewest for 5 %; five comparisons together need more."""
    assert attainable_share(4, 0.05).smallest_share == 0.125
    assert not attainable_share(4, 0.05).attainable
    assert attainable_share(6, 0.05).attainable
    assert not attainable_share(6, 0.05, comparisons=2).attainable
    assert attainable_share(12, 0.05, comparisons=5).smallest_adjusted == 10 / 4096
    assert attainable_share(4, 0.05).fewest_tasks == 6
    assert attainable_share(4, 0.125).fewest_tasks == 4
    assert attainable_share(0, 0.05).smallest_share == 1.0


def test_holm_gives_the_textbooks_numbers() -> None:
    """The usual example: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02."""
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
    with pytest.raises(ValueError, match="outside"):
        holm({"a": 1.2})


@given(st.dictionaries(st.text(max_size=3), st.floats(min_value=0, max_value=1), min_size=1, max_size=8))
def test_holm_lies_between_the_share_and_bonferroni(shares: dict[str, float]) -> None:
    """It never lowers a share, never exceeds Bonferroni's, and keeps the order."""
    found = holm(shares)
    for name, share in shares.items():
        assert share <= found[name] <= min(1.0, share * len(shares)) or found[name] == max(found.values())
    ordered = sorted(shares, key=lambda name: shares[name])
    assert [found[name] for name in ordered] == sorted(found.values())


def test_comparisons_without_a_share_are_named_and_not_adjusted_for() -> None:
    """One task has no sign-flip share."""
    one = compare([pair("a", [60.0], [50.0], 1)], PLAN, ("x",))
    many = compare([pair(str(n), [60.0 + n], [50.0], 1) for n in range(6)], PLAN, ("x",))
    found = adjustment("families", {"one": one, "many": many})
    assert found.left_out == ("one",)
    assert [(item.name, item.adjusted) for item in found.shares] == [("many", 2 / 64)]


def left_out(differences: dict[str, float]) -> LeaveOneOut:
    """Leaving one out, which must be estimable."""
    interval = bootstrap_interval(list(differences.values()), PLAN, ("x",), ANYWHERE)
    found = leave_one_out(differences, interval, PLAN, ("x",), ANYWHERE)
    assert isinstance(found, LeaveOneOut)
    return found


def test_a_single_task_that_carries_the_result_is_named() -> None:
    """Without the one large gain the mean turns, and so does what the interval says."""
    found = left_out({"big": 60.0, "a": -1.0, "b": -2.0, "c": -3.0, "d": -1.5})
    assert found.most_influential == "big"
    assert found.sign_turns == ("big",)
    assert found.reading_turns == ("big",)
    assert [found.lowest, found.highest] == pytest.approx([-1.875, 13.875])


def test_leaving_out_gives_the_jackknifes_variance() -> None:
    """The spread of the means without one task is that of the mean (Tukey)."""
    found = left_out({str(number): value for number, value in enumerate(DIFFERENCES)})
    means = np.array([item.mean for item in found.without])
    variance = 11 / 12 * float(((means - means.mean()) ** 2).sum())
    assert variance == pytest.approx(float(np.var(DIFFERENCES, ddof=1)) / 12)
    assert all(isinstance(item.interval, IntervalEstimate) for item in found.without)


def test_of_many_tasks_only_the_means_are_computed() -> None:
    """Thirty intervals would say what the means say."""
    found = left_out({str(number): float(number % 7) for number in range(30)})
    assert all(item.interval is None for item in found.without)
    refused = leave_one_out({"a": 1.0, "b": 2.0}, NotEstimable(reason="few"), PLAN, ("x",), ANYWHERE)
    assert isinstance(refused, NotEstimable)


def test_lost_runs_are_compared_task_by_task() -> None:
    """The arm lost a run of three in each of six tasks, the control none: 2 of 64 patterns."""
    found = attrition([pair(str(n), [50.0, 50.0], [50.0] * 3, 3) for n in range(6)], seed=1)
    assert (found.planned, found.arm_missing, found.control_missing) == (18, 6, 0)
    assert found.difference_points == pytest.approx(100 / 3)
    assert isinstance(found.sign_flip, SignFlipReference)
    assert found.sign_flip.two_sided_share == 2 / 64


def test_where_nothing_is_lost_there_is_nothing_to_compare() -> None:
    """Counts of zero are counts, and their reference is not estimable."""
    found = attrition([pair(str(n), [50.0], [50.0], 1) for n in range(6)], seed=1)
    assert (found.arm_missing, found.control_missing, found.difference_points) == (0, 0, 0.0)
    assert isinstance(found.sign_flip, NotEstimable)
