"""Hierarchical and crossed bootstraps against closed forms and plain loops."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from esac_ag.manifest.plan import Interval
from esac_ag.statistics.crossed import Block, crossed_interval
from esac_ag.statistics.estimates import NotEstimable
from esac_ag.statistics.hierarchical import ResampledInterval, TaskRuns, hierarchical_interval

PLAN = Interval(replicates=20_000, seed="1")
Floats = npt.NDArray[np.float64]


def tasks_of(
    count: int, runs: int = 3, strata: int = 1, gap: float = 0.0, run_sd: float = 6.0
) -> list[TaskRuns]:
    """Tasks whose effects differ by 5 points, and by `gap` from stratum to stratum."""
    rng = np.random.default_rng(3)
    found = []
    for number in range(count):
        effect = 5 * rng.standard_normal() + gap * (number % strata)
        arm, control = run_sd * rng.standard_normal((2, runs))
        found.append(TaskRuns(f"t{number}", f"s{number % strata}", tuple(arm + effect), tuple(control)))
    return found


def half_width(found: ResampledInterval | NotEstimable) -> float:
    """Half of an interval that must be there."""
    assert isinstance(found, ResampledInterval)
    return (found.high - found.low) / 2


def test_the_hierarchical_variance_is_that_of_both_levels() -> None:
    """Plug-in variances of differences and redrawn runs, over n (Davison & Hinkley 1997, section 3.8)."""
    tasks = tasks_of(60)
    differences = [np.mean(item.arm) - np.mean(item.control) for item in tasks]
    runs = np.mean([(np.var(item.arm) + np.var(item.control)) / 3 for item in tasks])
    expected = 1.96 * math.sqrt((np.var(differences) + runs) / 60)
    found = hierarchical_interval(tasks, PLAN, ("x",))
    assert half_width(found) == pytest.approx(expected, rel=0.03)
    assert isinstance(found, ResampledInterval)
    assert found.mean == pytest.approx(float(np.mean(differences)))
    assert found.units == {"tasks": 60, "runs": 360}


def test_strata_take_their_difference_out_of_the_interval() -> None:
    """Families 30 points apart: within families no resample has more of one than the study."""
    tasks = tasks_of(24, strata=2, gap=30.0)
    loose = half_width(hierarchical_interval(tasks, PLAN, ("x",)))
    strict = half_width(hierarchical_interval(tasks, PLAN, ("x",), stratified=True))
    assert strict < 0.6 * loose
    parts = [tasks[0::2], tasks[1::2]]
    variance = 0.0
    for part in parts:
        differences = [np.mean(item.arm) - np.mean(item.control) for item in part]
        runs = np.mean([(np.var(item.arm) + np.var(item.control)) / 3 for item in part])
        variance += (np.var(differences) + runs) / 12 / 4
    assert strict == pytest.approx(1.96 * math.sqrt(variance), rel=0.04)


def test_tasks_may_have_unequal_runs_and_come_in_any_order() -> None:
    """A lost run changes that task's weight of runs and nothing else."""
    tasks = [TaskRuns("a", "s", (1.0, 2.0, 9.0), (0.0,)), *tasks_of(5)]
    assert hierarchical_interval(tasks, PLAN, ("x",)) == hierarchical_interval(tasks[::-1], PLAN, ("x",))


def test_large_studies_get_fewer_replicates_and_say_so() -> None:
    """The draws of one interval are bounded; the record tells how many replicates there were."""
    found = hierarchical_interval(tasks_of(300, runs=40), PLAN, ("x",))
    assert isinstance(found, ResampledInterval)
    assert 200 <= found.replicates < 20_000


@pytest.mark.parametrize(
    ("tasks", "stratified", "word"),
    [
        (tasks_of(2), False, "at least 3"),
        (tasks_of(5), True, "all tasks are of one stratum"),
        (tasks_of(3, strata=2), True, "single paired task in s1"),
        ([TaskRuns(name, "s", (5.0,), (0.0,)) for name in "abc"], False, "zero variance"),
    ],
)
def test_what_a_hierarchy_cannot_show_has_a_reason(
    tasks: list[TaskRuns],
    stratified: bool,  # noqa: FBT001
    word: str,
) -> None:
    """Never an interval of no width, and never a stratum that is known without error."""
    found = hierarchical_interval(tasks, PLAN, ("x",), stratified=stratified)
    assert isinstance(found, NotEstimable)
    assert word in found.reason


def test_a_task_without_runs_is_refused() -> None:
    """A missing mean is not a zero."""
    with pytest.raises(ValueError, match="no run"):
        hierarchical_interval([TaskRuns("a", "s", (), (1.0,))], PLAN, ("x",))


def blocks_of(count: int, strata: int = 1, mirrored: int = 1) -> list[Block]:
    """Blocks in turn over the strata, with as many mirrored ones in a group."""
    return [
        Block(f"b{number}", f"s{number % strata}", f"m{number // strata // mirrored}")
        for number in range(count)
    ]


def scores_of(runs: int, blocks: int, seed: int = 4) -> Floats:
    """Runs differ by 8, blocks by 10, cells by 2."""
    rng = np.random.default_rng(seed)
    rows, columns = 8 * rng.standard_normal((runs, 1)), 10 * rng.standard_normal((1, blocks))
    found: Floats = 50 + rows + columns + 2 * rng.standard_normal((runs, blocks))
    return found


def test_the_crossed_interval_is_that_of_plain_loops() -> None:
    """Rows and columns drawn by numpy, one resample after the other (Owen 2007)."""
    scores = scores_of(6, 9)
    rng = np.random.default_rng(5)
    means = [scores[np.ix_(rng.integers(0, 6, 6), rng.integers(0, 9, 9))].mean() for _ in range(20_000)]
    found = crossed_interval(scores.tolist(), blocks_of(9), PLAN, ("x",))
    assert isinstance(found, ResampledInterval)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.4)
    assert found.mean == pytest.approx(float(scores.mean()))
    assert found.units == {"runs": 6, "blocks": 9, "mirror_groups": 9}


def test_mirrors_that_cancel_leave_no_luck_of_blocks() -> None:
    """Each block and its mirror sum to the same: drawn together, only the runs vary."""
    luck = np.array([[30.0, -30.0, 12.0, -12.0, 5.0, -5.0]])
    runs = np.array([[40.0], [50.0], [60.0], [55.0]])
    scores = (runs + luck).tolist()
    together = crossed_interval(scores, blocks_of(6, mirrored=2), PLAN, ("x",))
    apart = crossed_interval(scores, blocks_of(6), PLAN, ("x",))
    rows = np.random.default_rng(6).choice(runs.ravel(), (20_000, 4)).mean(axis=1)
    low, high = np.quantile(rows, [0.025, 0.975])
    assert half_width(together) == pytest.approx((high - low) / 2, rel=0.05)
    assert half_width(apart) > 1.5 * half_width(together)


def test_strata_keep_their_weights() -> None:
    """Maps of unlike difficulty: the mean is weighted as declared, their gap is no uncertainty."""
    blocks = blocks_of(8, strata=2)
    level = np.array([20.0 if block.stratum == "s0" else 80.0 for block in blocks])
    scores = (level + np.array([[-1.0], [0.0], [2.0]])).tolist()
    found = crossed_interval(scores, blocks, PLAN, ("x",), weights={"s0": 3.0, "s1": 1.0})
    assert isinstance(found, ResampledInterval)
    assert found.mean == pytest.approx(0.75 * 20 + 0.25 * 80 + 1 / 3)
    assert half_width(found) < 2
    assert half_width(crossed_interval(scores, blocks_of(8), PLAN, ("x",))) > 10


def test_a_difference_of_systems_shares_the_blocks() -> None:
    """The blocks' luck cancels between systems that met the same ones, and the runs' does not."""
    ours, theirs = scores_of(5, 12), scores_of(5, 12)
    theirs = theirs - 3.0
    paired = crossed_interval(ours.tolist(), blocks_of(12), PLAN, ("x",), control=theirs.tolist())
    assert isinstance(paired, ResampledInterval)
    assert paired.mean == pytest.approx(3.0)
    assert half_width(paired) > 3
    same_runs = np.tile(ours.mean(axis=0), (5, 1))
    flat = crossed_interval(
        (same_runs + np.arange(5)[:, None]).tolist(), blocks_of(12), PLAN, ("x",), control=same_runs.tolist()
    )
    rows = np.random.default_rng(8).choice(np.arange(5.0), (20_000, 5)).mean(axis=1)
    low, high = np.quantile(rows, [0.025, 0.975])
    assert half_width(flat) == pytest.approx((high - low) / 2, rel=0.05)


@pytest.mark.parametrize(
    ("scores", "blocks", "word"),
    [
        ([[1.0, 2.0, 3.0]], blocks_of(3), "a single run cannot estimate"),
        ([[1.0, 2.0, None], [2.0, 3.0, 4.0]], blocks_of(3), "1 scores are missing"),
        ([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]], blocks_of(3, strata=2), "single block, or mirror group, in s1"),
        ([[1.0, 1.0], [1.0, 1.0]], blocks_of(2), "zero variance"),
    ],
)
def test_absent_crossed_intervals_stay_unavailable(
    scores: list[list[float | None]], blocks: list[Block], word: str
) -> None:
    """One run, a gap, or one block has no variance to show; gaps never shrink the denominator."""
    found = crossed_interval(scores, blocks, PLAN, ("x",))
    assert isinstance(found, NotEstimable)
    assert word in found.reason


def test_a_crossed_design_that_does_not_fit_is_refused() -> None:
    """Rows of another length, blocks twice, and weights of other strata are faults of the caller."""
    blocks = blocks_of(2)
    for scores, given, weights in (
        ([[1.0]], blocks, None),
        ([[1.0, 2.0]], [blocks[0], blocks[0]], None),
        ([[1.0, 2.0]], blocks, {"other": 1.0}),
    ):
        with pytest.raises(ValueError):
            crossed_interval(scores, given, PLAN, ("x",), weights=weights)
