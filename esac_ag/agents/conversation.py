"""The chat agent's loop: ask the model, carry out its calls, append the results, until an end."""

from __future__ import annotations

from typing import assert_never

from esac_ag.agents.chat_client import Answered, Cancelled, GivenUp, OutOfTime
from esac_ag.agents.contract import Assignment
from esac_ag.agents.endings import Ending, after_command, after_failure, at_limit, cancelled, out_of_time
from esac_ag.agents.exchange import Exchange
from esac_ag.agents.messages import raw_arguments
from esac_ag.agents.replies import Reply, ToolCall
from esac_ag.agents.tools import Misuse, Submit, Toolbox, arguments_of, read_call
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.attempt.metering import Meter

NUDGE = "Go on with the tools, or call `submit` when the work is done."
CUT_OFF = "Your reply reached the output limit and was cut off. Go on, in shorter replies."
MOST_CUT_OFF = 3
"""Replies in a row that are cut off without a call before the attempt ends."""


class Conversation:
    """One attempt's exchange with a model."""

    def __init__(self, exchange: Exchange, toolbox: Toolbox, meter: Meter, assignment: Assignment) -> None:
        self._exchange = exchange
        self._toolbox = toolbox
        self._meter = meter
        self._assignment = assignment
        self._idle = 0
        self._cut_off = 0

    def run(self, system: str) -> Ending:
        """Converse until an end.

        Raises:
            SandboxLost: the container or the engine went away.
        """
        self._exchange.system(system)
        self._exchange.user(self._assignment.request)
        while True:
            ending = self._no_further_call() or self._turn()
            if ending is not None:
                return ending

    def _turn(self) -> Ending | None:
        answer = self._exchange.ask()
        match answer:
            case Answered(reply=reply):
                return self._take(reply)
            case GivenUp(failure=failure, attempts=attempts):
                return after_failure(failure, attempts)
            case OutOfTime():
                return out_of_time()
            case Cancelled():
                return cancelled()
            case _:
                assert_never(answer)

    def _take(self, reply: Reply) -> Ending | None:
        if reply.finish_reason == "content_filter":
            return Ending(Outcome.COMPLETED, "The provider's content filter stopped the model's reply")
        if reply.refusal and not reply.calls:
            return Ending(Outcome.COMPLETED, "The model refused")
        return self._carry_out(reply) if reply.calls else self._without_calls(reply)

    def _without_calls(self, reply: Reply) -> Ending | None:
        if reply.finish_reason == "length":
            self._cut_off += 1
            if self._cut_off >= MOST_CUT_OFF:
                return at_limit(LimitKind.OUTPUT_TOKENS, f"{MOST_CUT_OFF} replies in a row were cut off")
            self._exchange.user(CUT_OFF)
            return None
        self._idle += 1
        if self._idle > 1:
            return Ending(Outcome.COMPLETED, "The model stopped without submit")
        self._exchange.user(NUDGE)
        return None

    def _carry_out(self, reply: Reply) -> Ending | None:
        self._idle = self._cut_off = 0
        for call in reply.calls:
            ending = self._one_call(call)
            if ending is not None:
                return ending
        return None

    def _one_call(self, call: ToolCall) -> Ending | None:
        wanted = read_call(call)
        if ending := self._stopped():
            return ending
        if not isinstance(wanted, Submit) and self._meter.tool_calls_used_up():
            return at_limit(LimitKind.TOOL_CALLS, "the tool calls were used up")
        self._meter.tool_calls += 1
        arguments = None if isinstance(wanted, Misuse) else arguments_of(call)
        self._exchange.called(call, {"raw": raw_arguments(call)} if arguments is None else arguments)
        result = self._toolbox.carry_out(wanted)
        self._exchange.told(call, result.text, exit_code=result.exit_code, truncated=result.truncated)
        if result.submitted is not None:
            return Ending(Outcome.COMPLETED, "The model submitted its work")
        if ending := after_command(result.termination):
            return ending
        if self._toolbox.shell.output_used_up:
            return at_limit(LimitKind.OUTPUT, "the commands' output used up its budget")
        return None

    def _stopped(self) -> Ending | None:
        if self._assignment.cancelled():
            return cancelled()
        return out_of_time() if self._assignment.deadline.has_passed() else None

    def _no_further_call(self) -> Ending | None:
        """Why the model is not asked again."""
        if ending := self._stopped():
            return ending
        if kind := self._meter.used_up():
            return at_limit(kind, "the budget was used up")
        if kind := self._meter.unmetered():
            return Ending(
                Outcome.INFRA,
                f"The manifest limits {kind.value}, but the endpoint does not tell enough to enforce it; "
                "use an endpoint that reports usage, or a manifest without this limit",
            )
        return None
