"""A model server on loopback whose replies stream, in all three protocols, and end as streams may end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from esac_ag.gateway.protocols import Protocol
from tests.model_server import ModelServer, Recorded, Scripted, completion, refuses

OPENAI_CHAT_USAGE = {
    "prompt_tokens": 2468,
    "completion_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 2000},
    "completion_tokens_details": {"reasoning_tokens": 15},
}
OPENAI_RESPONSES_USAGE = {
    "input_tokens": 2468,
    "output_tokens": 40,
    "input_tokens_details": {"cached_tokens": 2000},
    "output_tokens_details": {"reasoning_tokens": 15},
}
ANTHROPIC_USAGE = {
    "input_tokens": 468,
    "cache_read_input_tokens": 2000,
    "cache_creation_input_tokens": 0,
    "output_tokens": 40,
}
USAGES: dict[Protocol, dict[str, Any]] = {
    Protocol.CHAT: OPENAI_CHAT_USAGE,
    Protocol.RESPONSES: OPENAI_RESPONSES_USAGE,
    Protocol.MESSAGES: ANTHROPIC_USAGE,
}
"""The same traffic, as each provider tells of it."""


class End(Enum):
    """How a stream ends."""

    WHOLE = auto()
    CUT = auto()
    """The connection breaks in the middle."""
    SILENT = auto()
    """Nothing more comes, and the connection stays."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A reply in pieces."""

    pieces: tuple[bytes, ...]
    end: End = End.WHOLE
    gate: threading.Event | None = None
    """Awaited after the first piece."""
    headers: tuple[tuple[str, str], ...] = ()


def event(value: dict[str, Any], *, named: bool = True) -> bytes:
    """One server-sent event; named by its type, as two of the protocols do."""
    name = f"event: {value['type']}\n" if named and "type" in value else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


def pieces_of(protocol: Protocol, words: Sequence[str], usage: dict[str, Any] | None) -> tuple[bytes, ...]:
    """A whole stream that says these words; `usage=None` leaves the usage out."""
    match protocol:
        case Protocol.CHAT:
            frame = {"id": "c", "object": "chat.completion.chunk", "model": "m-1"}
            choice = {"index": 0, "finish_reason": None}
            said = [event({**frame, "choices": [{**choice, "delta": {"content": word}}]}) for word in words]
            stop = event({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            told = [event({**frame, "choices": [], "usage": usage})] if usage else []
            return (*said, stop, *told, b"data: [DONE]\n\n")
        case Protocol.RESPONSES:
            start = event({"type": "response.created", "response": {"status": "in_progress"}})
            said = [event({"type": "response.output_text.delta", "delta": word}) for word in words]
            whole: dict[str, Any] = {"status": "completed", "model": "m-1", "output": [], "usage": usage}
            return (start, *said, event({"type": "response.completed", "response": whole}))
        case Protocol.MESSAGES:
            first = {**usage, "output_tokens": 1} if usage else {}
            start = event({"type": "message_start", "message": {"model": "m-1", "usage": first}})
            delta = {"type": "text_delta"}
            said = [
                event({"type": "content_block_delta", "index": 0, "delta": {**delta, "text": word}})
                for word in words
            ]
            last = {"output_tokens": usage["output_tokens"]} if usage else {}
            end = event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last})
            return (start, *said, end, event({"type": "message_stop"}))


def streams(
    protocol: Protocol,
    words: Sequence[str] = ("one", "two"),
    *,
    told: bool = True,
    end: End = End.WHOLE,
    gate: threading.Event | None = None,
) -> Streamed:
    """A streamed reply; one that is cut or falls silent does so before its last three events."""
    pieces = pieces_of(protocol, words, USAGES[protocol] if told else None)
    return Streamed(pieces if end is End.WHOLE else pieces[:-3], end, gate)


def replies(protocol: Protocol, *, told: bool = True, **more: object) -> Scripted:
    """A whole reply in one body, not streamed."""
    usage = USAGES[protocol] if told else None
    match protocol:
        case Protocol.CHAT:
            return completion({"content": "one two"}, usage=usage)
        case Protocol.RESPONSES:
            body: dict[str, Any] = {
                "object": "response",
                "status": "completed",
                "model": "m-1",
                "output": [],
                "usage": usage,
            }
        case Protocol.MESSAGES:
            body = {"type": "message", "model": "m-1", "content": [], "usage": usage}
    return Scripted(json.dumps({**body, **more}).encode(), headers=(("content-type", "application/json"),))


class StreamingServer(ModelServer):
    """Serves a script of whole and streamed replies; the last one is repeated if `endless`."""

    def __init__(self, script: Sequence[Scripted | Streamed], *, endless: bool = False) -> None:
        super().__init__(())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = list(script)
        self._endless = endless
        self.abandoned = threading.Event()
        """Set when somebody left a stream that had fallen silent."""

    def _next(self) -> Scripted | Streamed:
        if self._endless and len(self._replies) == 1:
            return self._replies[0]
        return self._replies.pop(0) if self._replies else refuses(500, message="the script is at its end")

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = self._next()
        if isinstance(reply, Scripted):
            self._script.append(reply)
            await super()._app(scope, receive, send)
            return
        request = Request(scope, receive)
        self.requests.append(Recorded(request.url.path, dict(request.headers), await request.body()))
        await self._stream(reply, receive, send)

    async def _stream(self, reply: Streamed, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        headers += [(name.encode(), value.encode()) for name, value in reply.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for position, piece in enumerate(reply.pieces):
            if position == 1 and reply.gate is not None:
                await asyncio.to_thread(reply.gate.wait, 30)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        match reply.end:
            case End.WHOLE:
                await send({"type": "http.response.body", "body": b""})
            case End.CUT:
                return
            case End.SILENT:
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.abandoned.set()
