"""What changed between two states, as changes with JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .snapshot import canonical

Change = dict[str, Any]
"""`{"op": "add" | "remove" | "replace", "path": pointer}` with `before` and `after` where there is one."""


def diff(before: object, after: object) -> list[Change]:
    """All changes that lead from one JSON value to the other, in an order in which they can be applied."""
    return list(_changes(before, after, ""))


def patch(before: object, changes: Sequence[Change]) -> Any:  # noqa: ANN401 any JSON value
    """Apply changes to a copy.

    Raises:
        ValueError: if a change does not fit what is there.
    """
    value = canonical(before)
    for change in changes:
        value = _applied(value, change)
    return value


def _changes(before: object, after: object, where: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _entry(before, after, key, f"{where}/{_escaped(key)}")
    elif isinstance(before, list) and isinstance(after, list):
        common = min(len(before), len(after))
        for index in range(common):
            yield from _changes(before[index], after[index], f"{where}/{index}")
        for index in range(len(before) - 1, common - 1, -1):
            yield {"op": "remove", "path": f"{where}/{index}", "before": canonical(before[index])}
        for index in range(common, len(after)):
            yield {"op": "add", "path": f"{where}/{index}", "after": canonical(after[index])}
    elif type(before) is not type(after) or before != after:
        yield {"op": "replace", "path": where, "before": canonical(before), "after": canonical(after)}


def _entry(before: dict[str, Any], after: dict[str, Any], key: str, where: str) -> Iterator[Change]:
    if key not in after:
        yield {"op": "remove", "path": where, "before": canonical(before[key])}
    elif key not in before:
        yield {"op": "add", "path": where, "after": canonical(after[key])}
    else:
        yield from _changes(before[key], after[key], where)


def _applied(value: Any, change: Change) -> Any:  # noqa: ANN401 any JSON value
    steps = [_unescaped(step) for step in change["path"].split("/")[1:]]
    if not steps:
        return canonical(change["after"])
    holder = value
    for step in steps[:-1]:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    last: Any = int(steps[-1]) if isinstance(holder, list) else steps[-1]
    there = last < len(holder) if isinstance(holder, list) else last in holder
    if there == (change["op"] == "add") or (there and holder[last] != change["before"]):
        raise ValueError(f"{change['op']} does not fit what is at {change['path']}")
    match change["op"]:
        case "remove":
            del holder[last]
        case "add" if isinstance(holder, list):
            holder.append(canonical(change["after"]))
        case _:
            holder[last] = canonical(change["after"])
    return canonical(value)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
