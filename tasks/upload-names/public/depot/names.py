"""Names of documents: which are allowed, and what a document is found by."""

from __future__ import annotations

MAX_NAME_BYTES = 255


class BadName(ValueError):
    """A name that no document can have; the message says why."""


def check_name(raw: str) -> str:
    """The name without the spaces around it; `BadName` when the rules forbid it."""
    name = raw.strip()
    if name in ("", ".", ".."):
        raise BadName(f"not a name: {raw!r}")
    if "/" in name or "\\" in name:
        raise BadName(f"a name has no folder in it: {name!r}")
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise BadName(f"a name has no control characters: {name!r}")
    try:
        size = len(name.encode("utf-8"))
    except UnicodeEncodeError:
        raise BadName(f"a name is text: {name!r}") from None
    if size > MAX_NAME_BYTES:
        raise BadName(f"a name has at most {MAX_NAME_BYTES} bytes, not {size}")
    return name


def key(name: str) -> str:
    """What a document is found by: two names with the same key are the same document."""
    return check_name(name)
