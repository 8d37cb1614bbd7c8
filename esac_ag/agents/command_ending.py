"""How an attempt of a command-line agent ended: the gateway's record first, then the agent's own log.

The log comes from a process that the model's commands may disturb, so it can neither make a fair attempt
unfair nor the other way round: once the model was heard, whatever breaks is scored. (`threats.md`,
infrastructure that looks like the agent's fault, and the reverse.)
"""

from __future__ import annotations

from typing import assert_never

from esac_ag.agents.endings import Ending, at_limit
from esac_ag.agents.logs.ending import LogEnding, attempt_ending
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.failures import LASTING, REMEDIES
from esac_ag.gateway.calls import CALL_RULES, CallOutcome, CallRecord, EndingKind, LaneSummary


def weighed(log: LogEnding, lane: LaneSummary, *, log_is_cut: bool) -> Ending:
    """The end of an attempt.

    Args:
        log: what log and process tell together.
        lane: what the gateway saw.
        log_is_cut: whether the log is longer than `limits.output_bytes`, so that its end is not known.
    """
    by_gateway = _by_gateway(lane)
    if by_gateway is not None:
        return by_gateway
    if not any(map(_was_heard, lane.calls)):
        return Ending(Outcome.INFRA, f"No call to the model was answered; {log.reason}")
    ending = attempt_ending(log)
    if ending.outcome is not Outcome.INFRA:
        return ending
    if log_is_cut:
        return at_limit(LimitKind.OUTPUT, "the agent wrote more than is kept")
    why = "the model was heard, and the gateway saw no failure of the service after that"
    return Ending(Outcome.AGENT_ERROR, f"{log.reason} ({why})")


def _was_heard(call: CallRecord) -> bool:
    """Whether the model answered a call, or was speaking when the attempt ended.

    A model that talks on in its first reply until the deadline used up its time like any other.
    """
    if call.outcome is not CallOutcome.CLOSED:
        return CALL_RULES[call.outcome].spends
    return call.first_token_s is not None or (not call.streamed and bool(call.reply_bytes))


def _by_gateway(lane: LaneSummary) -> Ending | None:
    """What the gateway's record decides; none when it leaves the end to the agent."""
    ending = lane.ending
    match ending.kind:
        case EndingKind.CLEAR:
            return None
        case EndingKind.LIMIT:
            return Ending(Outcome.LIMIT, ending.reason, ending.limit)
        case EndingKind.HUNG_UP:
            return Ending(Outcome.AGENT_ERROR, ending.reason)
        case EndingKind.UNMETERED:
            return Ending(Outcome.INFRA, ending.reason)
        case EndingKind.INFRA:
            told = ending.reason if ending.failure is None else f"{ending.failure.value}: {ending.reason}"
            remedy = "" if ending.failure is None else f"; {REMEDIES[ending.failure]}"
            why = f"The model endpoint failed, {told}{remedy}"
            return Ending(Outcome.INFRA, why, is_lasting=ending.failure in LASTING)
        case _:
            assert_never(ending.kind)
