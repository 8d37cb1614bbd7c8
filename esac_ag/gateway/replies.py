"""Reading a model's reply while it passes: its usage, whether it is whole, and what failed in it.

Replies are untrusted, and are passed on whatever they hold; here they are only understood.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol as Interface
from typing import assert_never

from esac_ag.attempt import Usage
from esac_ag.attempt.wire_usage import chat_usage, messages_usage, responses_usage
from esac_ag.failures import Failure, FailureClass, classify
from esac_ag.gateway.calls import shown
from esac_ag.gateway.events import EventReader
from esac_ag.gateway.protocols import Protocol, parsed

MOST_READ_BYTES = 16 * 1024 * 1024
"""A longer reply is passed on; its usage is unknown."""
STANDARD_TIERS = frozenset({"default", "standard", "auto"})
"""Service tiers that a price table's prices are for."""

_STATUS_OF_ERROR = {
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that an error would have had if it had come before the reply began; any other one is 500."""


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """What a reply told."""

    usage: Usage
    model: str | None
    tier: str | None
    failure: Failure | None
    """Why the reply counts as none, although its status was 200."""

    @property
    def is_standard_tier(self) -> bool:
        """Whether the price table's prices hold; what is not told is standard."""
        return self.tier is None or self.tier in STANDARD_TIERS


class _Reading(Interface):
    """One protocol's events or whole body, put together."""

    model: str | None
    tier: str | None
    error: object
    whole: bool
    """Whether the reply came to its end."""
    spoke: bool
    """Whether any output came."""

    def event(self, value: Mapping[str, object]) -> None:
        """Take in one event of a stream."""

    def body(self, value: Mapping[str, object]) -> None:
        """Take in a whole reply."""

    def usage(self) -> Usage:
        """What was told."""


class ReplyReader:
    """Reads one reply with status 200.

    Args:
        protocol: what is spoken.
        streamed: whether it comes as server-sent events.
    """

    def __init__(self, protocol: Protocol, *, streamed: bool) -> None:
        self._reading = _reading_of(protocol)
        self._events = EventReader() if streamed else None
        self._parts: list[bytes] = []
        self._size_bytes = 0
        self._unreadable = False

    @property
    def spoke(self) -> bool:
        """Whether any output came yet, in a stream."""
        return self._reading.spoke

    @property
    def is_whole(self) -> bool:
        """Whether a stream came to the end that its protocol marks."""
        return self._events is not None and self._reading.whole

    def feed(self, data: bytes) -> None:
        """Take in the next piece."""
        self._size_bytes += len(data)
        if self._events is None:
            if self._size_bytes <= MOST_READ_BYTES:
                self._parts.append(data)
            else:
                self._parts = []
            return
        for event in self._events.feed(data):
            self._take(event)

    def _take(self, event: bytes) -> None:
        if event == b"[DONE]":
            self._reading.whole = True
            return
        value = parsed(event)
        if isinstance(value, dict):
            self._reading.event(value)
        else:
            self._unreadable = True

    def facts(self, cut: Failure | None = None) -> ReplyFacts:
        """What the reply told, after its last piece.

        Args:
            cut: why there are no more pieces, if that is no end.
        """
        if self._events is None and self._size_bytes <= MOST_READ_BYTES:
            value = parsed(b"".join(self._parts))
            if isinstance(value, dict):
                self._reading.body(value)
            else:
                self._unreadable = True
        reading = self._reading
        return ReplyFacts(reading.usage(), reading.model, reading.tier, self._failure(cut))

    def _failure(self, cut: Failure | None) -> Failure | None:
        if self._reading.error is not None:
            return told_failure(self._reading.error)
        if self.is_whole or cut is not None:
            # A stream that was cut after its last event is whole.
            return None if self.is_whole else cut
        if self._events is None:
            readable = self._reading.whole or self._size_bytes > MOST_READ_BYTES
            return None if readable else Failure(FailureClass.BROKEN_REPLY, "no usable reply with status 200")
        kind = FailureClass.BROKEN_REPLY if self._unreadable else FailureClass.TRUNCATED
        return Failure(kind, "the stream ended before the reply did")


def told_failure(error: object) -> Failure:
    """The failure that an error inside a reply tells of."""
    fields = error if isinstance(error, dict) else {"message": str(error)}
    names = [str(fields.get(name)) for name in ("code", "type")]
    status = next((_STATUS_OF_ERROR[name] for name in names if name in _STATUS_OF_ERROR), None)
    code = fields.get("code")
    if status is None and isinstance(code, int) and 400 <= code < 600:  # noqa: PLR2004  (a status)
        status = code
    failure = classify(status or 500, {}, json.dumps({"error": fields}).encode())
    return Failure(failure.kind, f"in the reply: {failure.detail}")


def _reading_of(protocol: Protocol) -> _Reading:
    match protocol:
        case Protocol.CHAT:
            return _Chat()
        case Protocol.RESPONSES:
            return _Responses()
        case Protocol.MESSAGES:
            return _Messages()
        case _:
            assert_never(protocol)


class _Common:
    """What all protocols tell."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.tier: str | None = None
        self.error: object = None
        self.whole = False
        self.spoke = False

    def _name(self, value: Mapping[str, object]) -> None:
        model, tier = value.get("model"), value.get("service_tier")
        self.model = shown(model) if isinstance(model, str) else self.model
        self.tier = shown(tier) if isinstance(tier, str) else self.tier


class _Chat(_Common):
    """Chat completions: usage in a chunk of its own, or in every chunk; the last one counts."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: object = None

    def event(self, value: Mapping[str, object]) -> None:
        self._name(value)
        self.error = value.get("error") or self.error
        self._usage = value.get("usage") or self._usage
        choices = value.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self.whole = self.whole or choice.get("finish_reason") is not None
                delta = choice.get("delta")
                said = {name for name, part in delta.items() if part} if isinstance(delta, dict) else set()
                self.spoke = self.spoke or bool(said - {"role"})

    def body(self, value: Mapping[str, object]) -> None:
        self._name(value)
        self.error = value.get("error")
        self._usage = value.get("usage")
        self.whole = bool(value.get("choices"))

    def usage(self) -> Usage:
        return chat_usage(self._usage)


class _Responses(_Common):
    """OpenAI Responses: the last event holds the whole response."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: object = None

    def event(self, value: Mapping[str, object]) -> None:
        kind = value.get("type")
        response = value.get("response")
        if kind == "error":
            inner = value.get("error")
            self.error = inner if isinstance(inner, dict) else dict(value)
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            self.body(response if isinstance(response, dict) else {})
        elif kind == "response.output_item.added" or str(kind).endswith(".delta"):
            self.spoke = True

    def body(self, value: Mapping[str, object]) -> None:
        self._name(value)
        self.error = value.get("error") or self.error
        self._usage = value.get("usage")
        status = value.get("status")
        if status == "failed" and self.error is None:
            self.error = {"message": "the response failed"}
        self.whole = status in {"completed", "incomplete"}

    def usage(self) -> Usage:
        return responses_usage(self._usage)


class _Messages(_Common):
    """Anthropic Messages: input counts come first, the final output count comes last.

    The output count of `message_start` is stale, so without a later one the output is unknown. Input counts
    are cumulative, and never fall.
    """

    def __init__(self) -> None:
        super().__init__()
        self._usage: dict[str, object] = {}

    def event(self, value: Mapping[str, object]) -> None:
        kind = value.get("type")
        match kind:
            case "message_start":
                message = value.get("message")
                self._start(message if isinstance(message, dict) else {})
            case "content_block_start" | "content_block_delta":
                self.spoke = True
            case "message_delta":
                self._merge(value.get("usage"))
            case "message_stop":
                self.whole = True
            case "error":
                self.error = value.get("error") or dict(value)
            case _:
                pass

    def body(self, value: Mapping[str, object]) -> None:
        if value.get("type") == "error":
            self.error = value.get("error") or dict(value)
            return
        self._name(value)
        self._merge(value.get("usage"))
        self.whole = value.get("type") == "message"

    def usage(self) -> Usage:
        return messages_usage(self._usage)

    def _start(self, message: Mapping[str, object]) -> None:
        self._name(message)
        self._merge(message.get("usage"))
        self._usage.pop("output_tokens", None)

    def _merge(self, told: object) -> None:
        if not isinstance(told, dict):
            return
        self._name({"service_tier": told.get("service_tier")})
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            before, now = self._usage.get(name), told.get(name)
            if isinstance(now, int):
                self._usage[name] = max(now, before) if isinstance(before, int) else now
        if told.get("output_tokens") is not None:
            self._usage["output_tokens"] = told["output_tokens"]
