"""The workspace: the folder that holds the rooms."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from esac_ag.errors import UsageError

ROOMS = ("arms", "tasks", "graders", "manifests", "runner")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with the rooms `arms`, `tasks`, `graders`, `manifests` and `runner`."""

    root: Path

    @classmethod
    def find(cls, root: Path | None = None, *, start: Path | None = None) -> Workspace:
        """The workspace at `root`, or else the nearest one upward from `start` (the current folder).

        Raises:
            UsageError: the root lacks rooms, or no folder upward has them.
        """
        if root is not None:
            return cls._at(root)
        begin = (start or Path.cwd()).resolve()
        found = next((folder for folder in (begin, *begin.parents) if not _missing_rooms(folder)), None)
        if found is None:
            raise UsageError(
                "No workspace was found.",
                where=str(begin),
                expected=f"a folder here or above with {', '.join(ROOMS)}",
                remedy="Change into a workspace, name one with --root, or make one: esac-ag init DIR",
            )
        return cls(found)

    @classmethod
    def _at(cls, root: Path) -> Workspace:
        missing = _missing_rooms(root)
        if missing:
            raise UsageError(
                "The folder is not a workspace.",
                where=str(root),
                expected=f"the folders {', '.join(ROOMS)}",
                found=f"no {', no '.join(missing)}",
                remedy="Name the folder that holds the rooms, or make one: esac-ag init DIR",
            )
        return cls(root.resolve())

    @property
    def label(self) -> str:
        """What this workspace's containers are labelled with: tells workspaces apart, tells no path."""
        path = str(self.root.resolve()).encode("utf-8", "surrogateescape")
        return hashlib.sha256(path).hexdigest()[:16]

    @property
    def arms(self) -> Path:
        """Frozen instruction bundles, a folder each."""
        return self.root / "arms"

    @property
    def tasks(self) -> Path:
        """Public task packages, a folder each."""
        return self.root / "tasks"

    @property
    def graders(self) -> Path:
        """Private grader packages, a folder each; never enters an agent's container."""
        return self.root / "graders"

    @property
    def manifests(self) -> Path:
        """Run manifests and the published schemas."""
        return self.root / "manifests"

    @property
    def runner(self) -> Path:
        """What defines and enters containers."""
        return self.root / "runner"

    @property
    def state(self) -> Path:
        """What the harness remembers between commands: locks, proofs, drafts of demonstrations."""
        return self.root / ".esac-ag"

    def study_lock(self, study_id: str) -> Path:
        """The lock of a study, whatever folder its results go to."""
        return self.state / "locks" / f"{study_id}.lock"

    @property
    def results(self) -> Path:
        """What runs write, unless another folder is named."""
        return self.root / "results"


def _missing_rooms(folder: Path) -> list[str]:
    return [room for room in ROOMS if not os.path.isdir(folder / room)]  # noqa: PTH112  (never raises)
