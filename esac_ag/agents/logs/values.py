"""Values out of logs that nobody vouches for: of the expected type or absent, capped, fit for a record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from esac_ag.agents.replies import printable
from esac_ag.attempt import Usage
from esac_ag.attempt.wire_usage import MOST_TOKENS

MOST_TEXT_CHARS = 1_000_000
"""What is kept of one text."""
MOST_NAME_CHARS = 200
MOST_DEPTH = 60
"""Nesting that is kept of a call's arguments."""
LARGEST_INTEGER = 2**53 - 1
"""Beyond it the canonical form of JSON (RFC 8785) has no integers."""

Object = Mapping[str, object]
EMPTY: Object = {}


def object_at(value: Object, key: str) -> Object:
    """The object under a key; an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else EMPTY


def list_at(value: Object, key: str) -> list[object]:
    """The list under a key; an empty one if there is none."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def text_at(value: Object, key: str) -> str:
    """The text under a key, as UTF-8 can hold it; empty if there is none."""
    found = value.get(key)
    return printable(found) if isinstance(found, str) else ""


def name_at(value: Object, key: str) -> str:
    """A short text under a key: a name, an id, a code."""
    return text_at(value, key)[:MOST_NAME_CHARS]


def int_at(value: Object, key: str) -> int | None:
    """The integer under a key, if a record can hold it."""
    found = value.get(key)
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) <= LARGEST_INTEGER:
        return found
    return None


def number_at(value: Object, key: str) -> float | None:
    """The finite number under a key."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        number = float(found)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def moment_at(value: Object, key: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 time with a zone."""
    try:
        moment = datetime.fromisoformat(text_at(value, key))
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None


def joined_text(content: object) -> str:
    """The text of a message: a text itself, or parts of which those with text are kept and others named."""
    if isinstance(content, str):
        return printable(content)
    parts = content if isinstance(content, list) else []
    return "\n".join(_part_text(part) for part in parts if isinstance(part, dict))


def _part_text(part: Object) -> str:
    return text_at(part, "text") if isinstance(part.get("text"), str) else f"[{name_at(part, 'type')}]"


def arguments_of(value: object) -> dict[str, JsonValue]:
    """A call's arguments as a record can hold them; what is no object stands under `raw`.

    Text is parsed first: some wires send arguments as JSON text.
    """
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            parsed = None
        value = parsed if isinstance(parsed, dict) else value
    clean = held(value)
    return clean if isinstance(clean, dict) else {"raw": clean}


def held(value: object, depth: int = MOST_DEPTH) -> JsonValue:
    """A JSON value as a record can hold it: no NaN, huge integer, lone surrogate or bottomless nesting."""
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= LARGEST_INTEGER else str(value)[:MOST_NAME_CHARS]
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return printable(value[:MOST_TEXT_CHARS])
        case list() | dict() if depth == 0:
            return "[nested too deeply]"
        case list():
            return [held(part, depth - 1) for part in value]
        case dict():
            return {printable(str(key)): held(part, depth - 1) for key, part in value.items()}
        case _:
            return str(value)[:MOST_NAME_CHARS]


def tokens_at(value: Object, key: str) -> int | None:
    """A count of tokens; one that is impossible is unknown."""
    found = int_at(value, key)
    return found if found is not None and 0 <= found < MOST_TOKENS else None


def told_at(value: Object, key: str) -> int | None:
    """A part of a count; agents write 0 for parts that their endpoint did not tell, so 0 is unknown."""
    return tokens_at(value, key) or None


def whole_usage(usage: Usage) -> Usage | None:
    """The usage, if it can be true: agents write zeros where their endpoint told nothing; no call has none.

    Parts that are larger than their whole are unknown.
    """
    if not usage.input_tokens:
        return None
    parts = (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0)
    odd_input = parts > usage.input_tokens
    odd_output = usage.output_tokens is None or (usage.reasoning_tokens or 0) > usage.output_tokens
    return usage.model_copy(
        update=({"cached_input_tokens": None, "cache_write_tokens": None} if odd_input else {})
        | ({"reasoning_tokens": None} if odd_output else {})
    )
