"""The default interval, smoothed and guarded by Student's t; and how often it holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from esac_ag.manifest.draft import DraftInterval
from esac_ag.manifest.plan import Interval, IntervalMethod
from esac_ag.statistics.bootstrap import bootstrap_interval
from esac_ag.statistics.estimates import IntervalEstimate
from esac_ag.statistics.resampling import deviates, exponentials, indices, quantile, raw_rows, resample
from esac_ag.statistics.simulation import EffectShape, PowerDesign, simulate, true_effect_points

ANYWHERE = (-math.inf, math.inf)
DIFFERENCES = [12.5, -3.0, 8.25, 0.5, 21.0, -7.75, 4.0, 15.5, 2.25, -1.0, 9.0, 6.5]


def smoothed(differences: list[float], replicates: int = 2000) -> IntervalEstimate:
    """The default interval, which must be estimable."""
    found = bootstrap_interval(differences, Interval(seed="1", replicates=replicates), ("test",), ANYWHERE)
    assert isinstance(found, IntervalEstimate)
    return found


def students(differences: list[float]) -> tuple[float, float]:
    """Student's interval by scipy."""
    n, mean = len(differences), float(np.mean(differences))
    low, high = stats.t.interval(0.95, n - 1, loc=mean, scale=np.std(differences, ddof=1) / math.sqrt(n))
    return float(low), float(high)


def test_a_draft_and_a_manifest_default_to_the_same_method() -> None:
    """What a draft leaves out is sealed as the method that covers best."""
    assert DraftInterval().method is Interval(seed="1").method is IntervalMethod.STUDENTISED_SMOOTHED


@pytest.mark.parametrize(
    "differences", [DIFFERENCES, [0.0] * 8 + [5.0, 5.0, 10.0, 60.0], [-40.0, 1.0, 2.0], [3.0, 3.0, 3.0, 9.0]]
)
def test_no_end_is_nearer_to_the_mean_than_students(differences: list[float]) -> None:
    """On the short side of skewed data the bootstrap's quantile is too near, so Student's stands."""
    found, (low, high) = smoothed(differences), students(differences)
    assert found.low <= low + 1e-9
    assert found.high >= high - 1e-9


def test_the_long_side_of_skewed_differences_reaches_beyond_students() -> None:
    """A few large gains: the truth may lie far above, and the mirrored data far below."""
    skewed = [0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 8.0, 15.0, 30.0, 60.0]
    half = students(skewed)[1] - float(np.mean(skewed))
    assert smoothed(skewed).high - float(np.mean(skewed)) > 1.3 * half
    turned = [-value for value in skewed]
    assert float(np.mean(turned)) - smoothed(turned).low > 1.3 * half


def test_lumpy_differences_have_an_interval() -> None:
    """Ten equal differences of twelve, where the plain studentised interval has no finite end."""
    found = smoothed([0.0] * 10 + [10.0, 20.0])
    assert found.degenerate_replicates == 0
    assert found.low < 2.5 < found.high


def test_smoothed_resamples_have_the_variance_of_the_sample() -> None:
    """Plain ones are short by (n - 1) / n; the kernel of s / sqrt(n) makes up for it."""
    values = np.sort(np.asarray(DIFFERENCES))
    n, variance = len(values), float(np.var(values, ddof=1))
    plain = resample(values, 200_000, seed=1)
    kernel = resample(values, 200_000, seed=1, kernel_sd=math.sqrt(variance / n))
    assert np.var(plain.means) == pytest.approx(variance * (n - 1) / n / n, rel=0.02)
    assert np.var(kernel.means) == pytest.approx(variance / n, rel=0.02)
    assert np.mean(kernel.standard_errors**2) == pytest.approx(variance / n, rel=0.02)


def test_draws_have_the_distributions_that_they_are_named_for() -> None:
    """Normal deviates, exponentials and indices, by scipy's tests, from one seed."""
    (_, raw) = next(raw_rows(1, 50_000, seed=5))
    assert stats.kstest(deviates(raw[0]), "norm").pvalue > 0.01
    assert stats.kstest(exponentials(raw[0]), "expon").pvalue > 0.01
    assert stats.chisquare(np.bincount(indices(raw[0], 12), minlength=12)).pvalue > 0.01
    assert abs(np.corrcoef(indices(raw[0], 12), deviates(raw[0]))[0, 1]) < 0.02


def test_a_quantile_is_numpys() -> None:
    """Type 7 of Hyndman & Fan."""
    ordered = np.sort(np.asarray(DIFFERENCES))
    for level in (0.0, 0.025, 0.5, 0.9, 1.0):
        assert quantile(ordered, level) == pytest.approx(float(np.quantile(ordered, level)))


def a_design(shape: EffectShape, run_sd: float = 10.0) -> PowerDesign:
    """12 tasks x 3 repetitions, as a primary study."""
    return PowerDesign(
        tasks=12, repetitions=3, effect_points=5.0, task_sd_points=10.0, run_sd_points=run_sd, shape=shape
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", list(EffectShape))
def test_the_default_covers_as_it_says_at_the_size_of_a_primary_study(shape: EffectShape) -> None:
    """Of 3,000 studies of each shape 93 to 97 % hold the truth (one standard error is 0.4 points)."""
    design = a_design(shape)
    truth, held = true_effect_points(design), 0
    for study in simulate(design, Interval(replicates=599, seed="2026"), 3000):
        assert isinstance(study.interval, IntervalEstimate)
        held += study.interval.low <= truth <= study.interval.high
    assert 0.93 <= held / 3000 <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("method", [IntervalMethod.PERCENTILE, IntervalMethod.BCA, IntervalMethod.BAYESIAN])
def test_methods_that_fall_short_are_no_default(method: IntervalMethod) -> None:
    """With 12 tasks they hold the truth in fewer than 93 of 100 studies, even with normal effects."""
    held = 0
    for study in simulate(
        a_design(EffectShape.NORMAL), Interval(method=method, replicates=599, seed="9"), 1500
    ):
        assert isinstance(study.interval, IntervalEstimate)
        held += study.interval.low <= 5.0 <= study.interval.high
    assert held / 1500 < 0.93


@pytest.mark.slow
def test_the_default_covers_purely_exponential_differences() -> None:
    """Skewness 2 and no noise of runs to soften it."""
    rng, plan, held = np.random.default_rng(11), Interval(replicates=599, seed="1"), 0
    for number in range(3000):
        found = bootstrap_interval(list(rng.exponential(10.0, 12)), plan, (str(number),), ANYWHERE)
        assert isinstance(found, IntervalEstimate)
        held += found.low <= 10.0 <= found.high
    assert 0.93 <= held / 3000 <= 0.97


def test_repetitions_taken_as_independent_cover_too_little() -> None:
    """36 differences of runs are not 36 tasks: Student's interval over them holds the truth too rarely."""
    design, wrong, right = a_design(EffectShape.NORMAL, run_sd=5.0), 0, 0
    for study in simulate(design, Interval(replicates=199, seed="7"), 1000):
        low, high = students(list(map(float, (study.arm - study.control).ravel())))
        wrong += low <= 5.0 <= high
        low, high = students(list(study.differences))
        right += low <= 5.0 <= high
    assert wrong / 1000 < 0.8
    assert right / 1000 > 0.93
