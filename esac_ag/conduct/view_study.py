"""One study or suite run as it stands, for who looks at it: nothing of it is locked or written."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    AttemptState,
    Line,
    SessionStarted,
    StudyFinished,
    StudyPausedEvent,
    StudyState,
)
from esac_ag.conduct.collect import refuse_no_study
from esac_ag.conduct.view_look import ArmLook, Launch, LaunchState, Standing, StudyLook
from esac_ag.conduct.view_plan import PlanFacts, plan_at
from esac_ag.errors import InputRefused
from esac_ag.ledger.following import FollowedLedger, is_worked_on


@dataclass(slots=True)
class _Told:
    """What the ledger told (a `Follower`)."""

    state: StudyState = field(default_factory=StudyState)
    started: dict[str, str] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    last_at: str = ""
    pause: str = ""
    version: int = 0

    def begin(self) -> None:
        self.state = StudyState()
        self.started, self.ended = {}, {}
        self.last_at = self.pause = ""
        self.version += 1

    def take(self, line: Line) -> None:
        self.state.apply(line.body)
        self.last_at = line.at
        self.version += 1
        match line.body:
            case AttemptStarted(attempt_id=name):
                self.started[name] = line.at
            case AttemptEnded(attempt_id=name):
                self.ended[name] = line.at
            case StudyPausedEvent(reason=reason):
                self.pause = reason or "no reason was told"
            case SessionStarted() | StudyFinished() | AttemptGraded():
                self.pause = ""
            case _:
                pass


class ViewedStudy:
    """Looks at one folder again and again; threads may."""

    def __init__(self, path: Path) -> None:
        self.folder = StudyFolder(path)
        self._mutex = threading.Lock()
        self._told = _Told()
        self._ledger = FollowedLedger(self.folder.ledger, self._told)
        self._plan: tuple[tuple[int, int, int], PlanFacts] | None = None
        self._look: StudyLook | None = None

    def look(self) -> StudyLook:
        """The study as it stands.

        Raises:
            InputRefused: the folder holds no study or suite run, or its manifest is damaged.
            LedgerCorrupt: the ledger does not verify.
        """
        with self._mutex:
            refuse_no_study(self.folder)
            plan = self._read_plan()
            try:
                self._ledger.follow()
            except OSError as error:
                raise InputRefused(
                    "the ledger cannot be read", where=str(self.folder.ledger), found=str(error)
                ) from error
            self._look = self._looked(plan)
            return self._look

    def _read_plan(self) -> PlanFacts:
        facts = self.folder.manifest.stat()
        seen = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
        if self._plan is None or self._plan[0] != seen:
            self._plan = (seen, plan_at(self.folder.manifest))
            self._look = None
        return self._plan[1]

    def _looked(self, plan: PlanFacts) -> StudyLook:
        told, known = self._told, self._look
        standing = _standing(told, self.folder.ledger)
        if known is not None and (known.version, known.standing) == (told.version, standing):
            return known
        launches = tuple(_launches(told))
        state = told.state
        return StudyLook(
            folder=self.folder,
            version=told.version,
            plan=plan,
            standing=standing,
            pause=told.pause,
            is_other_plan=state.opened is not None and state.opened.manifest_sha256 != plan.sha256,
            arms=tuple(_counted(plan, state, launches)),
            launches=launches,
            numbers={launch.attempt_id: launch.number for launch in launches},
            attempts=dict(state.attempts),
            stopped=tuple(state.stopped.values()),
            revisions=tuple(state.revisions),
            review=state.review,
            last_at=told.last_at,
        )


def _standing(told: _Told, ledger: Path) -> Standing:
    if told.state.finished:
        return Standing.FINISHED
    match is_worked_on(ledger):
        case True:
            return Standing.RUNNING
        case False:
            return Standing.PAUSED if told.pause else Standing.STOPPED
        case None:
            return Standing.PAUSED if told.pause else Standing.OPEN


def _launches(told: _Told) -> Iterator[Launch]:
    for number, attempt in enumerate(told.state.attempts.values(), start=1):
        cell = attempt.cell
        yield Launch(
            number=number,
            attempt_id=attempt.attempt_id,
            unit=cell.task,
            arm=cell.arm,
            repetition=cell.repetition,
            ordinal=attempt.ordinal,
            outcome=attempt.outcome,
            state=_state(attempt),
            reason=attempt.reason,
            started_at=told.started[attempt.attempt_id],
            ended_at=told.ended.get(attempt.attempt_id),
        )


def _state(attempt: AttemptState) -> LaunchState:
    match attempt.outcome:
        case None:
            return LaunchState.UNFINISHED
        case Outcome.INFRA:
            return LaunchState.SPOILED
        case Outcome.CANCELLED:
            return LaunchState.CANCELLED
        case Outcome.COMPLETED | Outcome.LIMIT | Outcome.AGENT_ERROR:
            return _graded(attempt.grading)
        case _:
            assert_never(attempt.outcome)


def _graded(status: GradingStatus | None) -> LaunchState:
    match status:
        case None:
            return LaunchState.UNGRADED
        case GradingStatus.GRADED:
            return LaunchState.GRADED
        case GradingStatus.INVALID:
            return LaunchState.INVALID
        case _:
            assert_never(status)


def _counted(plan: PlanFacts, state: StudyState, launches: tuple[Launch, ...]) -> Iterator[ArmLook]:
    found = Counter((launch.arm, launch.state) for launch in launches)
    for arm in plan.arms:
        graded, invalid, ungraded = (
            found[arm, one] for one in (LaunchState.GRADED, LaunchState.INVALID, LaunchState.UNGRADED)
        )
        open_cells = plan.cells_of_arm - graded - invalid - ungraded
        is_stopped = arm in state.stopped
        yield ArmLook(
            arm=arm,
            planned=plan.cells_of_arm,
            graded=graded,
            invalid=invalid,
            ungraded=ungraded,
            missing=0 if is_stopped else open_cells,
            stopped=open_cells if is_stopped else 0,
            spoiled=found[arm, LaunchState.SPOILED] + found[arm, LaunchState.CANCELLED],
        )
