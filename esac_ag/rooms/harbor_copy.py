"""What a Dockerfile's COPY or ADD puts where. Pure."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from esac_ag.rooms.harbor_dockerfile import Heredoc, Instruction, expanded
from esac_ag.tree import FileTree, Node, RegularFile

_DROPPED = ("--chown", "--link")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst")


class CannotCopy(Exception):
    """Why an instruction is not kept.

    Attributes:
        leaves: whether one of its paths leads out of the context.
    """

    def __init__(self, why: str, *, leaves: bool = False) -> None:
        super().__init__(why)
        self.leaves = leaves


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY or ADD that can be followed."""

    sources: tuple[str, ...]
    target: str
    """As written; it may be relative."""
    executable: bool | None
    """What --chmod makes of files; None without it."""
    dropped: tuple[str, ...]
    """Options without a meaning here."""
    heredocs: tuple[Heredoc, ...]


def parse_copy(instruction: Instruction, variables: Mapping[str, str]) -> Copy:
    """Read an instruction.

    Raises:
        CannotCopy: it has to be told as not kept.
    """
    words = instruction.words()
    options: list[str] = []
    text = instruction.text
    while text.startswith("--"):
        option, _, text = text.partition(" ")
        options.append(option)
        text = text.lstrip()
    if options:
        words = Instruction(instruction.line, instruction.name, text).words()
    if words is None or len(words) < 2:  # noqa: PLR2004  (a source and a target)
        raise CannotCopy("it cannot be read")
    dropped, executable = [], None
    for option in options:
        name, _, value = option.partition("=")
        if name == "--chmod":
            executable = _executable(value)
        elif name in _DROPPED:
            dropped.append(name)
        elif name == "--from":
            raise CannotCopy("another image or build stage is not there to copy from")
        else:
            raise CannotCopy(f"its option {name} needs a build")
    *sources, target = (expanded(word, variables) for word in words)
    return Copy(tuple(sources), target, executable, tuple(dropped), instruction.heredocs)


def _executable(value: str) -> bool:
    try:
        return bool(int(value, 8) & 0o100)
    except ValueError:
        return "x" in value and "-x" not in value


def copied(copy: Copy, context: FileTree, workdir: str, folders: frozenset[str]) -> FileTree:
    """The files that come of it, by absolute path without the leading slash.

    Args:
        copy: the instruction.
        context: the build context.
        workdir: the current one, absolute.
        folders: absolute paths that are folders by now.

    Raises:
        CannotCopy: a source is not there, is fetched or unpacked, or leads out of the context.
    """
    target = posixpath.normpath(posixpath.join(workdir, copy.target)).replace("//", "/")
    into = (
        copy.target.endswith(("/", "/.")) or copy.target == "." or target in folders or len(copy.sources) > 1
    )
    nodes: dict[bytes, Node] = {}
    by_name = {f"<<{h.name}": h for h in copy.heredocs} | {f"<<-{h.name}": h for h in copy.heredocs}
    for source in copy.sources:
        if (heredoc := by_name.get(source)) is not None:
            where = f"{target}/{heredoc.name}" if into else target
            nodes[_key(where)] = RegularFile(heredoc.text.encode(), bool(copy.executable))
            continue
        for path, node in _found(source, context, target, into=into).items():
            is_executable = node.executable if copy.executable is None else copy.executable
            nodes[_key(path)] = RegularFile(node.data, is_executable)
    return FileTree(nodes)


def _key(path: str) -> bytes:
    return posixpath.normpath(path).lstrip("/").encode("utf-8", "surrogateescape")


def _found(source: str, context: FileTree, target: str, *, into: bool) -> dict[str, RegularFile]:
    """Files by the absolute path that they get."""
    if "://" in source or source.startswith("git@"):
        raise CannotCopy("it is fetched from a network, of which there is none")
    inside = posixpath.normpath(source.lstrip("/") or ".")
    if inside == ".." or inside.startswith("../") or "\0" in inside:
        raise CannotCopy("it leads out of environment/", leaves=True)
    files = {path.decode("utf-8", "surrogateescape"): node for path, node in context.files().items()}
    if inside == ".":
        return {f"{target}/{path}": node for path, node in files.items()}
    found: dict[str, RegularFile] = {}
    for name in sorted(_matching(inside, files)):
        below = {path: node for path, node in files.items() if path.startswith(f"{name}/")}
        # The contents of a folder are copied, never the folder itself.
        found |= {f"{target}/{path.removeprefix(name + '/')}": node for path, node in below.items()}
        if name in files:
            many = into or any(sign in source for sign in "*?[")
            found[f"{target}/{posixpath.basename(name)}" if many else target] = files[name]
    if not found:
        raise CannotCopy("there is no such file in environment/")
    if any(path.endswith(_ARCHIVES) for path in found):
        raise CannotCopy("archives are not taken along, because ADD may unpack them")
    return found


def _matching(pattern: str, files: Mapping[str, RegularFile]) -> set[str]:
    """Files and folders that a source names, wildcards within one part of a path each."""
    wanted = pattern.split("/")
    names = set()
    for path in files:
        parts = path.split("/")
        if len(parts) >= len(wanted) and all(
            fnmatch.fnmatchcase(part, sign) for part, sign in zip(parts, wanted, strict=False)
        ):
            names.add("/".join(parts[: len(wanted)]))
    return names
