"""The run next door, for the isolation probe: it serves a canary wherever a program can, and counts who came.

usage: probe_neighbour.py CANARY ABSTRACT_NAME

Says `ready PORT ADDRESSES` on standard output, addresses joined by commas. For every line of standard input
it knocks at itself and says what came before, as JSON: {"own": bool, "arrivals": [TEXT]}. It ends with its
standard input. Standard library only; runs as the agent's user.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import socket
import struct
import sys
import threading
from contextlib import suppress

GET_ADDRESS = 0x8915
"""SIOCGIFADDR."""
OWN = b"from the neighbour itself"
BOTH = 2
"""One word by a connection, one by a datagram."""
PATIENCE_S = 5
MOST_BYTES = 4096
FILES = ("/tmp/neighbour.txt", "/dev/shm/neighbour.txt")


def addresses() -> list[str]:
    """IPv4 addresses of the interfaces beside loopback."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                answer = fcntl.ioctl(sock, GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
                found.append(socket.inet_ntoa(answer[20:24]))
    return [address for address in found if not address.startswith("127.")]


def serve(listener: socket.socket, canary: bytes, arrivals: queue.SimpleQueue[bytes]) -> None:
    """Note everybody who connects, and give them the canary."""
    while True:
        try:
            client = listener.accept()[0]
        except OSError:
            return
        said = b""
        with client, suppress(OSError):
            client.settimeout(PATIENCE_S)
            said = client.recv(MOST_BYTES)
            if said != OWN:
                client.sendall(canary)
        arrivals.put(said)


def serve_datagrams(listener: socket.socket, canary: bytes, arrivals: queue.SimpleQueue[bytes]) -> None:
    """Note every datagram, and answer with the canary."""
    while True:
        said, sender = listener.recvfrom(MOST_BYTES)
        arrivals.put(said)
        if said != OWN:
            with suppress(OSError):
                listener.sendto(canary, sender)


def both_on_one_port() -> tuple[socket.socket, socket.socket]:
    """Listeners for connections and for datagrams, to be reached if anything can."""
    while True:
        tcp = socket.create_server(("0.0.0.0", 0))  # noqa: S104
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(("0.0.0.0", tcp.getsockname()[1]))  # noqa: S104
        except OSError:
            # Somebody else has this number for datagrams.
            tcp.close()
            udp.close()
        else:
            return tcp, udp


def report(port: int, arrivals: queue.SimpleQueue[bytes]) -> dict[str, object]:
    """What came before the neighbour's own words; that these came shows that the listeners hear."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE_S) as own:
        own.sendall(OWN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.sendto(OWN, ("127.0.0.1", port))
    heard: list[bytes] = []
    with suppress(queue.Empty):
        while heard.count(OWN) < BOTH:
            heard.append(arrivals.get(timeout=PATIENCE_S))
    texts = [said.decode("ascii", "backslashreplace")[:200] for said in heard if said != OWN]
    return {"own": heard.count(OWN) == BOTH, "arrivals": texts}


def main() -> int:
    """Hold the canary, serve it, and tell."""
    os.umask(0)
    canary = sys.argv[1].encode()
    for path in FILES:
        with open(path, "wb") as file:
            file.write(canary)
    arrivals: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    everywhere, datagrams = both_on_one_port()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + sys.argv[2])
    abstract.listen()
    for listener in (everywhere, abstract):
        threading.Thread(target=serve, args=(listener, canary, arrivals), daemon=True).start()
    threading.Thread(target=serve_datagrams, args=(datagrams, canary, arrivals), daemon=True).start()
    port = everywhere.getsockname()[1]
    print("ready", port, ",".join(addresses()), flush=True)
    for _ in sys.stdin:
        print(json.dumps(report(port, arrivals)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
