"""The log of a program without a preset, read as its agent file says, as lines of the normal transcript.

What no rule fits is kept as a notice, so that nothing that the program wrote is lost. Nothing in a log makes
reading fail: a line that is no JSON, or a value of another type than a rule expects, is such a line.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import assert_never

from pydantic import JsonValue

from esac_ag.agents.logs.values import MOST_NAME_CHARS, arguments_of, tokens_at
from esac_ag.agents.replies import printable
from esac_ag.attempt import Usage
from esac_ag.canonical import loads_strict
from esac_ag.manifest.agent_file import LogEvent, LogFormat, LogReading, LogRule
from esac_ag.transcript import Entry, EntryKind

LONGEST_TEXT = 100_000
"""Characters of one line that a transcript keeps."""


def read_log(reading: LogReading, data: bytes) -> Iterator[Entry]:
    """The entries of a log in order; their times are unknown.

    Args:
        reading: how the agent file says that the log is read.
        data: the log as it was captured, which may end anywhere.
    """
    for raw in io.BytesIO(data):
        line = raw.decode("utf-8", "replace").rstrip()
        if line:
            match reading.format:
                case LogFormat.TEXT:
                    yield _entry(EntryKind.MODEL, line)
                case LogFormat.JSON_LINES:
                    yield _by_rules(reading.rules, line)
                case _:
                    assert_never(reading.format)


def _by_rules(rules: tuple[LogRule, ...], line: str) -> Entry:
    try:
        event = loads_strict(line)
    except (ValueError, RecursionError):
        return _entry(EntryKind.NOTICE, line)
    for rule in rules:
        if all(_at(event, pointer) == value for pointer, value in rule.when.items()):
            return _translated(rule, event)
    return _entry(EntryKind.NOTICE, line)


def _translated(rule: LogRule, event: JsonValue) -> Entry:
    text = _text(_at(event, rule.text))
    usage = _usage(rule, event)
    match rule.event:
        case LogEvent.MESSAGE:
            return _entry(EntryKind.MODEL, text, usage=usage)
        case LogEvent.USAGE:
            return _entry(EntryKind.NOTICE, text or "usage", usage=usage)
        case LogEvent.ERROR:
            return _entry(EntryKind.NOTICE, text or "an error without words")
        case LogEvent.TOOL_RESULT:
            return _entry(EntryKind.TOOL_RESULT, text, call_id=_word(event, rule.call_id))
        case LogEvent.TOOL_CALL:
            given = _at(event, rule.arguments)
            return _entry(
                EntryKind.TOOL_CALL,
                text,
                call_id=_word(event, rule.call_id),
                tool=_word(event, rule.tool),
                arguments=arguments_of(given) if isinstance(given, dict) else None,
            )
        case _:
            assert_never(rule.event)


def _entry(
    kind: EntryKind,
    text: str,
    *,
    call_id: str | None = None,
    tool: str | None = None,
    arguments: dict[str, JsonValue] | None = None,
    usage: Usage | None = None,
) -> Entry:
    return Entry(
        kind=kind,
        text=printable(text[:LONGEST_TEXT]),
        truncated=len(text) > LONGEST_TEXT,
        call_id=call_id,
        tool=tool,
        arguments=arguments,
        usage=usage,
    )


def _usage(rule: LogRule, event: JsonValue) -> Usage | None:
    """Tokens that the line tells; what it does not tell is unknown."""
    pointers = (rule.input_tokens, rule.cached_input_tokens, rule.output_tokens)
    given, cached, made = (_count(_at(event, pointer)) for pointer in pointers)
    if given is None and cached is None and made is None:
        return None
    return Usage(input_tokens=given, cached_input_tokens=cached, output_tokens=made)


def _count(value: JsonValue) -> int | None:
    return tokens_at({"": value}, "")


def _word(event: JsonValue, pointer: str | None) -> str | None:
    value = _at(event, pointer)
    return printable(value[:MOST_NAME_CHARS]) if isinstance(value, str) else None


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _at(value: JsonValue, pointer: str | None) -> JsonValue:
    """The value at a JSON pointer; null when there is none."""
    if pointer is None:
        return None
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        match value:
            case dict():
                value = value.get(key)
            case list() if key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            case _:
                return None
    return value
