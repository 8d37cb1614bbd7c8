"""A whole plan: recover, launch what is missing in the sealed order, grade, pause or finish.

The ledger decides what is left to do. Killing the process at any instruction and running again loses no
cell, counts none twice and redoes nothing that is finished.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from esac_ag import __version__, clock
from esac_ag.attempt import GRADED_OUTCOMES, Cell, GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    GradingSpoiled,
    JudgmentMade,
    SessionStarted,
    StudyFinished,
    StudyOpened,
    StudyPausedEvent,
)
from esac_ag.clock import Seeds
from esac_ag.conduct.stopping import ArmStopper
from esac_ag.conduct.work import CellWork, Kept, Launched, OpenPlan
from esac_ag.errors import (
    HarnessError,
    InfrastructureFailure,
    InputRefused,
    Interrupted,
    LedgerCorrupt,
    StudyPaused,
)
from esac_ag.ledger import Ledger, alone, open_ledger
from esac_ag.owner import remove_abandoned_folders

BACKOFF_FIRST_S = 1.0
BACKOFF_MOST_S = 60.0


class Watcher(Protocol):
    """Is told what happens, for progress on the terminal. Called from several threads."""

    def planned(self, total: int, done: int) -> None:
        """The number of cells in all, and of those that are finished already."""

    def launched(self, cell: Cell) -> None:
        """A cell is being worked on."""

    def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
        """A cell has an attempt that counts, and it is graded."""

    def spoiled(self, cell: Cell, reason: str, *, retry_in_s: float | None) -> None:
        """The infrastructure spoiled a launch or a grading."""

    def halted(self, cell: Cell) -> None:
        """A cell that was to be done is not: its arm was stopped by rule."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a session left the study."""

    planned: int
    done: int
    launched: int
    """Launches of this session."""
    stopped: int = 0
    """Cells that are not launched any more, because their arm was stopped by rule."""

    @property
    def finished(self) -> bool:
        """Whether every planned cell is done, or of a stopped arm."""
        return self.done + self.stopped == self.planned


def run_study(
    opened: OpenPlan,
    *,
    concurrency: int,
    watcher: Watcher,
    limit: int | None = None,
) -> Progress:
    """Work on the study until it is finished, `limit` cells were done, or it has to pause.

    Raises:
        StudyBusy: another harness works on it.
        StudyPaused: failures of the infrastructure used up the retries of a cell, or the provider refuses the
            key, which another launch cannot mend.
        Interrupted: somebody wished the end.
        SubstitutionRefused: sealed bytes changed while the study ran.
    """
    study, cells = opened.site, opened.cells
    lock = study.workspace.study_lock(study.manifest.study_id)
    with alone(lock, what=study.manifest.study_id), open_ledger(study.folder.ledger) as ledger:
        session = _Session(opened, ledger, watcher)
        session.open(concurrency)
        study.engine.clean(study.workspace.label, study.manifest.study_id)
        remove_abandoned_folders(study.workspace.state)
        session.cancel_unfinished()
        session.stopper.look_at_all()
        todo = session.left_to_do(cells)
        still = len(cells) - session.stopped(cells)
        watcher.planned(still, still - len(todo))
        session.work(todo if limit is None else todo[:limit], concurrency)
        stopped = session.stopped(cells)
        done = len(cells) - stopped - len(session.left_to_do(cells))
        progress = Progress(planned=len(cells), done=done, launched=session.launched, stopped=stopped)
        if progress.finished and not ledger.state.finished:
            ledger.append(StudyFinished())
        return progress


class _ArmIsStoppedError(Exception):
    """A launch is not made: its arm was stopped by rule."""


class _Session:
    """One process's work on a study."""

    def __init__(self, opened: OpenPlan, ledger: Ledger, watcher: Watcher) -> None:
        self._opened = opened
        self._study = opened.site
        self._ledger = ledger
        self._watcher = watcher
        self._failure: HarnessError | None = None
        self._mutex = threading.Lock()
        self.stopper = ArmStopper(opened.early_stop, ledger)
        self.launched = 0

    def open(self, concurrency: int) -> None:
        """Write that this session begins; the first one opens the study."""
        opened = self._ledger.state.opened
        if opened is None:
            self._ledger.append(
                StudyOpened(
                    study_id=self._study.manifest.study_id,
                    manifest_sha256=self._study.manifest_sha256,
                    schedule_sha256=self._opened.schedule_sha256,
                    tasks_sha256=self._opened.tasks_sha256,
                    agent_kind=self._study.manifest.agent.kind,
                )
            )
        elif opened.manifest_sha256 != self._study.manifest_sha256:
            raise LedgerCorrupt(
                "the ledger belongs to another sealed plan",
                where=str(self._study.folder.ledger),
                expected=self._study.manifest_sha256,
                found=opened.manifest_sha256,
                remedy="give the changed plan a new study_id",
            )
        self._ledger.append(
            SessionStarted(
                harness_version=__version__, concurrency=concurrency, engine=self._study.engine.describe()
            )
        )

    def cancel_unfinished(self) -> None:
        """Launches that a crash cut off count as cancelled and are done again."""
        for attempt in self._ledger.state.unfinished():
            self._ledger.append(
                AttemptEnded(
                    attempt_id=attempt.attempt_id,
                    outcome=Outcome.CANCELLED,
                    reason="the harness ended before the attempt did",
                )
            )

    def left_to_do(self, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
        """Cells without a graded attempt that counts, in the sealed order; those of stopped arms are not."""
        with self._ledger.locked() as state:
            return tuple(
                cell
                for cell in cells
                if ((attempt := state.counting(cell)) is None or attempt.grading is None)
                and not state.is_stopped(cell)
            )

    def stopped(self, cells: tuple[Cell, ...]) -> int:
        """How many cells are not launched any more."""
        with self._ledger.locked() as state:
            return sum(state.is_stopped(cell) for cell in cells)

    def work(self, cells: tuple[Cell, ...], concurrency: int) -> None:
        """Work through cells in order, several at a time; the first failure ends all."""
        with ThreadPoolExecutor(concurrency, thread_name_prefix="cell") as pool, self._ending():
            queue: list[Future[None]] = [pool.submit(self._guarded, cell) for cell in cells]
            # Signal handlers run in this thread while it waits.
            for future in as_completed(queue):
                future.result()
        if self._failure is not None:
            raise self._failure
        if self._study.stop.wished:
            raise self._stopped()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Whatever ends the waiting loop also ends the workers."""
        try:
            yield
        except BaseException as error:
            self._study.stop.wish(f"the run ended in an error: {type(error).__name__}")
            raise

    def _guarded(self, cell: Cell) -> None:
        if self._failure is not None or self._study.stop.wished:
            return
        try:
            self._cell(cell)
        except _ArmIsStoppedError:
            self._watcher.halted(cell)
        except HarnessError as error:
            self._fail(error)
            self._pause(error)

    def _fail(self, error: HarnessError) -> None:
        with self._mutex:
            if self._failure is None:
                self._failure = error

    def _pause(self, error: HarnessError) -> None:
        match error:
            case Interrupted():
                reason = "stopped by a person"
            case _:
                reason = error.what
        self._ledger.append(StudyPausedEvent(reason=reason))

    def _cell(self, cell: Cell) -> None:
        """One cell to its end: launches until one counts, then gradings until one holds."""
        self._watcher.launched(cell)
        counting = self._counting(cell)
        work = self._opened.prepare(cell)
        attempt_id, outcome = self._launch_until_it_counts(cell, work) if counting is None else counting
        status = self._grade_until_it_holds(cell, work, attempt_id)
        self._watcher.finished(cell, outcome, status)

    def _counting(self, cell: Cell) -> tuple[str, Outcome] | None:
        """The launch that counts already, from a session before this one."""
        with self._ledger.locked() as state:
            attempt = state.counting(cell)
            if attempt is None or attempt.outcome is None:
                return None
            return attempt.attempt_id, attempt.outcome

    def _launch_until_it_counts(self, cell: Cell, work: CellWork) -> tuple[str, Outcome]:
        retries = self._study.manifest.policies.max_infrastructure_retries
        reason = ""
        for launch_number in range(retries + 1):
            if launch_number:
                self._back_off(cell, reason, launch_number)
            launched = self._launch(cell, work)
            outcome, reason = launched.record.outcome, launched.record.reason
            if outcome in GRADED_OUTCOMES:
                return launched.record.attempt_id, outcome
            if outcome is Outcome.CANCELLED:
                raise self._stopped()
            if launched.is_lasting:
                raise self._in_vain(cell, reason)
        raise self._used_up(cell, reason, retries)

    def _launch(self, cell: Cell, work: CellWork) -> Launched:
        attempt_id = clock.opaque_id()
        with self._ledger.locked() as state:
            if state.is_stopped(cell):
                raise _ArmIsStoppedError
            ordinal = state.launches(cell) + 1
            self._ledger.append(AttemptStarted(attempt_id=attempt_id, cell=cell, ordinal=ordinal))
            self.launched += 1
        try:
            launched = work.launch(attempt_id, ordinal)
        except InputRefused as error:
            self._ledger.append(
                AttemptEnded(
                    attempt_id=attempt_id, outcome=Outcome.CANCELLED, reason=f"launch refused: {error.what}"
                )
            )
            raise
        record = launched.record
        self._ledger.append(
            AttemptEnded(
                attempt_id=attempt_id,
                outcome=record.outcome,
                reason=record.reason,
                artifacts=launched.artifacts,
            )
        )
        return launched

    def _grade_until_it_holds(self, cell: Cell, work: CellWork, attempt_id: str) -> GradingStatus:
        retries = self._study.manifest.policies.max_infrastructure_retries
        for grading_number in range(retries + 1):
            try:
                status, artifacts = work.grade(attempt_id, self._kept(attempt_id))
            except HarnessError as error:
                # A container that was taken away fails in many ways.
                if self._study.stop.wished:
                    raise self._stopped() from error
                if not isinstance(error, InfrastructureFailure):
                    raise
                reason = self._study.redactor.text(error.in_short())
                self._ledger.append(GradingSpoiled(attempt_id=attempt_id, reason=reason))
                if grading_number == retries:
                    raise self._used_up(cell, reason, retries) from error
                self._back_off(cell, reason, grading_number + 1)
            else:
                graded = AttemptGraded(attempt_id=attempt_id, status=status, artifacts=artifacts)
                # Together, so that a stop follows from all gradings that the ledger holds before it.
                with self._ledger.locked():
                    self._ledger.append(graded)
                    self.stopper.look_at(attempt_id)
                return status
        raise AssertionError("the loop returns or raises")

    def _kept(self, attempt_id: str) -> Kept:
        """What earlier gradings of an attempt left in the ledger."""
        with self._ledger.locked() as state:
            digests = dict(state.attempts[attempt_id].artifacts)

        def keep(file: str, sha256: str) -> None:
            self._ledger.append(JudgmentMade(attempt_id=attempt_id, file=file, sha256=sha256))

        return Kept(digests, keep)

    def _back_off(self, cell: Cell, reason: str, retry_number: int) -> None:
        """Wait with exponential backoff and jitter before a retry."""
        jitter = Seeds(clock.opaque_id()).stream("backoff").uniform(0.5, 1.5)
        wait_s = min(BACKOFF_MOST_S, BACKOFF_FIRST_S * 2 ** (retry_number - 1)) * jitter
        self._watcher.spoiled(cell, reason, retry_in_s=wait_s)
        self._study.stop.wait_s(wait_s)

    def _stopped(self) -> Interrupted:
        return Interrupted("the study was stopped", remedy=self._opened.go_on)

    def _in_vain(self, cell: Cell, reason: str) -> StudyPaused:
        self._watcher.spoiled(cell, reason, retry_in_s=None)
        return StudyPaused(
            "the study pauses: the model's provider refuses the key (401 or 403), and would refuse it again",
            where=f"task {cell.task}, repetition {cell.repetition}",
            expected="a key that the provider takes, in the variable that the plan names",
            found=reason,
            remedy=f"export the key, then {self._opened.go_on}",
        )

    def _used_up(self, cell: Cell, reason: str, retries: int) -> StudyPaused:
        self._watcher.spoiled(cell, reason, retry_in_s=None)
        return StudyPaused(
            "the study pauses: failures of the infrastructure used up the retries of a cell",
            where=f"task {cell.task}, repetition {cell.repetition}",
            expected=f"a fair attempt within {retries + 1} launches",
            found=reason,
            remedy=f"repair the cause (`esac-ag doctor`), then {self._opened.go_on}",
        )
