"""Which files were read in full, from the pieces of text that requests held.

An agent's tool does not show a file as its bytes: it numbers lines, turns CRLF into LF, drops white space at
the ends, cuts very long lines, and gives a long file in pages. So a file counts as read when each of its
lines was seen as a line, beside the line that is next to it in the file (a line of some length is enough by
itself). Blank lines and white space around lines do not count.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from esac_ag.seen_words import LINE_NUMBER, without_front_matter

Key = TypeVar("Key", bound=Hashable)

DISTINCT_LINE = 40
"""A line with so many characters is not met by chance."""
SHOWN_LINE = 1900
"""Tools cut lines at 2000 characters, counting what they put around them."""
COMMONEST = 64
"""A line that occurs more often in a bundle (a rule, a brace) need not be seen."""


class WholeFiles(Generic[Key]):
    """Takes pieces of text one after another, and tells which files they complete.

    Args:
        texts: what is to be seen, by file; empty texts are left out. The head of a skill need not be seen:
            agents list its fields, and give the rest.
    """

    def __init__(self, texts: Mapping[Key, str]) -> None:
        self._texts = {key: body for key, text in texts.items() if (body := without_front_matter(text))}
        self._places: dict[str, list[tuple[Key, int]]] = {}
        self._beginnings: dict[str, list[str]] = {}
        self._missing: dict[Key, set[int]] = {}
        self._cut: dict[Key, set[int]] = {key: set() for key in self._texts}
        for key, text in self._texts.items():
            lines = [line for raw in text.split("\n") if (line := raw.strip())]
            for place, line in enumerate(lines):
                self._places.setdefault(line, []).append((key, place))
            self._missing[key] = set(range(len(lines)))
        for line, places in self._places.items():
            if len(line) > SHOWN_LINE:
                self._beginnings.setdefault(line[:SHOWN_LINE], []).append(line)
            if len(places) > COMMONEST:
                for key, place in places:
                    if len(self._missing[key]) > 1:
                        self._missing[key].discard(place)

    def lines_cut(self, key: Key) -> int:
        """Lines of the file that were only seen cut."""
        return len(self._cut.get(key, ()))

    def look_at(self, piece: str) -> list[Key]:
        """The files that this piece completes; a file is told once."""
        if not self._missing:
            return []
        if "\r" in piece:
            piece = piece.replace("\r\n", "\n").replace("\r", "\n")
        for key in [key for key in self._missing if self._texts[key] in piece]:
            self._missing[key].clear()
            self._cut[key].clear()
        before: set[tuple[Key, int]] = set()
        for raw in piece.split("\n"):
            shown = self._shown(raw)
            if shown:
                before = self._look_at_line(shown, before)
        done = [key for key, places in self._missing.items() if not places]
        for key in done:
            del self._missing[key]
        return done

    def _look_at_line(self, shown: tuple[str, ...], before: set[tuple[Key, int]]) -> set[tuple[Key, int]]:
        found: set[tuple[Key, int]] = set()
        for whole, cut in self._meant(shown):
            for key, place in self._places.get(whole, ()):
                if key not in self._missing:
                    continue
                found.add((key, place))
                beside = (key, place - 1) in before
                if beside or len(whole) >= DISTINCT_LINE:
                    self._see(key, place, cut=cut)
                if beside:
                    self._missing[key].discard(place - 1)
        return found

    def _see(self, key: Key, place: int, *, cut: bool) -> None:
        if not cut:
            self._cut[key].discard(place)
        elif place in self._missing[key]:
            self._cut[key].add(place)
        self._missing[key].discard(place)

    def _shown(self, raw: str) -> tuple[str, ...]:
        """What a line may stand for: itself, and what follows its number; nothing for a blank one."""
        line = raw.strip()
        if line[:1].isdigit() and (number := LINE_NUMBER.match(raw)):
            numbered = raw[number.end() :].strip()
            return (line, numbered) if numbered or line in self._places else ()
        return (line,) if line else ()

    def _meant(self, shown: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """The lines of files that this may show, and whether it is cut."""
        for text in shown:
            if text in self._places:
                yield text, False
            elif len(text) > SHOWN_LINE:
                for whole in self._beginnings.get(text[:SHOWN_LINE], ()):
                    yield whole, True
