"""Speaking with a command line by line, over any stream that takes input and gives the engine's frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from esac_ag.clock import Deadline
from esac_ag.errors import DialogueTimeout, InfrastructureFailure
from esac_ag.sandbox.streams import STANDARD_ERROR, CappedOutput, Frames, Questions, Readable, drain

ERROR_BYTES = 64 * 1024
"""Cap on what is kept of standard error."""
UNREAD_BYTES = 64 * 1024 * 1024
"""Cap on output that arrives while input is sent, and that nobody has read."""


class Wire(Readable, Protocol):
    """Both directions of an attached stream."""

    def read_or_write(self, wait_s: float) -> bytes | None:
        """As `read`, but waits no longer than until input can be taken."""

    def read_beside(self, wait_s: float, beside: int) -> bytes | None:
        """As `read`, but waits no longer than until the descriptor `beside` can be read."""

    def write(self, data: memoryview) -> int:
        """How many of the first bytes were taken at once; 0 too when the other side takes no more."""

    def close(self) -> None:
        """End the input and drop further output. Idempotent."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What the engine is asked about the command at the other end. Every question may raise `SandboxLost`."""

    has_ended: Callable[[], bool]
    """Whether the command ended, whoever holds its output open."""
    require_unharmed: Callable[[], None]
    """Asked when the output ended; raises `SandboxLost` if the container was taken away from outside."""
    freeze: Callable[[], None]
    """Stops every process of the container."""


class Lines:
    """Cuts bytes into lines, however they arrive."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._searched = 0
        """So many of the first bytes hold no newline."""

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: memoryview | bytes) -> None:
        """Take the next bytes."""
        self._bytes += data

    def first_bytes(self) -> int:
        """Length of the first line, as far as it has arrived."""
        at = self._bytes.find(b"\n", self._searched)
        self._searched = len(self._bytes) if at < 0 else at
        return self._searched

    def take(self) -> bytes | None:
        """The first line without its newline, None when it has not arrived in full."""
        size_bytes = self.first_bytes()
        return self._cut(size_bytes, 1) if size_bytes < len(self._bytes) else None

    def rest(self) -> bytes:
        """All that is left."""
        return self._cut(len(self._bytes), 0)

    def _cut(self, size_bytes: int, dropped_bytes: int) -> bytes:
        cut = bytes(memoryview(self._bytes)[:size_bytes])
        del self._bytes[: size_bytes + dropped_bytes]
        self._searched = 0
        return cut


class LineDialogue:
    """A dialogue over a wire; what it promises is in the contract, `Dialogue`.

    Args:
        wire: attached to the command's input and outputs.
        peer: answers for the command and its container.
        where: the command, for messages.
    """

    def __init__(self, wire: Wire, peer: Peer, where: str) -> None:
        self._wire = wire
        self._peer = peer
        self._where = where
        self._frames = Frames()
        self._lines = Lines()
        self._errors = CappedOutput(ERROR_BYTES, None)
        self._is_over = False
        self._watch = Questions(peer.has_ended)
        """For waits that are many and short: each would begin with a question soon."""

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Write all of it, hearing meanwhile: the command may not read before it could write."""
        left = memoryview(data)
        questions = Questions(self._peer.has_ended)
        while left and not self._is_over:
            left = left[self._wire.write(left) :]
            if left:
                self._hear(self._wire.read_or_write, questions, deadline)
                if len(self._lines) > UNREAD_BYTES:
                    raise self._failed("It wrote more than anybody read.", f"{len(self._lines)} bytes unread")
        if self._is_over:
            raise self._failed("It takes no more input.", "it ended, or the dialogue was closed")

    def line(self, deadline: Deadline, *, limit_bytes: int) -> bytes | None:
        """The next line without its newline; None at the end."""
        questions = Questions(self._peer.has_ended)
        while True:
            if self._lines.first_bytes() > limit_bytes:
                raise self._failed("It wrote too long a line.", f"more than {limit_bytes} bytes")
            line = self._lines.take()
            if line is not None or self._is_over:
                return line
            self._hear(self._wire.read, questions, deadline)

    def has_line(self, deadline: Deadline, *, beside: int) -> bool:
        """Whether the next line, or the end, is there; waits for it, for `beside`, or for the deadline."""
        while not self._is_over and self._lines.first_bytes() == len(self._lines):
            data = self._wire.read_beside(min(self._watch.pause_s(), deadline.remaining_s()), beside)
            if data:
                self._take(data)
            elif data == b"":
                self._end()
            elif self._watch.answer():
                drain(self._wire, self._take)
                self._end()
            else:
                return False
        return True

    def errors(self) -> bytes:
        """Standard error so far, at most its first 64 KiB."""
        return self._errors.kept()

    def close(self) -> None:
        """End the input and drop what is still said."""
        self._is_over = True
        self._lines.rest()
        self._wire.close()

    def _hear(self, read: Callable[[float], bytes | None], questions: Questions, deadline: Deadline) -> None:
        """Take what comes next, and notice the end of the command and of the time."""
        if deadline.has_passed():
            self._peer.freeze()
            raise DialogueTimeout(
                "A command in a sandbox kept its speaker waiting.",
                where=self._where,
                expected="input taken, or a line finished, before the deadline",
            )
        data = read(min(questions.pause_s(), deadline.remaining_s()))
        if data:
            self._take(data)
        elif data == b"":
            self._end()
        elif questions.answer():
            drain(self._wire, self._take)
            self._end()

    def _take(self, data: bytes) -> None:
        for number, piece in self._frames.pieces(data):
            if number == STANDARD_ERROR:
                self._errors.add(piece)
            else:
                self._lines.add(piece)

    def _end(self) -> None:
        # Not over when this raises: every later call tells so, too.
        self._peer.require_unharmed()
        self._is_over = True

    def _failed(self, what: str, found: str) -> InfrastructureFailure:
        return InfrastructureFailure(
            f"A command in a sandbox failed its speaker. {what}", where=self._where, found=found
        )
