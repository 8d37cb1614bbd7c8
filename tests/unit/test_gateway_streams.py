"""Streams through the gateway: unbuffered, cut as they were cut, left when the agent leaves, many at once."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from esac_ag.attempt import LimitKind, Outcome
from esac_ag.failures import FailureClass
from esac_ag.gateway.bodies import read_body
from esac_ag.gateway.calls import CallOutcome, EndingKind
from esac_ag.gateway.protocols import PATHS, Protocol
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Limits
from tests.builders_gateway import Agent, a_lane_plan, a_request, an_agent
from tests.model_server import never, says
from tests.streaming_server import End, Streamed, StreamingServer, event, streams

EACH = pytest.mark.parametrize("protocol", list(Protocol))


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all, as in a study."""
    with Gateway(port=0) as serving:
        yield serving


def leave_after_the_first_piece(agent: Agent) -> None:
    """Begin a streamed call and close the connection when its first piece has come."""
    body = a_request(agent.protocol, stream=True)
    with agent.http.stream("POST", PATHS[agent.protocol], json=body) as answer:
        next(answer.iter_raw())


@EACH
def test_a_stream_is_passed_on_and_metered(gateway: Gateway, protocol: Protocol, tmp_path: Path) -> None:
    """The same bytes; usage in our form, the same traffic reading the same in each protocol."""
    reply = streams(protocol)
    with StreamingServer([reply]) as server, an_agent(gateway, server, protocol, folder=tmp_path) as agent:
        answer = agent.asks(stream=True)
        summary = agent.closes()
    (call,) = summary.calls
    assert answer.content == b"".join(reply.pieces)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    usage = summary.usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (2468, 2000, 40)
    assert usage.cache_write_tokens == (0 if protocol is Protocol.MESSAGES else None)
    assert (call.streamed, call.outcome, call.answered_by) == (True, CallOutcome.ANSWERED, "m-1")
    assert call.first_token_s is not None
    assert call.first_token_s <= call.latency_s
    assert read_body(tmp_path / str(call.reply_file)) == answer.content


@EACH
def test_a_piece_is_passed_on_before_the_next_one_comes(gateway: Gateway, protocol: Protocol) -> None:
    """Nothing waits in the gateway: the server goes on only after the agent has the first piece."""
    gate = threading.Event()
    with (
        StreamingServer([streams(protocol, gate=gate)]) as server,
        an_agent(gateway, server, protocol) as agent,
        agent.http.stream("POST", PATHS[protocol], json=a_request(protocol, stream=True)) as answer,
    ):
        pieces = answer.iter_raw()
        first = next(pieces)
        gate.set()
        rest = b"".join(pieces)
    assert first == streams(protocol).pieces[0]
    assert first + rest == b"".join(streams(protocol).pieces)


def test_chat_streams_are_asked_for_their_usage(gateway: Gateway) -> None:
    """Chat completions tell it only then; the agent's other options stay."""
    with StreamingServer([streams(Protocol.CHAT)]) as server, an_agent(gateway, server) as agent:
        agent.asks(stream=True, stream_options={"include_usage": False, "x": 1})
        (call,) = agent.closes().calls
    assert server.requests[0].json["stream_options"] == {"include_usage": True, "x": 1}
    assert call.changes == ("stream_options.include_usage set, to meter the reply",)


@EACH
def test_a_cut_stream_is_given_as_cut(gateway: Gateway, protocol: Protocol) -> None:
    """The agent's client sees it break, and it is the service's failure; its tokens are lost, not zero."""
    with (
        StreamingServer([streams(protocol, ("a", "b", "c"), end=End.CUT)]) as server,
        an_agent(gateway, server, protocol) as agent,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            agent.asks(stream=True)
        summary = agent.closes()
    assert (summary.calls[0].outcome, summary.calls[0].failure) == (
        CallOutcome.SERVICE_FAILED,
        FailureClass.TRUNCATED,
    )
    assert (summary.lost_replies, summary.usage.output_tokens) == (1, None)
    assert summary.ending.outcome is Outcome.INFRA


@EACH
def test_a_stream_without_its_last_event_is_a_cut_one(gateway: Gateway, protocol: Protocol) -> None:
    """Some proxies end a broken stream as if it were whole."""
    ended = Streamed(streams(protocol, ("a", "b", "c")).pieces[:-3])
    with StreamingServer([ended]) as server, an_agent(gateway, server, protocol) as agent:
        agent.asks(stream=True)
        (call,) = agent.closes().calls
    assert call.failure is FailureClass.TRUNCATED


@pytest.mark.parametrize(
    ("protocol", "told", "failure", "outcome"),
    [
        (
            Protocol.MESSAGES,
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            FailureClass.OVERLOADED,
            CallOutcome.SERVICE_FAILED,
        ),
        (
            Protocol.RESPONSES,
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "rate_limit_exceeded"}},
            },
            FailureClass.RATE_LIMITED,
            CallOutcome.SERVICE_FAILED,
        ),
        (
            Protocol.RESPONSES,
            {"type": "error", "code": "context_length_exceeded", "message": "too long"},
            FailureClass.CONTEXT_FULL,
            CallOutcome.OWN_FAULT,
        ),
        (
            Protocol.CHAT,
            {"error": {"code": 502, "message": "upstream"}},
            FailureClass.OVERLOADED,
            CallOutcome.SERVICE_FAILED,
        ),
    ],
)
def test_an_error_inside_of_a_stream_is_classed(
    gateway: Gateway,
    protocol: Protocol,
    told: dict[str, object],
    failure: FailureClass,
    outcome: CallOutcome,
) -> None:
    """Its status was 200 before the provider knew."""
    reply = Streamed((*streams(protocol).pieces[:1], event(told)))
    with StreamingServer([reply]) as server, an_agent(gateway, server, protocol) as agent:
        agent.asks(stream=True)
        (call,) = agent.closes().calls
    assert (call.failure, call.outcome) == (failure, outcome)


@EACH
def test_an_endless_silence_ends_as_the_services_failure(gateway: Gateway, protocol: Protocol) -> None:
    """After the plan's time the stream is cut, and the provider's connection is closed."""
    with (
        StreamingServer([streams(protocol, ("a", "b", "c"), end=End.SILENT)]) as server,
        an_agent(gateway, server, protocol, silence_s=0.2) as agent,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            agent.asks(stream=True)
        assert server.abandoned.wait(10)
        (call,) = agent.closes().calls
    assert (call.outcome, call.failure) == (CallOutcome.SERVICE_FAILED, FailureClass.TIMED_OUT)


def test_a_provider_that_never_answers_is_told_as_a_time_out(gateway: Gateway) -> None:
    """Without a first byte there is a whole answer of our own."""
    with (
        StreamingServer([never()]) as server,
        an_agent(gateway, server, Protocol.MESSAGES, silence_s=0.2) as agent,
    ):
        answer = agent.asks(stream=True)
        (call,) = agent.closes().calls
    assert (answer.status_code, answer.json()["error"]["type"]) == (504, "timeout_error")
    assert call.failure is FailureClass.TIMED_OUT


@EACH
def test_an_agent_that_leaves_cancels_the_call(gateway: Gateway, protocol: Protocol) -> None:
    """The provider's connection is closed; the tokens are unknown, which is the agent's own doing."""
    with (
        StreamingServer([streams(protocol, ("a", "b", "c"), end=End.SILENT), says("x")]) as server,
        an_agent(gateway, server, protocol, limits=Limits(output_tokens=1000)) as agent,
    ):
        leave_after_the_first_piece(agent)
        assert server.abandoned.wait(10)
        refused = agent.asks()
        summary = agent.closes()
    assert (refused.status_code, summary.calls[0].outcome) == (400, CallOutcome.HUNG_UP)
    assert (summary.ending.kind, summary.ending.limit) == (EndingKind.HUNG_UP, LimitKind.OUTPUT_TOKENS)
    assert summary.ending.outcome is Outcome.AGENT_ERROR
    assert summary.usage.output_tokens is None


def test_an_agent_that_leaves_a_silent_provider_was_failed_by_it(gateway: Gateway) -> None:
    """Agents have time limits of their own: what was silent for long is the service's failure."""
    with (
        StreamingServer([streams(Protocol.CHAT, ("a", "b", "c"), end=End.SILENT)]) as server,
        an_agent(gateway, server, silent_after_s=0.0) as agent,
    ):
        leave_after_the_first_piece(agent)
        assert server.abandoned.wait(10)
        summary = agent.closes()
    assert (summary.calls[0].failure, summary.ending.kind) == (FailureClass.TIMED_OUT, EndingKind.INFRA)


@EACH
def test_an_agent_may_leave_after_the_last_event(gateway: Gateway, protocol: Protocol) -> None:
    """Clients close when the reply is whole, before the connection's own end: that is no hanging up."""
    pieces = streams(protocol).pieces
    with (
        StreamingServer([Streamed(pieces, End.SILENT)]) as server,
        an_agent(gateway, server, protocol) as agent,
    ):
        body, came = a_request(protocol, stream=True), b""
        with agent.http.stream("POST", PATHS[protocol], json=body) as answer:
            for piece in answer.iter_raw():
                came += piece
                if came == b"".join(pieces):
                    break
        assert server.abandoned.wait(10)
        summary = agent.closes()
    assert summary.calls[0].outcome is CallOutcome.ANSWERED
    assert summary.usage.output_tokens == 40


def test_closing_a_lane_breaks_off_what_is_under_way(gateway: Gateway) -> None:
    """At an attempt's deadline: recorded as broken off, and nobody's failure."""
    with (
        StreamingServer([streams(Protocol.CHAT, ("a", "b", "c"), end=End.SILENT)]) as server,
        an_agent(gateway, server) as agent,
        agent.http.stream("POST", PATHS[Protocol.CHAT], json=a_request(Protocol.CHAT, stream=True)) as answer,
    ):
        pieces = answer.iter_raw()
        next(pieces)
        summary = agent.closes()
        with pytest.raises(httpx.RemoteProtocolError):
            list(pieces)
        assert server.abandoned.wait(10)
    assert [call.outcome for call in summary.calls] == [CallOutcome.CLOSED]
    assert (summary.lost_replies, summary.ending.kind) == (1, EndingKind.CLEAR)


def test_leaving_the_gateway_closes_its_lanes() -> None:
    """No call is left under way, and the summary can still be had."""
    with StreamingServer([streams(Protocol.CHAT, ("a", "b", "c"), end=End.SILENT)]) as server:
        with Gateway(port=0) as own, an_agent(own, server) as agent:
            answer = agent.http.stream(
                "POST", PATHS[Protocol.CHAT], json=a_request(Protocol.CHAT, stream=True)
            )
            with answer as open_answer:
                next(open_answer.iter_raw())
        assert server.abandoned.wait(10)
        assert len(agent.closes().calls) == 1


@pytest.mark.parametrize("lanes", [1, 64])
def test_sixty_four_streams_at_once(gateway: Gateway, lanes: int) -> None:
    """All are open at the same time, on one lane or on one each; each agent gets its own reply, whole."""
    gate = threading.Event()
    pieces = streams(Protocol.MESSAGES, tuple(map(str, range(50)))).pieces
    with StreamingServer([Streamed(pieces, gate=gate)], endless=True) as server:
        opened = [
            gateway.open(f"a{n}", a_lane_plan(Protocol.MESSAGES, server.base_url, limits=Limits(turns=None)))
            for n in range(lanes)
        ]

        async def one(http: httpx.AsyncClient, number: int) -> bytes:
            headers = {"x-api-key": opened[number % lanes].token}
            body = a_request(Protocol.MESSAGES, stream=True)
            async with http.stream("POST", "/v1/messages", json=body, headers=headers) as answer:
                came = [piece async for piece in _until_open(answer, begun, gate)]
            return b"".join(came)

        async def all_of_them() -> list[bytes]:
            address = f"http://127.0.0.1:{gateway.port}"
            async with httpx.AsyncClient(base_url=address, timeout=60, limits=httpx.Limits()) as http:
                return await asyncio.gather(*(one(http, number) for number in range(64)))

        begun: list[None] = []
        came = asyncio.run(all_of_them())
        summaries = [lane.close() for lane in opened]
    assert came == [b"".join(pieces)] * 64
    assert sum(summary.usage.output_tokens or 0 for summary in summaries) == 64 * 40


async def _until_open(
    answer: httpx.Response, begun: list[None], gate: threading.Event
) -> AsyncIterator[bytes]:
    """The pieces of a stream; the last stream to get its first piece lets all of them go on."""
    first = True
    async for piece in answer.aiter_raw():
        if first:
            begun.append(None)
            first = False
        if len(begun) == 64:
            gate.set()
        yield piece


def test_several_calls_at_once_do_not_pass_a_budget(gateway: Gateway) -> None:
    """Under a budget of calls no more are sent; under one of tokens they go one by one."""
    for limits, sent in ((Limits(turns=3), 3), (Limits(turns=None, output_tokens=60), 2)):
        with (
            StreamingServer([streams(Protocol.CHAT)], endless=True) as server,
            an_agent(gateway, server, limits=limits) as agent,
        ):
            answers: list[int] = []
            threads = [
                threading.Thread(target=lambda: answers.append(agent.asks(stream=True).status_code))  # noqa: B023
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            summary = agent.closes()
        assert sorted(answers) == [200] * sent + [400] * (8 - sent)
        assert (len(server.requests), summary.ending.kind) == (sent, EndingKind.LIMIT)


def test_a_very_long_reply_is_passed_on_whole(gateway: Gateway) -> None:
    """An event of three megabytes, as Responses end with, is read for its usage."""
    protocol = Protocol.RESPONSES
    *said, last = streams(protocol).pieces
    value = json.loads(last.split(b"data: ")[1])
    value["response"]["output"] = ["x" * 3_000_000]
    with (
        StreamingServer([Streamed((*said, event(value)))]) as server,
        an_agent(gateway, server, protocol) as agent,
    ):
        answer = agent.asks(stream=True)
        summary = agent.closes()
    assert len(answer.content) > 3_000_000
    assert summary.usage.output_tokens == 40
