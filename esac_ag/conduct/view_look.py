"""A study at one moment, as records of what is seen: its state, its launches, its counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Outcome
from esac_ag.attempt.events import ArmStopped, AttemptState, ReportRevised
from esac_ag.attempt.review_events import ReviewState
from esac_ag.conduct.view_plan import PlanFacts


class Standing(StrEnum):
    """How far a study is."""

    RUNNING = "running"
    """A process works on it now."""
    PAUSED = "paused"
    """Retries were used up, or a person paused it; the same run goes on."""
    FINISHED = "finished"
    STOPPED = "stopped"
    """Nobody works on it, and cells are left: a limit of cells, a crash or a kill; the same run goes on."""
    OPEN = "not finished"
    """It did not tell its end, and whether anybody works on it is not known on this system."""


class LaunchState(StrEnum):
    """What became of one launch."""

    GRADED = "graded"
    INVALID = "invalid"
    """The grader could not judge it: no score."""
    UNGRADED = "ungraded"
    """It counts and waits for its grading."""
    SPOILED = "spoiled"
    """By the infrastructure: it does not count."""
    CANCELLED = "cancelled"
    """Stopped by a person, or found unfinished; it does not count."""
    UNFINISHED = "unfinished"
    """Its end was not told: it acts now, or was cut off."""


class Launch(NamedTuple):
    """One row of a table of attempts."""

    number: int
    """In order of launch, from 1."""
    attempt_id: str
    unit: str
    """Its task, or its item."""
    arm: str
    repetition: int
    ordinal: int
    """1 for the first launch of its cell."""
    outcome: Outcome | None
    state: LaunchState
    reason: str
    started_at: str
    ended_at: str | None


class ArmLook(NamedTuple):
    """Counts of an arm. planned = graded + invalid + ungraded + missing + stopped."""

    arm: str
    planned: int
    graded: int
    invalid: int
    ungraded: int
    missing: int
    stopped: int
    spoiled: int
    """Launches that do not count."""


@dataclass(frozen=True, slots=True)
class StudyLook:
    """A study at one moment."""

    folder: StudyFolder
    version: int
    """Another number stands for other launches."""
    plan: PlanFacts
    standing: Standing
    pause: str
    """Why it paused last; empty when it is not paused."""
    is_other_plan: bool
    """Whether the ledger was opened with another plan than the manifest beside it."""
    arms: tuple[ArmLook, ...]
    launches: tuple[Launch, ...]
    numbers: Mapping[str, int]
    """Of launches, by attempt id."""
    attempts: Mapping[str, AttemptState]
    """By id; they may be told more of while they are looked at."""
    stopped: tuple[ArmStopped, ...]
    revisions: tuple[ReportRevised, ...]
    review: ReviewState
    last_at: str
    """Time of the ledger's last line."""

    @property
    def is_blinded(self) -> bool:
        """Whether reviewers judge without knowing arms, and were not unblinded yet."""
        return self.review.prepared is not None and self.review.unblinded is None

    def launch(self, attempt_id: str) -> Launch | None:
        """The launch of an id; none where the ledger names none."""
        number = self.numbers.get(attempt_id)
        return None if number is None else self.launches[number - 1]

    def launches_of_cell(self, attempt_id: str) -> tuple[Launch, ...]:
        """All launches of an attempt's cell, in order; its failure lineage."""
        cell = self.attempts[attempt_id].cell
        return tuple(
            launch
            for launch in self.launches
            if (launch.unit, launch.arm, launch.repetition) == (cell.task, cell.arm, cell.repetition)
        )
