"""What a command of the shell gets: arguments, streams, and the files.

Streams are text in which bytes that are not UTF-8 stand as surrogate escapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from . import filesystem
from .filesystem import Nodes, PathRefused
from .shell_regex import TooExpensive, Work

MAX_STREAMED: Final = 1024 * 1024
"""Characters that all commands of a line may write in all."""
NULL_DEVICE: Final = "/dev/null"


class CommandFailed(Exception):
    """A command ends with a message and an exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(slots=True)
class Stream:
    """Where output goes; its amount is limited over the whole line."""

    allowance: list[int]
    path: str | None = None
    """The file it goes to, if it does."""
    parts: list[str] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add text.

        Raises:
            TooExpensive: if the line has written too much.
        """
        self.allowance[0] -= len(text)
        if self.allowance[0] < 0:
            raise TooExpensive
        self.parts.append(text)

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self.parts)


@dataclass(frozen=True, slots=True)
class Input:
    """Standard input."""

    text: str = ""
    from_file: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One command, ready to run."""

    name: str
    arguments: list[str]
    input: Input
    out: Stream
    err: Stream
    nodes: Nodes
    cwd: str
    work: Work

    def path(self, argument: str) -> str:
        """The absolute path of an argument."""
        if not argument:
            raise PathRefused("not-found", "")
        path = filesystem.absolute(argument, self.cwd)
        trailing = argument.endswith("/") and path in self.nodes
        if trailing and not filesystem.is_directory(self.nodes[path]):
            raise PathRefused("not-a-directory", argument)
        return path

    def read(self, argument: str) -> str:
        """Content of a file; `-` is standard input.

        Raises:
            PathRefused: if it cannot be read.
        """
        if argument == "-":
            return self.input.text
        path = self.path(argument)
        if path == NULL_DEVICE:
            return ""
        return filesystem.read(self.nodes, path).decode("utf-8", "surrogateescape")

    def is_directory(self, argument: str) -> bool:
        """Whether an argument names a directory."""
        try:
            path = self.path(argument)
        except PathRefused:
            return False
        return path in self.nodes and filesystem.is_directory(self.nodes[path])

    def complain(self, message: str) -> None:
        """Write a line to standard error, after the command's name."""
        self.err.write(f"{self.name}: {message}\n")


Command = Callable[[Call], int]
"""Runs and returns its exit status; raises `CommandFailed` where nothing more can be done."""


def lines_of(text: str) -> list[str]:
    """Lines without their ends; a last line without an end is a line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def kept_lines(text: str) -> list[str]:
    """Lines with their ends."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def encoded(text: str) -> bytes:
    """A stream's bytes."""
    return text.encode("utf-8", "surrogateescape")
