"""Frozen records of what happened: cells, attempts, submissions, usage and gradings."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from esac_ag.manifest.package import CheckKind, CriticalFailure, Dimension
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Identifier, Record, Sha256

Count = Annotated[int, Field(ge=0)]


class Outcome(StrEnum):
    """How an attempt ended."""

    COMPLETED = "completed"
    LIMIT = "limit"
    """A budget of time, turns, tokens, cost, output or memory was used up; graded and flagged."""
    AGENT_ERROR = "agent_error"
    """The agent ended abnormally; graded."""
    INFRA = "infra"
    """No fair attempt: retried, never scored."""
    CANCELLED = "cancelled"
    """Stopped by a person or found unfinished after a crash; done again."""

    __hash__ = str.__hash__
    """As of `Dimension`."""


GRADED_OUTCOMES = frozenset({Outcome.COMPLETED, Outcome.LIMIT, Outcome.AGENT_ERROR})
"""Outcomes whose submission is graded and counts."""


class LimitKind(StrEnum):
    """Which budget an attempt used up."""

    WALL_CLOCK = "wall_clock_s"
    TURNS = "turns"
    TOOL_CALLS = "tool_calls"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    COST = "cost_usd"
    OUTPUT = "output_bytes"
    MEMORY = "memory_mib"


class Cell(Record):
    """What has to be measured once: a task under an arm, for one repetition (from 1)."""

    task: Identifier
    arm: Identifier
    repetition: Annotated[int, Field(ge=1)]

    def __hash__(self) -> int:
        """Cells are looked up so often that the general way of records would be most of it."""
        return hash((self.task, self.arm, self.repetition))

    def __eq__(self, other: object) -> bool:
        """Whether both are the same measurement."""
        if self is other:
            return True
        if not isinstance(other, Cell):
            return NotImplemented
        return (self.task, self.arm, self.repetition) == (other.task, other.arm, other.repetition)


class Usage(Record):
    """Tokens and calls of an attempt; null is unknown, never zero."""

    model_calls: Count | None = None
    input_tokens: Count | None = None
    """All input, cached parts included."""
    cached_input_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    output_tokens: Count | None = None
    """All output, reasoning included."""
    reasoning_tokens: Count | None = None


class Costs(Record):
    """What an attempt cost, apart from any score; null is unavailable, never zero."""

    latency_s: float | None = None
    turns: Count | None = None
    tool_calls: Count | None = None
    usage: Usage = Usage()
    cost: float | None = None
    """In the currency of the manifest's price table."""
    changed_lines: Count | None = None
    touched_files: Count | None = None
    dependencies_added: Count | None = None


class UsageRecord(Record):
    """What an attempt cost, with what acted (`usage.json`)."""

    agent_kind: AgentKind
    agent_label: str
    costs: Costs


class Submission(Record):
    """What the agent left: digests of the archived tree and of the patch."""

    tree_sha256: Sha256
    """`FileTree.exact_sha256` of the exported workspace."""
    archive_sha256: Sha256
    patch_sha256: Sha256
    files: Count
    size_bytes: Count
    findings: tuple[str, ...] = ()
    """Members that were left out on export, and why; shown escaped."""


class AttemptRecord(Record):
    """One launch for a cell (`attempt.json`)."""

    attempt_id: Identifier
    manifest_sha256: Sha256
    cell: Cell
    ordinal: Annotated[int, Field(ge=1)]
    """1 for the first launch of the cell."""
    agent_kind: AgentKind
    """`scripted` attempts are evidence about no model, in every output."""
    agent_label: str
    """What acted, in words for reports."""
    arm_sha256: Sha256 | None
    """Tree digest of the bundle bytes that entered the container; null for the control."""
    started_at: str
    ended_at: str
    outcome: Outcome
    reason: str
    """Why it ended so, in one sentence."""
    limit: LimitKind | None = None
    exit_code: int | None = None
    costs: Costs
    submission: Submission | None
    output_truncated: bool = False


class CheckVerdict(StrEnum):
    """Verdict of one check."""

    PASS = "pass"  # noqa: S105  (a verdict)
    FAIL = "fail"


class CheckResult(Record):
    """The verdict of one declared check."""

    id: Identifier
    kind: CheckKind
    dimension: Dimension
    weight: float
    critical: CriticalFailure | None
    verdict: CheckVerdict
    reason: str
    """Why it failed, for the grader's side only."""
    duration_s: float


class GradingStatus(StrEnum):
    """Whether the grader could judge."""

    GRADED = "graded"
    INVALID = "invalid"
    """The grader could not judge: neither a score nor a silent drop."""


class Grading(Record):
    """Result of grading one submission (`grading/result.json`)."""

    attempt_id: Identifier
    task_id: Identifier
    agent_kind: AgentKind | None = None
    """What acted; null for proofs, where nobody did."""
    manifest_sha256: Sha256 | None
    private_grader_id: str
    submission_tree_sha256: Sha256
    grader_image_digest: str
    status: GradingStatus
    invalid_reason: str | None = None
    seed: str
    """Seed of the inputs that were drawn at grading time."""
    checks: tuple[CheckResult, ...] = ()
    duration_s: float

    @property
    def passed(self) -> bool:
        """Whether the grading is valid and every check passed."""
        return self.status is GradingStatus.GRADED and all(
            c.verdict is CheckVerdict.PASS for c in self.checks
        )

    @property
    def score(self) -> float | None:
        """Weighted share of passed checks, 0 to 100; none when the grading is invalid."""
        if self.status is GradingStatus.INVALID or not self.checks:
            return None
        passed = sum(check.weight for check in self.checks if check.verdict is CheckVerdict.PASS)
        return 100.0 * passed / sum(check.weight for check in self.checks)

    @property
    def critical_failures(self) -> tuple[CriticalFailure, ...]:
        """Kinds of critical failure among the failed checks, each once, in order of declaration."""
        failed = [c.critical for c in self.checks if c.verdict is CheckVerdict.FAIL and c.critical]
        return tuple(dict.fromkeys(failed))
