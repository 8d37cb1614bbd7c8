"""Differences between two sequences of lines, at bounded cost (Myers' greedy algorithm)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MAX_EDITS = 1_000
"""A file with more changed lines than this is replaced as a whole."""
MAX_LINES = 50_000
"""A file with more lines than this on either side, common ends aside, is replaced as a whole."""
STEP_BUDGET = 4_000_000
"""Steps for all files of one comparison; once used up, files are replaced as a whole."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `before[start:stop]` that are replaced by `after[new_start:new_stop]`."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their LF; only LF ends a line, so CR stays where it is."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


class LineDiffer:
    """Compares the files of one pair of trees under a common budget of steps."""

    def __init__(self, step_budget: int = STEP_BUDGET) -> None:
        self._steps_left = step_budget

    def blocks(self, before: Sequence[bytes], after: Sequence[bytes]) -> list[Block]:
        """Replaced blocks in order; a shortest edit script, or the whole of both when that costs too much."""
        first, last = _common_ends(before, after)
        old, new = before[first : len(before) - last], after[first : len(after) - last]
        if not old and not new:
            return []
        whole = [Block(first, first + len(old), first, first + len(new))]
        if not old or not new or max(len(old), len(new)) > MAX_LINES:
            return whole
        matches = self._matches(old, new)
        if matches is None:
            return whole
        return _between([(first + x, first + y) for x, y in matches], whole[0])

    def _matches(self, old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]] | None:
        """Pairs of equal lines on a shortest path, in order; None when the path costs too much."""
        reached = {1: 0}
        history: list[dict[int, int]] = []
        for edits in range(min(MAX_EDITS, len(old) + len(new)) + 1):
            self._steps_left -= edits + 1
            if self._steps_left < 0:
                return None
            history.append(dict(reached) if edits else {1: 0})
            if self._advance(old, new, reached, edits):
                return _path(history, len(old), len(new))
        return None

    def _advance(
        self, old: Sequence[bytes], new: Sequence[bytes], reached: dict[int, int], edits: int
    ) -> bool:
        """Follow every diagonal with one more edit; True once both ends are reached."""
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
            )
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            start = x
            while x < len(old) and 0 <= x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            self._steps_left -= x - start
            reached[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return True
        return False


def _common_ends(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """How many lines both share at the beginning and, beyond those, at the end."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    return first, last


def _path(history: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    """Walk back from the ends over what was reached with each number of edits."""
    matches: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        reached = history[edits]
        diagonal = x - y
        down = diagonal == -edits or (
            diagonal != edits and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        previous = diagonal + 1 if down else diagonal - 1
        start_x = reached[previous] if down else reached[previous] + 1
        while x > start_x and x > 0 and y > 0:
            x, y = x - 1, y - 1
            matches.append((x, y))
        if edits:
            x = reached[previous]
            y = x - previous
    matches.reverse()
    return matches


def _between(matches: list[tuple[int, int]], whole: Block) -> list[Block]:
    """The blocks between matching lines."""
    blocks = []
    x, y = whole.start, whole.new_start
    for match_x, match_y in [*matches, (whole.stop, whole.new_stop)]:
        if match_x > x or match_y > y:
            blocks.append(Block(x, match_x, y, match_y))
        x, y = match_x + 1, match_y + 1
    return blocks
