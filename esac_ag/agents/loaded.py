"""Proof of the treatment: which instructions reached the model, from the requests that it was sent.

For each file of the arm's bundle the record tells whether it lay in the container when the agent began, and
the first request that named it and the one that completed its text. For every other arm it tells what of its
bundle a request held: the control must show none. Agents send the whole conversation with each request, so
each piece of text is looked through once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from esac_ag.agents.foreign_traces import ForeignTraces
from esac_ag.agents.skill_listings import SkillListings
from esac_ag.agents.whole_files import WholeFiles
from esac_ag.attempt.loaded import (
    ForeignTrace,
    LoadedFile,
    LoadedInstructions,
    Sighting,
    TraceKind,
)
from esac_ag.canonical import file_sha256
from esac_ag.front_matter import front_matter
from esac_ag.seen_words import as_phrase, readable_text, words_of
from esac_ag.tree import FileTree

__all__ = [
    "ForeignTrace",
    "LoadedFile",
    "LoadedInstructions",
    "SeenRequest",
    "Sighting",
    "TraceKind",
    "known_texts",
    "loaded_instructions",
    "path_shown",
    "readable_text",
]

LISTED_WORDS = 12
"""Agents cut long descriptions in their listings; so many words of one tell it from others."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """All text that one request held, and the digest of the request as it was sent."""

    number: int
    """Of the call."""
    sha256: str
    texts: tuple[str, ...]
    """Every string of it that the model was given, unescaped, in order."""
    tools: tuple[str, ...] | None = None
    """Names of the tools that it offered; null when not known."""
    written: tuple[str, ...] = ()
    """Strings that the model itself had written before: its messages, and the arguments of its calls."""
    whole: bool = True
    """Whether all its text is here; a proof that lacks a request is not complete."""

    @property
    def text(self) -> str:
        """All that the model was given, a line feed between the strings."""
        return "\n".join(self.texts)


def loaded_instructions(
    arm_id: str,
    bundle: FileTree | None,
    *,
    placed: Mapping[bytes, str],
    present: Mapping[bytes, bool],
    others: Mapping[str, FileTree],
    requests: Iterable[SeenRequest] | None,
    known: Iterable[str] = (),
    agent: str | None = None,
) -> LoadedInstructions:
    """The record of one attempt; pure.

    Args:
        arm_id: the attempt's arm.
        bundle: its files; None for the control.
        placed: path inside the container, by path in the bundle.
        present: what was found there at the start, by path in the bundle; may be empty.
        others: the other arms' bundles, by arm.
        requests: all requests in order, read once; None when the agent sends none.
        known: texts that are everybody's, so that they are no trace of an arm: the task's request and the
            files of its snapshot (`known_texts`).
        agent: name of the agent, for the form in which it lists skills; `chat` for the chat agent.
    """
    own = bundle or FileTree()
    search = _Search(arm_id, own, placed, others, known, agent)
    complete = True
    count = 0
    for request in requests or ():
        count += 1
        complete = complete and request.whole
        search.look_at(request)
    return LoadedInstructions(
        arm=arm_id,
        requests=None if requests is None else count,
        complete=None if requests is None else complete,
        files=tuple(
            LoadedFile(
                path=path_shown(path),
                sha256=file_sha256(node.data),
                placed_at=placed.get(path),
                present_at_start=present.get(path),
                listed_in=search.listed.get(path),
                in_full_in=search.in_full.get(path),
                lines_cut=search.whole.lines_cut(path) if path in search.in_full else 0,
            )
            for path, node in own.files().items()
        ),
        foreign=tuple(search.foreign.found),
        foreign_counts=search.foreign.counts,
        tools=search.tools,
        bundled_skills=search.listings.without(search.own_names) if count else None,
    )


def path_shown(path: bytes) -> str:
    """A path of a bundle as the record has it."""
    return path.decode("utf-8", "backslashreplace")


def known_texts(request: str, snapshot: FileTree) -> Iterator[str]:
    """What every arm of a task is given: its request, and the readable files of its snapshot."""
    yield request
    for node in snapshot.files().values():
        if text := readable_text(node.data):
            yield text


class _Search:
    """What is looked for in the requests of one attempt, and what was found."""

    def __init__(
        self,
        arm_id: str,
        own: FileTree,
        placed: Mapping[bytes, str],
        others: Mapping[str, FileTree],
        known: Iterable[str],
        agent: str | None,
    ) -> None:
        texts = {path: readable_text(node.data) for path, node in own.files().items()}
        self.listed: dict[bytes, Sighting] = {}
        self.in_full: dict[bytes, Sighting] = {}
        self.tools: tuple[str, ...] | None = None
        self.whole = WholeFiles(texts)
        self.foreign = ForeignTraces(others, _chained(texts.values(), known))
        self.listings = SkillListings(agent)
        heads = {path: front_matter(text) for path, text in texts.items()}
        self.own_names = {arm_id, *(head["name"] for head in heads.values() if head.get("name"))}
        self._unlisted = {path: _Listing(placed.get(path, path_shown(path)), heads[path]) for path in texts}
        self._seen: set[bytes] = set()

    def look_at(self, request: SeenRequest) -> None:
        if not self.tools and request.tools is not None:
            self.tools = request.tools
        for piece in filter(self._is_new, request.written):
            # What a model came up with by itself was not given to it, though a tool may show it again.
            self.foreign.forget(piece)
        for piece in filter(self._is_new, request.texts):
            sighting = Sighting(request=request.number, request_sha256=request.sha256)
            self.foreign.look_at(piece, sighting)
            self.listings.look_at(piece)
            for path in self.whole.look_at(piece):
                self.in_full[path] = sighting
            for path in [path for path, listing in self._unlisted.items() if listing.stands_in(piece)]:
                self.listed[path] = sighting
                del self._unlisted[path]

    def _is_new(self, piece: str) -> bool:
        """Whether a piece was not met before; from now on it was."""
        mark = hashlib.blake2b(piece.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if mark in self._seen:
            return False
        self._seen.add(mark)
        return True


class _Listing:
    """How a request names a file: by its place, or as a skill by name and description."""

    def __init__(self, place: str, head: Mapping[str, str]) -> None:
        self._place = place
        self._name = head.get("name", "")
        words = words_of(head.get("description", ""))[:LISTED_WORDS]
        self._words = words if self._name else []

    def stands_in(self, piece: str) -> bool:
        if self._place in piece:
            return True
        if not self._words or self._name not in piece:
            return False
        return as_phrase(self._words) in as_phrase(words_of(piece))


def _chained(own: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    yield from own
    yield from known
