"""Canonical states: sorted keys, no fractions; their text and digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from .schema import MAX_INTEGER

State = dict[str, Any]
"""A world state: one JSON object (docs/suite-world.md)."""


def canonical(value: object, where: str = "") -> Any:  # noqa: ANN401 any JSON value
    """A deep copy with sorted keys.

    Raises:
        ValueError: for fractions, other types, and integers beyond 2^53 - 1; with a JSON pointer.
    """
    match value:
        case None | bool() | str():
            return value
        case int() if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
        case list() | tuple():
            return [canonical(entry, f"{where}/{index}") for index, entry in enumerate(value)]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: canonical(value[key], f"{where}/{key}") for key in sorted(value)}
        case _:
            raise ValueError(f"{where or '/'}: a state cannot hold {type(value).__name__} {value!r:.40}")


def canonical_text(state: State) -> str:
    """The compact JSON text that is digested."""
    return json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(state: State) -> str:
    """SHA-256 of a state, as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(canonical_text(state).encode()).hexdigest()


def reply_text(value: object) -> str:
    """A reply as it is shown: one line of JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
