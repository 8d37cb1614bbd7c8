"""The wire between a speaker and a program of the in-memory sandbox: two pipes, and the engine's frames."""

from __future__ import annotations

import select
import sys

from esac_ag.clock import Deadline
from esac_ag.sandbox.dialogue import Lines
from esac_ag.sandbox.memory_process import Switches
from esac_ag.sandbox.streams import STANDARD_ERROR, STANDARD_OUTPUT, CappedOutput

_PIPE_BYTES = 64 * 1024
_GLANCE_S = 0.002


class InMemoryWire:
    """Both ends of a dialogue; whoever waits at one of them is woken by the sandbox's switches.

    As in a real container, a pipe that is full keeps its writer waiting.
    """

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._changed = switches.changed
        self._input = bytearray()
        self._output = bytearray()
        self._lines = Lines()
        """Of the program: input that it has read but not used."""
        self._is_closed = False
        """By the speaker."""
        self._has_ended = False
        """The program."""
        self.output = CappedOutput(sys.maxsize, lambda data: self._say(STANDARD_OUTPUT, data), keep=False)
        self.errors = CappedOutput(sys.maxsize, lambda data: self._say(STANDARD_ERROR, data), keep=False)

    def read(self, wait_s: float) -> bytes | None:
        """What the program wrote, empty at the end, None when nothing came in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._output or self.has_ended(), wait_s)
            return self._heard()

    def read_or_write(self, wait_s: float) -> bytes | None:
        """As `read`, but waits no longer than until input can be taken."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._output or self.has_ended() or len(self._input) < _PIPE_BYTES, wait_s
            )
            return self._heard()

    def read_beside(self, wait_s: float, beside: int) -> bytes | None:
        """As `read`, but looks at the descriptor `beside` every now and then, and waits no longer."""
        poll, end = select.poll(), Deadline.after_s(wait_s)
        poll.register(beside, select.POLLIN)
        while (data := self.read(min(end.remaining_s(), _GLANCE_S))) is None:
            if end.has_passed() or poll.poll(0):
                break
        return data

    def write(self, data: memoryview) -> int:
        """How many of the first bytes the pipe took; 0 too when the program ended."""
        with self._changed:
            if self.has_ended():
                return 0
            taken = data[: _PIPE_BYTES - len(self._input)]
            self._input += taken
            self._changed.notify_all()
            return len(taken)

    def close(self) -> None:
        """End the input and drop further output."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def has_ended(self) -> bool:
        """Whether the program ended, by itself or with its container."""
        return self._has_ended or self._switches.ended.is_set()

    def end(self) -> None:
        """The program ended."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def next_line(self) -> bytes:
        """For the program: the next line with its newline, empty at the end or after a switch."""
        while (line := self._lines.take()) is None:
            with self._changed:
                self._changed.wait_for(lambda: self._input or self._is_closed or self._switches.are_set())
                if self._switches.are_set() or not self._input:
                    return self._lines.rest()
                self._lines.add(bytes(self._input))
                self._input.clear()
                self._changed.notify_all()
        return line + b"\n"

    def _heard(self) -> bytes | None:
        if not self._output:
            return b"" if self.has_ended() else None
        heard = bytes(self._output)
        self._output.clear()
        self._changed.notify_all()
        return heard

    def _say(self, number: int, data: bytes) -> None:
        frame = bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data
        with self._changed:
            self._changed.wait_for(self._can_say)
            if not (self._is_closed or self._switches.are_set()):
                self._output += frame
                self._changed.notify_all()

    def _can_say(self) -> bool:
        return len(self._output) < _PIPE_BYTES or self._is_closed or self._switches.are_set()
