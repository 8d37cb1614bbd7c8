"""The second look: a packet is searched, after masking, for all that could tell its arm. Pure.

It reads every text of the packet but the task's own, in another way than masking does: word by word, with
`seen_words`, and over the ends of texts that are read one after the other. What it finds, masking missed;
then no packet may be written.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from esac_ag.manifest.findings import pointer
from esac_ag.record import Record
from esac_ag.seen_words import readable_text, words_of
from esac_ag.study.diff import LineKind
from esac_ag.study.giveaways import RUN_WORDS, SHORTEST_NAME, Sources
from esac_ag.study.packets import MASK, Packet
from esac_ag.tree import FileTree

_OF_THE_TASK: Final = frozenset({"task", "label"})
_CODE: Final = "diff"

Place = tuple[str | int, ...]


class Leak(Record):
    """Something in a packet that tells its arm."""

    pointer: str
    """JSON pointer into the packet."""
    what: str
    """What kind of thing it is; never the text around it."""


@dataclass(frozen=True, slots=True)
class LeakScan:
    """What is searched for in the packets of one task."""

    _runs: frozenset[str]
    _names: Mapping[re.Pattern[str], str]
    """What it is, by pattern; in prose."""
    _code_names: Mapping[re.Pattern[str], str]
    """In the diff, where words that the repository has too are nobody's."""
    _ids: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, sources: Sources, known: Iterable[str]) -> LeakScan:
        """The scan for a task.

        Args:
            sources: from the sealed plan.
            known: the task's request and the texts of its snapshot.
        """
        texts = list(known)
        runs = {run for tree in sources.bundles.values() for run in _runs_of(tree)}
        for text in texts:
            runs -= set(_runs(words_of(text)))
        arms = {_named(arm): "an arm's id" for arm in sources.bundles if len(arm) >= SHORTEST_NAME}
        models = {_named(name): "a model's name" for name in sources.names}
        everybodys = [_folded(text) for text in texts]

        def new(names: Mapping[re.Pattern[str], str]) -> dict[re.Pattern[str], str]:
            return {p: what for p, what in names.items() if not any(p.search(text) for text in everybodys)}

        ids = tuple(_bounded(re.escape(_folded(one))) for one in sources.ids)
        return cls(frozenset(runs), arms | new(models), new(arms | models), ids)

    def leaks(self, packet: Packet) -> tuple[Leak, ...]:
        """Everything that it finds; empty for a packet that may be shown."""
        texts = list(_texts(packet.model_dump(mode="json"), ()))
        found = [leak for place, text in texts for leak in self._in_text(place, text)]
        together = [*([one] for one in texts), *_read_together(packet)]
        found += [leak for group in together for leak in self._runs_across(group)]
        return tuple(dict.fromkeys(found))

    def _in_text(self, place: Place, text: str) -> Iterator[Leak]:
        folded = _folded(text.replace(MASK, "\n\n\n"))
        for id_ in self._ids:
            if id_.search(folded):
                yield Leak(pointer=pointer(*place), what="the id of the study or of an attempt")
        for name, what in (self._code_names if place[0] == _CODE else self._names).items():
            if name.search(folded):
                yield Leak(pointer=pointer(*place), what=what)

    def _runs_across(self, texts: list[tuple[Place, str]]) -> Iterator[Leak]:
        words = [(word, place) for place, text in texts for word in words_of(text)]
        plain = [word for word, _ in words]
        for at, run in enumerate(_runs(plain)):
            if run in self._runs:
                yield Leak(pointer=pointer(*words[at][1]), what="a phrase of a bundle")


def _read_together(packet: Packet) -> Iterator[list[tuple[Place, str]]]:
    """Texts that are read one after the other: all claims, and the added lines of a hunk."""
    yield [(("claims", at, "text"), claim.text) for at, claim in enumerate(packet.claims)]
    for at, file in enumerate(packet.diff):
        for number, hunk in enumerate(file.hunks):
            yield [
                (("diff", at, "hunks", number, "lines", place, "text"), line.text)
                for place, line in enumerate(hunk.lines)
                if line.kind is LineKind.ADDED
            ]


def _texts(value: JsonValue, place: Place) -> Iterator[tuple[Place, str]]:
    match value:
        case str():
            yield place, value
        case list():
            for index, item in enumerate(value):
                yield from _texts(item, (*place, index))
        case dict():
            for key, item in value.items():
                if place or key not in _OF_THE_TASK:
                    yield from _texts(item, (*place, key))
        case _:
            return


def _folded(text: str) -> str:
    return html.unescape(text).casefold()


def _named(name: str) -> re.Pattern[str]:
    """A name with little between its parts: `read(); first()` is none."""
    return _bounded(r"[\W_]{0,2}".join(map(re.escape, words_of(name))) or re.escape(_folded(name)))


def _bounded(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])")


def _runs_of(tree: FileTree) -> Iterator[str]:
    for node in tree.files().values():
        yield from _runs(words_of(readable_text(node.data)))


def _runs(words: list[str]) -> Iterator[str]:
    return (" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))
