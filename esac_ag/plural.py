"""A count with its noun."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """`1 task`, `4 tasks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
