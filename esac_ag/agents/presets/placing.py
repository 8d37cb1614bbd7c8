"""Where an arm's bundle goes for a command-line agent, by the kind of bundle.

A skill goes whole into the folder of skills. Instructions go whole into a folder of HOME, and the text of
their first file into the global instructions. A plain folder goes into HOME, and the global
instructions list its files. An agent that has no global instructions is told in the request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from esac_ag.agents.contract import AGENT_HOME, ArmBundle
from esac_ag.agents.instructions import FOLDERS, arm_parts, belonging, entry_of, entry_text
from esac_ag.manifest.plan import ArmKind
from esac_ag.tree import FileTree


@dataclass(frozen=True, slots=True)
class Places:
    """Where an agent looks, below HOME."""

    skills: str
    instructions: str | None
    """The file of global instructions; None when the agent has none."""
    first_files: tuple[bytes, ...] = (b"AGENTS.md", b"CLAUDE.md")
    """Which file of a bundle of instructions counts, the best first."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An arm in its places."""

    home: FileTree
    paths: Mapping[bytes, str]
    """Path inside the container for every path of the bundle."""
    in_request: str
    """What the request tells of the arm; empty unless it is the only way."""


def place(bundle: ArmBundle | None, places: Places) -> Placed:
    """Lay an arm's bundle where the agent looks; the control leaves no trace.

    Raises:
        InputRefused: the bundle lacks the file that its kind begins with, or that file is not UTF-8.
    """
    if bundle is None:
        return Placed(FileTree(), {}, "")
    kind = ArmKind(bundle.kind)
    folder = f"{places.skills if kind is ArmKind.SKILL else FOLDERS[kind]}/{bundle.arm_id}"
    home = bundle.files.under(folder.encode())
    paths = {
        path: f"{AGENT_HOME}/{folder}/{path.decode('utf-8', 'surrogateescape')}"
        for path in bundle.files.files()
    }
    if places.instructions is None:
        return Placed(home, paths, "\n\n".join(arm_parts(bundle, paths)))
    parts = _global_parts(bundle, kind, paths, places.first_files)
    if parts:
        text = "\n\n".join(parts) + "\n"
        home = home.merged(FileTree.of_text({places.instructions: text}))
    return Placed(home, paths, "")


def _global_parts(
    bundle: ArmBundle, kind: ArmKind, paths: Mapping[bytes, str], first_files: Sequence[bytes]
) -> list[str]:
    """What the global instructions say, in paragraphs."""
    match kind:
        case ArmKind.SKILL:
            entry = entry_of(bundle)
            if entry is None or not bundle.mention_in_instructions:
                return []
            return [f"Read {paths[entry]} fully before you begin, and follow it."]
        case ArmKind.INSTRUCTIONS:
            entry = entry_of(bundle, first_files)
            own = [] if entry is None else [entry_text(bundle, entry)]
            others = [place for path, place in paths.items() if path != entry]
            return [*own, *([belonging(others)] if others else [])]
        case ArmKind.FOLDER:
            mention = ["Read them fully before you begin, and follow them."]
            return [belonging(paths.values()), *(mention if bundle.mention_in_instructions else [])]
        case ArmKind.NONE:
            return []
        case _:
            assert_never(kind)
