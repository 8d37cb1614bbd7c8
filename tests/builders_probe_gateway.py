"""A gateway that gives away more than a model's answers, where the isolation probe meets a real one."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from esac_ag.sandbox.model_socket import FOLDER_MODE, MOUNT_POINT, SOCKET_MODE, SOCKET_NAME
from tests.builders_probe import Leak, Request

PATIENCE_S = 10
Forward = Callable[[bytes], bytes]
GatewayFault = Callable[[bytes, Forward], bytes | None]
"""Given a raw request and the way to the real gateway, a raw answer; none for what the real one answers."""


def target_of(request: bytes) -> str:
    """What a raw request asks for."""
    return request.split(b" ", 2)[1].decode()


def reads_files(request: bytes, _forward: Forward) -> bytes | None:
    """A static file server that thinks of nothing."""
    path = Path(os.path.realpath("/" + unquote(target_of(request)).removeprefix("file://")))
    return _answer(path.read_bytes()) if path.is_file() else None


def fetches_absolute_addresses(request: bytes, _forward: Forward) -> bytes | None:
    """A forward proxy of the old kind."""
    target = target_of(request)
    return _answer(_fetched(target)) if target.startswith("http://") else None


def opens_tunnels(request: bytes, _forward: Forward) -> bytes | None:
    """A proxy that connects to whatever it is told."""
    if not request.startswith(b"CONNECT"):
        return None
    head, _, inner = request.partition(b"\r\n\r\n")
    return b"HTTP/1.1 200 OK\r\n\r\n" + _said(target_of(head), inner)


def fetches_what_bodies_name(request: bytes, _forward: Forward) -> bytes | None:
    """A gateway that inlines images, and tells nothing of what it fetched."""
    for address in re.findall(rb'"url": "(http://[^"]+)"', request):
        _fetched(address.decode())
    return None


class TakesAnyToken:
    """A gateway that answers everybody as the first one who came."""

    def __init__(self) -> None:
        self._first = b""

    def __call__(self, request: bytes, forward: Forward) -> bytes | None:
        """Answer with the first one's token."""
        token = re.search(rb"Bearer ([0-9a-f]*)", request)
        self._first = self._first or (token.group(1) if token else b"")
        plain = re.sub(rb"/lane/[0-9a-f]*", b"", request)
        return forward(re.sub(rb"Bearer [0-9a-f]*", b"Bearer " + self._first, plain))


def answers_nothing(_request: bytes, _forward: Forward) -> bytes | None:
    """A gateway whose provider is gone."""
    return b"HTTP/1.1 502 Bad Gateway\r\n\r\n"


def _answer(data: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\n\r\n" + data


def _fetched(address: str) -> bytes:
    parts = urlsplit(address)
    return _said(parts.netloc, f"GET {parts.path} HTTP/1.0\r\n\r\n".encode())


def _said(address: str, question: bytes) -> bytes:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as sock:
        sock.sendall(question)
        return _all_of(sock)


def _all_of(sock: socket.socket) -> bytes:
    heard = b""
    while piece := sock.recv(65536):
        heard += piece
    return heard


def _request_of(client: socket.socket) -> bytes:
    heard = b""
    while (piece := client.recv(65536)) != b"":
        heard += piece
        head, end, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        if end and len(body) >= (int(length.group(1)) if length else 0):
            break
    return heard


class FaultyGateway:
    """Answers by its fault, and by the real gateway where the fault does not show.

    Args:
        folder: of its socket, to be mounted instead of the real one's.
        fault: what it does beyond a gateway's work.
    """

    def __init__(self, folder: Path, fault: GatewayFault) -> None:
        self._folder = folder
        self._fault = fault
        self._real = ""

    def stand_in(self, request: Request, _canary: str) -> None:
        """Take the real gateway's place in a request for a container."""
        for mount in request["HostConfig"]["Mounts"]:
            if mount["Target"] == MOUNT_POINT:
                self._real = f"{mount['Source']}/{SOCKET_NAME}"
                mount["Source"] = str(self._folder)

    def serve(self, listener: socket.socket) -> None:
        """Serve until the listener is shut down."""
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client, suppress(OSError):
                client.settimeout(PATIENCE_S)
                if request := _request_of(client):
                    client.sendall(self._fault(request, self._forward) or self._forward(request))

    def _forward(self, request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE_S)
            sock.connect(self._real)
            sock.sendall(request)
            if not request.startswith((b"POST", b"GET")) or b"Connection: close" not in request:
                sock.shutdown(socket.SHUT_WR)
            return _all_of(sock)


@contextmanager
def a_leaking_gateway(fault: GatewayFault) -> Iterator[Leak]:
    """A leak by which a container's socket leads to a gateway with a fault."""
    with TemporaryDirectory() as made, socket.socket(socket.AF_UNIX) as listener:
        folder = Path(made) / "mounted"
        folder.mkdir()
        listener.bind(str(folder / SOCKET_NAME))
        (folder / SOCKET_NAME).chmod(SOCKET_MODE)
        folder.chmod(FOLDER_MODE)
        listener.listen(64)
        gateway = FaultyGateway(folder, fault)
        thread = threading.Thread(target=gateway.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield Leak(gateway.stand_in)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
