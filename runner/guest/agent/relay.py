"""The way from the container's loopback to the model gateway: every connection goes on to a unix socket.

    python3 -I -S -B relay.py PORT SOCKET

Listens on 127.0.0.1:PORT. Once the socket was reached it says `ready` on standard output, or else
`unreachable: REASON` and exits with 1. It ends with its standard input. It holds no key, looks at nothing of
what passes and writes no file. One thread serves all connections, because threads count in the container.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PIECE_BYTES = 65536
"""Each direction of a connection holds at most one piece: who reads slowly is written to slowly."""
MOST_CONNECTIONS = 256
"""Further ones wait to be accepted."""
RETRY_S = 0.02
"""Between two tries when there is no room for a connection, here or in the gateway's queue."""


class Gone(Exception):
    """The client went away, so nobody wants what the gateway still says."""


class Connection:
    """One client and its connection to the gateway."""

    def __init__(self, client: socket.socket, gateway: socket.socket) -> None:
        self.client = client
        self.gateway = gateway
        self._up = memoryview(b"")
        self._down = memoryview(b"")
        self._up_is_over = False
        self._down_is_over = False
        self._gateway_is_deaf = False

    def advance(self) -> bool:
        """Pass on in both directions what can be passed on without waiting; whether more may come.

        Raises:
            Gone: the client is no longer there.
        """
        self._advance_down()
        self._advance_up()
        return not (self._up_is_over and self._down_is_over)

    def _advance_up(self) -> None:
        if not self._up and not self._up_is_over:
            data = _heard(self.client)
            if data == b"":
                self._up_is_over = True
                # What the client has said is complete, and it may still listen.
                with contextlib.suppress(OSError):
                    self.gateway.shutdown(socket.SHUT_WR)
            elif data is not None and not self._gateway_is_deaf:
                self._up = memoryview(data)
        if self._up:
            try:
                self._up = self._up[self.gateway.send(self._up) :]
            except BlockingIOError:
                return
            except OSError:
                # It answered early and closed. A client that could not say the rest might never read that.
                self._gateway_is_deaf = True
                self._up = memoryview(b"")

    def _advance_down(self) -> None:
        try:
            if not self._down and not self._down_is_over:
                try:
                    data = self.gateway.recv(PIECE_BYTES)
                except BlockingIOError:
                    return
                except ConnectionError:
                    # A unix socket says so after all data, when its peer closed and left something unread.
                    data = b""
                self._down = memoryview(data)
                if not data:
                    self._down_is_over = True
                    self.client.shutdown(socket.SHUT_WR)
            if self._down:
                self._down = self._down[self.client.send(self._down) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise Gone from error

    def wishes(self) -> tuple[int, int]:
        """Events to wait for, of the client and of the gateway."""
        read, write = selectors.EVENT_READ, selectors.EVENT_WRITE
        of_client = 0 if self._up or self._up_is_over else read
        of_gateway = 0 if self._down or self._down_is_over else read
        return of_client | (write if self._down else 0), of_gateway | (write if self._up else 0)

    def close(self) -> None:
        """Close both ends."""
        self.client.close()
        self.gateway.close()


def _heard(client: socket.socket) -> bytes | None:
    """What the client said next: empty at its end, none when there is nothing yet."""
    try:
        return client.recv(PIECE_BYTES)
    except BlockingIOError:
        return None
    except OSError as error:
        raise Gone from error


class Relay:
    """Serves a listener until `stop`."""

    def __init__(self, listener: socket.socket, path: str) -> None:
        self._listener = listener
        self._path = path
        self._selector = selectors.DefaultSelector()
        self._connections: set[Connection] = set()
        self._waiting: socket.socket | None = None
        """A client for whom the gateway's queue had no room; nobody else is accepted before."""
        self._out_of_room = False
        self._stops = False

    def serve(self, stop_with: int) -> None:
        """Pass connections on until the descriptor `stop_with` is at its end."""
        self._selector.register(stop_with, selectors.EVENT_READ, lambda: self._hear_of_end(stop_with))
        while not self._stops:
            pauses = self._out_of_room or self._waiting is not None
            self._out_of_room = False
            accepts = not pauses and len(self._connections) < MOST_CONNECTIONS
            self._watch(self._listener, selectors.EVENT_READ if accepts else 0, self._accept)
            for key, _ in self._selector.select(RETRY_S if pauses else None):
                key.data()
            if self._waiting is not None:
                self._connect(self._waiting)

    def _hear_of_end(self, descriptor: int) -> None:
        self._stops = not os.read(descriptor, PIECE_BYTES)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:
            # No descriptor or no memory is left at this moment.
            self._out_of_room = True
            return
        client.setblocking(False)
        # Tokens of a stream are small, and each is to arrive when it was sent.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        self._waiting = None
        gateway = None
        try:
            gateway = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            gateway.setblocking(False)
            gateway.connect(self._path)
        except BlockingIOError:
            gateway.close()
            self._waiting = client
        except OSError:
            # The gateway is gone, and the client sees a connection that ends without a word.
            if gateway is not None:
                gateway.close()
            client.close()
        else:
            connection = Connection(client, gateway)
            self._connections.add(connection)
            self._advance(connection)

    def _advance(self, connection: Connection) -> None:
        if connection not in self._connections:
            # Both of its sockets had an event, and the first one's ended it.
            return
        try:
            goes_on = connection.advance()
        except Gone:
            goes_on = False
        of_client, of_gateway = connection.wishes() if goes_on else (0, 0)
        self._watch(connection.client, of_client, lambda: self._advance(connection))
        self._watch(connection.gateway, of_gateway, lambda: self._advance(connection))
        if not goes_on:
            self._connections.remove(connection)
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


def reason_not_to_begin(path: str) -> str:
    """Why the gateway cannot be reached; empty when it can be."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return os.strerror(error.errno or 0)
    return ""


def main() -> int:
    """Listen, tell, and serve."""
    port, path = int(sys.argv[1]), sys.argv[2]
    reason = reason_not_to_begin(path)
    if not reason:
        try:
            listener = socket.create_server(("127.0.0.1", port), backlog=MOST_CONNECTIONS)
        except OSError as error:
            # The error's own text repeats the address.
            reason = f"port {port}: {os.strerror(error.errno or 0)}"
    if reason:
        print(f"unreachable: {reason}", flush=True)
        return 1
    listener.setblocking(False)
    print("ready", flush=True)
    Relay(listener, path).serve(sys.stdin.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
