"""What the gateway does with each request that arrives: whose it is, whether it may pass, and its record."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, MutableMapping

import httpx
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from esac_ag.canonical import sha256_of_bytes
from esac_ag.failures import Failure, FailureClass
from esac_ag.gateway.calls import STATUSES, CallOutcome, CallRecord, CallRefused, Refusal
from esac_ag.gateway.exchange import JSON, Answer, Exchange, send_answer
from esac_ag.gateway.lanes import CallNotes, LaneState
from esac_ag.gateway.protocols import NO_RETRY, PATHS, QUERIES, Protocol, error_body, spoken_at
from esac_ag.gateway.requests import prepare

LANE_PREFIX = "/lane/"
MOST_REQUEST_BYTES = 32 * 1024 * 1024
MOST_DRAINED_BYTES = 64 * 1024 * 1024
"""How much of a refused request is read and dropped, so that its sender reads the refusal."""
REQUEST_SILENCE_S = 60.0
MOST_STRANGERS = 1000


class Incoming:
    """A request that is arriving."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.headers = Headers(scope=scope)
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self._receive = receive
        self._over = False

    async def part(self) -> bytes | None:
        """The next piece of the body; none after the last one.

        Raises:
            ConnectionError: the sender left.
        """
        if self._over:
            return None
        message = await self._receive()
        self._over = not message.get("more_body", False)
        if message["type"] == "http.disconnect":
            raise ConnectionError
        body: bytes = message.get("body", b"")
        return body

    async def until_gone(self) -> None:
        """Wait until the sender leaves."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def read(self, hold: Callable[[int], None]) -> bytes:
        """The whole body.

        Args:
            hold: is told the size of each piece, and may refuse it.

        Raises:
            CallRefused: it is too large, too slow, or its sender left.
        """
        data = bytearray()
        declared = self.headers.get("content-length", "")
        try:
            if not declared.isdecimal() or int(declared) <= MOST_REQUEST_BYTES:
                while (part := await asyncio.wait_for(self.part(), REQUEST_SILENCE_S)) is not None:
                    hold(len(part))
                    data += part
                    if len(data) > MOST_REQUEST_BYTES:
                        break
                else:
                    return bytes(data)
        except TimeoutError as error:
            raise CallRefused(Refusal.SLOW, "the request did not go on") from error
        except ConnectionError as error:
            raise CallRefused(Refusal.BODY, "the sender left before its request was whole") from error
        raise CallRefused(Refusal.TOO_LARGE, f"a request may have {MOST_REQUEST_BYTES} bytes")

    async def drain(self) -> None:
        """Read and drop what is left; a sender that is cut off in the middle reads no refusal."""
        dropped = 0
        try:
            async with asyncio.timeout(REQUEST_SILENCE_S):
                while dropped <= MOST_DRAINED_BYTES and (part := await self.part()) is not None:
                    dropped += len(part)
        except (TimeoutError, ConnectionError):
            return


class Application:
    """The ASGI application; lives in the gateway's own thread.

    Args:
        client_for: the HTTP client for an endpoint.
    """

    def __init__(self, client_for: Callable[[str], httpx.AsyncClient]) -> None:
        self.lanes: dict[str, LaneState] = {}
        """By SHA-256 of their tokens."""
        self.strangers: deque[CallRecord] = deque(maxlen=MOST_STRANGERS)
        """Calls without a known token, the latest ones."""
        self._client_for = client_for

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Incoming(scope, receive)
        token, path = _token_and_path(request)
        lane = self.lanes.get(sha256_of_bytes(token.encode("utf-8", "replace")))
        if lane is None:
            await self._turn_away(request, path, send)
        else:
            await _Visit(lane, request, path, send).run(self._client_for(lane.plan.endpoint))

    async def _turn_away(self, request: Incoming, path: str, send: Send) -> None:
        notes = CallNotes(0, request.method, path, None)
        refused = CallRefused(Refusal.TOKEN, "the gateway does not know this token")
        notes.refuse(refused)
        spoken = spoken_at(path)
        if spoken is None:
            spoken = Protocol.MESSAGES if "anthropic-version" in request.headers else Protocol.CHAT
        notes.status = STATUSES[refused.refusal]
        self.strangers.append(notes.record(CallOutcome.REFUSED))
        await _refuse(request, send, spoken, refused)


def _token_and_path(request: Incoming) -> tuple[str, str]:
    """The token of a request, by path or by header, and the path that is asked for."""
    path = request.path
    if path.startswith(LANE_PREFIX):
        token, slash, rest = path.removeprefix(LANE_PREFIX).partition("/")
        return token, slash + rest
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip(), path
    return request.headers.get("x-api-key", ""), path


class _Visit:
    """One request on a lane."""

    def __init__(self, lane: LaneState, request: Incoming, path: str, send: Send) -> None:
        self._lane = lane
        self._request = request
        self._path = path
        self._notes = lane.arrive(request.method, path)
        self._begun = False
        self._started = False
        self._held_bytes = 0
        self._plain_send = send

    async def _send(self, message: MutableMapping[str, object]) -> None:
        self._started = True
        await self._plain_send(message)

    async def run(self, http: httpx.AsyncClient) -> None:
        """Let it pass or refuse it, and write down how it ended."""
        try:
            self._check_address()
            async with self._lane.place():
                self._lane.budget.begin()
                self._begun = True
                try:
                    await self._forward(http)
                finally:
                    self._lane.let_go(self._held_bytes)
                    self._record()
        except CallRefused as refused:
            if not self._begun:
                self._note(refused)
                self._record()
            await _refuse(self._request, self._send, self._lane.plan.protocol, refused)

    def _hold(self, size_bytes: int) -> None:
        self._lane.hold(size_bytes)
        self._held_bytes += size_bytes

    def _record(self) -> None:
        self._lane.record(self._notes, begun=self._begun)

    def _note(self, refused: CallRefused) -> None:
        self._notes.refuse(refused)
        self._notes.status = STATUSES[refused.refusal]

    def _check_address(self) -> None:
        protocol = self._lane.plan.protocol
        if self._path != PATHS[protocol]:
            raise CallRefused(Refusal.PATH, f"only {PATHS[protocol]} is forwarded")
        if self._request.method != "POST":
            raise CallRefused(Refusal.METHOD, "only POST is forwarded")
        if self._request.query not in QUERIES[protocol]:
            raise CallRefused(Refusal.QUERY, "this query is not forwarded")

    async def _forward(self, http: httpx.AsyncClient) -> None:
        try:
            data = await self._request.read(self._hold)
            self._notes.request_bytes, self._notes.request_sha256 = len(data), sha256_of_bytes(data)
            prepared = prepare(data, self._lane.plan)
            self._lane.check_open()
        except CallRefused as refused:
            self._note(refused)
            raise
        exchange = Exchange(self._lane, self._notes, http, self._send)
        work = asyncio.create_task(exchange.run(prepared, self._request.headers))
        self._lane.begin(work)
        try:
            await self._watch(work, exchange)
        finally:
            # Nothing is awaited from here to the record: a lane that waits for this call sums it up too.
            self._lane.end(work)

    async def _watch(self, work: asyncio.Task[None], exchange: Exchange) -> None:
        """Wait for the exchange, and break it off when the agent leaves."""
        gone = asyncio.create_task(self._request.until_gone())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() or work.cancelled():
                # Why is judged now: the lane may be closed while the call is being cancelled.
                exchange.break_off()
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
        if not work.cancelled() and work.exception() is not None:
            await self._own_failure(type(work.exception()).__name__)

    async def _own_failure(self, kind: str) -> None:
        """The gateway itself failed, for want of disk space perhaps; the attempt is not to blame."""
        if self._notes.outcome is None:
            failure = Failure(FailureClass.TRANSPORT, f"the gateway itself failed: {kind}")
            self._notes.fail(CallOutcome.SERVICE_FAILED, failure)
        if not self._started:
            body = error_body(self._lane.plan.protocol, 500, "gateway", "the gateway failed")
            self._notes.status = 500
            await send_answer(self._send, Answer(500, JSON, body))


async def _refuse(request: Incoming, send: Send, protocol: Protocol, refused: CallRefused) -> None:
    """Answer with a refusal, in the protocol's own form."""
    await request.drain()
    status = STATUSES[refused.refusal]
    body = error_body(protocol, status, refused.refusal.value, refused.message)
    await send_answer(send, Answer(status, [*JSON, NO_RETRY], body))
