"""The scores that a report shows: quality scores where a review gave them, and check scores always."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from esac_ag.report.numbers import NOT_ESTIMABLE
from esac_ag.report.sensitivity_view import StudySensitivity
from esac_ag.report.view import (
    ArmComparison,
    ArmScores,
    CriticalCount,
    CriticalRun,
    DimensionComparison,
    ReportView,
    Run,
    RunState,
    TaskArm,
)
from esac_ag.report.words import review_mark
from esac_ag.statistics.estimates import Estimate, NotEstimable


@dataclass(frozen=True)
class Measured:
    """One kind of score over the whole study."""

    name: str
    """`quality` or `checks`."""
    words: str
    scores: tuple[ArmScores, ...]
    comparisons: tuple[ArmComparison, ...]
    task_arms: tuple[TaskArm, ...]
    dimensions: tuple[DimensionComparison, ...]
    sensitivity: StudySensitivity | None
    critical_counts: tuple[CriticalCount, ...]
    critical_runs: tuple[CriticalRun, ...]
    mark: str = ""
    """What has to stand beside every use of the scores: that they are provisional, or a rehearsal."""

    @cached_property
    def by_task_and_arm(self) -> dict[tuple[str, str], TaskArm]:
        """The runs of a task under an arm."""
        return {(item.task, item.arm): item for item in self.task_arms}

    @property
    def found_by(self) -> str:
        """Who names the critical failures."""
        return f"the review{self.mark}" if self.name == "quality" else "hidden checks"

    @property
    def titled(self) -> str:
        """Its words with their mark."""
        return f"{self.words}{self.mark}"


def measures(view: ReportView) -> Iterator[Measured]:
    """Quality first, for the protocol decides on it."""
    if view.review is not None:
        yield Measured(
            "quality",
            "quality score",
            view.review.scores,
            view.review.comparisons,
            view.review.task_arms,
            view.review.dimensions,
            view.review.sensitivity,
            view.review.critical_counts,
            view.review.critical_runs,
            review_mark(view.review),
        )
    yield Measured(
        "checks",
        "check score",
        view.scores,
        view.comparisons,
        view.task_arms,
        view.dimensions,
        view.sensitivity,
        view.critical_counts,
        view.critical_runs,
    )


def ranked(scores: tuple[ArmScores, ...]) -> list[ArmScores]:
    """The highest mean first; arms without one come last, in the manifest's order."""

    def place(item: ArmScores) -> tuple[bool, float]:
        known = isinstance(item.mean, Estimate)
        return (not known, -item.mean.value if isinstance(item.mean, Estimate) else 0.0)

    return sorted(scores, key=place)


def unscored(item: TaskArm) -> str:
    """Runs without a score in words: `1 missing, 1 invalid`; empty where all have one."""
    counts: dict[str, int] = {}
    for run in item.runs:
        if run.score is None:
            counts[without_score(run)] = counts.get(without_score(run), 0) + 1
    return ", ".join(f"{count} {words}" for words, count in counts.items())


def without_score(run: Run) -> str:
    """Why a run has no score."""
    return "without quality score" if run.state is RunState.GRADED else run.state.value


def reason_of(value: object) -> str:
    """`not estimable: reason`, or nothing for what is estimable."""
    return f"{NOT_ESTIMABLE}: {value.reason}" if isinstance(value, NotEstimable) else ""
