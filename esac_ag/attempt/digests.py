"""Digests of an attempt's files in little memory: a hundred thousand attempts have a million of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

_SIZE: Final = 32
"""Bytes of a SHA-256."""


class Digests(Mapping[str, str]):
    """SHA-256 by file name, in the order in which they came; 64 hexadecimal digits each, held as bytes."""

    __slots__ = ("_names", "_packed")

    def __init__(self, digests: Mapping[str, str] | None = None) -> None:
        """Take digests in.

        Raises:
            ValueError: one of them is no SHA-256 in hexadecimal digits.
        """
        given = digests or {}
        self._names = _shared(tuple(given))
        self._packed = bytes.fromhex("".join(given.values()))
        if len(self._packed) != _SIZE * len(self._names):
            raise ValueError("a digest is no SHA-256")

    def __getitem__(self, name: str) -> str:
        """The digest of a file.

        Raises:
            KeyError: there is none.
        """
        try:
            start = _SIZE * self._names.index(name)
        except ValueError:
            raise KeyError(name) from None
        return self._packed[start : start + _SIZE].hex()

    def __contains__(self, name: object) -> bool:
        """Whether a file has a digest."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names)

    def __hash__(self) -> int:
        """Of the names: equal ones have the same, in whatever order."""
        return hash(frozenset(self._names))

    def __repr__(self) -> str:
        """As a plain mapping reads."""
        return f"Digests({dict(self)})"

    def updated(self, more: Mapping[str, str]) -> Digests:
        """These and more, of which one of the same name takes the place of the earlier one."""
        added = Digests(more)
        if not self._names:
            return added
        if any(name in self._names for name in added._names):
            return Digests({**self, **more})
        found = Digests()
        found._names = _shared(self._names + added._names)
        found._packed = self._packed + added._packed
        return found


@cache
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """The first tuple of these names; attempts of one agent leave the same files."""
    return names


NONE: Final = Digests()
"""Of an attempt that left no file yet."""
