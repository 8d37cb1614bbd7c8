"""Markdown tables and code spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esac_ag.report.escaping import visible


def table(head: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Iterator[str]:
    """The lines of a table; cells must already be escaped, and every row as long as the head."""
    if any(len(row) != len(head) for row in rows):
        raise ValueError("a row is not as long as the head of its table")
    yield _line(head)
    yield _line(["---"] * len(head))
    for row in rows:
        yield _line([str(cell) for cell in row])


def code(text: str) -> str:
    """A code span for ids and digests, which hold neither backticks nor line ends once made visible."""
    return f"`{visible(text).replace('`', chr(0x2019)).replace('|', '¦')}`"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
