"""The wire of the chat agent: one request, sent until it is answered or given up.

Replies are untrusted: their size is capped, their time is capped from the first to the last byte, redirects
are not followed (the key would go with them), and nothing compressed is taken.

Time that the service takes (sends that fail, pauses between them) can be kept apart from the model's own.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self

import httpx

from esac_ag import clock
from esac_ag.agents.replies import BrokenReply, Reply, ToldError, read_reply
from esac_ag.clock import Deadline
from esac_ag.failures import Consequence, Failure, FailureClass, classify, delay_s, told_in_reply

MOST_REPLY_BYTES = 16 * 1024 * 1024
CONNECT_TIMEOUT_S = 30.0
POLL_S = 0.2
"""How often a waiting client asks whether it was cancelled."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often one request is tried."""

    attempts: int
    max_wait_s: float
    request_timeout_s: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A usable reply, and the body that it was read from."""

    reply: Reply
    body: bytes


@dataclass(frozen=True, slots=True)
class GivenUp:
    """No reply, for the last failure's reason."""

    failure: Failure
    attempts: int


@dataclass(frozen=True, slots=True)
class OutOfTime:
    """The deadline passed while the model was thinking, and the service had taken nothing of that time."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A person stopped the study."""


Answer = Answered | GivenUp | OutOfTime | Cancelled


class _Stopped(Exception):
    """Internal: cancelled while waiting."""


class ChatClient:
    """Sends chat-completion requests; use as a context manager, in one thread.

    Args:
        endpoint: the whole address.
        key: the API key, or empty for none.
        patience: attempts and times.
        notice: told of every failed attempt.
        jitter: random numbers from 0 to 1.
        cancelled: whether to stop; asked several times a second.
        sleep_s: waits; replaced in tests.
    """

    def __init__(
        self,
        endpoint: str,
        key: str,
        patience: Patience,
        *,
        notice: Callable[[str], None],
        jitter: Callable[[], float],
        cancelled: Callable[[], bool],
        sleep_s: Callable[[float], None] = clock.sleep_s,
    ) -> None:
        self._endpoint = endpoint
        self._patience = patience
        self._notice = notice
        self._jitter = jitter
        self._cancelled = cancelled
        self._sleep_s = sleep_s
        self.retries = 0
        """Requests that were sent again, over all that this client was asked for."""
        self.lost_s = 0.0
        """Time that failed sends and the pauses after them took, over all requests."""
        self._is_sent = False
        """Whether there was a connection, and the current request was begun on it."""
        self._runner = asyncio.Runner()
        self._http = _http_client(endpoint, key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._runner:
            self._runner.run(self._http.aclose())

    def complete(self, body: bytes, deadline: Deadline, *, spared: bool = False) -> Answer:
        """Send one request, the same bytes each time, until it is answered or given up.

        Args:
            body: the request.
            deadline: when to give up at the latest.
            spared: whether the deadline is of the model's own time: what the service takes moves it
                (`moved`), and one reply may take all that is left of it.
        """
        waited_s = 0.0
        attempt = 0
        while True:
            attempt += 1
            began_s = clock.monotonic_s()
            until = self.moved(deadline) if spared else deadline
            reply_by = until if spared else until.earlier(self._patience.request_timeout_s)
            try:
                outcome = self._runner.run(self._send_watched(body, reply_by))
            except _Stopped:
                return Cancelled()
            if isinstance(outcome, Answered):
                return outcome
            is_models_time = spared or attempt == 1
            if outcome.kind is FailureClass.TIMED_OUT and until.has_passed() and is_models_time:
                return OutOfTime()
            self._notice(f"model call failed ({outcome.kind.value}, attempt {attempt}): {outcome.detail}")
            pause_s = delay_s(outcome, attempt, self._jitter())
            waited_s += pause_s
            is_too_late = not spared and pause_s >= deadline.remaining_s()
            if is_too_late or self._is_final(outcome, attempt, waited_s):
                return GivenUp(outcome, attempt)
            if not self.pause(pause_s):
                return Cancelled()
            self.retries += 1
            self.lost_s += clock.monotonic_s() - began_s

    def moved(self, deadline: Deadline) -> Deadline:
        """The deadline, later by all time that the service took so far."""
        return Deadline(deadline.at_s + self.lost_s)

    def _is_final(self, failure: Failure, attempt: int, waited_s: float) -> bool:
        """Whether a failure is not retried, or not once more."""
        is_passing = failure.consequence is Consequence.RETRY
        return not is_passing or attempt >= self._patience.attempts or waited_s > self._patience.max_wait_s

    def pause(self, pause_s: float) -> bool:
        """Wait in short steps; false when cancelled."""
        left_s = pause_s
        while left_s > 0:
            if self._cancelled():
                return False
            self._sleep_s(min(POLL_S, left_s))
            left_s -= POLL_S
        return not self._cancelled()

    async def _send_watched(self, body: bytes, until: Deadline) -> Answered | Failure:
        """Send within the time for one reply, watching for cancellation."""
        self._is_sent = False
        task = asyncio.ensure_future(self._send(body))
        try:
            while not task.done():
                if self._cancelled():
                    raise _Stopped
                if until.has_passed():
                    return self._too_late()
                await asyncio.wait({task}, timeout=min(POLL_S, until.remaining_s()))
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _too_late(self) -> Failure:
        """What a send is whose time has passed: a model cannot be slow that nothing has reached."""
        if self._is_sent:
            return Failure(FailureClass.TIMED_OUT, "no complete reply in time")
        return Failure(FailureClass.TRANSPORT, "no connection in time")

    async def _watch(self, event: str, _facts: object) -> None:
        """Told by the transport what it does."""
        self._is_sent = self._is_sent or event.endswith("send_request_headers.started")

    async def _send(self, body: bytes) -> Answered | Failure:
        watched = {"trace": self._watch}
        try:
            async with self._http.stream(
                "POST", self._endpoint, content=body, extensions=watched
            ) as response:
                data, fault = await _read_body(response)
                headers = response.headers
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Failure(FailureClass.TRANSPORT, f"{type(error).__name__}: {error}")
        if response.status_code != httpx.codes.OK:
            return classify(response.status_code, headers, data, now=datetime.fromisoformat(clock.now()))
        return fault or _read(data, headers)


async def _read_body(response: httpx.Response) -> tuple[bytes, Failure | None]:
    """The body up to the cap, and what is wrong with it."""
    data = bytearray()
    try:
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MOST_REPLY_BYTES:
                return bytes(data), Failure(FailureClass.BROKEN_REPLY, "the reply is too large")
    except httpx.TransportError as error:
        return bytes(data), Failure(FailureClass.TRUNCATED, f"{type(error).__name__}: {error}")
    return bytes(data), None


def _read(data: bytes, headers: Mapping[str, str]) -> Answered | Failure:
    encoding = headers.get("content-encoding", "identity")
    if encoding != "identity":
        return Failure(FailureClass.BROKEN_REPLY, f"content encoding {encoding}, which was not asked for")
    try:
        return Answered(read_reply(data), data)
    except ToldError as told:
        return told_in_reply(told.error, headers, now=datetime.fromisoformat(clock.now()))
    except BrokenReply as error:
        return Failure(FailureClass.BROKEN_REPLY, str(error))


def _http_client(endpoint: str, key: str) -> httpx.AsyncClient:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    loopback = httpx.URL(endpoint).host in {"127.0.0.1", "::1", "localhost"}
    return httpx.AsyncClient(
        headers=headers,
        follow_redirects=False,
        # The whole reply has one time limit (`_send_watched`), however slowly its bytes arrive.
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
        # A proxy of the environment is no way to a server on this machine.
        trust_env=not loopback,
        verify=ssl.create_default_context(),
    )
