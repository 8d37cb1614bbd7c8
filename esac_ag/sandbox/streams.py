"""Attached streams of a process: demultiplexing, caps, deadlines, and streams that never end.

The engine sends frames of an 8-byte header (stream, three zeros, big-endian length) and a payload.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from esac_ag.clock import Deadline, monotonic_s, sleep_s
from esac_ag.sandbox.contract import OutputSink

_Answer = TypeVar("_Answer")

_HEADER_BYTES = 8
_CHUNK_BYTES = 256 * 1024
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR

FIRST_ANSWER_S = 0.002
"""Between the end of a stream and the engine's note that its process ended."""
FIRST_QUESTION_S = 0.1
"""Silence after which the engine is asked whether the process still runs."""
LAST_QUESTION_S = 5.0
"""Longest time between two such questions; they grow apart as the process runs on."""
GRACE_S = 0.1
"""After the end of a process whose stream stays open: silence that means all has arrived."""
MAX_GRACE_S = 1.0

STANDARD_OUTPUT = 1
STANDARD_ERROR = 2


class StreamEnd(StrEnum):
    """Why the following of a stream ended."""

    CLOSED = "closed"
    """The stream ended."""
    HELD_OPEN = "held_open"
    """The process ended, and another holds its output open."""
    TIMED_OUT = "timed_out"


class Frames:
    """Cuts frames into payloads, however the bytes arrive."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._number = 0
        self._left = 0

    def payloads(self, data: bytes) -> Iterator[memoryview]:
        """The payloads, or pieces of them, within the next bytes of the stream."""
        return (piece for _, piece in self.pieces(data))

    def pieces(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        """The same, each with the number of its stream: `STANDARD_OUTPUT` or `STANDARD_ERROR`."""
        view = memoryview(data)
        while view:
            if self._left:
                yield self._number, view[: self._left]
                taken = min(self._left, len(view))
                self._left -= taken
            else:
                taken = min(_HEADER_BYTES - len(self._header), len(view))
                self._header += view[:taken]
                if len(self._header) == _HEADER_BYTES:
                    self._number = self._header[0]
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._header.clear()
            view = view[taken:]


class CappedOutput:
    """Keeps the first bytes of an output, hands them to a sink as they come, and drops the rest."""

    def __init__(self, limit_bytes: int, sink: OutputSink | None, *, keep: bool = True) -> None:
        self._left = limit_bytes
        self._sink = sink
        self._keep = keep
        self._kept: list[bytes] = []
        self.truncated = False

    def add(self, piece: memoryview | bytes) -> None:
        """Take the next piece of output."""
        if len(piece) > self._left:
            self.truncated = True
        kept = bytes(piece[: self._left])
        if not kept:
            return
        self._left -= len(kept)
        if self._keep:
            self._kept.append(kept)
        if self._sink is not None:
            self._sink(kept)

    def kept(self) -> bytes:
        """What was kept."""
        return b"".join(self._kept)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a command's two outputs go; to one place, in the order in which they came, or apart."""

    standard: CappedOutput
    error: CappedOutput

    @property
    def truncated(self) -> bool:
        """Whether standard output beyond the limit was dropped; of both, where they go to one place."""
        return self.standard.truncated


def outputs_of(limit_bytes: int, sink: OutputSink | None, error_sink: OutputSink | None) -> Outputs:
    """Outputs that are kept together; with an `error_sink` apart, and errors are handed on only."""
    standard = CappedOutput(limit_bytes, sink)
    if error_sink is None:
        return Outputs(standard, standard)
    return Outputs(standard, CappedOutput(limit_bytes, error_sink, keep=False))


class Readable(Protocol):
    """Where output comes from."""

    def read(self, wait_s: float) -> bytes | None:
        """The next bytes, empty at the end, None when nothing came in time."""


class OutputStream:
    """The reading end of an attached stream."""

    def __init__(self, sock: socket.socket, head: bytes, close: Callable[[], None]) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._head = head
        self._close = close
        self._poll = select.poll()
        self._poll.register(sock, _READABLE)

    def read(self, wait_s: float) -> bytes | None:
        """The next bytes, empty at the end, None when nothing came in time."""
        if self._head:
            head, self._head = self._head, b""
            return head
        data = self._receive()
        if data is None and self._poll.poll(wait_s * 1000):
            data = self._receive()
        return data

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(_CHUNK_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ConnectionResetError:
            return b""

    def close(self) -> None:
        """Close the stream; the process goes on and its further output is dropped."""
        with contextlib.suppress(OSError, ValueError):
            self._close()


class DuplexStream(OutputStream):
    """An attached stream that takes input, too."""

    def __init__(self, sock: socket.socket, head: bytes, close: Callable[[], None]) -> None:
        super().__init__(sock, head, close)
        self._is_open = True

    def write(self, data: memoryview) -> int:
        """How many of the first bytes were taken at once; 0 too when the other side takes no more.

        What was not taken is offered again, unchanged: TLS may have begun on it.
        """
        try:
            return self._socket.send(data[:_CHUNK_BYTES])
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self._is_open = False
            return 0

    def read_or_write(self, wait_s: float) -> bytes | None:
        """As `read`, but waits no longer than until input can be taken."""
        self._poll.modify(self._socket, _READABLE | select.POLLOUT if self._is_open else _READABLE)
        try:
            return self.read(wait_s)
        finally:
            self._poll.modify(self._socket, _READABLE)

    def read_beside(self, wait_s: float, beside: int) -> bytes | None:
        """As `read`, but waits no longer than until the descriptor `beside` can be read."""
        self._poll.register(beside, select.POLLIN)
        try:
            return self.read(wait_s)
        finally:
            self._poll.unregister(beside)


def follow(
    stream: OutputStream, output: Outputs, deadline: Deadline, has_ended: Callable[[], bool]
) -> StreamEnd:
    """Drain a stream until it ends, its process has ended, or the deadline passes.

    Args:
        stream: attached to standard output and error.
        output: take what arrives.
        deadline: checked between any two pieces, so that endless output cannot outlast it.
        has_ended: asks the engine; called ever more rarely.
    """
    frames = Frames()

    def take(data: bytes) -> None:
        for number, piece in frames.pieces(data):
            (output.error if number == STANDARD_ERROR else output.standard).add(piece)

    questions = Questions(has_ended)
    while not deadline.has_passed():
        data = stream.read(min(questions.pause_s(), deadline.remaining_s()))
        if data == b"":
            return StreamEnd.CLOSED
        take(data or b"")
        if questions.answer():
            return drain(stream, take)
    return StreamEnd.TIMED_OUT


class Questions:
    """Asks the engine whether a process has ended, ever more rarely as time goes by.

    Args:
        has_ended: the question.
    """

    def __init__(self, has_ended: Callable[[], bool]) -> None:
        self._has_ended = has_ended
        self._began_s = monotonic_s()
        self._next = Deadline.after_s(FIRST_QUESTION_S)

    def pause_s(self) -> float:
        """Time until the next question is due."""
        return self._next.remaining_s()

    def answer(self) -> bool:
        """Whether the process has ended; False, without a question, as long as none is due."""
        if not self._next.has_passed():
            return False
        if self._has_ended():
            return True
        elapsed_s = monotonic_s() - self._began_s
        self._next = Deadline.after_s(min(max(elapsed_s / 10, FIRST_QUESTION_S), LAST_QUESTION_S))
        return False


def poll_until(deadline: Deadline, question: Callable[[], _Answer | None]) -> _Answer | None:
    """Ask until there is an answer, ever more rarely; None when the deadline passes."""
    began_s = monotonic_s()
    while (answer := question()) is None and not deadline.has_passed():
        elapsed_s = monotonic_s() - began_s
        sleep_s(min(max(elapsed_s / 10, FIRST_ANSWER_S), LAST_QUESTION_S, deadline.remaining_s()))
    return answer


def drain(stream: Readable, take: Callable[[bytes], None]) -> StreamEnd:
    """What the ended process wrote last may still be under way; what others write is not waited for."""
    end = Deadline.after_s(MAX_GRACE_S)
    while not end.has_passed():
        data = stream.read(GRACE_S)
        if data == b"":
            return StreamEnd.CLOSED
        if data is None:
            break
        take(data)
    return StreamEnd.HELD_OPEN
