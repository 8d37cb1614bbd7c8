"""Texts that are not to be published, found again by runs of words. Pure.

Prose is found by eight words in a row, and headings, descriptions and titles of five words or more as a
whole; source code and data by twelve, because code of different hands shares shorter runs. What is published
or public anyway is nobody's secret, and lines that only import are in every program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from esac_ag.seen_words import words_of
from esac_ag.study.disclosure import DisclosureKind, Writer
from esac_ag.study.giveaways import RUN_WORDS, SHORTEST_PHRASE

CODE_RUN_WORDS: Final = 12
_IMPORT: Final = re.compile(r"^\s*(?:from\s+\S+\s+import\b|import\s).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PrivateText:
    """A text that is not to be published."""

    text: str = field(repr=False)
    kind: DisclosureKind
    what: str
    """What a finding says that it is."""
    code: bool = False
    """Whether it is source or data; else prose."""
    whole: bool = False
    """Whether a short text counts as a whole, as a title does."""
    free: bool = False
    """Whether an agent's work, or what is said of it, may come to the same, as it does to a solution's."""


@dataclass(frozen=True, slots=True)
class PrivatePhrases:
    """What is looked for."""

    _runs: Mapping[int, Mapping[str, PrivateText]]
    """By number of words."""
    _heads: frozenset[str]
    """First words of the phrases, as many as the shortest has."""
    _first: frozenset[str]
    """The first one of these."""

    @classmethod
    def of(cls, private: Iterable[PrivateText], public: Iterable[str]) -> PrivatePhrases:
        """The phrases of texts.

        Args:
            private: what is not to be published.
            public: what is published, or what everybody has: its phrases are not looked for.
        """
        runs: dict[int, dict[str, PrivateText]] = {}
        for source in private:
            for phrase, length in _phrases(source):
                runs.setdefault(length, {}).setdefault(phrase, source)
        for text in public:
            words = words_of(text)
            for length, found in runs.items():
                for phrase in _runs_in(words, length):
                    found.pop(phrase, None)
        heads = frozenset(
            " ".join(phrase.split(" ", SHORTEST_PHRASE)[:SHORTEST_PHRASE])
            for found in runs.values()
            for phrase in found
        )
        return cls(runs, heads, frozenset(head.partition(" ")[0] for head in heads))

    def found_in(self, text: str, writer: Writer) -> Iterator[tuple[PrivateText, int]]:
        """Private texts that a text holds a phrase of, each once, and the offset of its first phrase.

        Args:
            text: what is searched.
            writer: who wrote it.
        """
        if not self._heads:
            return
        words = words_of(text)
        told: set[int] = set()
        for at, word in enumerate(words):
            if word not in self._first or " ".join(words[at : at + SHORTEST_PHRASE]) not in self._heads:
                continue
            for length, runs in self._runs.items():
                phrase = " ".join(words[at : at + length])
                source = runs.get(phrase)
                if source is None or id(source) in told or (source.free and writer is not Writer.HARNESS):
                    continue
                told.add(id(source))
                yield source, _offset(text, phrase)

    @property
    def size(self) -> int:
        """How many phrases are looked for."""
        return sum(map(len, self._runs.values()))


def _phrases(private: PrivateText) -> Iterator[tuple[str, int]]:
    length = CODE_RUN_WORDS if private.code else RUN_WORDS
    words = words_of(_IMPORT.sub("", private.text) if private.code else private.text)
    for phrase in _runs_in(words, length):
        yield phrase, length
    if private.whole and SHORTEST_PHRASE <= len(words) < length:
        yield " ".join(words), len(words)


def _runs_in(words: list[str], length: int) -> Iterator[str]:
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def _offset(text: str, phrase: str) -> int:
    """Where a phrase begins; 0 where it is there in a form that folding changed."""
    pattern = r"[\W_]+(?:\d+[\W_]+)?".join(map(re.escape, phrase.split(" ")))
    found = re.search(pattern, text, re.IGNORECASE)
    return found.start() if found else 0
