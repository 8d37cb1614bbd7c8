"""A count with its noun."""

from __future__ import annotations


def plural(count: int, noun: str, several: str = "") -> str:
    """`1 task`, `4 tasks`; `2 families` with the irregular form as the last argument."""
    return f"{count} {noun}" if count == 1 else f"{count} {several or noun + 's'}"
