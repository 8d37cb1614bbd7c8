"""The report as records: computed once, shown by every renderer. Schema: `ReportView.model_json_schema()`."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from esac_ag.attempt import Costs, LimitKind, Outcome
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.manifest.plan import AgentKind, Image, IntervalMethod, Model, Phase
from esac_ag.record import Record, Sha256
from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.manipulation_view import ManipulationCheck
from esac_ag.report.review_view import ReviewResults
from esac_ag.report.scores_view import (
    ArmComparison,
    ArmScores,
    CriticalCount,
    CriticalRun,
    DimensionComparison,
    DimensionSummary,
    GroupComparison,
    Run,
    RunState,
    TaskArm,
)
from esac_ag.report.sensitivity_view import StudySensitivity
from esac_ag.report.standing import Revision, StoppedArm
from esac_ag.statistics.estimates import MaybeEstimate

__all__ = [
    "ArmComparison",
    "ArmCosts",
    "ArmCounts",
    "ArmScores",
    "AttemptRow",
    "Baseline",
    "CheckFailures",
    "CheckTally",
    "CostMean",
    "CostMeasure",
    "CriticalCount",
    "CriticalRun",
    "DimensionComparison",
    "DimensionSummary",
    "GroupComparison",
    "Header",
    "Incidents",
    "Method",
    "NextStep",
    "PriceNote",
    "ReportView",
    "Run",
    "RunState",
    "TaskArm",
    "TaskBaseline",
]


class Header(Record):
    """What was sealed and what ran."""

    study_id: str
    phase: Phase
    manifest_sha256: Sha256
    model: Model
    agent_kind: AgentKind
    agent_program: str | None = None
    """Name of the command-line agent; null for other kinds."""
    agent_version: str
    harness_version: str
    harness_revision: str
    harness_dirty: bool
    images: dict[str, Image]
    """By role: agent, grader."""
    control: str
    primary_arm: str
    tasks: int
    arms: int
    repetitions: int
    first_started_at: str | None
    """Start of the earliest attempt; null when nothing ran."""
    last_ended_at: str | None


class ArmCounts(Record):
    """Cells and attempts of an arm. planned = graded + invalid + ungraded + missing + stopped."""

    arm: str
    agent_kind: AgentKind
    planned: int
    graded: int
    completed: int
    """Graded, and the agent ended by itself. graded = completed + limit + agent_error."""
    limit: int
    """Graded, and a budget was used up."""
    agent_error: int
    """Graded, and the agent ended abnormally."""
    invalid: int
    ungraded: int
    missing: int
    stopped: int = 0
    """Not launched, because the arm was stopped by rule."""
    infra_attempts: int
    """Attempts that the infrastructure spoiled; they are no cells."""
    cancelled_attempts: int
    unchanged: int = 0
    """Runs that count and whose submission is the untouched snapshot: no line changed, no file touched."""


class TaskBaseline(Record):
    """What the untouched snapshot of a task scores on its hidden checks, as its proof tells."""

    task: str
    score: MaybeEstimate
    """0 to 100."""
    failed_checks: tuple[str, ...]
    """Labels; empty when they are not known."""


class Baseline(Record):
    """The score of doing nothing, beside which every arm's score is to be read."""

    tasks: tuple[TaskBaseline, ...]
    tasks_known: int
    mean: MaybeEstimate
    """Over the tasks where it is known."""


class CheckTally(Record):
    """In how many graded runs of a task under an arm a check failed."""

    arm: str
    failed: int
    graded: int


class CheckFailures(Record):
    """A hidden check that failed in at least one run."""

    task: str
    check: str
    """Its label, such as `behaviour-2`, the second of its dimension: ids of hidden checks stay private."""
    dimension: Dimension
    critical: CriticalFailure | None
    """What a failure of it counts as; null when it counts in the score alone."""
    arms: tuple[CheckTally, ...]


class CostMeasure(StrEnum):
    """What is counted as a cost, apart from any score."""

    LATENCY_S = "latency_s"
    TURNS = "turns"
    TOOL_CALLS = "tool_calls"
    INPUT_TOKENS = "input_tokens"
    CACHED_INPUT_TOKENS = "cached_input_tokens"
    CACHE_WRITE_TOKENS = "cache_write_tokens"
    OUTPUT_TOKENS = "output_tokens"
    REASONING_TOKENS = "reasoning_tokens"
    CHANGED_LINES = "changed_lines"
    TOUCHED_FILES = "touched_files"
    DEPENDENCIES_ADDED = "dependencies_added"
    COST = "cost"

    __hash__ = str.__hash__
    """As of `Dimension`."""


class CostMean(Record):
    """Mean of one cost over an arm's graded runs."""

    measure: CostMeasure
    graded: int
    known: int
    """Runs whose figure is known, of `graded`; the mean is over these."""
    mean: MaybeEstimate


class ArmCosts(Record):
    """All costs of an arm."""

    arm: str
    agent_kind: AgentKind
    means: tuple[CostMean, ...]


class PriceNote(Record):
    """Where the prices behind `cost` come from."""

    source: str
    currency: str
    date: str
    version: str


class AttemptRow(Record):
    """One attempt, whether it counts or not."""

    attempt_id: str
    agent_kind: AgentKind
    agent_label: str | None
    """Null when the attempt left no record."""
    task: str
    arm: str
    repetition: int
    ordinal: int | None
    counts: bool
    outcome: Outcome
    limit: LimitKind | None
    reason: str
    state: RunState | None
    """Null for attempts that do not count."""
    invalid_reason: str | None
    score: float | None
    dimension_scores: dict[Dimension, float]
    critical_failures: tuple[CriticalFailure, ...]
    costs: Costs
    started_at: str | None
    ended_at: str | None
    findings: tuple[str, ...]
    """What was left out on export."""
    failed_checks: tuple[str, ...] = ()
    """Labels of failed hidden checks; empty unless the state is graded."""
    quality: float | None = None
    """Quality score of the review, 0 to 100; null where there is none."""
    critical_by_review: tuple[CriticalFailure, ...] = ()
    """Critical failures that the review settled on; `critical_failures` are those of the hidden checks."""
    files: tuple[str, ...] = ()
    """Files of evidence in the attempt's folder that the ledger names, of those that a person reads."""


class Incidents(Record):
    """What did not go as planned."""

    retries: int
    pauses: int
    missing: tuple[str, ...]
    """Planned cells without a score, in words."""
    deviations: tuple[str, ...]
    stopped: tuple[StoppedArm, ...] = ()


class NextStep(Record):
    """What may be done next, and the command that does it."""

    words: str
    command: str


class Method(Record):
    """How the figures were computed, as sealed."""

    interval: IntervalMethod
    confidence: float
    replicates: int
    seed: str
    threshold_points: float


class ReportView(Record):
    """Everything a report shows."""

    format_version: Literal[1]
    notices: tuple[str, ...]
    """What a reader must know before any number; first of all whether the agent was scripted."""
    answer: str
    """The result in one sentence or two."""
    header: Header
    method: Method
    manipulation: ManipulationCheck
    """Whether the arms were loaded, and nothing of them elsewhere."""
    counts: tuple[ArmCounts, ...]
    scores: tuple[ArmScores, ...]
    comparisons: tuple[ArmComparison, ...]
    task_arms: tuple[TaskArm, ...]
    dimensions: tuple[DimensionComparison, ...]
    critical_counts: tuple[CriticalCount, ...]
    critical_runs: tuple[CriticalRun, ...]
    costs: tuple[ArmCosts, ...]
    prices: PriceNote | None
    incidents: Incidents
    attempts: tuple[AttemptRow, ...]
    limits_of_claim: tuple[str, ...]
    sensitivity: StudySensitivity | None = None
    """Null in reports of before there was one."""
    decisions: tuple[ArmDecision, ...] = ()
    """What the sealed rules say of every arm with a bundle, the primary comparison first."""
    revision: Revision | None = None
    """Which report of the study this is; null in the first one."""
    review: ReviewResults | None = None
    """Null while no review was unblinded."""
    baseline: Baseline | None = None
    """Null where no task's proof tells of it."""
    failed_checks: tuple[CheckFailures, ...] = ()
    """By task, in the order in which the checks are declared."""
    next_steps: tuple[NextStep, ...] = ()
