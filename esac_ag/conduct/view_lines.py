"""Files of one JSON value a line, however long they are, a page at a time."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from io import BufferedReader
from typing import Final, NamedTuple

MOST_LINE_BYTES: Final = 1_000_000
"""Of a line; a longer one is cut, and then no JSON."""
MOST_PAGE_BYTES: Final = 4_000_000
"""Of the lines of a page; lines after that are cut to nothing."""
PIECE_BYTES: Final = 1 << 20
MOST_FILES: Final = 64
"""Files whose pages are remembered."""


class CutLine(NamedTuple):
    """One line of a file, without its line end."""

    number: int
    """From 1."""
    data: bytes
    size_bytes: int
    """Of the whole line."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut off."""
        return len(self.data) == self.size_bytes


class LinePages(NamedTuple):
    """Where the pages of a file begin."""

    offsets: tuple[int, ...]
    lines: int
    size_bytes: int

    @property
    def pages(self) -> int:
        """At least one."""
        return max(1, len(self.offsets))


class LinePager:
    """Finds pages of lines; remembers where they begin as long as a file does not change.

    Args:
        lines_per_page: of every file.
    """

    def __init__(self, lines_per_page: int) -> None:
        self.lines_per_page = lines_per_page
        self._known: OrderedDict[tuple[int, int, int, int], LinePages] = OrderedDict()

    def pages(self, file: BufferedReader) -> LinePages:
        """Where the pages of an open file begin."""
        facts = os.fstat(file.fileno())
        key = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._scanned(file)
            while len(self._known) > MOST_FILES:
                self._known.popitem(last=False)
        return found

    def lines(self, file: BufferedReader, page: int) -> Iterator[CutLine]:
        """The lines of a page, from 1; none beyond the last one."""
        pages = self.pages(file)
        if not 1 <= page <= len(pages.offsets):
            return
        file.seek(pages.offsets[page - 1])
        first = (page - 1) * self.lines_per_page + 1
        left_bytes = MOST_PAGE_BYTES
        for number in range(first, min(first + self.lines_per_page, pages.lines + 1)):
            line = _cut_line(file, number, min(left_bytes, MOST_LINE_BYTES))
            left_bytes -= len(line.data)
            yield line

    def _scanned(self, file: BufferedReader) -> LinePages:
        file.seek(0)
        offsets: list[int] = []
        lines = at = 0
        starts = True
        while piece := file.read(PIECE_BYTES):
            place = 0
            while place < len(piece):
                if starts and lines % self.lines_per_page == 0:
                    offsets.append(at + place)
                starts = False
                end = piece.find(b"\n", place)
                if end < 0:
                    break
                lines, place, starts = lines + 1, end + 1, True
            at += len(piece)
        return LinePages(tuple(offsets), lines + (not starts), at)


def _cut_line(file: BufferedReader, number: int, most_bytes: int) -> CutLine:
    """The next line, of which no more than a piece at a time is held."""
    kept = bytearray()
    size_bytes = 0
    while piece := file.readline(PIECE_BYTES):
        ended = piece.endswith(b"\n")
        body = piece[:-1] if ended else piece
        size_bytes += len(body)
        kept += body[: most_bytes - len(kept)]
        if ended:
            break
    return CutLine(number, bytes(kept), size_bytes)
