"""What becomes of each thing that a Harbor task says."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from esac_ag.manifest.package import Trust
from esac_ag.record import Identifier, Record


class Fate(StrEnum):
    """Whether something came through an import."""

    KEPT = "kept"
    CHANGED = "changed"
    """It means something else here, or less."""
    NOT_KEPT = "not-kept"


class Item(Record):
    """One thing that a Harbor task says, and what became of it."""

    what: str
    """As the task names it: a key of task.toml, a line of the Dockerfile, a file."""
    fate: Fate
    why: str


class HarborImport(Record):
    """The record of an import (`import.json` of the private grader)."""

    format_version: Literal[1]
    id: Identifier
    name: str
    """As task.toml says; the folder's name where it says none."""
    schema_version: str
    workdir: str
    """Absolute path of the task's files in Harbor's container."""
    trust: Trust
    oracle: str
    """How `solution/solve.sh` ended, in one sentence."""
    items: tuple[Item, ...]

    def of(self, fate: Fate) -> tuple[Item, ...]:
        """The items with that fate."""
        return tuple(item for item in self.items if item.fate is fate)
