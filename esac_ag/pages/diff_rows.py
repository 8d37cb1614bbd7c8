"""A diff as rows of two sides, in blocks that are all changed or all the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final, NamedTuple

from esac_ag.study.diff import DiffFile, DiffHunk, DiffLine, LineKind

SHOWN_CONTEXT: Final = 5
"""Unchanged lines that stay open at each end of a longer run."""


class Row(NamedTuple):
    """What stands beside each other; both are the same line where nothing changed."""

    old: DiffLine | None
    new: DiffLine | None


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring rows of one kind."""

    rows: tuple[Row, ...]
    changed: bool
    folded: bool = False
    """Whether it is the middle of a long unchanged run."""
    starts_hunk: bool = False
    """Whether lines of the file are left out before it."""


def blocks_of(file: DiffFile) -> Iterator[Block]:
    """The blocks of a file from top to bottom; removed lines stand next to the added ones after them."""
    for hunk in file.hunks:
        starts = True
        for block in _blocks(hunk):
            yield Block(block.rows, block.changed, block.folded, starts_hunk=starts)
            starts = False


def first_rows(blocks: Sequence[Block], most: int) -> tuple[tuple[Block, ...], int]:
    """As many rows of the blocks as may be shown, and how many are left out."""
    found: list[Block] = []
    left = most
    for block in blocks:
        if left > 0:
            found.append(Block(block.rows[:left], block.changed, block.folded, block.starts_hunk))
        left -= len(block.rows)
    return tuple(found), max(0, -left)


def _blocks(hunk: DiffHunk) -> Iterator[Block]:
    for same, run in groupby(hunk.lines, key=lambda line: line.kind is LineKind.CONTEXT):
        lines = tuple(run)
        if same:
            yield from _unchanged(tuple(Row(line, line) for line in lines))
        else:
            yield Block(tuple(_paired(lines)), changed=True)


def _unchanged(rows: tuple[Row, ...]) -> Iterator[Block]:
    # A fold that hides two or three lines would only cost a click.
    if len(rows) <= 3 * SHOWN_CONTEXT:
        yield Block(rows, changed=False)
        return
    yield Block(rows[:SHOWN_CONTEXT], changed=False)
    yield Block(rows[SHOWN_CONTEXT:-SHOWN_CONTEXT], changed=False, folded=True)
    yield Block(rows[-SHOWN_CONTEXT:], changed=False)


def _paired(lines: Sequence[DiffLine]) -> Iterator[Row]:
    """Each run of removed lines beside the run of added ones that follows it."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.kind is LineKind.REMOVED and added:
            yield from _beside(removed, added)
            removed, added = [], []
        (removed if line.kind is LineKind.REMOVED else added).append(line)
    yield from _beside(removed, added)


def _beside(removed: list[DiffLine], added: list[DiffLine]) -> Iterator[Row]:
    return (Row(old, new) for old, new in zip_longest(removed, added))
