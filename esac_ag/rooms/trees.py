"""Reading a folder as a tree of plain data, the same whatever machine it lies on.

Regular files only. A symbolic link to a file inside the folder is read as that file, because manifest
version 1 counts what `Path.is_file` accepts; links to folders, links that leave the folder or lead
nowhere, and special files are findings and are left out. Folders are implied by the files in them, as
in Git: empty ones are not kept. Order, times, owner, umask and locale have no influence.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from esac_ag.canonical import IGNORED_FOLDERS, IGNORED_SUFFIXES
from esac_ag.errors import InputRefused
from esac_ag.manifest.findings import Finding, Severity, in_order, shown_text
from esac_ag.rooms.reading import CannotRead, kind_of, read_with_mode, reason_of
from esac_ag.tree import FileTree, RegularFile

MAX_FILES = 100_000
MAX_DEPTH = 64
MAX_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadTree:
    """A folder's files, and what was found on the way."""

    tree: FileTree
    findings: tuple[Finding, ...]


def read_tree(folder: Path, *, skip_ignored: bool = False) -> ReadTree:
    """Read a folder into memory.

    With `skip_ignored`, what tree hashes leave out (`.git`, caches, byte code) is not read at all: what
    no digest covers must enter no container.

    Raises:
        InputRefused: the folder is missing, unreadable or not a folder.
    """
    try:
        walk = _Walk(root=Path(os.path.realpath(folder)), shown=str(folder), skip_ignored=skip_ignored)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise InputRefused(
            "The folder cannot be read.",
            where=shown_text(str(folder)),
            expected="a folder",
            found=reason_of(error),
            remedy="Check the path and its permissions.",
        ) from error
    try:
        walk.folder(descriptor, ())
    finally:
        os.close(descriptor)
    return ReadTree(FileTree(walk.files), in_order(walk.findings))


@dataclass(slots=True)
class _Walk:
    root: Path
    shown: str
    skip_ignored: bool
    files: dict[bytes, RegularFile] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    size_bytes: int = 0

    def folder(self, descriptor: int, above: tuple[str, ...]) -> None:
        try:
            names = sorted(os.listdir(descriptor))
        except OSError as error:
            self.report("unreadable", above, "A folder cannot be read.", reason_of(error))
            return
        if self.skip_ignored:
            names = [name for name in names if name not in IGNORED_FOLDERS]
        self.collisions(names, above)
        for name in names:
            self.entry(descriptor, name, (*above, name))

    def entry(self, descriptor: int, name: str, path: tuple[str, ...]) -> None:
        try:
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
        except OSError as error:
            self.report("unreadable", path, "An entry cannot be read.", reason_of(error))
            return
        self.name(name, path)
        if stat.S_ISDIR(mode):
            self.descend(descriptor, name, path)
        elif self.skip_ignored and name.endswith(IGNORED_SUFFIXES):
            return
        elif stat.S_ISREG(mode):
            self.file(name, path, descriptor)
        elif stat.S_ISLNK(mode):
            self.link(path)
        else:
            self.report("special-file", path, "A special file is in the folder.", kind_of(mode))

    def descend(self, descriptor: int, name: str, path: tuple[str, ...]) -> None:
        if len(path) > MAX_DEPTH:
            self.report(
                "too-much", path[:1], "The folder is nested too deeply.", f"more than {MAX_DEPTH} levels"
            )
            return
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            inner = os.open(name, flags, dir_fd=descriptor)
        except OSError as error:
            self.report("unreadable", path, "A folder cannot be read.", reason_of(error))
            return
        try:
            self.folder(inner, path)
        finally:
            os.close(inner)

    def file(self, name: str | Path, path: tuple[str, ...], descriptor: int | None) -> None:
        if len(self.files) >= MAX_FILES:
            self.report("too-much", path[:0], "The folder holds too many files.", f"more than {MAX_FILES}")
            return
        cap = MAX_BYTES - self.size_bytes
        try:
            data, executable = read_with_mode(name, cap_bytes=cap, dir_fd=descriptor, follow=False)
        except CannotRead as error:
            self.report("unreadable", path, "A file cannot be read.", str(error))
            return
        self.size_bytes += len(data)
        self.files[os.fsencode("/".join(path))] = RegularFile(data, executable)

    def link(self, path: tuple[str, ...]) -> None:
        target = Path(os.path.realpath(self.root.joinpath(*path)))
        if not target.is_relative_to(self.root):
            self.report("symlink-leaves", path, "A symbolic link leaves the folder.", "a link to the outside")
        elif os.path.isdir(target):  # noqa: PTH112  (never raises)
            self.report(
                "symlink-to-folder", path, "A symbolic link points to a folder.", "a link to a folder"
            )
        elif not os.path.isfile(target):  # noqa: PTH113  (never raises)
            self.report("symlink-nowhere", path, "A symbolic link points to no file.", "a dangling link")
        else:
            self.file(target, path, None)

    def collisions(self, names: Iterable[str], above: tuple[str, ...]) -> None:
        groups: dict[str, list[str]] = {}
        for name in names:
            folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
            groups.setdefault(folded, []).append(name)
        for group in groups.values():
            if len(group) > 1:
                listed = ", ".join(ascii(name) for name in group)
                what = "Names differ only by case or Unicode normal form."
                self.report("name-collision", (*above, group[0]), what, listed)

    def name(self, name: str, path: tuple[str, ...]) -> None:
        if any("\udc80" <= c <= "\udcff" for c in name):
            self.report("name-not-unicode", path, "A name is not UTF-8.", ascii(name))
        elif "\\" in name or not name.isprintable():
            what = "A name holds a backslash or a control character."
            self.report("name-not-portable", path, what, ascii(name))

    def report(self, code: str, path: tuple[str, ...], what: str, found: str) -> None:
        expected, remedy = _ADVICE[code]
        self.findings.append(
            Finding(
                severity=Severity.ERROR,
                file=shown_text("/".join((self.shown, *path))),
                pointer="",
                code=code,
                what=what,
                expected=expected,
                found=found,
                remedy=remedy,
            )
        )


_ADVICE = {
    "unreadable": ("a readable file or folder", "Correct its permissions, or remove it."),
    "special-file": ("regular files and folders only", "Remove it."),
    "too-much": (
        f"at most {MAX_FILES} files, {MAX_BYTES} bytes and {MAX_DEPTH} levels",
        "Name a smaller folder.",
    ),
    "symlink-leaves": ("links that stay inside the folder", "Replace the link with a copy of its target."),
    "symlink-to-folder": ("links to files only", "Replace the link with a copy of the folder."),
    "symlink-nowhere": ("a link to a file in the folder", "Remove the link."),
    "name-collision": ("names that differ on every file system", "Rename all but one of them."),
    "name-not-unicode": ("names in UTF-8", "Rename it."),
    "name-not-portable": ("printable names without backslash", "Rename it."),
}
