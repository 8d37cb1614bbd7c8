"""What a program of the in-memory sandbox sees: its arguments, its files, its output, and the time."""

from __future__ import annotations

import os
import posixpath
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path

from esac_ag.clock import Deadline
from esac_ag.sandbox.memory_files import FakeFiles
from esac_ag.sandbox.streams import CappedOutput

ProgramExit = int
"""An exit code."""


class StopReason(Enum):
    """Why a process goes no further."""

    TIMED_OUT = auto()
    FROZEN = auto()
    CONTAINER_ENDED = auto()
    OUT_OF_MEMORY = auto()


class Stopped(BaseException):
    """Unwinds a program that its sandbox stops; not an `Exception`, so that no program survives it."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason.name)
        self.reason = reason


@dataclass(slots=True)
class Switches:
    """What stops the processes of one sandbox."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    """Told of a change of either of the others, and of what dialogues say, to wake those who wait."""
    frozen: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def freeze(self) -> None:
        """No process goes on."""
        self._set(self.frozen)

    def end(self) -> None:
        """No process is left."""
        self._set(self.ended)

    def are_set(self) -> bool:
        """Whether no process goes on."""
        return self.frozen.is_set() or self.ended.is_set()

    def _set(self, switch: threading.Event) -> None:
        with self.changed:
            switch.set()
            self.changed.notify_all()


def no_input() -> bytes:
    """The standard input of commands that are not spoken to: it has ended."""
    return b""


@dataclass(frozen=True, slots=True)
class FakeProcess:
    """A running program.

    It is stopped at its next `check`, `sleep` or `allocate`, or when it reads or writes; a program that does
    none of these runs to its end whatever the deadline.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    working_dir: str
    uid: int
    files: FakeFiles
    deadline: Deadline
    memory_bytes: int
    output: CappedOutput
    errors: CappedOutput
    """The same as `output`, unless the command is spoken to."""
    next_line: Callable[[], bytes]
    """Waits for the next line of standard input, or for a switch."""
    switches: Switches
    programs: Callable[[Sequence[str]], Program | None]
    """Finds a program for an argument list."""
    model_socket: Path | None
    """The gateway's socket, which a program connects to by itself: there is no loopback of its own here."""

    def path(self, name: str) -> str:
        """A name made absolute by the working directory."""
        return posixpath.normpath(posixpath.join(self.working_dir, name))

    def read_line(self) -> bytes:
        """The next line of standard input with its newline, which the last may lack; empty at the end."""
        self.check()
        line = self.next_line()
        self.check()
        return line

    def write(self, data: bytes | str) -> None:
        """Write to standard output."""
        self._add(self.output, data)

    def write_error(self, data: bytes | str) -> None:
        """Write to standard error."""
        self._add(self.errors, data)

    def _add(self, output: CappedOutput, data: bytes | str) -> None:
        self.check()
        output.add(data.encode() if isinstance(data, str) else data)

    def sleep(self, duration_s: float) -> None:
        """Let time pass."""
        end = self.deadline.earlier(duration_s)
        with self.switches.changed:
            self.switches.changed.wait_for(self.switches.are_set, end.remaining_s())
        self.check()

    def allocate(self, size_bytes: int) -> None:
        """Use memory; beyond the limit the process is killed."""
        self.check()
        if size_bytes > self.memory_bytes:
            raise Stopped(StopReason.OUT_OF_MEMORY)

    def check(self) -> None:
        """Go no further when the sandbox was frozen or ended, or the deadline has passed."""
        if self.switches.ended.is_set():
            raise Stopped(StopReason.CONTAINER_ENDED)
        if self.switches.frozen.is_set():
            # A frozen process is not told: whoever waits for it waits until the deadline.
            ended = self.switches.ended.wait(self.deadline.remaining_s())
            raise Stopped(StopReason.CONTAINER_ENDED if ended else StopReason.FROZEN)
        if self.deadline.has_passed():
            raise Stopped(StopReason.TIMED_OUT)

    def run(self, argv: Sequence[str], output: CappedOutput | None = None) -> ProgramExit:
        """Run another program to its end, with its output to the same place or another."""
        program = self.programs(argv)
        if program is None:
            self.write_error(f"{argv[0]}: not found\n")
            return 127
        return replace(self, argv=tuple(argv), output=output or self.output).main(program)

    def main(self, program: Program) -> ProgramExit:
        """Run as a program; an error of the file system that it does not handle is its exit."""
        try:
            return program(self)
        except OSError as error:
            self.write_error(f"{self.argv[0]}: {os.fsdecode(error.filename or '')}: {error.strerror}\n")
            return 1


Program = Callable[[FakeProcess], ProgramExit]
