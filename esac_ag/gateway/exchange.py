"""One forwarded call: the request to the provider, and its reply back to the agent as it comes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

import httpx
from starlette.datastructures import Headers
from starlette.types import Send

from esac_ag import clock
from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Seeds
from esac_ag.failures import Failure, FailureClass, classify, delay_s
from esac_ag.gateway.bodies import KeptBody
from esac_ag.gateway.calls import CallOutcome
from esac_ag.gateway.lanes import CallNotes, LaneState
from esac_ag.gateway.protocols import error_body, headers_to_agent, headers_to_provider
from esac_ag.gateway.replies import ReplyFacts, ReplyReader
from esac_ag.gateway.requests import Prepared

CONNECT_TIMEOUT_S = 30.0
MOST_REPLY_BYTES = 256 * 1024 * 1024
MOST_FAILURE_BYTES = 1024 * 1024
JSON = [("content-type", "application/json")]
_OWN_FAULTS = frozenset({FailureClass.CONTEXT_FULL, FailureClass.FILTERED, FailureClass.REJECTED})
_OWN_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_ACCEPTABLE,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    }
)
"""Statuses that say that the request was wrong: the agent made it."""
_PASSING = frozenset({FailureClass.RATE_LIMITED, FailureClass.OVERLOADED, FailureClass.TRANSPORT})
"""What may pass, and of which no reply has begun: the same request is sent again."""


class Answer(NamedTuple):
    """A whole answer that is given to the agent at once."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class _NoReply(NamedTuple):
    """A send that brought no reply."""

    failure: Failure
    answer: Answer
    """What the agent is told if it is not sent again."""
    is_own_fault: bool
    """Whether the provider refused what the agent asked."""


async def send_answer(send: Send, answer: Answer) -> None:
    """Give an agent a whole answer."""
    headers = [*answer.headers, ("content-length", str(len(answer.body)))]
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": answer.body})


class Exchange:
    """Forwards one prepared request; what happens is noted.

    Args:
        lane: whose call it is.
        notes: of the call.
        http: the client for the provider.
        send: gives to the agent.
    """

    def __init__(self, lane: LaneState, notes: CallNotes, http: httpx.AsyncClient, send: Send) -> None:
        self._lane = lane
        self._notes = notes
        self._http = http
        self._send = send
        self._reader: ReplyReader | None = None
        self._last_byte_s = clock.monotonic_s()
        self._jitter = Seeds(clock.opaque_id()).stream("backoff")
        self._passing: Failure | None = None
        """Of the last send, when it failed in a way that may pass."""

    async def run(self, prepared: Prepared, asked: Headers) -> None:
        """Send the request and pass the reply on."""
        plan, notes = self._lane.plan, self._notes
        notes.model, notes.decoding, notes.changes = prepared.model, prepared.decoding, prepared.changes
        notes.request_sha256, notes.request_bytes = sha256_of_bytes(prepared.body), len(prepared.body)
        with self._kept("request") as kept:
            if kept is not None:
                notes.request_file = kept.name
                kept.feed(prepared.body)
        headers = headers_to_provider(asked, plan.protocol, plan.sent_key_header, plan.key)
        waited_s = 0.0
        while (failed := await self._try(prepared.body, headers)) is not None:
            pause_s = delay_s(failed.failure, notes.sends, self._jitter.random())
            waited_s += pause_s
            self._passing = failed.failure if failed.failure.kind in _PASSING else None
            if self._passing is None or notes.sends >= plan.attempts or waited_s > plan.max_wait_s:
                self._give_up(failed)
                await self._answer(failed.answer)
                return
            await asyncio.sleep(pause_s)

    async def _try(self, body: bytes, headers: list[tuple[str, str]]) -> _NoReply | None:
        """Send the request once; none when a reply was passed on."""
        plan = self._lane.plan
        self._notes.sends += 1
        self._last_byte_s = clock.monotonic_s()
        request = self._http.build_request(
            "POST",
            plan.endpoint,
            content=body,
            headers=headers,
            timeout=httpx.Timeout(plan.silence_s, connect=CONNECT_TIMEOUT_S, pool=None),
        )
        try:
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return self._failed(_transport_failure(error))
        try:
            return await self._pass_on(response)
        finally:
            await response.aclose()

    async def _pass_on(self, response: httpx.Response) -> _NoReply | None:
        encoding = response.headers.get("content-encoding", "identity")
        if response.status_code != HTTPStatus.OK:
            return await self._read_failure(response, readable=encoding == "identity")
        if encoding != "identity":
            return self._failed(
                Failure(FailureClass.BROKEN_REPLY, f"content encoding {encoding}, which was not asked for")
            )
        with self._kept("reply") as kept:
            await self._pass_reply(response, kept)
        return None

    async def _pass_reply(self, response: httpx.Response, kept: KeptBody | None) -> None:
        """Pass a reply on, piece by piece; a cut one is given as a cut one."""
        notes = self._notes
        notes.streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        notes.reply_file = kept.name if kept else None
        self._passing = None
        self._reader = reader = ReplyReader(self._lane.plan.protocol, streamed=notes.streamed)
        mask, digest = self._lane.mask.incremental(), hashlib.sha256()
        notes.reply_bytes, notes.status = 0, response.status_code
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in headers_to_agent(response.headers.multi_items())
            if value == self._lane.mask.text(value)
        ]
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": headers})

        async def give(data: bytes) -> None:
            if not data:
                return
            reader.feed(data)
            if notes.first_token_s is None and reader.spoke:
                notes.first_token_s = clock.monotonic_s() - notes.arrived_s
            digest.update(data)
            notes.reply_bytes = (notes.reply_bytes or 0) + len(data)
            if kept is not None:
                kept.feed(data)
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

        cut: Failure | None = None
        try:
            async for chunk in response.aiter_raw():
                self._last_byte_s = clock.monotonic_s()
                await give(mask.feed(chunk))
                if (notes.reply_bytes or 0) > MOST_REPLY_BYTES:
                    cut = Failure(FailureClass.BROKEN_REPLY, "the reply is too large")
                    break
        except (httpx.HTTPError, OSError) as error:
            cut = _cut_failure(error)
        finally:
            notes.reply_sha256 = digest.hexdigest()
        await give(mask.flush())
        notes.reply_sha256 = digest.hexdigest()
        self._conclude(reader.facts(cut))
        if cut is None:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _conclude(self, facts: ReplyFacts) -> None:
        """Note what a reply was worth."""
        notes = self._notes
        notes.usage, notes.answered_by, notes.standard_tier = facts.usage, facts.model, facts.is_standard_tier
        if facts.failure is None:
            notes.outcome = CallOutcome.ANSWERED
            return
        own = facts.failure.kind in _OWN_FAULTS
        notes.fail(CallOutcome.OWN_FAULT if own else CallOutcome.SERVICE_FAILED, facts.failure)

    async def _read_failure(self, response: httpx.Response, *, readable: bool) -> _NoReply:
        """Read an answer that is no reply; what may quote the key or leads away is told in our words."""
        status = response.status_code
        data = await _beginning(response) if readable else b""
        headers = headers_to_agent(response.headers.multi_items())
        failure = classify(status, response.headers, data, now=datetime.fromisoformat(clock.now()))
        protocol = self._lane.plan.protocol
        if failure.kind is FailureClass.CREDENTIALS:
            # Providers quote parts of a key that they do not know.
            failure = Failure(failure.kind, f"HTTP {status}")
            data = error_body(
                protocol, status, "credentials", "the provider refused the gateway's credentials"
            )
        elif status < HTTPStatus.BAD_REQUEST:
            failure = Failure(FailureClass.REJECTED, f"HTTP {status}")
            what = f"the provider answered with status {status}"
            data, status = (
                error_body(protocol, HTTPStatus.BAD_GATEWAY, "no_reply", what),
                HTTPStatus.BAD_GATEWAY,
            )
        elif not data:
            data = error_body(protocol, status, "no_reply", f"the provider answered with status {status}")
        own = status in _OWN_STATUSES and failure.kind in _OWN_FAULTS
        kept_headers = [header for header in headers if header[0] != "content-type"]
        return _NoReply(failure, Answer(status, [*kept_headers, *JSON], data), is_own_fault=own)

    def _failed(self, failure: Failure) -> _NoReply:
        """What an agent is told, in its protocol, when there is no reply."""
        late = failure.kind is FailureClass.TIMED_OUT
        status = HTTPStatus.GATEWAY_TIMEOUT if late else HTTPStatus.BAD_GATEWAY
        what = "the model's provider cannot be reached or gave no usable reply"
        body = error_body(self._lane.plan.protocol, status, failure.kind.value, what)
        return _NoReply(failure, Answer(status, JSON, body), is_own_fault=False)

    def _give_up(self, failed: _NoReply) -> None:
        outcome = CallOutcome.OWN_FAULT if failed.is_own_fault else CallOutcome.SERVICE_FAILED
        self._notes.fail(outcome, failed.failure)

    async def _answer(self, answer: Answer) -> None:
        notes = self._notes
        clean = answer._replace(
            body=self._lane.mask.whole(answer.body),
            headers=[(name, self._lane.mask.text(value)) for name, value in answer.headers],
        )
        notes.status, notes.reply_bytes = clean.status, len(clean.body)
        notes.reply_sha256 = sha256_of_bytes(clean.body)
        with self._kept("reply") as kept:
            if kept is not None:
                notes.reply_file = kept.name
                kept.feed(clean.body)
        await send_answer(self._send, clean)

    def break_off(self) -> None:
        """Note that the agent left, or that its lane was closed, before the reply was done."""
        if self._notes.outcome is not None:
            return
        if self._reader is not None:
            facts = self._reader.facts()
            if self._reader.is_whole and facts.usage.output_tokens is not None:
                # Without it the agent left before the usage came, which follows the last word of a chat.
                self._conclude(facts)
                return
            self._notes.usage, self._notes.answered_by = facts.usage, facts.model
        silent_s = clock.monotonic_s() - self._last_byte_s
        if self._passing is not None:
            # The attempt's time ran out, or the agent's patience, while the service was down.
            self._notes.fail(CallOutcome.SERVICE_FAILED, self._passing)
        elif self._lane.closed:
            self._notes.outcome = CallOutcome.CLOSED
        elif silent_s >= self._lane.plan.silent_after_s:
            what = f"the provider said nothing for {silent_s:.0f} s, and the agent left"
            self._notes.fail(CallOutcome.SERVICE_FAILED, Failure(FailureClass.TIMED_OUT, what))
        else:
            self._notes.outcome = CallOutcome.HUNG_UP
            self._notes.detail = "the agent left before the reply was whole"

    @contextmanager
    def _kept(self, side: str) -> Iterator[KeptBody | None]:
        kept = self._lane.bodies.begin(f"{self._notes.number:05d}-{side}")
        try:
            yield kept
        finally:
            if kept is not None:
                kept.close()


def _transport_failure(error: Exception) -> Failure:
    """Why no answer began."""
    silent = isinstance(error, httpx.ReadTimeout)
    kind = FailureClass.TIMED_OUT if silent else FailureClass.TRANSPORT
    return Failure(kind, f"{type(error).__name__}: {error}")


def _cut_failure(error: Exception) -> Failure:
    """Why a reply did not go on."""
    silent = isinstance(error, httpx.ReadTimeout)
    kind = FailureClass.TIMED_OUT if silent else FailureClass.TRUNCATED
    return Failure(kind, f"{type(error).__name__}: {error}")


async def _beginning(response: httpx.Response) -> bytes:
    """As much of a body as came, up to a cap."""
    data = bytearray()
    try:
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MOST_FAILURE_BYTES:
                break
    except (httpx.HTTPError, OSError):
        pass
    return bytes(data[:MOST_FAILURE_BYTES])
