"""The exchange with a model, whatever is asked of it: requests, replies, and the record of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from esac_ag.agents.chat_client import Answer, Answered, ChatClient
from esac_ag.agents.loaded import SeenRequest
from esac_ag.agents.messages import assistant_message, text_of
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.replies import Reply, ToolCall, json_bytes, within
from esac_ag.agents.settings import ChatSettings
from esac_ag.agents.wire_requests import is_by_model, offered_tools
from esac_ag.attempt.metering import Meter
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.manifest.plan import Model
from esac_ag.transcript import EntryKind

LOGGED_REPLY_BYTES = 1_000_000


@dataclass(slots=True)
class Room:
    """How much of all replies is taken yet, in bytes as JSON, where one record has to hold them all."""

    text_bytes: int
    argument_bytes: int

    def taken(self, reply: Reply) -> Reply:
        """What of a reply fits; it takes its room."""
        kept = within(reply, self.text_bytes, self.argument_bytes)
        self.text_bytes -= json_bytes(kept.text) + json_bytes(kept.refusal)
        written = [call.arguments for call in kept.calls if isinstance(call.arguments, str)]
        self.argument_bytes -= sum(map(json_bytes, written))
        return kept


def request_frame(model: Model, settings: ChatSettings, tools: Sequence[JsonValue]) -> dict[str, JsonValue]:
    """Everything of a request but its messages; what the model's decoding leaves open is not sent."""
    decoding = model.decoding
    optional: dict[str, JsonValue] = {
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        settings.output_tokens_field.value: decoding.max_output_tokens,
        "seed": decoding.seed,
        "reasoning_effort": model.reasoning,
    }
    sent = {key: value for key, value in optional.items() if value is not None}
    return {"model": model.name, "tools": [*tools], "stream": False, **sent}


class Exchange:
    """The messages of one attempt, as they are sent, metered and recorded.

    Args:
        frame: everything of a request but its messages.
        client: the wire.
        meter: told of each reply.
        recorder: told of all.
        deadline: of the attempt.
        spared: whether time that the service takes is no part of it.
        room: for all replies; None where no record holds them together.
    """

    def __init__(
        self,
        frame: Mapping[str, JsonValue],
        client: ChatClient,
        meter: Meter,
        recorder: Recorder,
        deadline: Deadline,
        *,
        spared: bool = False,
        room: Room | None = None,
    ) -> None:
        self._frame = dict(frame)
        self._client = client
        self._meter = meter
        self._recorder = recorder
        self._deadline = deadline
        self._spared = spared
        self._room = room
        self._messages: list[JsonValue] = []
        self._sent: list[tuple[str, int]] = []
        """Digest of each request, and how many messages it held."""

    @property
    def deadline(self) -> Deadline:
        """Of the attempt, as it is now."""
        return self._client.moved(self._deadline) if self._spared else self._deadline

    def system(self, text: str) -> None:
        """Add the system message."""
        self._recorder.entry(EntryKind.SYSTEM, text)
        self._messages.append({"role": "system", "content": text})

    def user(self, text: str) -> None:
        """Add a message of the user."""
        self._recorder.entry(EntryKind.USER, text)
        self._messages.append({"role": "user", "content": text})

    def ask(self) -> Answer:
        """Send all messages; a reply joins them."""
        body = canonical_json({**self._frame, "messages": self._messages})
        digest = sha256_of_bytes(body)
        self._log_request(digest)
        answer = self._client.complete(body, self._deadline, spared=self._spared)
        if isinstance(answer, Answered):
            if self._room is not None:
                answer = replace(answer, reply=self._room.taken(answer.reply))
            shown = answer.body[:LOGGED_REPLY_BYTES].decode("utf-8", "replace")
            self._recorder.log({"reply": len(self._sent), "body": shown})
            self._take(answer.reply, digest)
        return answer

    def called(self, call: ToolCall, arguments: dict[str, JsonValue]) -> None:
        """Record a call that is about to be carried out, with arguments that a record can hold."""
        self._recorder.entry(
            EntryKind.TOOL_CALL, call_id=call.call_id, tool=call.name[:200], arguments=arguments
        )

    def told(
        self, call: ToolCall, text: str, *, exit_code: int | None = None, truncated: bool = False
    ) -> None:
        """Add the answer to a call."""
        self._recorder.entry(
            EntryKind.TOOL_RESULT,
            text,
            call_id=call.call_id,
            tool=call.name[:200],
            exit_code=exit_code,
            truncated=truncated,
        )
        self._messages.append({"role": "tool", "tool_call_id": call.call_id, "content": text})

    def requests(self) -> Iterator[SeenRequest]:
        """Every request that was sent, with all text in its messages."""
        texts = [(text_of(message), is_by_model(message)) for message in self._messages]
        tools = offered_tools(self._frame)
        for number, (digest, messages) in enumerate(self._sent, start=1):
            given = tuple(text for text, is_by_model in texts[:messages] if not is_by_model)
            written = tuple(text for text, is_by_model in texts[:messages] if is_by_model)
            yield SeenRequest(number, digest, given, tools, written)

    def _log_request(self, digest: str) -> None:
        """The first request whole, then only what was added: each can be put together again from the log."""
        before = self._sent[-1][1] if self._sent else 0
        self._sent.append((digest, len(self._messages)))
        facts: dict[str, JsonValue] = {"request": len(self._sent), "sha256": digest}
        if not before:
            facts["body"] = dict(self._frame)
        facts["messages_added"] = list(self._messages[before:])
        self._recorder.log(facts)

    def _take(self, reply: Reply, digest: str) -> None:
        self._meter.add_reply(reply.usage)
        self._recorder.entry(
            EntryKind.MODEL, reply.text or reply.refusal, request_sha256=digest, usage=reply.usage
        )
        asked = str(self._frame["model"])
        if self._meter.turns == 1 and reply.model not in {"", asked}:
            self._recorder.notice(f"asked for model {asked}, answered by {reply.model[:200]}")
        if reply.left_out:
            self._recorder.notice(f"the reply was too large, left out: {reply.left_out}")
        self._messages.append(assistant_message(reply))
