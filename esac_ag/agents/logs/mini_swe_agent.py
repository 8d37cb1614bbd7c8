"""mini-swe-agent's log: the trajectory file of `mini -o FILE`, one JSON object, written anew after each step.

Its exit code is 0 for every end that is not an exception: the trajectory's `exit_status` tells them apart.
Exceptions are told by the class that LiteLLM gave them (seen in 2.4.6).
"""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.agents.logs.ending import LogEnding, completed, crashed, failed, limited, refused
from esac_ag.agents.logs.notices import failure_of
from esac_ag.agents.logs.reading import LogReader, parsed
from esac_ag.agents.logs.values import (
    Object,
    arguments_of,
    int_at,
    joined_text,
    list_at,
    name_at,
    number_at,
    object_at,
    text_at,
    whole_usage,
)
from esac_ag.attempt import LimitKind
from esac_ag.attempt.wire_usage import chat_usage
from esac_ag.failures import Failure, FailureClass
from esac_ag.transcript import Entry, EntryKind

_ENDPOINT_ERRORS = {
    "APIConnectionError": FailureClass.TRANSPORT,
    "APIError": FailureClass.OVERLOADED,
    "APIResponseValidationError": FailureClass.BROKEN_REPLY,
    "AuthenticationError": FailureClass.CREDENTIALS,
    "BadGatewayError": FailureClass.OVERLOADED,
    "BadRequestError": FailureClass.REJECTED,
    "ContentPolicyViolationError": FailureClass.FILTERED,
    "ContextWindowExceededError": FailureClass.CONTEXT_FULL,
    "InternalServerError": FailureClass.OVERLOADED,
    "NotFoundError": FailureClass.NOT_FOUND,
    "PermissionDeniedError": FailureClass.CREDENTIALS,
    "RateLimitError": FailureClass.RATE_LIMITED,
    "ServiceUnavailableError": FailureClass.OVERLOADED,
    "Timeout": FailureClass.TIMED_OUT,
    "UnprocessableEntityError": FailureClass.REJECTED,
}
_MORE_EXACT = frozenset({FailureClass.QUOTA, FailureClass.TRANSPORT, FailureClass.CONTEXT_FULL})
"""What the words of an exception may tell beyond its class."""


class MiniSweAgentReader(LogReader):
    """Reads a trajectory of mini-swe-agent."""

    def __init__(self, *, started_at_s: float | None = None) -> None:
        super().__init__(started_at_s=started_at_s)
        self._last_finish = ""
        self._last_words = ""
        """What the exit message says: of an exception, its text."""

    def events(self, log: bytes) -> Iterator[Entry]:
        """The messages of the trajectory."""
        trajectory = parsed(log)
        if not isinstance(trajectory, dict):
            yield from self.odd("the log is no trajectory, or a part of one")
            return
        info = object_at(trajectory, "info")
        version = name_at(info, "mini_version")
        yield self.entry(EntryKind.NOTICE, f"mini-swe-agent {version}, model {_model(info)}")
        for message in list_at(trajectory, "messages"):
            if isinstance(message, dict):
                yield from self._message(message)
            else:
                yield from self.odd("a message is no object")
        self.claim = self._claim(info)

    def _message(self, message: Object) -> Iterator[Entry]:
        extra = object_at(message, "extra")
        moment_s, text = number_at(extra, "timestamp"), joined_text(message.get("content"))
        match role := name_at(message, "role"):
            case "system":
                yield self.entry(EntryKind.SYSTEM, text, moment_s=moment_s)
            case "user":
                # A reply without a usable call is not kept as a message, only beside what was answered to it.
                if object_at(extra, "response"):
                    yield from self._reply(_choice(extra), extra, moment_s)
                yield self.entry(EntryKind.USER, text, moment_s=moment_s)
            case "assistant":
                yield from self._reply(message, extra, moment_s)
            case "tool":
                yield self.entry(
                    EntryKind.TOOL_RESULT,
                    text,
                    moment_s=moment_s,
                    call_id=name_at(message, "tool_call_id"),
                    exit_code=int_at(extra, "returncode"),
                )
            case "exit":
                status, self._last_words = name_at(extra, "exit_status"), text
                yield self.entry(EntryKind.NOTICE, f"{status}: {text}" if text else status)
            case _:
                yield from self.odd("a message of unknown role", role)

    def _reply(self, message: Object, extra: Object, moment_s: float | None) -> Iterator[Entry]:
        response = object_at(extra, "response")
        first = next(iter(list_at(response, "choices")), None)
        self._last_finish = name_at(first, "finish_reason") if isinstance(first, dict) else ""
        text = joined_text(message.get("content")) or text_at(message, "refusal")
        if text_at(message, "refusal"):
            self._last_finish = "content_filter"
        yield self.of_model(
            text,
            text_at(message, "reasoning_content"),
            moment_s=moment_s,
            usage=whole_usage(chat_usage(response.get("usage"))),
        )
        for call in list_at(message, "tool_calls"):
            if isinstance(call, dict):
                function = object_at(call, "function")
                yield self.entry(
                    EntryKind.TOOL_CALL,
                    moment_s=moment_s,
                    call_id=name_at(call, "id"),
                    tool=name_at(function, "name"),
                    arguments=arguments_of(function.get("arguments")),
                )

    def _claim(self, info: Object) -> LogEnding | None:
        match status := name_at(info, "exit_status"):
            case "":
                return None
            case "Submitted":
                return completed()
            case "LimitsExceeded":
                return limited(None, "The agent's own limit of steps or cost was reached")
            case "TimeExceeded":
                return limited(LimitKind.WALL_CLOCK, "The agent's own limit of time was reached")
            case "RepeatedFormatError":
                return self._without_calls()
            case _ if status in _ENDPOINT_ERRORS:
                return failed(_failure(status, self._last_words))
            case _:
                return crashed(f"The agent ended with {status}")

    def _without_calls(self) -> LogEnding:
        match self._last_finish:
            case "content_filter":
                return refused("The model refused, or the provider's filter stopped it")
            case "length":
                return limited(LimitKind.OUTPUT_TOKENS, "Replies were cut off at the output limit")
            case _:
                return completed("The model went on without calling a tool, until the agent gave up")


def _failure(status: str, text: str) -> Failure:
    """The class of the exception, or what its words tell more exactly."""
    worded = failure_of(text)
    return Failure(worded.kind if worded.kind in _MORE_EXACT else _ENDPOINT_ERRORS[status], worded.detail)


def _model(info: Object) -> str:
    return name_at(object_at(object_at(info, "config"), "model"), "model_name")


def _choice(extra: Object) -> Object:
    """The message of the first choice of a response."""
    first = next(iter(list_at(object_at(extra, "response"), "choices")), None)
    return object_at(first, "message") if isinstance(first, dict) else {}
