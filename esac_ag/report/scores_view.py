"""Scores in a report as records: of check scores, and of the quality scores of a review."""

from __future__ import annotations

from enum import StrEnum

from esac_ag.attempt import Outcome
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Record
from esac_ag.statistics.aggregate import RunSummary
from esac_ag.statistics.estimates import MaybeEstimate, MaybeInterval, NotEstimable
from esac_ag.statistics.pairs import PairedComparison, TaskPair


class RunState(StrEnum):
    """What there is of a planned cell."""

    GRADED = "graded"
    """An attempt counts and has a score."""
    INVALID = "invalid"
    """An attempt counts, and the grader could not judge it: no score."""
    UNGRADED = "ungraded"
    """An attempt counts and waits for grading."""
    MISSING = "missing"
    """No attempt counts."""
    STOPPED = "stopped"
    """No attempt counts, and none will: the arm was stopped by rule. A missing run in every statistic."""

    __hash__ = str.__hash__
    """As of `Dimension`."""


class ArmScores(Record):
    """The score of an arm: the mean over tasks of the means over repetitions."""

    arm: str
    agent_kind: AgentKind
    tasks_planned: int
    tasks_scored: int
    """Tasks with at least one score; means over different tasks are not comparable."""
    mean: MaybeEstimate
    interval: MaybeInterval = NotEstimable(reason="reports of before had no interval of an arm's own mean")
    """Of this arm's own mean, over tasks. Arms share their tasks, so whether two of them differ is for the
    paired difference to say, and not for intervals that overlap or do not."""


class Run(Record):
    """One planned cell and the score of the attempt that counts."""

    repetition: int
    state: RunState
    attempt_id: str | None
    outcome: Outcome | None
    score: float | None
    """0 to 100; null unless the state is graded."""


class DimensionSummary(Record):
    """Share of passed checks of one dimension, 0 to 100; one task's runs, or an arm's tasks."""

    dimension: Dimension
    summary: RunSummary


class TaskArm(Record):
    """The runs of one task under one arm."""

    task: str
    title: str
    family: str
    contrast: str
    arm: str
    agent_kind: AgentKind
    runs: tuple[Run, ...]
    summary: RunSummary
    dimensions: tuple[DimensionSummary, ...]
    """Dimensions that the task's checks have."""


class DimensionComparison(Record):
    """One dimension of an arm: mean over tasks, and the mean paired difference to the control."""

    arm: str
    agent_kind: AgentKind
    dimension: Dimension
    tasks_scored: int
    mean: MaybeEstimate
    tasks_paired: int
    difference: MaybeEstimate
    """Arm minus control over the paired tasks; not estimable for the control itself."""


class GroupComparison(Record):
    """A paired comparison over the tasks of one family or of one contrast."""

    group: str
    tasks: tuple[str, ...]
    result: PairedComparison


class ArmComparison(Record):
    """An arm against the control."""

    arm: str
    control: str
    agent_kind: AgentKind
    primary: bool
    """Whether the manifest names it as the primary comparison."""
    pairs: tuple[TaskPair, ...]
    overall: PairedComparison
    families: tuple[GroupComparison, ...]
    contrasts: tuple[GroupComparison, ...]
    words: tuple[str, ...]
    """What a reader has to know of this comparison, in sentences."""


class CriticalCount(Record):
    """Critical failures of an arm; they stand outside every mean."""

    arm: str
    agent_kind: AgentKind
    graded: int
    """Runs that could show any: the graded ones, or those with a quality score when a review is counted."""
    runs_with_any: int
    by_kind: dict[CriticalFailure, int]
    """Runs by kind of failure; kinds that did not occur are left out."""


class CriticalRun(Record):
    """One critical failure of one run, by its hidden checks or by its review."""

    arm: str
    agent_kind: AgentKind
    task: str
    repetition: int
    attempt_id: str
    kind: CriticalFailure
