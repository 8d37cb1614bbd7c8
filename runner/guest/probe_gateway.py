"""Route of the isolation probe through the model gateway: does it read a file or an address for an agent?

One question of each protocol is allowed and has to be answered, for a gateway that answers nothing proves
nothing. Of the others none may bring a canary back. Whether one of them made the gateway, or would make the
provider, turn to the controller's listener or to a file is for the controller to see.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

from probe_search import Found, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TIMEOUT_S = 10.0
MOST_BYTES = 1 << 20
MARK = "gateway"
"""In every address that the gateway is asked to turn to: the controller's listener tells it by that."""
Body = dict[str, "Any"]


class Asker:
    """Sends raw requests to the gateway.

    Args:
        told: the plan's part on the gateway.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.url = f"{told['url']}/{MARK}"

    def directly(self, request: bytes, *, is_all: bool = False) -> bytes:
        """The raw answer, by the mounted socket itself, or by the relay where there is none.

        Args:
            request: is sent as it is.
            is_all: whether nothing more is said after it; for what keeps a connection open.
        """
        if self.told["socket"] is None:
            return self.by_relay(request, is_all=is_all)
        with socket.socket(socket.AF_UNIX) as sock:
            return _answer(sock, self.told["socket"], request, is_all=is_all)

    def by_relay(self, request: bytes, *, is_all: bool = False) -> bytes:
        """The raw answer, as an agent gets it."""
        with socket.socket(socket.AF_INET) as sock:
            return _answer(sock, tuple(self.told["relay"]), request, is_all=is_all)

    def ways(self) -> dict[str, Callable[[bytes], bytes]]:
        """Every way there is, by its name."""
        socket_alone = {} if self.told["socket"] is None else {"the socket": self.directly}
        return {**socket_alone, "the relay": self.by_relay}

    def question(self, protocol: str, **more: object) -> bytes:
        """A small question of a protocol's lane, with other fields."""
        said: list[Body] = [{"role": "user", "content": "one word"}]
        key = "input" if protocol == "responses" else "messages"
        body: Body = {"model": self.told["model"], key: said}
        if protocol == "messages":
            body["max_tokens"] = 10
        return self.request("POST", self.told["paths"][protocol], self.told["tokens"][protocol], body | more)

    def request(
        self, method: str, target: str, token: str, body: Body | None = None, host: str = "m"
    ) -> bytes:
        """A request with any target, which is sent as it is."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
            f"X-Forwarded-Host: {self.told['address']}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        return head.encode("utf-8", "surrogateescape") + data


def _answer(sock: socket.socket, address: Any, request: bytes, *, is_all: bool) -> bytes:  # noqa: ANN401
    sock.settimeout(TIMEOUT_S)
    heard = b""
    try:
        sock.connect(address)
        sock.sendall(request)
        if is_all:
            sock.shutdown(socket.SHUT_WR)
        while len(heard) < MOST_BYTES and (piece := sock.recv(MOST_BYTES)):
            heard += piece
    except OSError:
        pass
    return heard


def gateway(search: Search) -> Found:
    """Every question that could make a file or an address of the gateway's side come here."""
    asker = Asker(search.plan["gateway"])
    reached = []
    tried = 0
    for protocol in asker.told["tokens"]:
        for way, ask in asker.ways().items():
            tried += 1
            answer = ask(asker.question(protocol))
            if not _is_answered(answer):
                reached.append(f"{protocol} by {way} is not answered, which proves nothing: {answer[:60]!r}")
            if search.holds_canary(answer):
                reached.append(f"the answer to {protocol}")
    for name, request in (*targets(asker), *bodies(asker)):
        tried += 1
        if search.holds_canary(asker.directly(request)):
            reached.append(name)
    for name, request in tunnels(asker):
        tried += 1
        if search.holds_canary(asker.directly(request, is_all=True)):
            reached.append(name)
    for name, request in strangers(asker):
        tried += 1
        answer = asker.directly(request)
        if _is_answered(answer) or search.holds_canary(answer):
            reached.append(f"{name} is answered")
    return tried, reached


def _is_answered(answer: bytes) -> bool:
    return answer.startswith(b"HTTP/1.1 200")


def targets(asker: Asker) -> Iterator[tuple[str, bytes]]:
    """Requests whose target is a file, an address, or a path that is not listed."""
    for protocol, token in asker.told["tokens"].items():
        path = asker.told["paths"][protocol]
        for method in ("GET", "PUT", "DELETE", "OPTIONS", "TRACE"):
            yield f"{method} {path}", asker.request(method, path, token)
        yield "a query", asker.request("POST", f"{path}?url={asker.url}", token, {})
        yield (
            "POST of an absolute address",
            asker.request("POST", f"{asker.url}{path}", token, {}, asker.told["address"]),
        )
    token = next(iter(asker.told["tokens"].values()))
    for path in ("/", "/v1/models", "/v1/files", "/v1/files/x/content", "/docs", "/openapi.json"):
        yield f"GET {path}", asker.request("GET", path, token)
    yield "GET of an absolute address", asker.request("GET", asker.url, token, None, asker.told["address"])
    yield "a path that is an address", asker.request("GET", "/" + asker.url, token)
    yield "a host of another", asker.request("GET", f"/{MARK}", token, None, asker.told["address"])
    for file in asker.told["files"]:
        for target in (
            file,
            "/" + file,
            f"file://{file}",
            f"/v1{'/..' * 12}{file}",
            f"/v1{'/%2e%2e' * 12}{file}",
            f"/v1{'/..%2f' * 12}{file}",
            f"/static/..{file}",
            f"/v1/chat/completions{'/..' * 12}{file}",
            f"/lane/{token}{'/..' * 12}{file}",
        ):
            yield f"GET {target}", asker.request("GET", target, token)


def tunnels(asker: Asker) -> Iterator[tuple[str, bytes]]:
    """CONNECT with a request behind it, and an upgrade to another protocol."""
    address, token = asker.told["address"], next(iter(asker.told["tokens"].values()))
    inner = f"GET /{MARK}/tunnel HTTP/1.0\r\n\r\n".encode()
    head = asker.request("CONNECT", address, token, None, address)
    yield "CONNECT", head.replace(b"Connection: close\r\n", b"") + inner
    plain = asker.request("GET", asker.url, token)
    upgrade = b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    yield "an upgrade", plain.replace(b"Connection: close\r\n", upgrade + b"Sec-WebSocket-Version: 13\r\n")


def bodies(asker: Asker) -> Iterator[tuple[str, bytes]]:
    """Questions that name an address or a file for somebody else to fetch."""
    addresses = [f"{asker.url}/fetched", *(f"file://{file}" for file in asker.told["files"])]
    for address in addresses:
        for protocol, part in parts(address):
            key = "input" if protocol == "responses" else "messages"
            said = [{"role": "user", "content": [part]}]
            yield f"{protocol}: {part['type']}", asker.question(protocol, **{key: said})
        for protocol, field, value in fields(address):
            yield f"{protocol}: {field}", asker.question(protocol, **{field: value})


def parts(address: str) -> Iterator[tuple[str, Body]]:
    """Parts of a message that hold an address, by the protocol that knows them."""
    for kind in ("image_url", "video_url", "audio_url"):
        yield "chat-completions", {"type": kind, kind: {"url": address}}
    yield "chat-completions", {"type": "file", "file": {"filename": "x.pdf", "file_data": address}}
    yield "responses", {"type": "input_file", "file_url": address}
    yield "responses", {"type": "input_file", "filename": "x.pdf", "file_data": address}
    yield "responses", {"type": "input_image", "image_url": address}
    for kind in ("document", "image"):
        yield "messages", {"type": kind, "source": {"type": "url", "url": address}}


def fields(address: str) -> Iterator[tuple[str, str, object]]:
    """Fields of a request that let the provider turn to an address, or to what it keeps."""
    server = {"type": "mcp", "server_label": "x", "server_url": address, "require_approval": "never"}
    yield "chat-completions", "web_search_options", {"search_context_size": address}
    yield "responses", "tools", [server]
    yield "responses", "previous_response_id", address
    yield "responses", "conversation", address
    yield "messages", "mcp_servers", [{"type": "url", "name": "x", "url": address}]
    yield (
        "messages",
        "tools",
        [{"type": "web_fetch_20250910", "name": "web_fetch", "allowed_domains": [address]}],
    )


def strangers(asker: Asker) -> Iterator[tuple[str, bytes]]:
    """A good question with a token that is not this lane's: none, a guess, another run's."""
    protocol = next(iter(asker.told["tokens"]))
    token, path = asker.told["tokens"][protocol], asker.told["paths"][protocol]
    question = asker.question(protocol)
    guesses = {
        "no token": "",
        "a guessed token": "0" * len(token),
        "another run's token": asker.told["other"],
    }
    for name, guess in guesses.items():
        asked = question.replace(f"Bearer {token}".encode(), f"Bearer {guess}".encode())
        yield name, asked
        start = f"POST {path} ".encode()
        yield f"{name} in the path", asked.replace(start, f"POST /lane/{guess}{path} ".encode())
