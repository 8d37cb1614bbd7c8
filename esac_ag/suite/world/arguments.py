"""Whether a call's arguments are well-formed, by the tool's own schema."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from .refusal import Refused
from .schema import MAX_INTEGER, Schema

MAX_CHARACTERS: Final = 131_072
"""Of the arguments' JSON text."""
MAX_DEPTH: Final = 20
MAX_NAME: Final = 100
"""Characters of a tool's name that are kept in the log."""


class _Unfit(ValueError):
    """Not JSON, or not JSON that every reader reads alike."""


class _TooDeep(ValueError):
    """Nested deeper than `MAX_DEPTH`."""


def as_received(arguments: object) -> Any:  # noqa: ANN401 any JSON value
    """Arguments for the log: JSON as it came; what is not JSON, as text, cut at `MAX_CHARACTERS`."""
    try:
        copied = _plain(arguments, 0)
        text = arguments if isinstance(arguments, str) else json.dumps(copied, ensure_ascii=False)
    except _TooDeep as error:
        return str(error)
    except _Unfit:
        copied, text = None, _described(arguments)
    if copied is None and arguments is not None:
        return text[:MAX_CHARACTERS]
    return copied if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS]


def readable_name(tool: object) -> str:
    """A tool's name for the log and for messages, whatever was sent."""
    text = tool if isinstance(tool, str) else f"<{type(tool).__name__}>"
    return _unicode(text)[:MAX_NAME]


def checked(tool: str, schema: Schema, arguments: object) -> dict[str, Any]:
    """Arguments that satisfy the schema; whole numbers written as `2.0` become integers.

    Raises:
        Refused: `invalid-arguments` or `too-large`.
    """
    try:
        given = _plain(arguments, 0)
    except _TooDeep as error:
        raise Refused("too-large", str(error)) from None
    except _Unfit as error:
        raise Refused("invalid-arguments", str(error)) from None
    if not isinstance(given, dict):
        raise Refused("invalid-arguments", f"arguments have to be a JSON object, not {_kind(given)}")
    if len(json.dumps(given, ensure_ascii=False)) > MAX_CHARACTERS:
        raise Refused("too-large", f"arguments are longer than {MAX_CHARACTERS} characters")
    known = schema["properties"]
    _refuse_names(tool, given, schema)
    return {name: _value(f"argument {name!r}", known[name], given[name]) for name in known if name in given}


def _refuse_names(tool: str, given: dict[str, Any], schema: Schema) -> None:
    known = schema["properties"]
    takes = f"{tool} takes {', '.join(known) or 'no arguments'}"
    extra = sorted(name for name in given if name not in known)
    if extra:
        raise Refused("invalid-arguments", f"unknown argument {extra[0][:MAX_NAME]!r}; {takes}")
    missing = [name for name in schema["required"] if name not in given]
    if missing:
        raise Refused("invalid-arguments", f"missing argument {missing[0]!r}; {takes}")


def _value(what: str, schema: Schema, value: object) -> Any:  # noqa: ANN401 any JSON value
    match schema["type"], value:
        case "string", str():
            return _text(what, schema, value)
        case "integer", bool():
            pass
        case "integer", int() | float() if value == int(value):
            return _integer(what, schema, int(value))
        case "array", list():
            return _list(what, schema, value)
        case _:
            pass
    wanted = {"string": "a string", "integer": "an integer", "array": "a list"}[schema["type"]]
    raise Refused("invalid-arguments", f"{what} has to be {wanted}, not {_kind(value)}")


def _text(what: str, schema: Schema, value: str) -> str:
    options = schema.get("enum")
    if options is not None and value not in options:
        raise Refused("invalid-arguments", f"{what} has to be one of {', '.join(options)}")
    if len(value) < schema.get("minLength", 0):
        raise Refused("invalid-arguments", f"{what} must not be empty")
    if len(value) > schema.get("maxLength", MAX_CHARACTERS):
        raise Refused("invalid-arguments", f"{what} is longer than {schema['maxLength']} characters")
    return value


def _integer(what: str, schema: Schema, value: int) -> int:
    if not schema["minimum"] <= value <= schema["maximum"]:
        bounds = f"{schema['minimum']} to {schema['maximum']}"
        raise Refused("invalid-arguments", f"{what} has to be within {bounds}")
    return value


def _list(what: str, schema: Schema, value: list[object]) -> list[Any]:
    if not schema["minItems"] <= len(value) <= schema["maxItems"]:
        bounds = f"{schema['minItems']} to {schema['maxItems']}"
        raise Refused("invalid-arguments", f"{what} has to have {bounds} entries")
    entries = [
        _value(f"entry {number} of {what}", schema["items"], entry)
        for number, entry in enumerate(value, start=1)
    ]
    if len(set(entries)) != len(entries):
        raise Refused("invalid-arguments", f"{what} has an entry twice")
    return entries


def _plain(value: object, depth: int) -> Any:  # noqa: ANN401 any JSON value
    """A deep copy of JSON; refuses all that is not."""
    if depth > MAX_DEPTH:
        raise _TooDeep(f"arguments are nested deeper than {MAX_DEPTH}")
    match value:
        case None | bool():
            return value
        case str():
            if _unicode(value) != value:
                raise _Unfit("arguments hold text that is not Unicode")
            return value
        case int():
            if abs(value) > MAX_INTEGER:
                raise _Unfit("arguments hold an integer beyond 2^53 - 1")
            return value
        case float():
            if not math.isfinite(value):
                raise _Unfit("arguments hold a number that is not finite")
            return value
        case list() | tuple():
            return [_plain(entry, depth + 1) for entry in value]
        case dict():
            return {_key(key): _plain(entry, depth + 1) for key, entry in value.items()}
        case _:
            raise _Unfit("arguments are not JSON")


def _key(key: object) -> str:
    if not isinstance(key, str) or _unicode(key) != key:
        raise _Unfit("arguments have a key that is not text")
    return key


def _unicode(text: str) -> str:
    """The text, with what cannot be encoded replaced."""
    return text.encode("utf-8", "replace").decode()


def _described(value: object) -> str:
    """Malformed arguments as text."""
    if isinstance(value, str):
        return _unicode(value)
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return f"not JSON: {type(value).__name__}"


def _kind(value: object) -> str:
    names = {
        "NoneType": "null",
        "bool": "a boolean",
        "int": "a number",
        "float": "a number",
        "str": "a string",
        "list": "a list",
        "dict": "an object",
    }
    return names[type(value).__name__]
