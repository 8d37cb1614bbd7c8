"""The same records in less memory, for studies of a hundred thousand attempts."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from sys import intern
from types import NoneType
from typing import Any, Final, TypeVar, get_args

from esac_ag.attempt import AttemptRecord
from esac_ag.attempt.events import AttemptState
from esac_ag.record import Record

R = TypeVar("R", bound=Record)

_REPEATED: Final = frozenset(
    {"task", "arm", "manifest_sha256", "arm_sha256", "agent_label", "reason", "currency", "tree_sha256"}
)
"""Fields whose texts recur from attempt to attempt."""


def compact(record: R) -> R:
    """The record itself, with recurring texts and the sets of its fields' names shared.

    Pydantic keeps for every record a set of the names that were given: most of what an attempt occupies.
    Frozen records never change theirs, so equal sets may be one. Nothing that a record tells changes.
    """
    layout = _layout(type(record))
    given = record.__pydantic_fields_set__
    shared = layout.whole if len(given) == len(layout.whole) else _shared(frozenset(given))
    object.__setattr__(record, "__pydantic_fields_set__", shared)
    values = record.__dict__
    for name in layout.texts:
        text = values[name]
        if type(text) is str:
            values[name] = intern(text)
    for name in layout.records:
        part = values[name]
        if part is not None:
            compact(part)
    return record


def compact_attempt(record: AttemptRecord, launch: AttemptState) -> AttemptRecord:
    """The record itself in less memory, with id and cell shared with what the ledger tells of the launch."""
    values = record.__dict__
    for name in ("attempt_id", "cell"):
        told = getattr(launch, name)
        if values[name] == told:
            values[name] = told
    return compact(record)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Of a kind of record."""

    whole: set[str]
    """Names of all fields."""
    texts: tuple[str, ...]
    """Fields whose texts recur."""
    records: tuple[str, ...]
    """Fields that hold a record, or none."""


@cache
def _layout(kind: type[Record]) -> _Layout:
    return _Layout(
        whole=set(kind.model_fields),
        texts=tuple(name for name in kind.model_fields if name in _REPEATED),
        records=tuple(name for name, field in kind.model_fields.items() if _holds_a_record(field.annotation)),
    )


def _holds_a_record(annotation: object) -> bool:
    kinds = get_args(annotation) or (annotation,)
    return all(one is NoneType or (isinstance(one, type) and issubclass(one, Record)) for one in kinds)


def constructed(kind: type[R], values: dict[str, Any]) -> R:
    """A record of values that were validated before, without validating them again, in little memory.

    Args:
        kind: of record.
        values: of all its fields, no more and no less; the record takes the dictionary itself.
    """
    record = kind.__new__(kind)
    object.__setattr__(record, "__dict__", values)
    object.__setattr__(record, "__pydantic_fields_set__", _layout(kind).whole)
    object.__setattr__(record, "__pydantic_extra__", None)
    object.__setattr__(record, "__pydantic_private__", None)
    return record


@contextmanager
def many_records() -> Iterator[None]:
    """Holds the collector of reference cycles off while hundreds of thousands of records are made.

    Records are in no cycle, and looking for one among all that are there takes longer than making them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def _shared(names: frozenset[str]) -> set[str]:
    return set(names)
