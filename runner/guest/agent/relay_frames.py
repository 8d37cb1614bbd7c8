"""The way from a network of two containers to the model gateway: connections as lines of this program's own.

    python3 -I -S -B relay_frames.py PORT [ADDRESS]
    python3 -I -S -B relay_frames.py reach ADDRESS PORT

The first runs in the relay's container. It listens on the container's one address, or on ADDRESS, says
`ready ADDRESS PORT` (or `unreachable: REASON`, and exits with 1), and ends with its standard input. What
passes on its connections it writes to standard output, and takes from standard input, as lines:

    open N          a client came; only from here
    data N BASE64   at most 48 KiB
    took N COUNT    so many bytes were passed on, so that as many more may be sent
    over N          nothing more will be said in this direction
    gone N          this connection is given up
    here N          answered with the same line: this program lives

Of every connection and direction at most 128 KiB are under way: who reads slowly is written to slowly. It
holds no key, looks at nothing of what passes and writes no file. One thread serves all connections.

The second runs in the agent's container: whether the relay can be connected to.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import selectors
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PIECE_BYTES = 48 * 1024
"""As Base64 these are 64 KiB."""
WINDOW_BYTES = 128 * 1024
"""Of one connection and direction, sent and not yet passed on."""
MOST_CONNECTIONS = 256
"""Further ones wait to be accepted."""
RETRY_S = 0.02
"""Between two tries when there is no room for a connection."""
REACH_S = 20
_INPUT_BYTES = 256 * 1024
_SIOCGIFADDR = 0x8915


class Gone(Exception):
    """The client went away, so nobody wants what the gateway still says."""


class Connection:
    """One client, and what is under way to it."""

    def __init__(self, client: socket.socket, number: int, say: Callable[..., None]) -> None:
        self.client = client
        self._number = number
        self._say = say
        self._credit = WINDOW_BYTES
        """So many bytes may still be sent."""
        self._down = bytearray()
        self._taken = 0
        """Bytes passed on that the other side was not told of."""
        self._up_is_over = False
        self._down_is_over = False
        self._down_is_told = False

    def take(self, kind: bytes, rest: bytes) -> None:
        """What the other side says of this connection.

        Raises:
            Gone: it is given up.
        """
        if kind == b"data":
            self._down += base64.b64decode(rest, validate=True)
        elif kind == b"took":
            self._credit += int(rest)
        elif kind == b"over":
            self._down_is_over = True
        elif kind == b"gone":
            raise Gone
        else:
            raise ValueError(kind)

    def advance(self) -> bool:
        """Pass on in both directions what can be passed on without waiting; whether more may come.

        Raises:
            Gone: the client is no longer there.
        """
        try:
            self._advance_down()
            self._advance_up()
        except BlockingIOError:
            pass
        except OSError as error:
            self._say(b"gone", self._number)
            raise Gone from error
        return bool(self._down) or not (self._up_is_over and self._down_is_over)

    def _advance_down(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._down:
                sent = self.client.send(self._down)
                del self._down[:sent]
                self._taken += sent
        if self._taken >= WINDOW_BYTES // 2:
            self._say(b"took", self._number, b"%d" % self._taken)
            self._taken = 0
        if self._down_is_over and not self._down and not self._down_is_told:
            # Once only: a client that has said all is no longer connected then, and not all of it is read.
            self._down_is_told = True
            self.client.shutdown(socket.SHUT_WR)

    def _advance_up(self) -> None:
        if self._up_is_over or not self._credit:
            return
        data = self.client.recv(min(PIECE_BYTES, self._credit))
        self._credit -= len(data)
        if data:
            self._say(b"data", self._number, base64.b64encode(data))
        else:
            # What the client has said is complete, and it may still listen.
            self._up_is_over = True
            self._say(b"over", self._number)

    def wishes(self) -> int:
        """Events to wait for."""
        hears = 0 if self._up_is_over or not self._credit else selectors.EVENT_READ
        return hears | (selectors.EVENT_WRITE if self._down else 0)


class Relay:
    """Serves a listener until its input ends."""

    def __init__(self, listener: socket.socket, source: int, sink: int) -> None:
        self._listener = listener
        self._source = source
        self._sink = sink
        self._selector = selectors.DefaultSelector()
        self._connections: dict[int, Connection] = {}
        self._made = 0
        self._input = bytearray()
        self._output = bytearray()
        """Lines for which the pipe had no room; what connections may have under way bounds it."""
        self._out_of_room = False
        self._stops = False

    def serve(self) -> None:
        """Pass connections on."""
        self._watch(self._source, selectors.EVENT_READ, self._hear)
        while not self._stops:
            pauses, self._out_of_room = self._out_of_room, False
            accepts = not pauses and len(self._connections) < MOST_CONNECTIONS
            self._watch(self._listener, selectors.EVENT_READ if accepts else 0, self._accept)
            self._watch(self._sink, selectors.EVENT_WRITE if self._output else 0, self._flush)
            for key, _ in self._selector.select(RETRY_S if pauses else None):
                key.data()
            self._flush()

    def _say(self, kind: bytes, number: int, rest: bytes = b"") -> None:
        self._output += b"%s %d %s\n" % (kind, number, rest) if rest else b"%s %d\n" % (kind, number)

    def _flush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._output:
                del self._output[: os.write(self._sink, self._output[:_INPUT_BYTES])]

    def _hear(self) -> None:
        try:
            data = os.read(self._source, _INPUT_BYTES)
        except BlockingIOError:
            return
        self._stops = not data
        self._input += data
        end = self._input.rfind(b"\n") + 1
        lines = bytes(self._input[:end]).splitlines()
        del self._input[:end]
        touched = {}
        for line in lines:
            kind, _, named = line.partition(b" ")
            name, _, rest = named.partition(b" ")
            number = int(name)
            if kind == b"here":
                self._say(kind, number)
                continue
            connection = self._connections.get(number)
            if connection is None:
                # Both sides may end a connection at the same time.
                continue
            touched[number] = connection
            try:
                connection.take(kind, rest)
            except Gone:
                self._drop(number)
        for number in touched:
            self._advance(number)

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
        self._made += 1
        number = self._made
        self._connections[number] = Connection(client, number, self._say)
        self._say(b"open", number)
        self._advance(number)

    def _advance(self, number: int) -> None:
        connection = self._connections.get(number)
        if connection is None:
            return
        try:
            goes_on = connection.advance()
        except Gone:
            goes_on = False
        if goes_on:
            self._watch(connection.client, connection.wishes(), lambda: self._advance(number))
        else:
            self._drop(number)

    def _drop(self, number: int) -> None:
        client = self._connections.pop(number).client
        self._watch(client, 0, self._flush)
        client.close()

    def _watch(self, file: socket.socket | int, events: int, act: Callable[[], None]) -> None:
        """Wait for these events of a file from now on; for none when there are none."""
        known = self._selector.get_map().get(file)
        if known is None:
            if events:
                self._selector.register(file, events, act)
        elif not events:
            self._selector.unregister(file)
        elif known.events != events:
            self._selector.modify(file, events, act)


def own_address() -> str:
    """The IPv4 address of the one interface besides loopback.

    Raises:
        OSError: there is none, or it has no address.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            # Kernels may give every namespace further interfaces that are down and have no address.
            with contextlib.suppress(OSError):
                told = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()))
                if name != "lo":
                    return socket.inet_ntoa(told[20:24])
    raise OSError(0, "no network")


def reach(address: str, port: int) -> int:
    """Tell whether the relay can be connected to."""
    try:
        socket.create_connection((address, port), REACH_S).close()
    except OSError as error:
        print(f"unreachable: {error.strerror or error}", flush=True)
        return 1
    print("ready", flush=True)
    return 0


def main() -> int:
    """Listen, tell, and serve; or knock."""
    if sys.argv[1] == "reach":
        return reach(sys.argv[2], int(sys.argv[3]))
    try:
        address = sys.argv[2] if len(sys.argv) > 2 else own_address()  # noqa: PLR2004  (the optional word)
        listener = socket.create_server((address, int(sys.argv[1])), backlog=MOST_CONNECTIONS)
    except OSError as error:
        print(f"unreachable: {error.strerror or error}", flush=True)
        return 1
    listener.setblocking(False)
    print("ready {} {}".format(*listener.getsockname()), flush=True)
    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    os.set_blocking(source, False)
    os.set_blocking(sink, False)
    Relay(listener, source, sink).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
