"""Routes of the isolation probe over sockets and networks.

Whether something of the probe arrived at a listener is the listener's to say: on a network with a transparent
proxy a connection may seem to succeed. Only the addresses that the controller named are knocked at, and the
name servers that the container was given.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress

from probe_knocking import Target, answers_to
from probe_peers import only_a_relay
from probe_search import Found, Search, is_up, table

ENGINE_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
LISTENS = "0A"
ENGINES_RESOLVER = "127.0.0.11"
"""In every network that is made for containers; it runs outside, and listens inside."""
RESOLVER_AS_LISTED = "0B00007F"
TIMEOUT_S = 1.0
MOST_BYTES = 1 << 16
DNS_PORT = 53
HEAD_BYTES = 12
SERVER_FAILED = 2
"""What a resolver says that knows nobody to ask."""
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
    for line in table("/proc/net/unix"):
        tried += 1
        if line[7:]:
            reached.append(f"unix socket {' '.join(line[7:])}")
    gateway = search.plan["gateway"]
    # With a network the relay is in another container, and the engine's resolver listens in this one.
    own = None if gateway is None or search.peer is not None else int(gateway["relay"][1])
    for name in ("tcp", "tcp6"):
        for line in table(f"/proc/net/{name}"):
            tried += 1
            address, _, digits = line[1].rpartition(":")
            port = int(digits, 16)
            is_resolver = search.peer is not None and address == RESOLVER_AS_LISTED
            if line[3] == LISTENS and port != own and not is_resolver:
                reached.append(f"{name} port {port} listens")
    return tried, reached


def network(search: Search) -> Found:
    """Interfaces beside loopback and routes: none may be there, or those alone that lead to the relay."""
    if search.peer is not None:
        return only_a_relay(search.peer)
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    # Kernels list inactive tunnel devices in every namespace; only one that is up reaches anything.
    reached = [f"interface {name} is up" for name in interfaces if is_up(name)]
    reached += [f"a route by {line[0]}" for line in table("/proc/net/route")]
    return len(interfaces) + 2, reached


def host(search: Search) -> Found:
    """The controller's listener on every address of the host."""
    return _knock(search, "host")


def neighbour(search: Search) -> Found:
    """The listeners of another run's container: on its addresses, and on a socket without a file."""
    abstract = search.plan["neighbour"]["abstract"]
    tried, reached = _knock(search, "neighbour")
    with socket.socket(socket.AF_UNIX) as sock:
        answer = _said(sock, "\0" + abstract, search.control)
    if search.holds_canary(answer):
        reached.append(f"the socket {abstract}")
    return tried + 1, reached


def _knock(search: Search, whose: str) -> Found:
    """Send the control by TCP and UDP; what comes back with the canary is reached whoever heard it."""
    if search.answers is None:
        # All at once: on a network where nobody answers, patience is what takes the time.
        question = b"GET /" + search.control + b" HTTP/1.0\r\n\r\n"
        everybody = (*_listeners(search, "host"), *_listeners(search, "neighbour"))
        search.answers = answers_to(question, everybody)
    targets = _listeners(search, whose)
    reached = [
        f"{address} by {'TCP' if kind is socket.SOCK_STREAM else 'UDP'}"
        for address, port, kind in targets
        if search.holds_canary(search.answers.get((address, port, kind), b""))
    ]
    return len(targets), reached


def _listeners(search: Search, whose: str) -> list[Target]:
    there = search.plan[whose]
    return [
        (address, there["port"], kind)
        for address in there["addresses"]
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
    ]


def _said(sock: socket.socket, address: str | tuple[str, int], question: bytes) -> bytes:
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


def begin_names(search: Search) -> None:
    """Start to look names up where that takes its time: on a network, a resolver may keep silent."""
    # Read by the C library when a thread first resolves a name.
    os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"
    if not any(is_up(name) for _, name in socket.if_nameindex() if name != "lo"):
        return
    for name in _all_names(search):
        _begin(search, _look_up, name)
    for server in _servers():
        _begin(search, _ask_server, server)


def _begin(search: Search, look: Callable[[Search, str], None], what: str) -> None:
    thread = threading.Thread(target=look, args=(search, what))
    # Where no more processes are allowed, the rest is asked for one after the other, later.
    with suppress(RuntimeError):
        thread.start()
        search.threads.append(thread)


def _all_names(search: Search) -> tuple[str, ...]:
    return (*NAMES, *search.plan["names"])


def _servers() -> list[str]:
    with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
        fields = [line.split() for line in file.read().splitlines()]
    return [field[1] for field in fields if len(field) > 1 and field[0] == "nameserver"] or [DEFAULT_SERVER]


def _look_up(search: Search, name: str) -> None:
    try:
        found = socket.getaddrinfo(name, 80)
    except OSError as error:
        # That a name does not exist is known only from a server that answered.
        is_known = isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME
        search.names[name] = f"a server answered for {name}" if is_known else ""
    else:
        search.names[name] = f"{name} is {found[0][4][0]}"


def _ask_server(search: Search, server: str) -> None:
    answer = b"".join(answers_to(QUERY, [(server, DNS_PORT, socket.SOCK_DGRAM)]).values())
    is_expected = search.peer is not None and server == ENGINES_RESOLVER
    if search.peer is not None and not is_expected:
        search.names[server] = f"name server {server} was given"
    elif answer and not (is_expected and _is_at_a_loss(answer)):
        search.names[server] = f"name server {server} answers"
    else:
        search.names[server] = ""


def _is_at_a_loss(answer: bytes) -> bool:
    return len(answer) >= HEAD_BYTES and answer[3] & 0xF == SERVER_FAILED


def names(search: Search) -> Found:
    """Names, by the container's own resolver and by a question to each server that it was given."""
    for thread in search.threads:
        thread.join()
    asked = [(name, _look_up) for name in _all_names(search)]
    asked += [(server, _ask_server) for server in _servers()]
    for what, look in asked:
        if what not in search.names:
            look(search, what)
    return len(asked), [fault for what, _ in asked if (fault := search.names[what])]
