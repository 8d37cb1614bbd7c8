"""How a conversation ends: which outcome follows from what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from esac_ag.attempt import LimitKind, Outcome
from esac_ag.failures import Consequence, Failure
from esac_ag.sandbox.contract import Termination


@dataclass(frozen=True, slots=True)
class Ending:
    """How the loop ended."""

    outcome: Outcome
    reason: str
    limit: LimitKind | None = None
    is_lasting: bool = False
    """Of `infra`: whether another launch would end the same until a person changes something."""


def after_failure(failure: Failure, attempts: int) -> Ending:
    """What follows when a request was given up."""
    told = f"{failure.kind.value} after {attempts} attempt(s): {failure.detail}"
    match failure.consequence:
        case Consequence.RETRY | Consequence.INFRA:
            why = f"The model endpoint failed, {told}; {failure.remedy}"
            return Ending(Outcome.INFRA, why, is_lasting=failure.is_lasting)
        case Consequence.LIMIT:
            return at_limit(
                LimitKind.INPUT_TOKENS, "the conversation no longer fits the model's context window"
            )
        case Consequence.SCORED:
            return Ending(Outcome.COMPLETED, f"The provider refused the conversation ({told})")
        case _:
            assert_never(failure.consequence)


def after_command(termination: Termination) -> Ending | None:
    """Why no further command can follow; what killed a single process is the model's to deal with."""
    match termination:
        case Termination.EXITED | Termination.OUT_OF_MEMORY:
            return None
        case Termination.TIMED_OUT:
            return out_of_time()
        case Termination.CONTAINER_ENDED:
            return Ending(Outcome.AGENT_ERROR, "A command of the model ended the container")
        case _:
            assert_never(termination)


def at_limit(kind: LimitKind, why: str) -> Ending:
    """A budget was used up: graded, and flagged with its kind."""
    return Ending(Outcome.LIMIT, f"Limit {kind.value}: {why}", kind)


def out_of_time() -> Ending:
    """The attempt's deadline passed."""
    return at_limit(LimitKind.WALL_CLOCK, "the time was used up")


def cancelled() -> Ending:
    """A person stopped the study."""
    return Ending(Outcome.CANCELLED, "The study was stopped")
