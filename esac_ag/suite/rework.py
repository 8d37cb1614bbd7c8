"""What a call did to the state, as far as it tells work from rework (amendment 001 §1).

A call overwrites an earlier one when it takes away a value which that one wrote. Not everything that changes
twice is taken away: totals and counters add up, a text that is continued is still there, and a ticket that is
resolved once it is in progress has moved on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from esac_ag.suite.contract import Json
from esac_ag.suite.world import diff

PROGRESS: Final = (
    ("open", "in_progress", "resolved", "closed"),
    ("unsettled", "settled", "partially_refunded", "refunded"),
)
"""Statuses of tickets and of invoices in the order of the work: going on takes nothing away."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call did; parts of the state are JSON pointers of single values."""

    written: frozenset[str] = frozenset()
    """Parts that it changed or added."""
    lost: frozenset[str] = frozenset()
    """Parts of which it took away the value that was there."""
    added: Mapping[str, int] = field(default_factory=dict)
    """Totals that it changed, and by how much."""

    def reworks(self, earlier: Effect) -> bool:
        """Whether it takes away what an earlier call wrote, or all that it added."""
        taken_back = {part: -amount for part, amount in earlier.added.items()}
        return bool(self.lost & earlier.written or (taken_back and self.added == taken_back))


NO_EFFECT: Final = Effect()


def effects(states: Iterable[Mapping[str, Json]]) -> tuple[Effect, ...]:
    """What each call did, from the states before the first and after every call."""
    return tuple(_effect(before, after) for before, after in pairwise(states))


def _effect(before: Mapping[str, Json], after: Mapping[str, Json]) -> Effect:
    written, lost, added = set(), set(), {}
    for part, old, new in _changes(before, after):
        if _is_total(old) and _is_total(new):
            added[part] = new - old
            continue
        if new is not None:
            written.add(part)
        if not _keeps(old, new):
            lost.add(part)
    return Effect(frozenset(written), frozenset(lost), added)


def _changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[tuple[str, Any, Any]]:
    """Single values that changed: pointer, what was there, what is there; none where there is nothing.

    What a call allocates an id from is no part: it grows with whatever is created.
    """
    for change in diff(_parts(before), _parts(after)):
        old = dict(_values(change.get("before"), change["path"]))
        new = dict(_values(change.get("after"), change["path"]))
        for part in sorted(old.keys() | new.keys()):
            yield part, old.get(part), new.get(part)


def _parts(state: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in state.items() if key != "counters"}


def _values(value: object, where: str) -> Iterator[tuple[str, object]]:
    match value:
        case dict():
            for key, entry in value.items():
                yield from _values(entry, f"{where}/{key}")
        case list():
            for index, entry in enumerate(value):
                yield from _values(entry, f"{where}/{index}")
        case _:
            yield where, value


def _is_total(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _keeps(old: object, new: object) -> bool:
    """Whether what was there still is, or there was nothing."""
    if old is None:
        return True
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    line = next((line for line in PROGRESS if old in line and new in line), None)
    return line.index(old) < line.index(new) if line else new.startswith(old)
