"""Routes of the isolation probe over sockets and networks.

Whether something of the probe arrived at a listener is the listener's to say: on a network with a transparent
proxy a connection may seem to succeed. Only the addresses that the controller named are knocked at, and the
name servers that the container was given.
"""

from __future__ import annotations

import os
import socket
import stat

from probe_search import Found, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENGINE_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
LISTENS = "0A"
TIMEOUT_S = 1.0
MOST_BYTES = 1 << 16
DNS_PORT = 53
DEFAULT_SERVER = "127.0.0.1"
"""Whom the C library asks when nobody is named."""
QUERY = bytes.fromhex("abcd01000001000000000000") + b"\x05probe\x07invalid\x00" + bytes.fromhex("00010001")
"""A question for the address of `probe.invalid`, a name that nobody may own."""
NAMES = (
    "probe.invalid",
    "host.docker.internal",
    "host.containers.internal",
    "_gateway",
)


def sockets(search: Search) -> Found:
    """Sockets of the engine, in files, without a file, and listening ones: behind each is somebody else."""
    reached = [path for path in ENGINE_SOCKETS if os.path.exists(path)]
    tried = len(ENGINE_SOCKETS)
    reached += [path for path, mode in search.tree if stat.S_ISSOCK(mode) and path not in reached]
    for line in _table("/proc/net/unix"):
        tried += 1
        if line[7:]:
            reached.append(f"unix socket {' '.join(line[7:])}")
    gateway = search.plan["gateway"]
    own = None if gateway is None else int(gateway["relay_port"])
    for name in ("tcp", "tcp6"):
        for line in _table(f"/proc/net/{name}"):
            tried += 1
            port = int(line[1].rpartition(":")[2], 16)
            if line[3] == LISTENS and port != own:
                reached.append(f"{name} port {port} listens")
    return tried, reached


def _table(path: str) -> list[list[str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [line.split() for line in file.read().splitlines()[1:]]
    except OSError:
        return []


def network(_search: Search) -> Found:
    """Interfaces beside loopback and routes: none of them may be there."""
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    # Kernels list inactive tunnel devices in every namespace; only one that is up reaches anything.
    reached = [f"interface {name} is up" for name in interfaces if _is_up(name)]
    reached += [f"a route by {line[0]}" for line in _table("/proc/net/route")]
    return len(interfaces) + 2, reached


def _is_up(name: str) -> bool:
    try:
        with open(f"/sys/class/net/{name}/flags", encoding="ascii") as file:
            return bool(int(file.read(), 16) & 1)
    except OSError:
        return False


def host(search: Search) -> Found:
    """The controller's listener on every address of the host."""
    return _knock(search, search.plan["host"])


def neighbour(search: Search) -> Found:
    """The listeners of another run's container: on its addresses, and on a socket without a file."""
    there = search.plan["neighbour"]
    tried, reached = _knock(search, there)
    with socket.socket(socket.AF_UNIX) as sock:
        answer = _said(sock, "\0" + there["abstract"], search.control)
    if search.holds_canary(answer):
        reached.append(f"the socket {there['abstract']}")
    return tried + 1, reached


def _knock(search: Search, there: dict[str, Any]) -> Found:
    """Send the control by TCP and UDP; what comes back with the canary is reached whoever heard it."""
    tried, reached = 0, []
    question = b"GET /" + search.control + b" HTTP/1.0\r\n\r\n"
    for address in there["addresses"]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for kind, name in ((socket.SOCK_STREAM, "TCP"), (socket.SOCK_DGRAM, "UDP")):
            tried += 1
            try:
                with socket.socket(family, kind) as sock:
                    answer = _said(sock, (address, there["port"]), question)
            except OSError:
                continue
            if search.holds_canary(answer):
                reached.append(f"{address} by {name}")
    return tried, reached


def _said(sock: socket.socket, address: Any, question: bytes) -> bytes:  # noqa: ANN401  (a family's own)
    """What comes back at once."""
    sock.settimeout(TIMEOUT_S)
    heard = b""
    try:
        sock.connect(address)
        sock.sendall(question)
        while len(heard) < MOST_BYTES and (piece := sock.recv(MOST_BYTES)):
            heard += piece
            if sock.type == socket.SOCK_DGRAM:
                break
    except OSError:
        pass
    return heard


def names(_search: Search) -> Found:
    """Names, by the container's own resolver and by a question to each server that it was given."""
    # Read by the C library when it first resolves a name.
    os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"
    reached = []
    for name in NAMES:
        try:
            found = socket.getaddrinfo(name, 80)
        except OSError as error:
            # That a name does not exist is known only from a server that answered.
            if isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
                reached.append(f"a server answered for {name}")
            continue
        reached.append(f"{name} is {found[0][4][0]}")
    with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
        fields = [line.split() for line in file.read().splitlines()]
    servers = [field[1] for field in fields if len(field) > 1 and field[0] == "nameserver"] or [
        DEFAULT_SERVER
    ]
    for server in servers:
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            if _said(sock, (server, DNS_PORT), QUERY):
                reached.append(f"name server {server} answers")
    return len(NAMES) + len(servers), reached
