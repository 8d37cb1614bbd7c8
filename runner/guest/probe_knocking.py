"""Many questions at once: on a network where nobody answers, each alone would take its whole patience."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterable

PATIENCE_S = 1.0
"""How long nothing at all has to happen until the rest is given up."""
MOST_BYTES = 1 << 16
UNDER_WAY = 115
"""EINPROGRESS: the connection is being made."""

Target = tuple[str, int, socket.SocketKind]
"""Address, port, and whether by connection or by datagram."""


def answers_to(question: bytes, targets: Iterable[Target]) -> dict[Target, bytes]:
    """What is answered, by those who were connected to; a datagram always seems to go out.

    Args:
        question: is said to each.
        targets: whom to ask; numeric addresses.
    """
    heard: dict[Target, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for target in targets:
            if sock := _begun(target):
                selector.register(sock, selectors.EVENT_WRITE, (sock, target))
        while selector.get_map() and (ready := selector.select(PATIENCE_S)):
            for key, events in ready:
                sock, target = key.data
                if events & selectors.EVENT_WRITE and _is_asked(sock, question):
                    heard[target] = b""
                    selector.modify(sock, selectors.EVENT_READ, key.data)
                elif not (events & selectors.EVENT_READ and _has_more(sock, target, heard)):
                    selector.unregister(sock)
                    sock.close()
        for key in selector.get_map().values():
            key.data[0].close()
    return heard


def _begun(target: Target) -> socket.socket | None:
    address, port, kind = target
    try:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    except OSError:
        return None
    sock.setblocking(False)
    try:
        if sock.connect_ex((address, port)) in (0, UNDER_WAY):
            return sock
    except OSError:
        pass
    sock.close()
    return None


def _is_asked(sock: socket.socket, question: bytes) -> bool:
    """Whether the other side was reached; then it was asked."""
    try:
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
            return False
        sock.send(question)
    except OSError:
        return False
    return True


def _has_more(sock: socket.socket, target: Target, heard: dict[Target, bytes]) -> bool:
    """Whether the other side may have more to say than what it just said."""
    try:
        piece = sock.recv(MOST_BYTES)
    except OSError:
        return False
    heard[target] += piece
    return bool(piece) and sock.type == socket.SOCK_STREAM and len(heard[target]) < MOST_BYTES
