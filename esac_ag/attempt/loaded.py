"""`loaded-instructions.json`: what reached a model of an arm's bundle, and of other arms' bundles."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from esac_ag.attempt import Count
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Identifier, Record, Sha256


class Sighting(Record):
    """The first request in which something was seen."""

    request: Annotated[int, Field(ge=1)]
    """Number of the call."""
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
    unchanged_at_end: bool | None = None
    """Whether the same bytes lay there when the agent had ended; null when that is not known."""
    listed_in: Sighting | None
    """First request that named the file: its path, or a skill's name and description."""
    in_full_in: Sighting | None
    """First request with which all its text had been in requests; a file may be read in pages."""
    lines_cut: Count = 0
    """Very long lines of which the agent's tool showed the beginning only, of a file that is in full else."""


class TraceKind(StrEnum):
    """What of another arm's bundle a request held."""

    NAME = "name"
    DESCRIPTION = "description"
    PATH = "path"
    """Where the other arm's file would lie."""
    TEXT = "text"
    """Eight words or more in a row, or the whole text of a shorter file."""


class ForeignTrace(Record):
    """Something of another arm's bundle in a request."""

    arm: Identifier
    kind: TraceKind | None = None
    """Null in records from before kinds were told apart."""
    marker: str
    """What was found; text is shown by its words, and its beginning only."""
    seen_in: Sighting


class LoadedInstructions(Record):
    """`loaded-instructions.json` of one attempt."""

    arm: Identifier
    agent_kind: AgentKind | None = None
    """What acted; filled in by the conductor."""
    requests: Count | None
    """Requests that were looked through; null for agents that send none to a model."""
    complete: bool | None = None
    """Whether that was every request that was sent; null where none is, or it is not known."""
    files: tuple[LoadedFile, ...]
    foreign: tuple[ForeignTrace, ...] = ()
    """Traces of bundles that are not this arm's; empty is what a clean run shows."""
    foreign_counts: dict[Identifier, Count] = Field(default_factory=dict)
    """All traces by arm; `foreign` holds the first of them."""
    tools: tuple[str, ...] | None = None
    """Names of the tools in the first request that offered any; null when not known."""
    bundled_skills: tuple[str, ...] | None = None
    """Skills that the agent listed, without the arm's own; null when not known."""

    def at_end(self, unchanged: Mapping[str, bool | None]) -> LoadedInstructions:
        """The record with what was found when the agent had ended; pure.

        Args:
            unchanged: whether the same bytes lay there, by the recorded `path`; what is missing or None is
                not known.
        """
        files = tuple(
            file.model_copy(update={"unchanged_at_end": unchanged.get(file.path)}) for file in self.files
        )
        return self.model_copy(update={"files": files})
