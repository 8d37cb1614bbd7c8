"""How a tool's OpenAI function schema is written down."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

MAX_TEXT: Final = 4000
"""Characters of a text argument, unless the argument says otherwise."""
MAX_INTEGER: Final = 2**53 - 1
"""Integers beyond this are not the same number to every reader of JSON."""
PAGE_SIZE: Final = 5
"""Entries per page when the call does not say."""


def text(description: str, *, most: int = MAX_TEXT, least: int = 1) -> Schema:
    """Schema of a text of `least` to `most` characters."""
    return {"type": "string", "description": description, "minLength": least, "maxLength": most}


def choice(description: str, *values: str) -> Schema:
    """Schema of one word out of some."""
    return {"type": "string", "description": description, "enum": list(values)}


def integer(description: str, *, least: int = -MAX_INTEGER, most: int = MAX_INTEGER) -> Schema:
    """Schema of an integer within bounds."""
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def texts(description: str, *, most: int, least: int = 1) -> Schema:
    """Schema of a list of short texts without repetition."""
    items: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
    return {
        "type": "array",
        "description": description,
        "items": items,
        "minItems": least,
        "maxItems": most,
        "uniqueItems": True,
    }


def pages(most: int) -> dict[str, Schema]:
    """The two optional arguments of a tool that answers in pages of at most `most` entries."""
    return {
        "page": integer("Page to return, from 1. Default 1.", least=1, most=10_000),
        "page_size": integer(f"Entries per page. Default {PAGE_SIZE}.", least=1, most=most),
    }


def tool(
    name: str, description: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None
) -> tuple[str, Schema]:
    """A tool's name and its function schema; whatever is not declared is refused."""
    parameters: Schema = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
    return name, {"name": name, "description": description, "parameters": parameters}
