"""How an arm's bundle reaches the chat agent: files in HOME, and text in the system message.

The system message is the same for every arm up to the arm's own part; the control has no such part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from esac_ag.agents.contract import AGENT_HOME, AGENT_WORKSPACE, ArmBundle, Equipment
from esac_ag.agents.loaded import readable_text
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import ArmKind
from esac_ag.tree import FileTree

SYSTEM_MESSAGE_PLACE = "message:system"

SYSTEM_MESSAGE = f"""\
You are working on the software repository in {AGENT_WORKSPACE}, in a container without network access. \
Do what the user asks, using the tools. Nobody can answer questions. If the repository holds an AGENTS.md, \
it describes the repository's conventions. When the work is done, call `submit` with a short summary. \
What counts is the state of the repository's files at that moment."""

ENTRY_FILES = {
    ArmKind.SKILL: (b"SKILL.md",),
    ArmKind.INSTRUCTIONS: (b"AGENTS.md", b"CLAUDE.md"),
    ArmKind.FOLDER: (),
}
FOLDERS = {
    ArmKind.SKILL: "skills",
    ArmKind.INSTRUCTIONS: "instructions",
    ArmKind.FOLDER: "bundles",
}
"""Folder below HOME, by kind of bundle."""


def placement(bundle: ArmBundle) -> dict[bytes, str]:
    """Path inside the container for every path of the bundle."""
    folder = f"{AGENT_HOME}/{_folder(bundle)}"
    return {path: f"{folder}/{path.decode('utf-8', 'surrogateescape')}" for path in bundle.files.files()}


def equipment(bundle: ArmBundle | None) -> Equipment:
    """What is laid into HOME, for agents that are told of it in a message or read it there."""
    if bundle is None:
        return Equipment(home=FileTree(), loaded=())
    return Equipment(
        home=bundle.files.under(_folder(bundle).encode()), loaded=tuple(placement(bundle).values())
    )


def system_message(bundle: ArmBundle | None) -> str:
    """The whole system message of an arm.

    Raises:
        InputRefused: the bundle lacks the file that its kind begins with, or that file is not UTF-8.
    """
    if bundle is None:
        return SYSTEM_MESSAGE
    return "\n\n".join([SYSTEM_MESSAGE, *arm_parts(bundle, placement(bundle))])


def arm_parts(bundle: ArmBundle, places: Mapping[bytes, str]) -> list[str]:
    """What a message tells of an arm: the first file whole, the paths of the others, where to read on.

    Args:
        bundle: the arm's bundle.
        places: path inside the container for every path of the bundle.

    Raises:
        InputRefused: the bundle lacks the file that its kind begins with, or that file is not UTF-8.
    """
    entry = entry_of(bundle)
    parts = [] if entry is None else [_applying(places[entry], entry_text(bundle, entry))]
    if others := [place for path, place in places.items() if path != entry]:
        parts.append(belonging(others))
    if bundle.mention_in_instructions:
        parts.append(f"Read {_folder(bundle)} in {AGENT_HOME} fully before you begin, and follow it.")
    return parts


def belonging(places: Iterable[str]) -> str:
    """The sentence that lists files of an arm."""
    return "Files that belong to the instructions:\n" + "\n".join(f"- {place}" for place in places)


def instructions_message(bundle: ArmBundle) -> str:
    """The system message of an arm for work whose tools open no file of the bundle: all its texts, in full.

    There is no more in it, so that the control, which gets no system message, differs by the bundle alone.

    Raises:
        InputRefused: the bundle lacks the file that its kind begins with, that file is not UTF-8, or there is
            no text in the bundle at all.
    """
    entry = entry_of(bundle)
    parts = [] if entry is None else [_applying(entry.decode(), entry_text(bundle, entry))]
    for path, node in bundle.files.files().items():
        if path != entry and (text := readable_text(node.data)):
            name = path.decode("utf-8", "replace")
            parts.append(f"{name}, which belongs to the instructions:\n\n{text}")
    if not parts:
        raise InputRefused(
            f"The bundle of arm {bundle.arm_id} holds no text that a message could carry",
            where=f"arm {bundle.arm_id}, kind {bundle.kind}",
            remedy="freeze a bundle with at least one UTF-8 text file",
        )
    return "\n\n".join(parts)


def _applying(place: str, text: str) -> str:
    return f"These instructions apply ({place}):\n\n{text}"


def _folder(bundle: ArmBundle) -> str:
    return f"{FOLDERS[ArmKind(bundle.kind)]}/{bundle.arm_id}"


def entry_of(bundle: ArmBundle, names: Sequence[bytes] | None = None) -> bytes | None:
    """The file whose whole text the agent is given; none for plain folders.

    Args:
        bundle: the arm's bundle.
        names: files to look for in place of the kind's own, the best first.

    Raises:
        InputRefused: the bundle has none of them.
    """
    names = ENTRY_FILES[ArmKind(bundle.kind)] if names is None else names
    files = bundle.files.files()
    for name in names:
        if name in files:
            return name
    if not names:
        return None
    raise InputRefused(
        f"The bundle of arm {bundle.arm_id} has no file to begin with",
        where=f"arm {bundle.arm_id}, kind {bundle.kind}",
        expected=" or ".join(name.decode() for name in names),
        found=", ".join(path.decode("utf-8", "backslashreplace") for path in files) or "no files",
        remedy="add the file, or freeze the bundle under its right kind (esac-ag arm freeze)",
    )


def entry_text(bundle: ArmBundle, entry: bytes) -> str:
    """The text of a bundle's file, with LF and without white space around.

    Raises:
        InputRefused: it is not UTF-8.
    """
    try:
        text = bundle.files.files()[entry].data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputRefused(
            f"{entry.decode()} of arm {bundle.arm_id} is not UTF-8",
            found=str(error),
            remedy="save the file as UTF-8 and freeze the arm again",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
