"""The harness's end of the relay's lines: each connection of theirs is one to the gateway's socket.

The lines and their rules are told in `runner/guest/agent/relay_frames.py`. What comes from the relay is read
strictly: beyond its rules, nothing is passed on any more.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from esac_ag.clock import Deadline
from esac_ag.errors import HarnessError, InfrastructureFailure
from esac_ag.sandbox.contract import Dialogue
from esac_ag.sandbox.model_frames_connection import MOST_CONNECTIONS, Broken, Connection

LINE_BYTES: Final = 128 * 1024
_LINE = re.compile(rb"(open|data|took|over|gone|here) ([1-9][0-9]{0,11})(?: ([A-Za-z0-9+/]+={0,2}))?")
_LINES_AT_ONCE = 64
"""Taken before sockets are looked at again."""
_WAIT_S = 3600.0
_RETRY_S = 0.02
_ANSWER_S = 60.0
"""For the relay to take what it is told, and to say that it is there: it always reads."""
_STOP, _ASK = b".", b"?"


class FrameServer:
    """Serves the relay at the other end of a dialogue, in one thread of its own.

    Args:
        dialogue: with the relay, which has said that it is ready.
        gateway: the socket that every connection goes to.
        orders: a pipe, its reading and its writing end.
    """

    def __init__(self, dialogue: Dialogue, gateway: Path, orders: tuple[int, int]) -> None:
        self._dialogue = dialogue
        self._gateway = gateway
        self._orders, self._order = orders
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, Connection] = {}
        self._waiting: dict[int, Connection] = {}
        """Those for whom the gateway's queue had no room."""
        self._made = 0
        self._output = bytearray()
        self._stops = False
        self._failure: HarnessError | None = None
        self._asked = 0
        self._answered = threading.Event()

    def require_unharmed(self) -> None:
        """Ask the relay whether it is there, for its end may be on its way; called by one thread.

        Raises:
            InfrastructureFailure: the relay ended or broke its rules, or its container or the engine is gone.
        """
        # Before the look at the failure: whoever fails after it sets the event again.
        self._answered.clear()
        if self._failure is None:
            os.write(self._order, _ASK)
            answered = self._answered.wait(_ANSWER_S)
            if not answered:
                raise self._failed("it does not answer")
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Let `serve` end."""
        os.write(self._order, _STOP)

    def serve(self) -> None:
        """Pass on until `stop`, or until the relay fails."""
        self._selector.register(self._orders, selectors.EVENT_READ, self._obey)
        try:
            while not self._stops:
                self._turn()
        except HarnessError as error:
            self._failure = error
        except OSError as error:
            self._failure = self._failed(str(error))
        finally:
            for connection in self._connections.values():
                connection.close()
            self._selector.close()
            if not self._stops and self._failure is None:
                self._failure = self._failed("an error of the harness, told on standard error")
            # Whoever asks finds the failure.
            self._answered.set()

    def _turn(self) -> None:
        """Wait for something, act on all that came, and tell the relay."""
        wait = Deadline.after_s(_RETRY_S if self._waiting else _WAIT_S)
        # The selector is itself a descriptor that can be read when one of its own can be.
        has_line = self._dialogue.has_line(wait, beside=self._selector.fileno())
        now = Deadline.after_s(0)
        for _ in range(_LINES_AT_ONCE):
            if not has_line:
                break
            self._take(self._dialogue.line(now, limit_bytes=LINE_BYTES))
            has_line = self._dialogue.has_line(now, beside=self._selector.fileno())
        for number in [*self._waiting]:
            self._connect(number)
        for key, _ in self._selector.select(0):
            key.data()
        if self._output:
            output, self._output = bytes(self._output), bytearray()
            self._dialogue.send(output, Deadline.after_s(_ANSWER_S))

    def _obey(self) -> None:
        orders = os.read(self._orders, len(_STOP + _ASK))
        self._stops = _STOP in orders
        if _ASK in orders:
            self._asked += 1
            self._say(b"here", self._asked)

    def _say(self, kind: bytes, number: int, rest: bytes = b"") -> None:
        self._output += b"%s %d %s\n" % (kind, number, rest) if rest else b"%s %d\n" % (kind, number)

    def _take(self, line: bytes | None) -> None:
        if line is None:
            raise self._failed(self._dialogue.errors().decode(errors="replace").strip() or "it ended")
        match = _LINE.fullmatch(line)
        if match is None:
            raise self._failed(f"a line that is none of its own: {line[:100]!r}")
        kind, number, rest = match[1], int(match[2]), match[3] or b""
        if (kind in {b"data", b"took"}) != bool(rest) or (kind == b"open" and number != self._made + 1):
            raise self._failed(f"a line out of its place: {line[:100]!r}")
        if kind == b"here":
            self._answered.set()
        elif kind == b"open":
            self._open(number)
        elif number in self._connections:
            try:
                self._tell(self._connections[number], kind, rest)
            except (Broken, binascii.Error, ValueError) as error:
                raise self._failed(f"{line[:40]!r}: {error}") from error
            self._advance(number)
        elif number > self._made:
            raise self._failed(f"a connection that was never opened: {line[:100]!r}")

    def _tell(self, connection: Connection, kind: bytes, rest: bytes) -> None:
        match kind:
            case b"data":
                connection.take(base64.b64decode(rest, validate=True))
            case b"took":
                connection.allow(int(rest))
            case b"over":
                connection.end()
            case _:
                connection.give_up()

    def _open(self, number: int) -> None:
        self._made = number
        try:
            gateway = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError:
            self._say(b"gone", number)
            return
        gateway.setblocking(False)
        self._connections[number] = Connection(gateway, number, self._say)
        if len(self._connections) > MOST_CONNECTIONS:
            self._refuse(number)
        else:
            self._connect(number)

    def _connect(self, number: int) -> None:
        connection = self._connections[number]
        self._waiting.pop(number, None)
        try:
            connection.socket.connect(str(self._gateway))
        except BlockingIOError:
            self._waiting[number] = connection
        except OSError:
            # The gateway is gone, and the client sees a connection that ends without a word.
            self._refuse(number)
        else:
            self._advance(number)

    def _refuse(self, number: int) -> None:
        self._say(b"gone", number)
        self._drop(number)

    def _advance(self, number: int) -> None:
        connection = self._connections.get(number)
        if connection is None or (number in self._waiting and not connection.is_given_up):
            return
        if connection.advance():
            self._watch(connection.socket, connection.wishes(), lambda: self._advance(number))
        else:
            self._drop(number)

    def _drop(self, number: int) -> None:
        self._waiting.pop(number, None)
        connection = self._connections.pop(number)
        self._watch(connection.socket, 0, self._obey)
        connection.close()

    def _watch(self, sock: socket.socket, events: int, act: Callable[[], None]) -> None:
        """Wait for these events of a socket from now on; for none when there are none."""
        known = self._selector.get_map().get(sock)
        if known is None:
            if events:
                self._selector.register(sock, events, act)
        elif not events:
            self._selector.unregister(sock)
        elif known.events != events:
            self._selector.modify(sock, events, act)

    def _failed(self, found: str) -> InfrastructureFailure:
        return InfrastructureFailure(
            "The relay between an agent and the model gateway failed.",
            where=str(self._gateway),
            expected="a relay that passes connections on until it is stopped",
            found=found,
        )


@contextmanager
def frames_served(dialogue: Dialogue, gateway: Path) -> Iterator[FrameServer]:
    """Serve a relay for as long as the block lasts; no other may use the dialogue meanwhile.

    Args:
        dialogue: with the relay, which has said that it is ready.
        gateway: the socket that every connection goes to.
    """
    orders = os.pipe()
    try:
        server = FrameServer(dialogue, gateway, orders)
        thread = threading.Thread(target=server.serve, name="model-frames", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()
    finally:
        for end in orders:
            os.close(end)
