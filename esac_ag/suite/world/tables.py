"""Rows of the state's tables: finding, allocating, paging."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from .refusal import Refused, not_found
from .schema import PAGE_SIZE
from .snapshot import State

Row = dict[str, Any]
Arguments = dict[str, Any]
Operation = Callable[[State, Arguments], Row]
"""Works on a copy of the state that is thrown away if it raises `Refused`; returns the reply."""

FIRST_NUMBER: Final = 1001


def row(state: State, table: str, what: str, key: str) -> Row:
    """The row of an id, to be changed in place.

    Raises:
        Refused: `not-found`.
    """
    found: Row | None = state[table].get(key)
    if found is None:
        raise not_found(what, key)
    return found


def active_user(state: State, user_id: str) -> Row:
    """A person that has not left.

    Raises:
        Refused: `not-found` or `inactive-user`.
    """
    user = row(state, "users", "user", user_id)
    if user["status"] != "active":
        raise Refused("inactive-user", f"{user['name']} ({user_id}) is not active: {user['status']}")
    return user


def allocate(state: State, table: str, prefix: str) -> str:
    """The next free id of a table; counted in the state."""
    number = state["counters"].get(prefix, FIRST_NUMBER - 1) + 1
    while f"{prefix}-{number}" in state[table]:
        number += 1
    state["counters"][prefix] = number
    return f"{prefix}-{number}"


def listing(arguments: Arguments, name: str, entries: Iterable[Any]) -> Row:
    """One page of entries, as the call asks for it."""
    rows = list(entries)
    page, size = arguments.get("page", 1), arguments.get("page_size", PAGE_SIZE)
    start = (page - 1) * size
    return {
        "page": page,
        "page_size": size,
        "total": len(rows),
        "next_page": page + 1 if start + size < len(rows) else None,
        name: rows[start : start + size],
    }


def picked(entry: Row, *names: str) -> Row:
    """Some fields of a row."""
    return {name: entry[name] for name in names}
