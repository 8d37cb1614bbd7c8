"""One connection of the relay's at the harness's end: what is under way between lines and gateway."""

from __future__ import annotations

import base64
import contextlib
import selectors
import socket
from collections.abc import Callable
from typing import Final

PIECE_BYTES: Final = 48 * 1024
"""Of one line; as Base64 these are 64 KiB."""
WINDOW_BYTES: Final = 128 * 1024
"""Of one connection and direction, sent and not yet passed on."""
MOST_CONNECTIONS: Final = 256
"""At once; the relay accepts no more."""


class Broken(Exception):
    """The relay broke its own rules."""


class Connection:
    """One connection to the gateway.

    Args:
        gateway: does not block.
        number: of the connection, in the relay's lines.
        say: takes kind, number and the rest of a line for the relay.
    """

    def __init__(self, gateway: socket.socket, number: int, say: Callable[..., None]) -> None:
        self.socket = gateway
        self.is_given_up = False
        self._number = number
        self._say = say
        self._credit = WINDOW_BYTES
        """So many bytes may still be sent to the relay."""
        self._room = WINDOW_BYTES
        """So many bytes it may still send."""
        self._up = bytearray()
        self._taken = 0
        """Bytes passed on that the relay was not told of."""
        self._up_is_over = False
        self._up_is_told = False
        self._down_is_over = False
        self._is_deaf = False

    def take(self, data: bytes) -> None:
        """What the client said next.

        Raises:
            Broken: it is more than what may be under way, or comes after the end.
        """
        if self._up_is_over or len(data) > self._room:
            raise Broken("more than was allowed")
        self._room -= len(data)
        self._up += data

    def allow(self, count: int) -> None:
        """So many bytes reached the client.

        Raises:
            Broken: more than were sent.
        """
        if count > WINDOW_BYTES - self._credit:
            raise Broken("more than was sent")
        self._credit += count

    def end(self) -> None:
        """The client says nothing more, and may still listen.

        Raises:
            Broken: it has ended before.
        """
        if self._up_is_over:
            raise Broken("ended twice")
        self._up_is_over = True

    def give_up(self) -> None:
        """The client went away."""
        self.is_given_up = True

    def advance(self) -> bool:
        """Pass on in both directions what can be passed on without waiting; whether more may come."""
        if self.is_given_up:
            return False
        self._advance_up()
        self._advance_down()
        return bool(self._up) or not (self._up_is_over and self._down_is_over)

    def _advance_up(self) -> None:
        try:
            while self._up:
                self._pass_up(self.socket.send(self._up))
        except BlockingIOError:
            pass
        except OSError:
            # It answered early and closed. A client that could not say the rest might never read that.
            self._is_deaf = True
        if self._is_deaf:
            self._pass_up(len(self._up))
        if self._up_is_over and not self._up and not self._up_is_told:
            self._up_is_told = True
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    def _pass_up(self, count: int) -> None:
        del self._up[:count]
        self._taken += count
        if self._taken >= WINDOW_BYTES // 2:
            self._say(b"took", self._number, b"%d" % self._taken)
            self._room += self._taken
            self._taken = 0

    def _advance_down(self) -> None:
        if self._down_is_over or not self._credit:
            return
        try:
            data = self.socket.recv(min(PIECE_BYTES, self._credit))
        except BlockingIOError:
            return
        except OSError:
            # A unix socket says so after all data, when its peer closed and left something unread.
            data = b""
        self._credit -= len(data)
        if data:
            self._say(b"data", self._number, base64.b64encode(data))
        else:
            self._down_is_over = True
            self._say(b"over", self._number)

    def wishes(self) -> int:
        """Events to wait for."""
        hears = 0 if self._down_is_over or not self._credit else selectors.EVENT_READ
        return hears | (selectors.EVENT_WRITE if self._up else 0)

    def close(self) -> None:
        """Close the connection to the gateway."""
        self.socket.close()
