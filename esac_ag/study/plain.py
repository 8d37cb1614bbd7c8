"""Text as it reads, whatever it is written with, and where each character of that stands in the original.

Letters of other widths, invisible characters, escapes of XML and colours of a terminal do not hide a word.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from esac_ag.seen_words import LINE_NUMBER

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_UNUSUAL: Final = re.compile(
    rf"{_COLOUR.pattern}|&(?:#\d+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;)|[^\x00-\x7f]"
)
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBERED: Final = re.compile(rf"^{LINE_NUMBER.pattern}", re.MULTILINE)
_INVISIBLE: Final = frozenset({"Cf", "Mn"})

Span = tuple[int, int]
"""First character, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A text in one case and one form."""

    text: str
    starts: tuple[int, ...] | None
    """Where each character begins in the original, and the original's length; none where nothing moved."""

    def origin(self, span: Span) -> Span:
        """The original's characters that a span of the text stands for."""
        if self.starts is None:
            return span
        return self.starts[span[0]], self.starts[span[1]]

    def words(self) -> list[tuple[str, Span]]:
        """Its words with their spans; numbers that a tool puts before lines are none."""
        numbers = [found.span() for found in _NUMBERED.finditer(self.text)]
        found = [(word[0], word.span()) for word in _WORD.finditer(self.text)]
        if not numbers:
            return found
        taken = {place for start, end in numbers for place in range(start, end)}
        return [(word, span) for word, span in found if span[0] not in taken]


def plain(text: str) -> Plain:
    """The text as it reads."""
    if not _UNUSUAL.search(text):
        return Plain(text.lower(), None)
    parts: list[str] = []
    starts: list[int] = []
    for start, shown in _pieces(text):
        parts.append(shown)
        starts += [start] * len(shown)
    return Plain("".join(parts), (*starts, len(text)))


def without_colours(text: str) -> str:
    """A terminal's output without escapes for colours and the cursor."""
    return _COLOUR.sub("", text)


def lines_of(text: str, span: Span) -> Iterator[Span]:
    """A span as one span for each line of it, without line ends; empty ones left out."""
    ends = [span[0], *(place + 1 for place in range(*span) if text[place] == "\n"), span[1]]
    for start, end in pairwise(ends):
        stop = end - 1 if end > start and text[end - 1] == "\n" else end
        if stop > start:
            yield start, stop


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Where a piece begins, and how it reads; one character of the original at a time, or one escape."""
    place = 0
    for found in _UNUSUAL.finditer(text):
        yield from ((at, text[at].lower()) for at in range(place, found.start()))
        place = found.end()
        yield found.start(), _read(found[0])
    yield from ((at, text[at].lower()) for at in range(place, len(text)))


def _read(piece: str) -> str:
    if piece.startswith("\x1b"):
        return ""
    if piece.startswith("&"):
        piece = html.unescape(piece)
    folded = unicodedata.normalize("NFKC", piece).casefold()
    # Accents and other marks go, too: decomposed, a letter with one is two characters.
    return "".join(
        c for c in unicodedata.normalize("NFKD", folded) if unicodedata.category(c) not in _INVISIBLE
    )
