"""OpenCode's log: the standard output of `opencode run --format json`.

Each step is one model call: it starts, tells its parts, and finishes with its tokens, whose input leaves out
what was cached and whose output leaves out the reasoning. A reply that breaks off finishes with the reason
`unknown` and is asked for again without end; one that reaches the output limit ends the run with exit code 0
(both seen in 1.18.33).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from esac_ag.agents.logs.ending import LogEnding, completed, failed, limited, refused, unknown
from esac_ag.agents.logs.notices import failure_of
from esac_ag.agents.logs.reading import JsonLinesReader
from esac_ag.agents.logs.values import (
    Object,
    arguments_of,
    int_at,
    name_at,
    number_at,
    object_at,
    text_at,
    tokens_at,
    told_at,
    whole_usage,
)
from esac_ag.attempt import LimitKind, Usage
from esac_ag.failures import Failure, FailureClass
from esac_ag.transcript import Entry, EntryKind

_MILLISECONDS = 1000.0
_ENDPOINT_ERRORS = {
    "APIError": FailureClass.REJECTED,
    "ProviderAuthError": FailureClass.CREDENTIALS,
    "ContextOverflowError": FailureClass.CONTEXT_FULL,
}
"""Errors of the endpoint by the agent's name for them, with the class if the words tell none."""


@dataclass(slots=True)
class _Step:
    """A model call that is still coming."""

    moment_s: float | None
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Object] = field(default_factory=list)


class OpenCodeReader(JsonLinesReader):
    """Reads OpenCode's stream of JSON."""

    def __init__(self, *, started_at_s: float | None = None) -> None:
        super().__init__(started_at_s=started_at_s)
        self._step: _Step | None = None

    def event(self, event: Object) -> Iterator[Entry]:
        """The entries that one event adds."""
        milliseconds = number_at(event, "timestamp")
        moment_s = None if milliseconds is None else milliseconds / _MILLISECONDS
        part = object_at(event, "part")
        match name_at(event, "type"):
            case "step_start":
                yield from self._flush(None)
                self._step = _Step(moment_s)
            case "text":
                self._current(moment_s).texts.append(text_at(part, "text"))
            case "reasoning":
                self._current(moment_s).thoughts.append(text_at(part, "text"))
            case "tool_use":
                self._current(moment_s).calls.append(part)
            case "step_finish":
                self._current(moment_s)
                usage = _usage(object_at(part, "tokens"))
                yield from self._flush(usage)
                self._finished(name_at(part, "reason"), usage)
            case "error":
                yield from self._flush(None)
                error = object_at(event, "error")
                text = text_at(object_at(error, "data"), "message") or name_at(error, "name")
                yield self.entry(EntryKind.NOTICE, text, moment_s=moment_s)
                self.claim = self._error(error, text)
            case kind:
                yield from self.odd("an event of unknown type", kind)

    def at_end(self) -> Iterator[Entry]:
        """A step that was cut off."""
        yield from self._flush(None)

    def _current(self, moment_s: float | None) -> _Step:
        if self._step is None:
            self._step = _Step(moment_s)
        return self._step

    def _flush(self, usage: Usage | None) -> Iterator[Entry]:
        step, self._step = self._step, None
        if step is None or not (usage or step.texts or step.thoughts or step.calls):
            return
        text, thought = "\n".join(step.texts), "\n".join(step.thoughts)
        yield self.of_model(text, thought, moment_s=step.moment_s, usage=usage)
        for call in step.calls:
            yield from self._call(call, step.moment_s)

    def _call(self, part: Object, moment_s: float | None) -> Iterator[Entry]:
        state = object_at(part, "state")
        call_id, tool = name_at(part, "callID"), name_at(part, "tool")
        arguments = arguments_of(state.get("input"))
        yield self.entry(
            EntryKind.TOOL_CALL, moment_s=moment_s, call_id=call_id, tool=tool, arguments=arguments
        )
        metadata, milliseconds = object_at(state, "metadata"), number_at(object_at(state, "time"), "end")
        yield self.entry(
            EntryKind.TOOL_RESULT,
            text_at(state, "output") or text_at(state, "error"),
            moment_s=moment_s if milliseconds is None else milliseconds / _MILLISECONDS,
            call_id=call_id,
            tool=tool,
            exit_code=int_at(metadata, "exit"),
            truncated=metadata.get("truncated") is True,
        )

    def _finished(self, reason: str, usage: Usage | None) -> None:
        """A later step overrules what an earlier one tells of the end."""
        self.claim = None
        match reason:
            case "stop":
                self.claim = completed()
            case "length":
                self.claim = limited(LimitKind.OUTPUT_TOKENS, "A reply was cut off at the output limit")
            case "content-filter":
                self.claim = refused("The provider's content filter stopped the model's reply")
            case "tool-calls":
                pass
            case _ if usage is None:
                self.pending = Failure(FailureClass.TRUNCATED, "a reply of the endpoint broke off")
            case _:
                self.claim = unknown(f"The last reply ended for the reason {reason!r}")

    def _error(self, error: Object, text: str) -> LogEnding:
        name, data = name_at(error, "name"), object_at(error, "data")
        if name == "ContentFilterError":
            return refused("The provider's content filter stopped the model's reply")
        if name == "MessageOutputLengthError":
            return limited(LimitKind.OUTPUT_TOKENS, "A reply was cut off at the output limit")
        if name not in _ENDPOINT_ERRORS:
            return unknown(f"The agent tells of an error: {name}: {text[:500]}")
        body, status = text_at(data, "responseBody"), int_at(data, "statusCode")
        failure = failure_of(body or text, status=status)
        if failure.kind is FailureClass.REJECTED:
            failure = Failure(_ENDPOINT_ERRORS[name], failure.detail)
        return failed(failure)


def _usage(tokens: Object) -> Usage | None:
    """One call's usage in our fields."""
    cache = object_at(tokens, "cache")
    fresh, output = tokens_at(tokens, "input"), tokens_at(tokens, "output")
    read, written = told_at(cache, "read"), told_at(cache, "write")
    reasoning = told_at(tokens, "reasoning")
    if fresh is None:
        return None
    return whole_usage(
        Usage(
            model_calls=1,
            input_tokens=fresh + (read or 0) + (written or 0),
            cached_input_tokens=read,
            cache_write_tokens=written,
            output_tokens=None if output is None else output + (reasoning or 0),
            reasoning_tokens=reasoning,
        )
    )
