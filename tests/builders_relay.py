"""What tests of the relay share: an HTTP server behind a unix socket, and the relay without a container."""

from __future__ import annotations

import hashlib
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from esac_ag.owner import temporary_folder

RELAY = Path(__file__).parent.parent / "runner" / "guest" / "agent" / "relay.py"
BIG = b"0123456789abcdef" * 655_360
"""10 MiB."""
CHUNKS = 5
TOGETHER = 20
_PATIENCE_S = 60


class HttpServer(socketserver.ThreadingUnixStreamServer):
    """Answers by the path; see the handler."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: str) -> None:
        super().__init__(path, _Handler)
        self.paths: list[str] = []
        self.together = threading.Barrier(TOGETHER)
        self.seen = [threading.Event() for _ in range(CHUNKS)]
        self.left = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpServer

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
        pass

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        if parsed:
            self.server.paths.append(self.path)
        return parsed

    def do_GET(self) -> None:
        """Answer by the path."""
        name, _, rest = self.path.strip("/").partition("/")
        match name:
            case "big":
                self._answer(BIG)
            case "stream":
                self._stream()
            case "seen":
                self.server.seen[int(rest)].set()
                self._answer(b"")
            case "together":
                self.server.together.wait(_PATIENCE_S)
                self._answer(rest.encode())
            case "endless":
                self._flood()
            case _:
                self._answer(b"hello")

    def do_POST(self) -> None:
        """Answer with the digest of the body, or before it has come."""
        if self.path == "/early":
            self._answer(b"too large", 413)
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers["content-length"]))
        self._answer(hashlib.sha256(body).hexdigest().encode())

    def _answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        """Send each chunk only when the client has said, on another connection, that it saw the last one."""
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number in range(CHUNKS):
            self.wfile.write(b"6\r\ndata %d\r\n" % number)
            if not self.server.seen[number].wait(_PATIENCE_S):
                return
        self.wfile.write(b"0\r\n\r\n")

    def _flood(self) -> None:
        """Write without an end, until the client is gone."""
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(BIG)
        except OSError:
            self.server.left.set()


@contextmanager
def a_server() -> Iterator[tuple[Path, HttpServer]]:
    """Serves behind a unix socket in a private folder."""
    with temporary_folder("tests") as folder:
        path = folder / "gateway.sock"
        with HttpServer(str(path)) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield path, server
            finally:
                server.shutdown()
                thread.join()


@contextmanager
def a_relay(port: int, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The relay as a process of this machine; ended by the end of its input."""
    argv = [sys.executable, "-I", "-S", "-B", str(RELAY), str(port), str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(_PATIENCE_S)
