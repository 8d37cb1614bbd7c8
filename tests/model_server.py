"""A model server on loopback that answers chat-completion requests from a script, over real HTTP.

Each request takes the next reply of the script and is recorded. Replies can be right, wrong in every way that
providers are wrong, cut off, or never come.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


@dataclass(frozen=True, slots=True)
class Scripted:
    """One reply of the script."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    missing_bytes: int = 0
    """How much longer the reply says it is than it is: the connection ends early."""
    never: bool = False
    """Whether the reply never comes."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


def completion(
    message: dict[str, Any], *, finish: str | None = "stop", usage: object = USAGE, model: str = "m-1"
) -> Scripted:
    """A chat completion with that message; `usage=None` leaves the usage out."""
    body: dict[str, Any] = {
        "id": "c",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = usage
    return Scripted(json.dumps(body).encode(), headers=(("content-type", "application/json"),))


def says(text: str | None, *, finish: str = "stop", usage: object = USAGE) -> Scripted:
    """A reply of plain text."""
    return completion({"content": text}, finish=finish, usage=usage)


def calls(*wanted: tuple[str, object], finish: str = "tool_calls", usage: object = USAGE) -> Scripted:
    """A reply that calls tools, each a name and its arguments (text is sent as it stands)."""
    tool_calls = [
        {
            "id": f"call_{position}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for position, (name, arguments) in enumerate(wanted)
    ]
    return completion({"content": None, "tool_calls": tool_calls}, finish=finish, usage=usage)


def submits(summary: str = "done") -> Scripted:
    """A reply that ends the work."""
    return calls(("submit", {"summary": summary}))


def refuses(status: int, code: str = "", message: str = "no", retry_after: str | None = None) -> Scripted:
    """An error answer in OpenAI's form."""
    headers = () if retry_after is None else (("retry-after", retry_after),)
    body = json.dumps({"error": {"message": message, "code": code, "type": "error"}}).encode()
    return Scripted(body, status, headers)


def broken(body: bytes = b'{"choices": [') -> Scripted:
    """Status 200 with a body that is no completion."""
    return Scripted(body)


def truncated() -> Scripted:
    """A reply whose connection ends in the middle of the body."""
    return replace(says("half"), missing_bytes=1000)


def never() -> Scripted:
    """A reply that does not come before the client gives up."""
    return Scripted(b"", never=True)


class ModelServer:
    """Serves a script on a free port of loopback, in a thread, inside a `with` block."""

    def __init__(self, script: Sequence[Scripted]) -> None:
        self._script = list(script)
        self.requests: list[Recorded] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    @property
    def left(self) -> int:
        """Replies that nobody has asked for yet."""
        return len(self._script)

    def _reply_to(self, request: Recorded) -> Scripted:  # noqa: ARG002  (for servers that read it)
        return self._script.pop(0) if self._script else refuses(500, message="the script is at its end")

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        self.requests.append(Recorded(request.url.path, dict(request.headers), body))
        await self._give(self._reply_to(self.requests[-1]), scope, receive, send)

    @staticmethod
    async def _give(reply: Scripted, scope: Scope, receive: Receive, send: Send) -> None:
        while reply.never and (await receive())["type"] != "http.disconnect":
            pass
        response = Response(reply.body, reply.status, dict(reply.headers))
        if reply.missing_bytes:
            response.headers["content-length"] = str(len(reply.body) + reply.missing_bytes)
            await _cut_short(response, send)
            return
        await response(scope, receive, send)


async def _cut_short(response: Response, send: Send) -> None:
    """Send the head and what there is of the body; the server then closes the connection."""
    await send(
        {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
    )
    await send({"type": "http.response.body", "body": bytes(response.body), "more_body": False})
