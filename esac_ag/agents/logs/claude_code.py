"""Claude Code's log: the standard output of `claude -p --output-format stream-json --verbose`.

A message of the model comes in several events, one a content block, all with the message's id and with the
usage that was known when the message began: its input counts, its count of output does not (seen in 2.1.332).
Failures of the endpoint end in a result with `is_error: true`, often beside `subtype: "success"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from esac_ag.agents.logs.ending import LogEnding, completed, crashed, failed, limited, refused
from esac_ag.agents.logs.notices import failure_of
from esac_ag.agents.logs.reading import JsonLinesReader
from esac_ag.agents.logs.values import (
    Object,
    arguments_of,
    int_at,
    joined_text,
    list_at,
    moment_at,
    name_at,
    object_at,
    text_at,
    tokens_at,
    whole_usage,
)
from esac_ag.attempt import LimitKind, Usage
from esac_ag.transcript import Entry, EntryKind

_QUIET = frozenset({"stream_event", "tool_progress", "keep_alive"})
"""Events that repeat what others tell."""
_QUIET_SYSTEM = frozenset({"thinking_tokens", "status"})
_LIMITS = {"error_max_turns": LimitKind.TURNS, "error_max_budget_usd": LimitKind.COST}
_EXIT_CODE = re.compile(r"Exit code (\d{1,3})(?:\n|$)")


@dataclass(slots=True)
class _Message:
    """A message of the model that is still coming."""

    id: str
    moment_s: float | None
    usage: Usage | None
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Object] = field(default_factory=list)


class ClaudeCodeReader(JsonLinesReader):
    """Reads Claude Code's stream of JSON."""

    def __init__(self, *, started_at_s: float | None = None) -> None:
        super().__init__(started_at_s=started_at_s)
        self._message: _Message | None = None
        self._counted = ""
        """Id of the last message that was written; more of it may come after a tool's result."""
        self._refused = False
        self._api_error = ""

    def event(self, event: Object) -> Iterator[Entry]:
        """The entries that one event adds."""
        kind = name_at(event, "type")
        if kind == "assistant" and not event.get("is_api_error_message"):
            yield from self._assistant(event)
            return
        if kind in _QUIET or (kind == "system" and name_at(event, "subtype") in _QUIET_SYSTEM):
            return
        yield from self._flush()
        match kind:
            case "assistant":
                self._api_error = name_at(event, "error") or "unknown"
                text = joined_text(object_at(event, "message").get("content"))
                yield self.entry(EntryKind.NOTICE, text, moment_s=moment_at(event, "timestamp"))
            case "user":
                yield from self._user(event)
            case "system":
                yield from self._system(event)
            case "result":
                self._result(event)
            case _:
                yield from self.odd("an event of unknown type", kind)

    def at_end(self) -> Iterator[Entry]:
        """A message that nothing followed."""
        yield from self._flush()

    def _assistant(self, event: Object) -> Iterator[Entry]:
        message = object_at(event, "message")
        message_id = name_at(message, "id")
        if self._message is None or self._message.id != message_id:
            yield from self._flush()
            usage = None if message_id == self._counted else _call_usage(object_at(message, "usage"))
            self._message = _Message(message_id, moment_at(event, "timestamp"), usage)
        for block in list_at(message, "content"):
            if isinstance(block, dict):
                self._take(self._message, block)

    @staticmethod
    def _take(message: _Message, block: Object) -> None:
        match name_at(block, "type"):
            case "text":
                message.texts.append(text_at(block, "text"))
            case "thinking":
                message.thoughts.append(text_at(block, "thinking"))
            case "tool_use":
                message.calls.append(block)
            case kind:
                message.texts.append(f"[{kind}]")

    def _flush(self) -> Iterator[Entry]:
        message, self._message = self._message, None
        if message is None:
            return
        text, thought = "\n".join(message.texts), "\n".join(message.thoughts)
        if message.id != self._counted or text or thought:
            yield self.of_model(text, thought, moment_s=message.moment_s, usage=message.usage)
        self._counted = message.id
        for call in message.calls:
            yield self.entry(
                EntryKind.TOOL_CALL,
                moment_s=message.moment_s,
                call_id=name_at(call, "id"),
                tool=name_at(call, "name"),
                arguments=arguments_of(call.get("input")),
            )

    def _user(self, event: Object) -> Iterator[Entry]:
        moment_s = moment_at(event, "timestamp")
        content = object_at(event, "message").get("content")
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(part, dict) and name_at(part, "type") == "tool_result":
                text = joined_text(part.get("content"))
                failed_with = _EXIT_CODE.match(text) if part.get("is_error") is True else None
                yield self.entry(
                    EntryKind.TOOL_RESULT,
                    text,
                    moment_s=moment_s,
                    call_id=name_at(part, "tool_use_id"),
                    exit_code=None if failed_with is None else int(failed_with[1]),
                )
            elif isinstance(part, dict):
                yield self.entry(EntryKind.USER, joined_text([part]), moment_s=moment_s)

    def _system(self, event: Object) -> Iterator[Entry]:
        subtype = name_at(event, "subtype")
        text = text_at(event, "content")
        match subtype:
            case "init":
                text = _set_up(event)
            case "api_retry":
                status, error = int_at(event, "error_status"), name_at(event, "error")
                self.pending = failure_of(error, status=status)
                text = f"{'no answer' if status is None else f'HTTP {status}'} ({error}), asked again"
            case "model_refusal_no_fallback":
                self._refused = True
            case _:
                pass
        yield self.entry(EntryKind.NOTICE, f"{subtype}: {text}" if text else subtype)

    def _result(self, event: Object) -> None:
        self.reported = _usage(object_at(event, "usage"))
        self.claim = self._claim(event)

    def _claim(self, event: Object) -> LogEnding | None:
        subtype, error = name_at(event, "subtype"), event.get("is_error")
        text = text_at(event, "result") or joined_text(_as_parts(list_at(event, "errors")))
        if name_at(event, "stop_reason") == "refusal" or (self._refused and error is True):
            return refused("The model refused")
        if error is False and subtype == "success":
            return completed()
        if error is not True:
            return None
        if subtype in _LIMITS:
            return limited(_LIMITS[subtype], text or subtype)
        if "max_output_tokens" in {name_at(event, "api_error"), self._api_error}:
            return limited(LimitKind.OUTPUT_TOKENS, "Replies were cut off at the output limit")
        if self._api_error or name_at(event, "terminal_reason") == "api_error" or subtype == "success":
            status = int_at(event, "api_error_status")
            codes = f"{self._api_error} {name_at(event, 'api_error')}"
            return failed(failure_of(text, status=status, codes=codes))
        return crashed(f"The agent tells of an error of its own: {text or subtype}")


def _as_parts(texts: list[object]) -> list[object]:
    return [{"type": "text", "text": text} for text in texts if isinstance(text, str)]


def _set_up(event: Object) -> str:
    """What the agent was set up with; skills and helpers that it brings along are part of the record."""
    lists = ("tools", "skills", "agents", "mcp_servers", "slash_commands")
    told = [f"claude-code {name_at(event, 'claude_code_version')}, model {name_at(event, 'model')}"]
    for key in lists:
        names = [str(name)[:100] for name in list_at(event, key)]
        told.append(f"{key} {', '.join(names) or 'none'}")
    return "; ".join(told)


def _call_usage(usage: Object) -> Usage | None:
    """One call's usage as its first event tells it: the output was not yet known."""
    known = _usage(usage)
    return known and known.model_copy(
        update={"model_calls": 1, "output_tokens": None, "reasoning_tokens": None}
    )


def _usage(usage: Object) -> Usage | None:
    """Usage in our fields: Anthropic's input leaves out what was read from and written to the cache."""
    fresh = tokens_at(usage, "input_tokens")
    read = tokens_at(usage, "cache_read_input_tokens")
    written = tokens_at(usage, "cache_creation_input_tokens")
    if fresh is None:
        return None
    return whole_usage(
        Usage(
            input_tokens=fresh + (read or 0) + (written or 0),
            cached_input_tokens=read,
            cache_write_tokens=written,
            output_tokens=tokens_at(usage, "output_tokens"),
        )
    )
