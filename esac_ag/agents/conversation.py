"""The chat agent's loop: ask the model, carry out its calls, append the results, until an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from pydantic import JsonValue

from esac_ag.agents.chat_client import Answered, Cancelled, ChatClient, GivenUp, OutOfTime
from esac_ag.agents.contract import Assignment
from esac_ag.agents.endings import Ending, after_command, after_failure, at_limit, cancelled, out_of_time
from esac_ag.agents.loaded import SeenRequest
from esac_ag.agents.messages import assistant_message, raw_arguments, text_of
from esac_ag.agents.metering import Meter
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.replies import Reply, ToolCall
from esac_ag.agents.tools import Misuse, Submit, Toolbox, ToolResult, arguments_of, read_call
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.transcript import EntryKind

NUDGE = "Go on with the tools, or call `submit` when the work is done."
CUT_OFF = "Your reply reached the output limit and was cut off. Go on, in shorter replies."
MOST_CUT_OFF = 3
"""Replies in a row that are cut off without a call before the attempt ends."""
LOGGED_REPLY_BYTES = 1_000_000


class Conversation:
    """One attempt's exchange with a model."""

    def __init__(
        self,
        fixed: dict[str, JsonValue],
        client: ChatClient,
        toolbox: Toolbox,
        meter: Meter,
        recorder: Recorder,
        assignment: Assignment,
    ) -> None:
        self._fixed = fixed
        self._client = client
        self._toolbox = toolbox
        self._meter = meter
        self._recorder = recorder
        self._assignment = assignment
        self._messages: list[JsonValue] = []
        self._sent: list[tuple[str, int]] = []
        """Digest of each request, and how many messages it held."""
        self._idle = 0
        self._cut_off = 0

    def run(self, system: str) -> Ending:
        """Converse until an end.

        Raises:
            SandboxLost: the container or the engine went away.
        """
        self._recorder.entry(EntryKind.SYSTEM, system)
        self._recorder.entry(EntryKind.USER, self._assignment.request)
        self._messages.append({"role": "system", "content": system})
        self._messages.append({"role": "user", "content": self._assignment.request})
        while True:
            ending = self._no_further_call() or self._turn()
            if ending is not None:
                return ending

    def requests(self) -> Iterator[SeenRequest]:
        """Every request that was sent, with all text in its messages."""
        texts = [text_of(message) for message in self._messages]
        for number, (digest, messages) in enumerate(self._sent, start=1):
            yield SeenRequest(number, digest, "\n".join(texts[:messages]))

    def _turn(self) -> Ending | None:
        body = canonical_json({**self._fixed, "messages": self._messages})
        digest = sha256_of_bytes(body)
        self._log_request(digest)
        answer = self._client.complete(body, self._assignment.deadline)
        match answer:
            case Answered(reply=reply, body=raw):
                shown = raw[:LOGGED_REPLY_BYTES].decode("utf-8", "replace")
                self._recorder.log({"reply": len(self._sent), "body": shown})
                return self._take(reply, digest)
            case GivenUp(failure=failure, attempts=attempts):
                return after_failure(failure, attempts)
            case OutOfTime():
                return out_of_time()
            case Cancelled():
                return cancelled()
            case _:
                assert_never(answer)

    def _log_request(self, digest: str) -> None:
        """The first request whole, then only what was added: each can be put together again from the log."""
        before = self._sent[-1][1] if self._sent else 0
        self._sent.append((digest, len(self._messages)))
        facts: dict[str, JsonValue] = {"request": len(self._sent), "sha256": digest}
        if not before:
            facts["body"] = dict(self._fixed)
        facts["messages_added"] = list(self._messages[before:])
        self._recorder.log(facts)

    def _take(self, reply: Reply, digest: str) -> Ending | None:
        self._meter.add_reply(reply.usage)
        self._recorder.entry(
            EntryKind.MODEL, reply.text or reply.refusal, request_sha256=digest, usage=reply.usage
        )
        asked = str(self._fixed["model"])
        if self._meter.turns == 1 and reply.model not in {"", asked}:
            self._recorder.notice(f"asked for model {asked}, answered by {reply.model[:200]}")
        self._messages.append(assistant_message(reply))
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
            self._say(CUT_OFF)
            return None
        self._idle += 1
        if self._idle > 1:
            return Ending(Outcome.COMPLETED, "The model stopped without submit")
        self._say(NUDGE)
        return None

    def _say(self, text: str) -> None:
        self._recorder.entry(EntryKind.USER, text)
        self._messages.append({"role": "user", "content": text})

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
        arguments = arguments_of(call) if not isinstance(wanted, Misuse) else {"raw": raw_arguments(call)}
        self._recorder.entry(
            EntryKind.TOOL_CALL, call_id=call.call_id, tool=call.name[:200], arguments=arguments
        )
        result = self._toolbox.carry_out(wanted)
        self._answer(call, result)
        if result.submitted is not None:
            return Ending(Outcome.COMPLETED, "The model submitted its work")
        if ending := after_command(result.termination):
            return ending
        if self._toolbox.shell.output_used_up:
            return at_limit(LimitKind.OUTPUT, "the commands' output used up its budget")
        return None

    def _answer(self, call: ToolCall, result: ToolResult) -> None:
        self._recorder.entry(
            EntryKind.TOOL_RESULT,
            result.text,
            call_id=call.call_id,
            tool=call.name[:200],
            exit_code=result.exit_code,
            truncated=result.truncated,
        )
        self._messages.append({"role": "tool", "tool_call_id": call.call_id, "content": result.text})

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
