"""What the manipulation check needs of `loaded-instructions.json`: the same in nearly all runs of an arm.

Equal facts are one object, so that a hundred thousand attempts hold a handful of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from esac_ag.attempt.loaded import ForeignTrace, LoadedInstructions
from esac_ag.manifest.plan import AgentKind

_MOST_SHARED = 1 << 12
"""Facts that are remembered to be shared; further ones are objects of their own."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of the arm's bundle."""

    path: str
    present_at_start: bool | None
    unchanged_at_end: bool | None
    listed: bool
    """Whether a request named it."""
    in_full: bool
    """Whether all its text was in requests."""


@dataclass(frozen=True, slots=True)
class LoadedFacts:
    """One attempt's record without the requests' digests; fields as in `LoadedInstructions`."""

    arm: str
    agent_kind: AgentKind | None
    complete: bool | None
    files: tuple[FileFacts, ...]
    foreign: tuple[ForeignTrace, ...]
    tools: tuple[str, ...] | None
    bundled_skills: tuple[str, ...] | None

    @classmethod
    def of(cls, loaded: LoadedInstructions) -> LoadedFacts:
        """The facts of a record."""
        found = cls(
            arm=loaded.arm,
            agent_kind=loaded.agent_kind,
            complete=loaded.complete,
            files=tuple(
                FileFacts(
                    path=file.path,
                    present_at_start=file.present_at_start,
                    unchanged_at_end=file.unchanged_at_end,
                    listed=file.listed_in is not None,
                    in_full=file.in_full_in is not None,
                )
                for file in loaded.files
            ),
            foreign=loaded.foreign,
            tools=loaded.tools,
            bundled_skills=loaded.bundled_skills,
        )
        return _shared(found)


@lru_cache(maxsize=_MOST_SHARED)
def _shared(facts: LoadedFacts) -> LoadedFacts:
    return facts
