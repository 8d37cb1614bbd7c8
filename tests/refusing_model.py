"""A model endpoint inside a container: writes each request to a file and refuses it."""
# ruff: noqa: T201

from __future__ import annotations

import http.server
import json
import sys

REFUSAL = json.dumps({"error": {"type": "invalid_request_error", "message": "refused"}}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every POST with status 400, and anything else with 404."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Write path, key and body on one line."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        key = self.headers.get("x-api-key") or self.headers.get("authorization")
        line = {"path": self.path, "key": key, "body": json.loads(body)}
        with open(sys.argv[1], "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(json.dumps(line) + "\n")
        self._answer(400, REFUSAL)

    def do_GET(self) -> None:
        """There is nothing to get."""
        self._answer(404, b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
