"""Where every score comes from: all launches of each planned cell, and why there was more than one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from esac_ag.attempt import GRADED_OUTCOMES, Cell, GradingStatus, Outcome
from esac_ag.attempt.events import Body, GradingSpoiled, StudyState
from esac_ag.report.escaping import visible
from esac_ag.report.publication_view import CellLineage, Corrections, LineageAttempt
from esac_ag.report.view import RunState


@dataclass(frozen=True, slots=True)
class Told:
    """What a ledger tells: the state that follows from it, and what the state does not keep."""

    state: StudyState
    spoiled: dict[str, list[str]] = field(default_factory=dict)
    """Reasons of gradings that the infrastructure spoiled, by attempt."""

    @classmethod
    def of(cls, bodies: Iterable[Body]) -> Told:
        """Replay events.

        Raises:
            ValueError: an event contradicts an earlier one.
        """
        told = cls(StudyState())
        for body in bodies:
            told.state.apply(body)
            if isinstance(body, GradingSpoiled):
                told.spoiled.setdefault(body.attempt_id, []).append(visible(body.reason))
        return told


def lineage_of(cells: Sequence[Cell], told: Told) -> tuple[CellLineage, ...]:
    """Every planned cell in order, with its launches."""
    launches: dict[Cell, list[LineageAttempt]] = {}
    numbers = {cell: told.state.launches(cell) for cell in cells}
    for attempt in told.state.attempts.values():
        own = launches.setdefault(attempt.cell, [])
        again = len(own) + 1 < numbers.get(attempt.cell, 0)
        own.append(
            LineageAttempt(
                attempt_id=attempt.attempt_id,
                ordinal=attempt.ordinal,
                outcome=attempt.outcome,
                reason=visible(attempt.reason),
                grading=attempt.grading,
                spoiled_gradings=tuple(told.spoiled.get(attempt.attempt_id, ())),
                counts=attempt.counts,
                then=_then(attempt.outcome, again=again),
            )
        )
    return tuple(_lineage(cell, told.state, launches.get(cell, [])) for cell in cells)


def corrections_of(state: StudyState) -> Corrections:
    """What came after the plan was sealed."""
    return Corrections(
        revisions=tuple(state.revisions),
        stopped=tuple(state.stopped.values()),
        pauses=tuple(map(visible, state.pauses)),
        recovered_lines=state.recovered_tails,
    )


def _lineage(cell: Cell, state: StudyState, attempts: list[LineageAttempt]) -> CellLineage:
    counting = state.counting(cell)
    return CellLineage(
        task=cell.task,
        arm=cell.arm,
        repetition=cell.repetition,
        state=_state(state, cell),
        counting=None if counting is None else counting.attempt_id,
        attempts=tuple(attempts),
    )


def _state(state: StudyState, cell: Cell) -> RunState:
    counting = state.counting(cell)
    if counting is None:
        return RunState.STOPPED if state.is_stopped(cell) else RunState.MISSING
    match counting.grading:
        case None:
            return RunState.UNGRADED
        case GradingStatus.GRADED:
            return RunState.GRADED
        case GradingStatus.INVALID:
            return RunState.INVALID
        case _:
            assert_never(counting.grading)


def _then(outcome: Outcome | None, *, again: bool) -> str:
    after = "launched again" if again else "not launched again"
    if outcome is None:
        return "it was cut off or is at work; no end was recorded"
    if outcome in GRADED_OUTCOMES:
        return "it counts"
    match outcome:
        case Outcome.INFRA:
            return f"the infrastructure spoiled it, so it is never scored; {after}"
        case Outcome.CANCELLED:
            return f"it was stopped, or a crash cut it off, so it is never scored; {after}"
        case Outcome.COMPLETED | Outcome.LIMIT | Outcome.AGENT_ERROR:
            raise AssertionError("graded outcomes count")
        case _:
            assert_never(outcome)
