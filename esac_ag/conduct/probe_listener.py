"""The controller's listener for the isolation probe: it serves a canary and remembers everybody who comes.

Whether a container reaches the host is not told by the container: behind a transparent proxy a connection
may seem to succeed. It is told by what arrived here. That nothing arrived says something only if the listener
hears at all, so it is knocked at by the controller itself in the end.
"""

from __future__ import annotations

import re
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from esac_ag.clock import Deadline, opaque_id, sleep_s
from esac_ag.errors import InfrastructureFailure

LOOPBACK = "127.0.0.1"
PATIENCE_S = 5.0
MOST_BYTES = 4096
BACKLOG = 256
MOST_ADDRESSES = 64
_BIND_TRIES = 20
_LOOK_S = 0.005
_LOCAL = re.compile(r"\|-- (\S+)\n\s+/32 host LOCAL")
_GLOBAL_SCOPE = "00"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody came."""

    peer: str
    said: bytes
    """The first that was said; empty when nothing was."""


class Listener:
    """TCP and UDP on every address of this machine, on one port.

    Args:
        tcp: bound and listening.
        udp: bound to the same port.
        canary: what everybody is answered.
    """

    def __init__(self, tcp: socket.socket, udp: socket.socket, canary: str) -> None:
        self.port: int = tcp.getsockname()[1]
        self._tcp = tcp
        self._udp = udp
        self._canary = canary.encode()
        self._heard: list[Arrival] = []
        self._own = opaque_id().encode()
        """How the controller's own words begin."""
        self._knocks = 0
        self._stop, self._stopped = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="probe-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._stop.close()
        self._thread.join()
        self._stopped.close()

    def heard(self) -> tuple[Arrival, ...]:
        """Everybody who came; the controller's own knocks are left out.

        Raises:
            InfrastructureFailure: the listener does not hear even the controller.
        """
        self._knocks += 1
        with suppress(OSError), socket.create_connection((LOOPBACK, self.port), PATIENCE_S) as tcp:
            tcp.sendall(self._own + b" by TCP")
            tcp.recv(MOST_BYTES)
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(self._own + b" by UDP", (LOOPBACK, self.port))
        deadline = Deadline.after_s(PATIENCE_S)
        while sum(map(self._is_own, tuple(self._heard))) < 2 * self._knocks:
            if deadline.has_passed():
                raise InfrastructureFailure(
                    "the isolation probe's listener does not hear what is sent to it",
                    where=f"port {self.port} of every address, TCP and UDP",
                    expected="the controller's own words, by TCP and by UDP",
                    found=f"{len(self._heard)} arrivals",
                    remedy="let programs of this machine connect to its own loopback",
                )
            sleep_s(_LOOK_S)
        return tuple(arrival for arrival in tuple(self._heard) if not self._is_own(arrival))

    def _is_own(self, arrival: Arrival) -> bool:
        return arrival.said.startswith(self._own)

    def _serve(self) -> None:
        """One after the other, so that who came before the controller's own knock was noted before it."""
        with selectors.DefaultSelector() as selector:
            for served in (self._tcp, self._udp, self._stopped):
                selector.register(served, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._stopped in ready:
                    return
                with suppress(OSError):
                    if self._tcp in ready:
                        self._answer_connection()
                with suppress(OSError):
                    if self._udp in ready:
                        said, peer = self._udp.recvfrom(MOST_BYTES)
                        self._heard.append(Arrival(str(peer[0]), said))
                        self._udp.sendto(self._canary, peer)

    def _answer_connection(self) -> None:
        client, peer = self._tcp.accept()
        with client:
            client.settimeout(PATIENCE_S)
            said = b""
            with suppress(OSError):
                said = client.recv(MOST_BYTES)
            self._heard.append(Arrival(str(peer[0]), said))
            head = f"HTTP/1.0 200 OK\r\nContent-Length: {len(self._canary)}\r\n\r\n"
            client.sendall(head.encode() + self._canary)


@contextmanager
def listening(canary: str) -> Iterator[Listener]:
    """A listener for the time of a block.

    Raises:
        InfrastructureFailure: no port can be had.
    """
    tcp, udp = _bound()
    with tcp, udp:
        listener = Listener(tcp, udp, canary)
        try:
            yield listener
        finally:
            listener.close()


def _bound() -> tuple[socket.socket, socket.socket]:
    """Two sockets on one free port of every address."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    anywhere = "::" if both else "0.0.0.0"  # noqa: S104  (to be reached if anything can)
    for _ in range(_BIND_TRIES):
        tcp = socket.create_server((anywhere, 0), family=family, dualstack_ipv6=both, backlog=BACKLOG)
        udp = socket.socket(family, socket.SOCK_DGRAM)
        try:
            if both:
                udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            udp.bind((anywhere, tcp.getsockname()[1]))
        except OSError:
            # Somebody else has this number for datagrams.
            tcp.close()
            udp.close()
        else:
            return tcp, udp
    raise InfrastructureFailure(
        "the isolation probe's listener finds no port", found=f"{_BIND_TRIES} ports were taken"
    )


def addresses_of_this_machine() -> tuple[str, ...]:
    """Its addresses, loopback and the bridges of the engine among them; only loopback where Linux is not."""
    found = {LOOPBACK}
    with suppress(OSError):
        found |= set(_LOCAL.findall(Path("/proc/net/fib_trie").read_text()))
    with suppress(OSError):
        lines = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
        found |= {_colons(line[0]) for line in lines if line[3] == _GLOBAL_SCOPE or line[5] == "lo"}
    return tuple(sorted(found))[:MOST_ADDRESSES]


def _colons(digits: str) -> str:
    return socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits))
