"""Failures that pass: the gateway waits as the service asks, and sends again; the agent sees one call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from esac_ag.clock import sleep_s
from esac_ag.failures import FailureClass
from esac_ag.gateway.calls import CallOutcome, EndingKind
from esac_ag.gateway.protocols import Protocol
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Limits
from tests.builders_gateway import Agent, an_agent
from tests.model_server import Scripted, never, refuses, says
from tests.streaming_server import StreamingServer, streams

PASSING = [refuses(429, retry_after="0"), refuses(503, retry_after="0"), refuses(529, retry_after="0")]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all."""
    with Gateway(port=0) as serving:
        yield serving


@pytest.mark.parametrize("protocol", list(Protocol))
def test_what_passes_is_sent_again_and_the_agent_sees_the_reply_alone(
    gateway: Gateway, protocol: Protocol
) -> None:
    """The same bytes each time; one call in the budget, one record that tells how often it was sent."""
    reply = streams(protocol)
    with (
        StreamingServer([*PASSING, reply]) as server,
        an_agent(gateway, server, protocol, attempts=5, limits=Limits(turns=1)) as agent,
    ):
        answer = agent.asks(stream=True)
        summary = agent.closes()
    (call,) = summary.calls
    assert (answer.status_code, answer.content) == (200, b"".join(reply.pieces))
    assert (call.outcome, call.sends, call.status) == (CallOutcome.ANSWERED, 4, 200)
    assert len({request.body for request in server.requests}) == 1
    assert (summary.ending.kind, summary.usage.model_calls) == (EndingKind.CLEAR, 1)


def test_attempts_are_counted_and_the_last_failure_reaches_the_agent(gateway: Gateway) -> None:
    """As it came, with its Retry-After: the agent may have more patience."""
    with StreamingServer(PASSING) as server, an_agent(gateway, server, attempts=2) as agent:
        answer = agent.asks()
        summary = agent.closes()
    (call,) = summary.calls
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "0")
    assert (call.outcome, call.failure, call.sends) == (
        CallOutcome.SERVICE_FAILED,
        FailureClass.OVERLOADED,
        2,
    )
    assert summary.ending.kind is EndingKind.INFRA


def test_a_longer_pause_than_there_is_patience_is_not_waited_for(gateway: Gateway) -> None:
    """A service that asks for an hour is down."""
    script = [refuses(429, retry_after="3600"), says("too late")]
    with StreamingServer(script) as server, an_agent(gateway, server, attempts=5) as agent:
        answer = agent.asks()
        summary = agent.closes()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3600")
    assert (summary.calls[0].sends, len(server.requests)) == (1, 1)


@pytest.mark.parametrize(
    "reply", [refuses(401), refuses(400), refuses(404), refuses(429, "insufficient_quota")]
)
def test_what_does_not_pass_is_sent_once(gateway: Gateway, reply: Scripted) -> None:
    """Asking again changes nothing."""
    with StreamingServer([reply, says("no")]) as server, an_agent(gateway, server, attempts=5) as agent:
        agent.asks()
        summary = agent.closes()
    assert (summary.calls[0].sends, len(server.requests)) == (1, 1)


def test_a_reply_that_broke_off_is_not_asked_for_again(gateway: Gateway) -> None:
    """Part of it has reached the agent."""
    pieces = streams(Protocol.CHAT).pieces
    cut = Scripted(b"".join(pieces)[:100], missing_bytes=100)
    with StreamingServer([cut, says("no")]) as server, an_agent(gateway, server, attempts=5) as agent:
        with pytest.raises(httpx.HTTPError):
            agent.asks()
        summary = agent.closes()
    assert (summary.calls[0].sends, summary.calls[0].failure) == (1, FailureClass.TRUNCATED)


def test_an_attempt_whose_time_runs_out_while_the_service_is_down_was_failed_by_it(gateway: Gateway) -> None:
    """Else a rate limit would be scored as the model's slowness."""
    with (
        StreamingServer([refuses(429, retry_after="0"), never()]) as server,
        an_agent(gateway, server, attempts=5) as agent,
    ):
        asking = threading.Thread(target=_asks_in_vain, args=(agent,))
        asking.start()
        while len(server.requests) < 2:
            sleep_s(0.01)
        summary = agent.closes()
        asking.join()
    (call,) = summary.calls
    assert (call.outcome, call.failure, call.sends) == (
        CallOutcome.SERVICE_FAILED,
        FailureClass.RATE_LIMITED,
        2,
    )
    assert summary.ending.kind is EndingKind.INFRA


def _asks_in_vain(agent: Agent) -> None:
    with suppress(httpx.HTTPError):
        agent.asks()
