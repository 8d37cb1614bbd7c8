"""Proof of the treatment: which instructions reached the model, from the requests that it was sent.

For each file of the arm's bundle the record tells whether it lay in the container when the agent began, and
the first request that named it and the first that held its whole text. For every other arm it tells whether
a request held its skill's name, its description or one of its longer lines: the control must show none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import Field

from esac_ag.agents.front_matter import front_matter
from esac_ag.canonical import file_sha256
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Identifier, Record, Sha256
from esac_ag.tree import FileTree

Key = TypeVar("Key")

SHORTEST_MARKER = 6
"""Names with fewer characters occur by chance and prove nothing."""
SHORTEST_LINE = 40
"""Lines with fewer characters are not taken as a trace of a bundle."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """All text that one request held, and the digest of the request as it was sent."""

    number: int
    sha256: str
    text: str


class Sighting(Record):
    """The first request in which something was seen."""

    request: Annotated[int, Field(ge=1)]
    request_sha256: Sha256


class LoadedFile(Record):
    """One file of the arm's bundle, and how far it got."""

    path: str
    """Path in the bundle; names that are not Unicode are escaped."""
    sha256: Sha256
    """Digest by the inventory's rule."""
    placed_at: str | None
    """Path inside the container; null when it only reached the system message."""
    present_at_start: bool | None
    """Whether the same bytes lay there when the agent began; null when that was not checked."""
    listed_in: Sighting | None
    """First request that named the file."""
    in_full_in: Sighting | None
    """First request that held its whole text."""


class ForeignTrace(Record):
    """Something of another arm's bundle in a request."""

    arm: Identifier
    marker: str
    seen_in: Sighting


class LoadedInstructions(Record):
    """`loaded-instructions.json` of one attempt."""

    arm: Identifier
    agent_kind: AgentKind | None = None
    """What acted; filled in by the conductor."""
    requests: Annotated[int, Field(ge=0)] | None
    """Requests that were looked through; null for agents that send none to a model."""
    files: tuple[LoadedFile, ...]
    foreign: tuple[ForeignTrace, ...] = ()
    """Traces of bundles that are not this arm's; empty is what a clean run shows."""


def loaded_instructions(
    arm_id: str,
    bundle: FileTree | None,
    *,
    placed: Mapping[bytes, str],
    present: Mapping[bytes, bool],
    others: Mapping[str, FileTree],
    requests: Iterable[SeenRequest] | None,
) -> LoadedInstructions:
    """The record of one attempt; pure.

    Args:
        arm_id: the attempt's arm.
        bundle: its files; None for the control.
        placed: path inside the container, by path in the bundle.
        present: what was found there at the start, by path in the bundle; may be empty.
        others: the other arms' bundles, by arm.
        requests: all requests in order; None when the agent sends none.
    """
    own = bundle or FileTree()
    listed = _Sightings({path: _listing_needle(path, placed) for path in own.files()})
    in_full = _Sightings(
        {path: text for path in own.files() if (text := readable_text(own.files()[path].data))}
    )
    foreign = _Sightings(dict(_foreign_markers(own, others)))
    count = 0
    for request in requests or ():
        count += 1
        for watched in (listed, in_full, foreign):
            watched.look_at(request)
    return LoadedInstructions(
        arm=arm_id,
        requests=None if requests is None else count,
        files=tuple(
            LoadedFile(
                path=path.decode("utf-8", "backslashreplace"),
                sha256=file_sha256(node.data),
                placed_at=placed.get(path),
                present_at_start=present.get(path),
                listed_in=listed.first.get(path),
                in_full_in=in_full.first.get(path),
            )
            for path, node in own.files().items()
        ),
        foreign=tuple(
            ForeignTrace(arm=arm, marker=marker, seen_in=sighting)
            for (arm, marker), sighting in foreign.first.items()
        ),
    )


class _Sightings(Generic[Key]):
    """First sightings of needles; a needle that was seen is not looked for again."""

    def __init__(self, needles: Mapping[Key, str]) -> None:
        self.first: dict[Key, Sighting] = {}
        self._missing = {key: needle for key, needle in needles.items() if needle}

    def look_at(self, request: SeenRequest) -> None:
        for key in [key for key, needle in self._missing.items() if needle in request.text]:
            del self._missing[key]
            self.first[key] = Sighting(request=request.number, request_sha256=request.sha256)


def readable_text(data: bytes) -> str:
    """The file's text as a request may hold it: LF, without white space around; empty when it is no text."""
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").strip()
    except UnicodeDecodeError:
        return ""


def _listing_needle(path: bytes, placed: Mapping[bytes, str]) -> str:
    return placed.get(path, path.decode("utf-8", "replace"))


def _foreign_markers(own: FileTree, others: Mapping[str, FileTree]) -> Iterator[tuple[tuple[str, str], str]]:
    """Name, description and longer lines of the other bundles, unless this arm's own files hold them too."""
    ours = "\n".join(readable_text(node.data) for node in own.files().values())
    for arm, tree in others.items():
        for marker in dict.fromkeys(_markers(tree)):
            if marker not in ours:
                yield (arm, marker), marker


def _markers(tree: FileTree) -> Iterator[str]:
    for node in tree.files().values():
        text = readable_text(node.data)
        fields = front_matter(text)
        for key in ("name", "description"):
            if len(value := fields.get(key, "")) >= SHORTEST_MARKER:
                yield value
        yield from (line for raw in text.split("\n") if len(line := raw.strip()) >= SHORTEST_LINE)
