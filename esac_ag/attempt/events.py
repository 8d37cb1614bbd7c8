"""What the ledger records, and the state of a study that follows from it: pure, no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, assert_never

from pydantic import Field

from esac_ag.attempt import GRADED_OUTCOMES, Cell, GradingStatus, Outcome
from esac_ag.attempt.digests import NONE, Digests
from esac_ag.attempt.review_events import (
    AdjudicationPrepared,
    ArmsGuessed,
    ReviewBody,
    ReviewLocked,
    ReviewPrepared,
    ReviewState,
    ReviewUnblinded,
)
from esac_ag.manifest.package import CriticalFailure
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Identifier, Record, Sha256

FIRST_REVISION = 2
"""Number of the first report that revises another one; the first report itself is number 1."""


class StudyOpened(Record):
    """First event: which sealed plan the study follows."""

    event: Literal["study-opened"] = "study-opened"
    study_id: Identifier
    manifest_sha256: Sha256
    schedule_sha256: Sha256
    agent_kind: AgentKind
    """`scripted` studies are evidence about no model."""
    tasks_sha256: Sha256
    """Of `tasks.json`, the task packages as they were when the study began."""


class SessionStarted(Record):
    """A harness process began to work on the study."""

    event: Literal["session-started"] = "session-started"
    harness_version: str
    concurrency: int
    engine: str


class AttemptStarted(Record):
    """A launch for a cell, written before anything is created."""

    event: Literal["attempt-started"] = "attempt-started"
    attempt_id: Identifier
    cell: Cell
    ordinal: int


class AttemptEnded(Record):
    """How a launch ended; `artifacts` are digests of the files that were written, by name."""

    event: Literal["attempt-ended"] = "attempt-ended"
    attempt_id: Identifier
    outcome: Outcome
    reason: str
    artifacts: dict[str, Sha256] = Field(default_factory=dict)


class JudgmentMade(Record):
    """One usable judgment of a submission arrived; it counts, whatever becomes of the grading around it."""

    event: Literal["judgment-made"] = "judgment-made"
    attempt_id: Identifier
    file: str
    """Of the attempt's folder."""
    sha256: Sha256


class AttemptGraded(Record):
    """A submission was judged, or could not be."""

    event: Literal["attempt-graded"] = "attempt-graded"
    attempt_id: Identifier
    status: GradingStatus
    artifacts: dict[str, Sha256]


class GradingSpoiled(Record):
    """A grading met a failure of the infrastructure; it will be done again."""

    event: Literal["grading-spoiled"] = "grading-spoiled"
    attempt_id: Identifier
    reason: str


class ArmStopped(Record):
    """A critical failure of an arm reproduced on a fresh run: what was not launched of the arm never is."""

    event: Literal["arm-stopped"] = "arm-stopped"
    arm: Identifier
    task: Identifier
    kind: CriticalFailure
    attempts: Annotated[tuple[Identifier, ...], Field(min_length=2)]
    """The attempts of the arm that show it, each a fresh launch."""
    control_runs: Annotated[int, Field(ge=1)]
    """Graded runs of the control on the task by then, none of which shows it."""


class StudyPausedEvent(Record):
    """The study stopped before its end: retries used up, or a person's wish."""

    event: Literal["study-paused"] = "study-paused"
    reason: str


class StudyFinished(Record):
    """Every planned cell has an attempt that counts and is graded, or is of a stopped arm."""

    event: Literal["study-finished"] = "study-finished"


class ReportRevised(Record):
    """A further report of the same study; the ones before it stay byte for byte."""

    event: Literal["report-revised"] = "report-revised"
    number: Annotated[int, Field(ge=2)]
    at: str
    """When it was made, as the report itself says."""
    reason: Annotated[str, Field(min_length=1)]
    files: dict[str, Sha256]
    """Of this revision, by path in the study's folder."""
    earlier: dict[str, Sha256]
    """Of the report before it, by path."""


class ShadowNoted(Record):
    """What became of a real task in shadow mode, told later by a person."""

    event: Literal["shadow-noted"] = "shadow-noted"
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """Day that the rework was known."""
    task: Annotated[str, Field(min_length=1)]
    """Reference of the real task, such as a ticket."""
    arm: Identifier
    """The bundle in use."""
    rework_minutes: Annotated[float, Field(ge=0)] | None = None
    """Null is unknown, never zero."""
    rework_lines: Annotated[int, Field(ge=0)] | None = None
    missed: tuple[str, ...] = ()
    """Requirements that turned out to be missed, one each."""
    by: Annotated[str, Field(min_length=1)]
    """Who says so."""


class TailRecovered(Record):
    """A line was torn by a crash; its bytes were moved aside and never counted."""

    event: Literal["tail-recovered"] = "tail-recovered"
    file: str
    size_bytes: int
    sha256: Sha256


Body = (
    StudyOpened
    | SessionStarted
    | AttemptStarted
    | AttemptEnded
    | JudgmentMade
    | AttemptGraded
    | GradingSpoiled
    | ArmStopped
    | StudyPausedEvent
    | StudyFinished
    | ReportRevised
    | ShadowNoted
    | TailRecovered
    | ReviewBody
)


class Line(Record):
    """One line of `ledger.jsonl`."""

    seq: Annotated[int, Field(ge=0)]
    at: str
    previous: Sha256
    """SHA-256 of the previous line's bytes without its newline; 64 zeros on the first line."""
    body: Annotated[Body, Field(discriminator="event")]


@dataclass(slots=True)
class AttemptState:
    """What is known of one launch."""

    attempt_id: str
    cell: Cell
    ordinal: int
    outcome: Outcome | None = None
    reason: str = ""
    artifacts: Digests = NONE
    grading: GradingStatus | None = None
    spoiled_gradings: int = 0

    @property
    def counts(self) -> bool:
        """Whether this launch is the one that counts for its cell."""
        return self.outcome in GRADED_OUTCOMES


@dataclass(slots=True)
class StudyState:
    """The study as the ledger tells it."""

    opened: StudyOpened | None = None
    attempts: dict[str, AttemptState] = field(default_factory=dict)
    sessions: int = 0
    pauses: list[str] = field(default_factory=list)
    recovered_tails: int = 0
    finished: bool = False
    stopped: dict[str, ArmStopped] = field(default_factory=dict)
    """Arms that were stopped by rule."""
    revisions: list[ReportRevised] = field(default_factory=list)
    shadow: list[ShadowNoted] = field(default_factory=list)
    review: ReviewState = field(default_factory=ReviewState)
    _counting: dict[Cell, AttemptState] = field(default_factory=dict)
    _launches: Counter[Cell] = field(default_factory=Counter)

    @classmethod
    def of(cls, bodies: Iterable[Body]) -> StudyState:
        """Replay events in order.

        Raises:
            ValueError: an event contradicts an earlier one (a cell counted twice, an unknown attempt).
        """
        state = cls()
        for body in bodies:
            state.apply(body)
        return state

    def apply(self, body: Body) -> None:
        """Take in one event."""
        match body:
            case StudyOpened():
                if self.opened is not None:
                    raise ValueError("the study is opened twice")
                self.opened = body
            case SessionStarted():
                self.sessions += 1
            case AttemptStarted():
                self._start(body)
            case AttemptEnded():
                self._end(body)
            case JudgmentMade() | AttemptGraded() | GradingSpoiled():
                self._grade(body)
            case StudyPausedEvent(reason=reason):
                self.pauses.append(reason)
            case StudyFinished():
                self.finished = True
            case TailRecovered():
                self.recovered_tails += 1
            case (
                ReviewPrepared() | ReviewLocked() | AdjudicationPrepared() | ArmsGuessed() | ReviewUnblinded()
            ):
                self.review.apply(body)
            case ArmStopped() | ReportRevised() | ShadowNoted():
                self._note(body)
            case _:
                assert_never(body)

    def _start(self, body: AttemptStarted) -> None:
        if body.attempt_id in self.attempts:
            raise ValueError(f"attempt {body.attempt_id} is started twice")
        if body.cell.arm in self.stopped:
            raise ValueError(
                f"attempt {body.attempt_id} is started for arm {body.cell.arm}, which is stopped"
            )
        self.attempts[body.attempt_id] = AttemptState(body.attempt_id, body.cell, body.ordinal)
        self._launches[body.cell] += 1

    def _note(self, body: ArmStopped | ReportRevised | ShadowNoted) -> None:
        match body:
            case ArmStopped(arm=arm):
                if arm in self.stopped:
                    raise ValueError(f"arm {arm} is stopped twice")
                self.stopped[arm] = body
            case ReportRevised(number=number):
                if number != len(self.revisions) + FIRST_REVISION:
                    raise ValueError(f"report revision {number} does not follow the one before it")
                self.revisions.append(body)
            case ShadowNoted():
                self.shadow.append(body)
            case _:
                assert_never(body)

    def _end(self, body: AttemptEnded) -> None:
        attempt = self._known(body.attempt_id)
        if attempt.outcome is not None:
            raise ValueError(f"attempt {body.attempt_id} ends twice")
        if body.outcome in GRADED_OUTCOMES and self.counting(attempt.cell) is not None:
            raise ValueError(f"cell {attempt.cell} is counted twice")
        attempt.outcome = body.outcome
        attempt.reason = body.reason
        attempt.artifacts = attempt.artifacts.updated(body.artifacts)
        if attempt.counts:
            self._counting[attempt.cell] = attempt

    def _grade(self, body: JudgmentMade | AttemptGraded | GradingSpoiled) -> None:
        attempt = self._known(body.attempt_id)
        match body:
            case JudgmentMade():
                self._judge(attempt, body)
            case AttemptGraded():
                attempt.grading = body.status
                attempt.artifacts = attempt.artifacts.updated(body.artifacts)
            case GradingSpoiled():
                attempt.spoiled_gradings += 1
            case _:
                assert_never(body)

    @staticmethod
    def _judge(attempt: AttemptState, body: JudgmentMade) -> None:
        if not attempt.counts or attempt.grading is not None:
            raise ValueError(f"attempt {body.attempt_id} is judged when nothing of it is to be judged")
        if body.file in attempt.artifacts:
            raise ValueError(f"judgment {body.file} of attempt {body.attempt_id} is made twice")
        attempt.artifacts = attempt.artifacts.updated({body.file: body.sha256})

    def _known(self, attempt_id: str) -> AttemptState:
        try:
            return self.attempts[attempt_id]
        except KeyError:
            raise ValueError(f"attempt {attempt_id} was never started") from None

    def counting(self, cell: Cell) -> AttemptState | None:
        """The launch that counts for a cell."""
        return self._counting.get(cell)

    def is_stopped(self, cell: Cell) -> bool:
        """Whether the cell has no attempt that counts and gets none, because its arm was stopped."""
        return cell.arm in self.stopped and self.counting(cell) is None

    def launches(self, cell: Cell) -> int:
        """How often the cell was launched."""
        return self._launches[cell]

    def unfinished(self) -> tuple[AttemptState, ...]:
        """Launches without an end: a crash or a kill cut them off."""
        return tuple(attempt for attempt in self.attempts.values() if attempt.outcome is None)

    def ungraded(self) -> tuple[AttemptState, ...]:
        """Launches that count and still have to be graded."""
        return tuple(a for a in self.attempts.values() if a.counts and a.grading is None)
