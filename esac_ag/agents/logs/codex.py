"""Codex's log: the standard output of `codex exec --json`.

It tells items, not model calls, and no times; usage comes once, for the whole turn. A refusal of the model is
left out of it (seen in 0.171.0): such a turn completes without a message.
"""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.agents.logs.ending import completed, failed, limited
from esac_ag.agents.logs.notices import failure_of
from esac_ag.agents.logs.reading import JsonLinesReader
from esac_ag.agents.logs.values import (
    Object,
    arguments_of,
    int_at,
    joined_text,
    list_at,
    name_at,
    object_at,
    text_at,
    tokens_at,
    told_at,
    whole_usage,
)
from esac_ag.attempt import LimitKind, Usage
from esac_ag.transcript import Entry, EntryKind

_QUIET = frozenset({"thread.started", "turn.started", "item.updated"})
_CUT_OFF = "reason: max_output_tokens"
_ARGUMENTS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("server", "tool", "arguments"),
    "web_search": ("query",),
    "todo_list": ("items",),
}
"""Items that are calls of tools, and the keys that hold what was asked."""


class CodexReader(JsonLinesReader):
    """Reads Codex's stream of JSON."""

    def __init__(self, *, started_at_s: float | None = None) -> None:
        super().__init__(started_at_s=started_at_s)
        self._thoughts: list[str] = []
        self._begun: set[str] = set()
        self._spoke = False

    def event(self, event: Object) -> Iterator[Entry]:
        """The entries that one event adds."""
        match name_at(event, "type"):
            case "item.started":
                yield from self._begin(object_at(event, "item"))
            case "item.completed":
                yield from self._end(object_at(event, "item"))
            case "turn.completed":
                self.reported = _usage(object_at(event, "usage"))
                silent = "The agent ended its work without a word: nothing was said, or the model refused"
                self.claim = completed() if self._spoke else completed(silent)
            case "turn.failed":
                self._failed(text_at(object_at(event, "error"), "message"))
            case "error":
                text = text_at(event, "message")
                self.pending = failure_of(text)
                yield self.entry(EntryKind.NOTICE, text)
            case kind if kind in _QUIET:
                pass
            case kind:
                yield from self.odd("an event of unknown type", kind)

    def at_end(self) -> Iterator[Entry]:
        """A thought that nothing followed."""
        if self._thoughts:
            yield self.of_model("", self._taken_thought())

    def _failed(self, text: str) -> None:
        if _CUT_OFF in text:
            self.claim = limited(LimitKind.OUTPUT_TOKENS, "A reply was cut off at the output limit")
        else:
            self.claim = failed(failure_of(text))

    def _begin(self, item: Object) -> Iterator[Entry]:
        kind, item_id = name_at(item, "type"), name_at(item, "id")
        if kind not in _ARGUMENTS or item_id in self._begun:
            return
        self._begun.add(item_id)
        self.heard()
        if self._thoughts:
            yield self.of_model("", self._taken_thought())
        yield self.entry(
            EntryKind.TOOL_CALL,
            call_id=item_id,
            tool=kind,
            arguments=arguments_of({key: item.get(key) for key in _ARGUMENTS[kind]}),
        )

    def _end(self, item: Object) -> Iterator[Entry]:
        match kind := name_at(item, "type"):
            case "agent_message":
                self._spoke = True
                yield self.of_model(text_at(item, "text"), self._taken_thought())
            case "reasoning":
                self.heard()
                self._thoughts.append(text_at(item, "text"))
            case "error":
                yield self.entry(EntryKind.NOTICE, text_at(item, "message"))
            case _ if kind in _ARGUMENTS:
                yield from self._begin(item)
                yield self.entry(
                    EntryKind.TOOL_RESULT,
                    _output(item),
                    call_id=name_at(item, "id"),
                    tool=kind,
                    exit_code=int_at(item, "exit_code"),
                )
            case _:
                yield from self.odd("an item of unknown type", kind)

    def _taken_thought(self) -> str:
        thought = "\n".join(self._thoughts)
        self._thoughts = []
        return thought


def _output(item: Object) -> str:
    """What the tool gave back; its status where it gives no text."""
    output = text_at(item, "aggregated_output")
    if not output:
        output = joined_text(list_at(object_at(item, "result"), "content"))
    error = text_at(object_at(item, "error"), "message")
    return "\n".join(filter(None, (output, error))) or name_at(item, "status")


def _usage(usage: Object) -> Usage | None:
    """Usage in our fields: OpenAI's input includes what was cached, its output the reasoning."""
    return whole_usage(
        Usage(
            input_tokens=tokens_at(usage, "input_tokens"),
            cached_input_tokens=told_at(usage, "cached_input_tokens"),
            cache_write_tokens=told_at(usage, "cache_write_input_tokens"),
            output_tokens=tokens_at(usage, "output_tokens"),
            reasoning_tokens=told_at(usage, "reasoning_output_tokens"),
        )
    )
