"""Bootstrap intervals against scipy, exact enumeration and closed forms, and their invariances."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable

ANYWHERE = (-math.inf, math.inf)
METHODS = list(IntervalMethod)
DIFFERENCES = [12.5, -3.0, 8.25, 0.5, 21.0, -7.75, 4.0, 15.5, 2.25, -1.0, 9.0, 6.5]
"""Twelve tasks, somewhat skewed."""

SPREAD_OUT = st.lists(st.integers(min_value=-100, max_value=100), min_size=8, max_size=12, unique=True).map(
    lambda values: [float(value) for value in values]
)


def interval(
    differences: list[float],
    method: IntervalMethod,
    *,
    replicates: int = 2000,
    seed: str = "1",
    confidence: float = 0.95,
    possible: tuple[float, float] = ANYWHERE,
) -> IntervalEstimate:
    """The interval, which must be estimable."""
    plan = Interval(method=method, replicates=replicates, seed=seed, confidence=confidence)
    found = bootstrap_interval(differences, plan, ("test",), possible)
    assert isinstance(found, IntervalEstimate)
    return found


@pytest.mark.parametrize(
    ("method", "name"), [(IntervalMethod.BCA, "BCa"), (IntervalMethod.PERCENTILE, "percentile")]
)
def test_the_interval_agrees_with_scipy(method: IntervalMethod, name: Literal["BCa", "percentile"]) -> None:
    """With 200,000 replicates on both sides only resampling noise is left."""
    theirs = stats.bootstrap(
        (DIFFERENCES,),
        lambda sample, axis: np.mean(sample, axis=axis),
        n_resamples=200_000,
        method=name,
        rng=np.random.default_rng(7),
        batch=20_000,
    ).confidence_interval
    ours = interval(DIFFERENCES, method, replicates=200_000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.1)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_percentile_interval_agrees_with_all_resamples(confidence: float) -> None:
    """Five values have 3125 equally likely resamples; their quantiles are the exact answer."""
    values = [1.0, 2.0, 4.5, 9.0, 17.0]
    means = sorted(sum(drawn) / 5 for drawn in itertools.product(values, repeat=5))
    tail = (1 - confidence) / 2
    exact = np.quantile(means, [tail, 1 - tail])
    ours = interval(values, IntervalMethod.PERCENTILE, replicates=200_000, confidence=confidence)
    assert (ours.low, ours.high) == pytest.approx(tuple(exact), abs=0.21)


def test_the_studentised_interval_agrees_with_all_resamples() -> None:
    """Every resample of five values, its t by the textbook's formula, and the interval turned around."""
    values = [1.0, 2.0, 4.5, 9.0, 17.0]
    centre, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(5)
    t = []
    for drawn in itertools.product(values, repeat=5):
        spread = np.std(drawn, ddof=1) / math.sqrt(5)
        off = np.mean(drawn) - centre
        t.append(off / spread if spread > 1e-12 else math.copysign(math.inf, off))
    ours = interval(values, IntervalMethod.STUDENTISED, replicates=200_000, confidence=0.8)
    for end, level in ((ours.low, 0.9), (ours.high, 0.1)):
        # The distribution has jumps: the exact quantile is where its steps pass the level.
        quantile = (centre - end) / error
        assert np.mean(np.array(t) < quantile - 1e-6) <= level + 0.003
        assert np.mean(np.array(t) <= quantile + 1e-6) >= level - 0.003


def test_the_acceleration_is_that_of_the_jackknife() -> None:
    """Without bias the BCa levels follow from the acceleration alone: here it is recomputed one by one."""
    values = np.array(DIFFERENCES)
    jackknife = np.array([np.delete(values, place).mean() for place in range(len(values))])
    deviations = jackknife.mean() - jackknife
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    means = np.sort(np.random.default_rng(3).choice(values, (200_000, len(values))).mean(axis=1))
    bias = stats.norm.ppf(np.mean(means < values.mean()) + np.mean(means == values.mean()) / 2)
    levels = [
        stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        for z in (stats.norm.ppf(0.025), stats.norm.ppf(0.975))
    ]
    ours = interval(DIFFERENCES, IntervalMethod.BCA, replicates=200_000)
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(means, levels)), abs=0.1)


def test_the_studentised_interval_comes_close_to_students_on_normal_data() -> None:
    """Forty values at normal quantiles: the bootstrap's t is nearly Student's."""
    values = list(10 * stats.norm.ppf((np.arange(40) + 0.5) / 40) + 3)
    half = stats.t.ppf(0.975, 39) * np.std(values, ddof=1) / math.sqrt(40)
    ours = interval(values, IntervalMethod.STUDENTISED, replicates=100_000)
    assert (ours.low, ours.high) == pytest.approx((3 - half, 3 + half), abs=0.15)


@pytest.mark.parametrize("method", METHODS)
@given(differences=SPREAD_OUT, shift=st.floats(min_value=-50, max_value=50))
@settings(max_examples=15)
def test_shifting_all_differences_shifts_the_interval(
    method: IntervalMethod, differences: list[float], shift: float
) -> None:
    """The draws depend on the seed alone, so the equivariance is exact."""
    here = interval(differences, method, replicates=500)
    there = interval([value + shift for value in differences], method, replicates=500)
    assert (there.low, there.high) == pytest.approx((here.low + shift, here.high + shift), abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@given(differences=SPREAD_OUT, factor=st.floats(min_value=0.1, max_value=5))
@settings(max_examples=15)
def test_scaling_all_differences_scales_the_interval(
    method: IntervalMethod, differences: list[float], factor: float
) -> None:
    """Points or shares: the unit makes no difference."""
    here = interval(differences, method, replicates=500)
    there = interval([value * factor for value in differences], method, replicates=500)
    assert (there.low, there.high) == pytest.approx((here.low * factor, here.high * factor), abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@given(differences=SPREAD_OUT, shuffler=st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_the_order_of_tasks_changes_nothing(
    method: IntervalMethod, differences: list[float], shuffler: object
) -> None:
    """A mean knows no order, and neither do the draws."""
    shuffled = sorted(differences, key=lambda value: hash((value, str(shuffler))))
    assert interval(shuffled, method, replicates=200) == interval(differences, method, replicates=200)


@pytest.mark.parametrize("method", METHODS)
def test_turning_all_signs_mirrors_the_interval(method: IntervalMethod) -> None:
    """Control minus arm is the mirror image, up to the noise of 100,000 replicates."""
    here = interval(DIFFERENCES, method, replicates=100_000)
    there = interval([-value for value in DIFFERENCES], method, replicates=100_000)
    assert (there.low, there.high) == pytest.approx((-here.high, -here.low), abs=0.2)


@pytest.mark.parametrize("method", [item for item in METHODS if item is not IntervalMethod.SIGN_FLIP])
def test_the_interval_follows_from_its_seed_and_stream(method: IntervalMethod) -> None:
    """Same names, same bytes; another seed or stream, other draws."""
    plan = Interval(method=method, replicates=300, seed="1")
    first = bootstrap_interval(DIFFERENCES, plan, ("a",), ANYWHERE)
    assert bootstrap_interval(DIFFERENCES, plan, ("a",), ANYWHERE) == first
    other_stream = bootstrap_interval(DIFFERENCES, plan, ("b",), ANYWHERE)
    other_seed = interval(DIFFERENCES, method, replicates=300, seed="2")
    ends = [(found.low, found.high) for found in (first, other_stream) if isinstance(found, IntervalEstimate)]
    assert len({*ends, (other_seed.low, other_seed.high)}) == 3


@pytest.mark.parametrize(
    ("method", "low", "high"),
    [
        (IntervalMethod.BCA, 1.43932159, 10.35151575),
        (IntervalMethod.STUDENTISED, 0.837708386, 11.474056878),
        (IntervalMethod.PERCENTILE, 1.2078125, 10.146354167),
        (IntervalMethod.STUDENTISED_SMOOTHED, 0.442701524, 11.272396859),
        (IntervalMethod.BAYESIAN, 1.601621963, 9.875747228),
        (IntervalMethod.SIGN_FLIP, 0.45, 10.9),
    ],
)
def test_the_interval_has_the_same_digits_for_ever(method: IntervalMethod, low: float, high: float) -> None:
    """A sealed seed gives the sealed interval on every platform and version of numpy."""
    found = interval(DIFFERENCES, method, replicates=1000, seed="2026")
    assert (found.low, found.high) == (low, high)


def test_chunks_of_draws_do_not_change_the_stream() -> None:
    """The first replicates of a long bootstrap are those of a short one: chunks are only memory."""
    many = [float(number % 17) for number in range(3000)]
    plan = Interval(method=IntervalMethod.PERCENTILE, replicates=1000, seed="1")
    found = bootstrap_interval(many, plan, ("x",), ANYWHERE)
    assert isinstance(found, IntervalEstimate)
    half = 1.96 * np.std(many, ddof=1) / math.sqrt(3000)
    assert (found.low, found.high) == pytest.approx((np.mean(many) - half, np.mean(many) + half), abs=0.03)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("differences", "word"),
    [
        ([], "no task has a pair"),
        ([5.0], "n = 1"),
        ([5.0, 9.0], "n = 2"),
        ([5.0, 5.0, 5.0], "zero variance"),
        ([0.3, 0.1 + 0.2, 0.3], "zero variance"),
    ],
)
def test_where_resampling_shows_nothing_the_reason_is_told(
    method: IntervalMethod, differences: list[float], word: str
) -> None:
    """Too few tasks or no variance (up to rounding): not estimable, never NaN, never a point."""
    found = bootstrap_interval(differences, Interval(method=method, seed="1"), ("test",), ANYWHERE)
    assert isinstance(found, NotEstimable)
    assert word in found.reason


def test_a_studentised_end_without_variance_behind_it_is_not_estimable() -> None:
    """With ten equal differences of twelve, one resample in nine has no variance at all."""
    plan = Interval(method=IntervalMethod.STUDENTISED, seed="1")
    found = bootstrap_interval([0.0] * 10 + [10.0, 20.0], plan, ("test",), ANYWHERE)
    assert isinstance(found, NotEstimable)
    assert "no variance" in found.reason


def test_rare_resamples_without_variance_are_counted_and_kept() -> None:
    """They widen the studentised interval instead of vanishing from it."""
    found = interval(
        [0.0] * 6 + [5.0, 10.0, 15.0, 20.0, 25.0, 30.0], IntervalMethod.STUDENTISED, replicates=50_000
    )
    assert found.degenerate_replicates == pytest.approx(50_000 * 0.5**12, abs=25)
    assert found.low < found.high


def test_ends_beyond_the_possible_range_are_cut_and_marked() -> None:
    """Four wide differences: the studentised interval would leave -100 to 100."""
    plan = Interval(method=IntervalMethod.STUDENTISED, seed="1")
    found = bootstrap_interval([-60.0, -20.0, 45.0, 80.0], plan, ("test",), (-100.0, 100.0))
    assert isinstance(found, IntervalEstimate)
    assert (found.low, found.high, found.cut) == (-100.0, 100.0, True)
    assert not interval(DIFFERENCES, IntervalMethod.BCA, possible=(-100.0, 100.0)).cut


def test_extreme_skew_is_not_estimable_by_bca_rather_than_wrong() -> None:
    """Far out in the tail, with one outlier among many zeros, the correction has no solution."""
    plan = Interval(method=IntervalMethod.BCA, seed="1", confidence=1 - 1e-10, replicates=1000)
    found = bootstrap_interval([0.0] * 200 + [100.0], plan, ("test",), ANYWHERE)
    assert isinstance(found, NotEstimable)


def test_what_is_not_finite_is_refused() -> None:
    """NaN never enters a bootstrap."""
    with pytest.raises(ValueError, match="not finite"):
        bootstrap_interval([1.0, 2.0, float("nan")], Interval(seed="1"), ("test",), ANYWHERE)


def test_the_studentised_interval_covers_at_the_size_of_a_primary_study() -> None:
    """Of 400 studies with 12 normal differences about 95 % hold the truth (four standard errors wide)."""
    rng = np.random.default_rng(2026)
    plan = Interval(method=IntervalMethod.STUDENTISED, replicates=999, seed="1")
    held = 0
    for study in range(400):
        found = bootstrap_interval(list(rng.normal(5.0, 10.0, 12)), plan, (str(study),), ANYWHERE)
        assert isinstance(found, IntervalEstimate)
        held += found.low <= 5.0 <= found.high
    assert 0.905 <= held / 400 <= 0.99
