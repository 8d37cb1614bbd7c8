"""Traces of other arms' bundles in the pieces of text that requests held.

Looked for are a skill's name and description, the places of the files, and every run of eight words. What
the arm's own files or texts that every arm is given hold too is no trace, nor is what the model wrote by
itself. Runs are compared as words: line breaks, numbers of lines, case and punctuation do not matter. One
pass over a text finds them all, however many there are, because each run of the text is looked up in one
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from esac_ag.attempt.loaded import ForeignTrace, Sighting, TraceKind
from esac_ag.front_matter import front_matter
from esac_ag.seen_words import as_phrase, readable_text, words_of
from esac_ag.tree import FileTree

RUN_WORDS = 8
SHORTEST_PHRASE = 3
"""Texts and descriptions with fewer words occur by chance and prove nothing."""
SHORTEST_NAME = 6
"""Names with fewer characters occur by chance and prove nothing."""
LEGAL = re.compile(rb"(LICEN[CS]E|NOTICE|COPYING)", re.IGNORECASE)
"""Names of files whose words half of all repositories hold; only their places are traces."""
MOST_TRACES = 20
"""Traces of one arm that are recorded; all are counted."""
MOST_SHOWN = 200
"""Characters of a marker."""


@dataclass(frozen=True, slots=True)
class _Marker:
    arm: str
    kind: TraceKind
    shown: str


@dataclass(slots=True)
class _Needles:
    """What is not found yet."""

    patterns: dict[_Marker, re.Pattern[str]] = field(default_factory=dict)
    literals: dict[_Marker, str] = field(default_factory=dict)
    phrases: dict[_Marker, str] = field(default_factory=dict)
    runs: dict[str, set[str]] = field(default_factory=dict)
    """Arms by run of words."""


class ForeignTraces:
    """Takes pieces of text one after another, and keeps the first sighting of each trace.

    Args:
        others: the other arms' bundles, by arm.
        ours: texts that may be in a request: the arm's own files, the task's request, its snapshot.
    """

    def __init__(self, others: Mapping[str, FileTree], ours: Iterable[str]) -> None:
        self.found: list[ForeignTrace] = []
        self.counts: dict[str, int] = {}
        self._needles = _Needles()
        for arm, tree in others.items():
            _add(self._needles, arm, tree)
        for text in ours:
            self.forget(text)
        self._first_words = {run.partition(" ")[0] for run in self._needles.runs}

    def look_at(self, piece: str, sighting: Sighting) -> None:
        """Find what is in the piece; what was found is not looked for again."""
        words = words_of(piece)
        for marker in _simple(self._needles, piece, words):
            self._take(marker, sighting)
        seen: set[str] = set()
        for arm, run in self._runs_in(words, seen):
            self._take(_Marker(arm, TraceKind.TEXT, run), sighting)
        for gone in seen:
            del self._needles.runs[gone]

    def _take(self, marker: _Marker, sighting: Sighting) -> None:
        self.counts[marker.arm] = self.counts.get(marker.arm, 0) + 1
        if self.counts[marker.arm] <= MOST_TRACES:
            shown = marker.shown if len(marker.shown) <= MOST_SHOWN else marker.shown[:MOST_SHOWN] + "…"
            self.found.append(ForeignTrace(arm=marker.arm, kind=marker.kind, marker=shown, seen_in=sighting))

    def _runs_in(self, words: list[str], seen: set[str]) -> Iterator[tuple[str, str]]:
        """Arm and text of every longest stretch whose runs all are that arm's; the runs join `seen`."""
        begun: dict[str, int] = {}
        table = self._needles.runs
        last = len(words) - RUN_WORDS
        for place in range(last + 1):
            arms: set[str] = set()
            if words[place] in self._first_words:
                run = " ".join(words[place : place + RUN_WORDS])
                if run in table:
                    arms = table[run]
                    seen.add(run)
            if begun:
                for arm in begun.keys() - arms:
                    yield arm, " ".join(words[begun.pop(arm) : place + RUN_WORDS - 1])
            for arm in arms:
                begun.setdefault(arm, place)
        for arm, place in begun.items():
            yield arm, " ".join(words[place:])

    def forget(self, text: str) -> None:
        """Drop what a text holds too that is everybody's, the arm's own, or the model's."""
        words = words_of(text)
        for _ in _simple(self._needles, text, words):
            pass
        runs = self._needles.runs
        for place in range(len(words) - RUN_WORDS + 1):
            runs.pop(" ".join(words[place : place + RUN_WORDS]), None)


def _simple(needles: _Needles, text: str, words: list[str]) -> Iterator[_Marker]:
    """The markers other than runs that a text holds; they are dropped."""
    found = [marker for marker, pattern in needles.patterns.items() if pattern.search(text)]
    found += [marker for marker, literal in needles.literals.items() if literal in text]
    if needles.phrases:
        joined = as_phrase(words)
        found += [marker for marker, phrase in needles.phrases.items() if phrase in joined]
    for marker in found:
        for table in (needles.patterns, needles.literals, needles.phrases):
            table.pop(marker, None)
    yield from found


def _add(needles: _Needles, arm: str, tree: FileTree) -> None:
    for path, node in tree.files().items():
        place = f"/{arm}/{path.decode('utf-8', 'backslashreplace')}"
        needles.literals[_Marker(arm, TraceKind.PATH, place)] = place
        text = readable_text(node.data)
        fields = front_matter(text)
        if len(name := fields.get("name", "")) >= SHORTEST_NAME:
            needles.patterns[_Marker(arm, TraceKind.NAME, name)] = _name_pattern(name)
        description = fields.get("description", "")
        if len(words := words_of(description)) >= SHORTEST_PHRASE:
            needles.phrases[_Marker(arm, TraceKind.DESCRIPTION, description)] = as_phrase(words)
        if LEGAL.match(path.rpartition(b"/")[2]):
            continue
        words = words_of(text)
        if SHORTEST_PHRASE <= len(words) < RUN_WORDS:
            needles.phrases[_Marker(arm, TraceKind.TEXT, " ".join(words))] = as_phrase(words)
        for place_of_run in range(len(words) - RUN_WORDS + 1):
            run = " ".join(words[place_of_run : place_of_run + RUN_WORDS])
            needles.runs.setdefault(run, set()).add(arm)


def _name_pattern(name: str) -> re.Pattern[str]:
    """A name of several parts wherever it stands; one of a single plain word only as a listing shows it.

    A skill called `review` is not in a request because somebody wrote that word.
    """
    quoted = re.escape(name)
    if name.isalpha():
        return re.compile(rf"(?:^|\n)[-*] {quoted}:|\({quoted}\):|<name>{quoted}</name>|skills/{quoted}/")
    return re.compile(rf"(?<![\w-]){quoted}(?![\w-])")
