"""A provider on loopback that plays a model at work with a command-line agent, or a service that fails.

The model looks at the tools that the request offers, and calls the agent's own shell: it edits, tests, and is
done. What it has done already it counts by the results that the request holds, so an agent may ask again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from esac_ag.gateway.protocols import ENDPOINTS, Protocol
from tests.command_replies import Said, error_of, streamed, whole
from tests.model_server import Recorded, Scripted, never
from tests.streaming_server import End, Streamed, StreamingServer

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""How mini-swe-agent is told that the work is done."""
SHELLS = {"Bash": "command", "exec_command": "cmd", "bash": "command"}
"""Shells of Claude Code, Codex, and both others, with the argument that holds the command."""
BABBLED = "Again "
BABBLING_S = 0.02
JSON = (("content-type", "application/json"),)
RETRY_AFTER = (("retry-after", "1"),)


class Scenario(StrEnum):
    """What the provider plays."""

    WORKS = "works"
    STATUS_401 = "status-401"
    STATUS_429 = "status-429"
    STATUS_500 = "status-500"
    CUT = "cut"
    """Every reply breaks off in its middle."""
    SILENCE = "silence"
    """Headers, and then nothing."""
    ENDLESS = "endless"
    """Every reply is another call."""
    BABBLES = "babbles"
    """The first reply goes on without an end."""
    RECOVERS_429 = "recovers-429"
    RECOVERS_500 = "recovers-500"
    """The first request fails, the others work."""


_ALWAYS = {Scenario.STATUS_401: 401, Scenario.STATUS_429: 429, Scenario.STATUS_500: 500}
_ONCE = {Scenario.RECOVERS_429: 429, Scenario.RECOVERS_500: 500}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is about, whichever protocol it comes by."""

    protocol: Protocol
    body: dict[str, Any]

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return str(self.body["model"])

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the agent offers; types of those without a name."""
        tools = [tool.get("function", tool) for tool in self.body.get("tools") or ()]
        return tuple(str(tool.get("name") or tool.get("type")) for tool in tools)

    @property
    def results(self) -> int:
        """How many results of calls it holds."""
        match self.protocol:
            case Protocol.CHAT:
                return sum(message["role"] == "tool" for message in self.body["messages"])
            case Protocol.RESPONSES:
                return sum(item.get("type") == "function_call_output" for item in self.body["input"])
            case Protocol.MESSAGES:
                contents = [message["content"] for message in self.body["messages"]]
                blocks = [block for content in contents if isinstance(content, list) for block in content]
                return sum(block["type"] == "tool_result" for block in blocks)
            case _:
                assert_never(self.protocol)

    @property
    def submits(self) -> bool:
        """Whether the agent ends by a command rather than by a message."""
        return SUBMIT in json.dumps(self.body["messages"]) if self.protocol is Protocol.CHAT else False

    def shell(self, command: str) -> tuple[str, dict[str, object]]:
        """The call of the agent's shell that runs a command.

        Raises:
            AssertionError: it offers none that is known.
        """
        for name, argument in SHELLS.items():
            if name in self.tools:
                described = {} if name == "exec_command" else {"description": "Work on the task"}
                return name, {argument: command, **described}
        raise AssertionError(f"no shell among the tools {self.tools}")


class CommandModel(StreamingServer):
    """Plays one scenario.

    Args:
        scenario: what is played.
        key: the only key that is taken; any other is answered with 401.
        commands: what the model runs, one after the other.
        meanwhile: is called once, while an agent waits for the second reply.
        was_asked: is set by the first request.
    """

    def __init__(
        self,
        scenario: Scenario,
        key: str,
        commands: Sequence[str],
        *,
        meanwhile: Callable[[], None] = lambda: None,
        was_asked: threading.Event | None = None,
    ) -> None:
        super().__init__(())
        self._meanwhile: Callable[[], None] | None = meanwhile
        self._scenario = scenario
        self._key = key
        self._commands = tuple(commands)
        self.said: list[Said] = []
        """Replies that were sent as a whole."""
        self.strangers: list[Recorded] = []
        """Requests without the key."""
        self._was_asked = was_asked or threading.Event()

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        recorded = Recorded(request.url.path, dict(request.headers), await request.body())
        self.requests.append(recorded)
        self._was_asked.set()
        reply = self._reply(recorded)
        if self._meanwhile is not None and len(self.said) > 1:
            meanwhile, self._meanwhile = self._meanwhile, None
            await asyncio.to_thread(meanwhile)
        if self._scenario is Scenario.BABBLES:
            await _babble(reply, request, send)
        elif isinstance(reply, Streamed):
            await self._stream(reply, receive, send)
        else:
            await self._give(reply, scope, receive, send)

    def _reply(self, request: Recorded) -> Scripted | Streamed:
        protocol = next((p for p, path in ENDPOINTS.items() if request.path == f"/v1{path}"), None)
        if protocol is None:
            return Scripted(b"{}", 404, JSON)
        if self._key not in (
            request.headers.get("x-api-key"),
            request.headers.get("authorization", "").removeprefix("Bearer "),
        ):
            self.strangers.append(request)
            return Scripted(error_of(protocol, 401, self._key), 401, JSON)
        status = _ALWAYS.get(self._scenario)
        if len(self.requests) == 1:
            status = status or _ONCE.get(self._scenario)
        if status is not None:
            headers = JSON + (RETRY_AFTER if status == 429 else ())
            return Scripted(error_of(protocol, status, self._key), status, headers)
        return self._spoken(Asked(protocol, request.json))

    def _spoken(self, asked: Asked) -> Scripted | Streamed:
        """The reply of a model that is there."""
        said = self._next_words(asked)
        wants_stream = asked.body.get("stream") is True
        match self._scenario:
            case Scenario.SILENCE:
                return Streamed((), End.SILENT) if wants_stream else never()
            case Scenario.CUT if wants_stream:
                pieces = streamed(asked.protocol, said)
                return Streamed(pieces[: len(pieces) // 2], End.CUT)
            case Scenario.CUT:
                body = whole(asked.protocol, said)
                return Scripted(body[: len(body) // 2], headers=JSON, missing_bytes=len(body) // 2)
            case Scenario.BABBLES:
                pass
            case _:
                self.said.append(said)
        if wants_stream:
            told = bool((asked.body.get("stream_options") or {}).get("include_usage"))
            return Streamed(streamed(asked.protocol, said, told=told))
        return Scripted(whole(asked.protocol, said), headers=JSON)

    def _next_words(self, asked: Asked) -> Said:
        done = asked.results
        if self._scenario is Scenario.BABBLES:
            return Said(done, asked.model, BABBLED)
        if not asked.tools:
            return Said(done, asked.model, "A repair of the sum")
        if self._scenario is Scenario.ENDLESS:
            return Said(done, asked.model, f"Step {done}.", *asked.shell(f"echo step {done}"))
        commands = (*self._commands, SUBMIT) if asked.submits else self._commands
        if done < len(commands):
            return Said(done, asked.model, f"Step {done}.", *asked.shell(commands[done]))
        return Said(done, asked.model, "The sum is right now, and its test passes.")


async def _babble(reply: Scripted | Streamed, request: Request, send: Send) -> None:
    """Say the reply's first words again and again, until nobody listens."""
    if isinstance(reply, Streamed):
        spoken = next(n for n, piece in enumerate(reply.pieces) if BABBLED.encode() in piece)
        head, again = b"".join(reply.pieces[:spoken]), reply.pieces[spoken]
        content_type = b"text/event-stream; charset=utf-8"
    else:
        before, _, _ = reply.body.partition(BABBLED.encode())
        head, again, content_type = before, BABBLED.encode(), b"application/json"
    headers = [(b"content-type", content_type)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": head, "more_body": True})
    while not await request.is_disconnected():
        await send({"type": "http.response.body", "body": again, "more_body": True})
        await asyncio.sleep(BABBLING_S)
