"""Searches what would be published for all that must not be. Pure.

Each file is read in every way of `decodings`, archives member by member, names too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from esac_ag.archive import shown
from esac_ag.study.decodings import decodings
from esac_ag.study.disclosure import Disclosure, DisclosureKind, Writer
from esac_ag.study.key_formats import keys_in, without_digests
from esac_ag.study.packed import TooMuchPacked, members_of
from esac_ag.study.private_texts import PrivatePhrases

MOST_BYTES: Final = 256 * 1024 * 1024
"""A larger file is not searched, and so not published."""
MOST_FINDINGS: Final = 200
"""Of one file; where there are more, the file is not to be published anyway."""
SHORTEST_ID: Final = 8
"""Shorter ids of hidden checks are words."""
_ID: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{{SHORTEST_ID - 1},}}")


class LocalName(NamedTuple):
    """Something of this machine or of a person."""

    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    """Texts one of which has to be there for the pattern to be found: looking for them is fast."""
    what: str
    agents_may: bool
    """Whether an agent may write it in its container, where it means nothing."""


@dataclass(frozen=True, slots=True)
class DisclosureScan:
    """What is searched for."""

    secrets: Mapping[str, str]
    """What a secret is, by each form that it may stand in."""
    phrases: PrivatePhrases
    names: tuple[LocalName, ...]
    hidden_ids: Mapping[str, str]
    """What it is, by an exact word that only private material has, such as a hidden check's id."""

    def __repr__(self) -> str:
        """Without any secret."""
        return f"DisclosureScan({len(self.secrets)} forms of secrets, {self.phrases.size} phrases)"

    def found_in(self, path: str, data: bytes, writer: Writer) -> Iterator[Disclosure]:
        """All that is found in one file, its name included.

        Args:
            path: of the file in the bundle.
            data: its bytes.
            writer: who wrote it.
        """
        place = shown(path.encode("utf-8", "surrogateescape"))
        for finding in self._in_bytes(place, path.encode("utf-8", "surrogateescape"), writer):
            yield finding.model_copy(update={"line": None, "what": f"{finding.what}, in the file's name"})
        yield from self._in_file(place, data, writer)

    def _in_file(self, place: str, data: bytes, writer: Writer) -> Iterator[Disclosure]:
        if len(data) > MOST_BYTES:
            yield _not_scanned(place, f"it holds {len(data)} bytes, more than are searched")
            return
        yield from self._in_bytes(place, data, writer)
        try:
            for name, inner in members_of(data):
                yield from self._in_bytes(f"{place}!{shown(name)}", inner, writer)
        except TooMuchPacked as error:
            yield _not_scanned(place, str(error))

    def _in_bytes(self, place: str, data: bytes, writer: Writer) -> Iterator[Disclosure]:
        told: set[tuple[str, str]] = set()
        for read_as, text in decodings(data):
            for kind, what, offset in self._in_text(text, writer):
                # The same thing in the same text unescaped is no news.
                if (kind, what) not in told and len(told) < MOST_FINDINGS:
                    told.add((kind, what))
                    line = text.count("\n", 0, offset) + 1
                    yield Disclosure(kind=kind, path=place, line=line, read_as=read_as, what=what)

    def _in_text(self, text: str, writer: Writer) -> Iterator[tuple[DisclosureKind, str, int]]:
        for form, what in self.secrets.items():
            if (at := text.find(form)) >= 0:
                yield DisclosureKind.SECRET, what, at
        short = without_digests(text)
        for what, at in keys_in(short):
            yield DisclosureKind.KEY_FORMAT, what, at
        for source, at in self.phrases.found_in(short, writer):
            yield source.kind, source.what, at
        if self.hidden_ids:
            for found in _ID.finditer(short):
                if hidden := self.hidden_ids.get(found[0].strip(".-")):
                    yield DisclosureKind.HELD_OUT, hidden, found.start()
        for name in self.names:
            if name.agents_may and writer is Writer.AGENT:
                continue
            if any(one in short for one in name.needs) and (place := name.pattern.search(short)):
                yield DisclosureKind.LOCAL, name.what, place.start()


def _not_scanned(place: str, why: str) -> Disclosure:
    return Disclosure(kind=DisclosureKind.NOT_SCANNED, path=place, line=None, read_as="", what=why)
