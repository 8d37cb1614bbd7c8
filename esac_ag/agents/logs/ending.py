"""How a command-line agent ended: what its log says, weighed against how its process ended.

Neither is enough alone: agents exit with 0 after their endpoint failed, and a killed one leaves a log without
an end. What is not understood fails closed: it is never taken for a success and never scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from esac_ag.agents.endings import Ending, at_limit, out_of_time
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.failures import CONSEQUENCES, REMEDIES, Consequence, Failure, FailureClass
from esac_ag.sandbox.contract import Termination

FIRST_SIGNAL_EXIT = 129
"""A shell tells death by signal n as 128 + n."""


class EndingClass(StrEnum):
    """What kind of end an agent came to."""

    COMPLETED = "completed"
    """It says that it is done, and exited with 0."""
    REFUSED = "refused"
    """The model refused, or the provider's filter stopped it: the model's own doing."""
    API_FAILURE = "api-failure"
    """The model endpoint failed; `failure` tells the class."""
    LIMIT = "limit"
    """A budget was used up, the agent's own or the attempt's; `limit` tells which, where it is known."""
    CRASHED = "crashed"
    """The agent's process ended abnormally after the model had acted."""
    UNKNOWN = "unknown"
    """Log and process say too little, or contradict each other."""


@dataclass(frozen=True, slots=True)
class LogEnding:
    """An end, with its reason in one sentence."""

    kind: EndingClass
    reason: str
    failure: FailureClass | None = None
    limit: LimitKind | None = None


def completed(reason: str = "The agent ended its work") -> LogEnding:
    """The agent says that it is done."""
    return LogEnding(EndingClass.COMPLETED, reason)


def refused(reason: str) -> LogEnding:
    """The model or the provider's filter refused."""
    return LogEnding(EndingClass.REFUSED, reason)


def limited(limit: LimitKind | None, reason: str) -> LogEnding:
    """A budget was used up."""
    return LogEnding(EndingClass.LIMIT, reason, limit=limit)


def failed(failure: Failure) -> LogEnding:
    """The endpoint failed."""
    return LogEnding(EndingClass.API_FAILURE, failure.detail, failure=failure.kind)


def crashed(reason: str) -> LogEnding:
    """The agent broke."""
    return LogEnding(EndingClass.CRASHED, reason)


def unknown(reason: str) -> LogEnding:
    """Nobody can tell."""
    return LogEnding(EndingClass.UNKNOWN, reason)


def concluded(
    claim: LogEnding | None,
    *,
    pending: Failure | None,
    model_acted: bool,
    termination: Termination,
    exit_code: int | None,
) -> LogEnding:
    """The end that follows from log and process together.

    Args:
        claim: the end that the log tells; none where it tells none.
        pending: a failure of the endpoint that the log tells and that nothing of the model follows.
        model_acted: whether the log holds anything of the model.
        termination: how the process ended.
        exit_code: its exit code; negative, or above 128, for death by a signal.
    """
    if claim is not None and claim.kind is not EndingClass.COMPLETED:
        return claim
    match termination:
        case Termination.TIMED_OUT:
            if pending is not None:
                return failed(pending)
            return limited(LimitKind.WALL_CLOCK, "The time was used up")
        case Termination.CONTAINER_ENDED:
            return _broken("The agent's container ended", model_acted=model_acted)
        case Termination.OUT_OF_MEMORY if claim is None or exit_code != 0:
            return limited(LimitKind.MEMORY, "The memory was used up")
        case Termination.OUT_OF_MEMORY | Termination.EXITED:
            return _exited(claim, pending, model_acted=model_acted, exit_code=exit_code)
        case _:
            assert_never(termination)


def _exited(
    claim: LogEnding | None, pending: Failure | None, *, model_acted: bool, exit_code: int | None
) -> LogEnding:
    if exit_code is None:
        return unknown("The agent's exit code is not known")
    if exit_code < 0 or exit_code >= FIRST_SIGNAL_EXIT:
        return _broken(f"The agent was killed, exit code {exit_code}", model_acted=model_acted)
    if claim is not None:
        contradiction = f"The log tells of an end without failure, but the exit code is {exit_code}"
        return claim if exit_code == 0 else unknown(contradiction)
    if pending is not None:
        return failed(pending)
    if exit_code == 0:
        return unknown("The exit code is 0, but the log tells of no end")
    return _broken(f"The agent failed with exit code {exit_code}", model_acted=model_acted)


def _broken(reason: str, *, model_acted: bool) -> LogEnding:
    """An agent that broke before the model was heard was never fairly at work."""
    return crashed(reason) if model_acted else unknown(f"{reason}, before the model was heard")


def attempt_ending(ending: LogEnding) -> Ending:
    """The outcome of the attempt that follows; what is unknown is never scored."""
    match ending.kind:
        case EndingClass.COMPLETED | EndingClass.REFUSED:
            return Ending(Outcome.COMPLETED, ending.reason)
        case EndingClass.LIMIT:
            if ending.limit is LimitKind.WALL_CLOCK:
                return out_of_time()
            return Ending(Outcome.LIMIT, ending.reason, ending.limit)
        case EndingClass.CRASHED:
            return Ending(Outcome.AGENT_ERROR, ending.reason)
        case EndingClass.UNKNOWN:
            return Ending(Outcome.INFRA, ending.reason)
        case EndingClass.API_FAILURE:
            return _after_failure(ending)
        case _:
            assert_never(ending.kind)


def _after_failure(ending: LogEnding) -> Ending:
    failure = ending.failure or FailureClass.REJECTED
    told = f"{failure.value}: {ending.reason}"
    consequence = CONSEQUENCES[failure]
    match consequence:
        case Consequence.RETRY | Consequence.INFRA:
            return Ending(Outcome.INFRA, f"The model endpoint failed, {told}; {REMEDIES[failure]}")
        case Consequence.LIMIT:
            return at_limit(
                LimitKind.INPUT_TOKENS, "the conversation no longer fits the model's context window"
            )
        case Consequence.SCORED:
            return Ending(Outcome.COMPLETED, f"The provider refused the conversation ({told})")
        case _:
            assert_never(consequence)
