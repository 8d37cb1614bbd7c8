"""Text as it reads, whatever it is written with, and where each character of that stands in the original.

Letters of other widths, invisible characters, escapes of XML and colours of a terminal do not hide a word.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from esac_ag.seen_words import LINE_NUMBER

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_UNUSUAL: Final = re.compile(
    rf"{_COLOUR.pattern}|&(?:#\d+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]*;)|[^\x00-\x7f]"
)
_ESCAPE: Final = re.compile(r"&(?:#\d+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
"""As `html.unescape` takes them, which needs no semicolon after some names."""
_WORD: Final = re.compile(r"[^\W_]+")
_NUMBERED: Final = re.compile(rf"^{LINE_NUMBER.pattern}", re.MULTILINE)
_INVISIBLE: Final = frozenset({"Cf", "Mn"})

Span = tuple[int, int]
"""First character, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A text in one case and one form."""

    text: str
    origins: tuple[Span, ...] | None
    """The original's characters that each character stands for; none where it is the original's own place."""

    def origin(self, span: Span) -> Span:
        """The original's characters that a span of the text stands for; the span is not empty."""
        if self.origins is None:
            return span
        return self.origins[span[0]][0], self.origins[span[1] - 1][1]

    def words(self) -> list[tuple[str, Span]]:
        """Its words with their spans; numbers that a tool puts before lines are none."""
        numbers = [found.span() for found in _NUMBERED.finditer(self.text)]
        found = [(word[0], word.span()) for word in _WORD.finditer(self.text)]
        if not numbers:
            return found
        taken = {place for start, end in numbers for place in range(start, end)}
        return [(word, span) for word, span in found if span[0] not in taken]


def plain(text: str) -> Plain:
    """The text as a person reads it: invisible characters, marks and colours are gone."""
    if not _UNUSUAL.search(text):
        return Plain(text.lower(), None)
    return _assembled(text, _UNUSUAL, _read)


def readings(text: str) -> tuple[Plain, ...]:
    """The text as a person reads it, and as a program does, where that is something else.

    To a program an invisible character ends a word. Who wants to hide a name from one reading shows it to the
    other.
    """
    if text.isascii() and "&" not in text and "\x1b" not in text:
        return (plain(text),)
    return plain(text), _assembled(text, _ESCAPE, html.unescape)


def _assembled(text: str, special: re.Pattern[str], read: Callable[[str], str]) -> Plain:
    """A text in pieces: what is special is read as a whole, everything else character by character."""
    parts: list[str] = []
    origins: list[Span] = []

    def add(start: int, end: int, shown: str) -> None:
        parts.append(shown)
        origins.extend([(start, end)] * len(shown))

    place = 0
    for found in special.finditer(text):
        for at in range(place, found.start()):
            add(at, at + 1, text[at].casefold())
        add(*found.span(), read(found[0]).casefold())
        place = found.end()
    for at in range(place, len(text)):
        add(at, at + 1, text[at].casefold())
    return Plain("".join(parts), tuple(origins))


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
