"""A patch as files, hunks and numbered lines, so that evidence can point at a line. Pure; reads any text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from esac_ag.record import Record

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOWHERE: Final = "/dev/null"
_START: Final = "diff --git "


class LineKind(StrEnum):
    """Which side of a change a line is on."""

    CONTEXT = "context"
    REMOVED = "removed"
    ADDED = "added"


class DiffLine(Record):
    """One line of a hunk, without its mark."""

    kind: LineKind
    old: Annotated[int, Field(ge=1)] | None = None
    """Number of the line before the change, from 1; null for an added line."""
    new: Annotated[int, Field(ge=1)] | None = None
    """Number of the line after the change, from 1; null for a removed line."""
    text: str


class DiffHunk(Record):
    """Neighbouring changes with the lines around them."""

    lines: tuple[DiffLine, ...]


class DiffFile(Record):
    """What became of one file."""

    path: str
    """After the change; of a deleted file, before it. Escaped as git does where it is not plain."""
    notes: tuple[str, ...] = ()
    """New, deleted, modes, or that its bytes are not shown."""
    hunks: tuple[DiffHunk, ...] = ()

    def places(self) -> Iterator[str]:
        """Every line as evidence names it: `path:12` after the change, `path:-12` for a removed line."""
        for hunk in self.hunks:
            for line in hunk.lines:
                if line.new is not None:
                    yield f"{self.path}:{line.new}"
                elif line.old is not None:
                    yield f"{self.path}:-{line.old}"


def read_diff(text: str) -> tuple[DiffFile, ...]:
    """The files of a git-style patch in its order; lines that fit nowhere become notes."""
    return tuple(_file(section) for section in _sections(text))


def _sections(text: str) -> Iterator[list[str]]:
    """The lines of one file after another.

    A hunk's own lines begin with a mark, so that no content can pass for the start of another file.
    """
    section: list[str] = []
    for line in text.split("\n"):
        if line.startswith(_START) and section:
            yield section
            section = []
        if section or line:
            section.append(line)
    if any(section):
        yield section


def _file(lines: list[str]) -> DiffFile:
    path, notes, hunks, at = _first_path(lines[0]), [], [], 1
    while at < len(lines):
        line = lines[at]
        if found := _HUNK.match(line):
            hunk, at = _hunk(lines, at + 1, found)
            hunks.append(hunk)
            continue
        if line.startswith(("--- ", "+++ ")):
            name = _plain(line[4:])
            path = path if name == _NOWHERE else name[2:]
        elif line:
            notes.append(line)
        at += 1
    return DiffFile(path=path, notes=tuple(notes), hunks=tuple(hunks))


def _hunk(lines: list[str], at: int, head: re.Match[str]) -> tuple[DiffHunk, int]:
    """The hunk whose first line is at a place, and the place after it; the head's counts bound it."""
    old, new = int(head[1]), int(head[3])
    old_left, new_left = int(head[2] or 1), int(head[4] or 1)
    found: list[DiffLine] = []
    while at < len(lines) and (old_left > 0 or new_left > 0):
        mark, text = lines[at][:1], lines[at][1:]
        if mark == "+":
            found.append(DiffLine(kind=LineKind.ADDED, new=max(1, new), text=text))
            new, new_left = new + 1, new_left - 1
        elif mark == "-":
            found.append(DiffLine(kind=LineKind.REMOVED, old=max(1, old), text=text))
            old, old_left = old + 1, old_left - 1
        elif mark == " ":
            found.append(DiffLine(kind=LineKind.CONTEXT, old=max(1, old), new=max(1, new), text=text))
            old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
        elif mark != "\\":  # "\ No newline at end of file"
            break
        at += 1
    return DiffHunk(lines=tuple(found)), at


def _first_path(line: str) -> str:
    """The path of `diff --git a/X b/X`; both are the same, so the middle tells them apart."""
    rest = line.removeprefix(_START)
    if quoted := _QUOTED.findall(rest):
        return str(quoted[-1])[2:]
    return rest[len(rest) // 2 + 1 :][2:]


def _plain(name: str) -> str:
    quoted = _QUOTED.fullmatch(name)
    return quoted[1] if quoted else name
