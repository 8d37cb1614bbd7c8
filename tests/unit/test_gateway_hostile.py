"""What a hostile agent sends so that calls are not counted, or so that its doing looks like the service's."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from esac_ag.attempt import Outcome
from esac_ag.gateway.calls import CallOutcome, CallRefused, EndingKind, Refusal
from esac_ag.gateway.events import MOST_EVENT_BYTES, EventReader
from esac_ag.gateway.lanes import MOST_RECORDED_CHANGES
from esac_ag.gateway.plans import LanePlan, ProviderTools
from esac_ag.gateway.protocols import PATHS, Protocol
from esac_ag.gateway.requests import prepare
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Limits
from tests.builders_gateway import Agent, a_lane_plan, a_request, an_agent
from tests.model_server import refuses, says
from tests.streaming_server import End, Streamed, StreamingServer, pieces_of

ODD_KINDS = [["x"], {"x": 1}, 5, None, True]
"""Values that are no word, some of which no set can hold."""


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all."""
    with Gateway(port=0) as one:
        yield one


def posts(agent: Agent, text: str, **headers: bytes) -> int:
    """Send a body as it is written; the status."""
    sent = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return agent.http.post(PATHS[agent.protocol], content=text.encode(), headers=sent).status_code


@pytest.mark.parametrize("ways", list(ProviderTools))
def test_a_tool_whose_type_is_half_a_character_hides_no_call(
    gateway: Gateway, tmp_path: Path, ways: ProviderTools
) -> None:
    """UTF-8 cannot hold it; the call is counted and recorded all the same, and the budget ends."""
    with (
        StreamingServer([says("hi")], endless=True) as server,
        an_agent(gateway, server, folder=tmp_path, limits=Limits(turns=2), provider_tools=ways) as agent,
    ):
        body = json.dumps(a_request(Protocol.CHAT, tools=[{"type": "\ud800"}]))
        answers = [posts(agent, body) for _ in range(3)]
        summary = agent.closes()
    if ways is ProviderTools.STRIP:
        assert (answers, summary.ending.kind) == ([200, 200, 400], EndingKind.LIMIT)
        assert (len(server.requests), summary.usage.model_calls) == (2, 2)
        assert summary.calls[0].changes == ("tool ? taken out",)
    else:
        assert (answers, len(server.requests)) == ([400] * 3, 0)
        assert {call.refusal for call in summary.calls} == {Refusal.PROVIDER_TOOL}


def test_a_hundred_thousand_tools_are_taken_out_at_once() -> None:
    """Each is looked at once, and the record names the first ones."""
    tools = [{"type": f"web_search_{number}"} for number in range(100_000)]
    plan = LanePlan(Protocol.CHAT, "http://127.0.0.1:1/v1", "", "m")
    body = json.dumps({"model": "m", "messages": [], "tools": [*tools, {"type": "function"}]}).encode()
    assert json.loads(prepare(body, plan).body)["tools"] == [{"type": "function"}]


def test_the_record_of_a_call_names_some_changes_and_counts_the_others(gateway: Gateway) -> None:
    """A line of `calls.jsonl` does not grow with the request."""
    with StreamingServer([says("hi")]) as server, an_agent(gateway, server) as agent:
        posts(agent, json.dumps(a_request(Protocol.CHAT, tools=[{"type": "x"}] * 1000)))
        (call,) = agent.closes().calls
    assert len(call.changes) == MOST_RECORDED_CHANGES + 1
    assert call.changes[-1] == f"{1000 - MOST_RECORDED_CHANGES} more changes"


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize("kind", ODD_KINDS)
def test_types_that_are_no_words_break_nothing(protocol: Protocol, kind: object) -> None:
    """Of a tool, a choice, a part and its source."""
    plan = a_lane_plan(protocol)
    part = {"type": kind, "source": {"type": kind}}
    inner = {"type": "namespace", "tools": [{"type": kind}]}
    tools = [{"type": kind, "name": kind}, inner]
    said = [{"role": "user", "content": [part]}]
    body = {"model": plan.model, "messages": said, "input": said, "tools": tools}
    sent = json.loads(prepare(json.dumps(body | {"tool_choice": tools[0]}).encode(), plan).body)
    assert sent["messages"] == said
    assert inner not in sent.get("tools", [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user_agent", "caf\xe9".encode("latin-1")),
        ("user_agent", b"a\x01b"),
        ("user_agent", b"A" * 30_000),
        ("accept", b"image/png"),
        ("openai_beta", b"\xff"),
    ],
)
def test_an_odd_header_is_left_out_and_the_call_goes_on(gateway: Gateway, name: str, value: bytes) -> None:
    """It would break the request here, or bring an answer that looks like a failure of the service."""
    with StreamingServer([says("hi")]) as server, an_agent(gateway, server) as agent:
        status = posts(agent, json.dumps(a_request(Protocol.CHAT)), **{name: value})
        summary = agent.closes()
    assert (status, summary.ending.kind) == (200, EndingKind.CLEAR)
    assert value.decode("latin-1") != server.requests[0].headers.get(name.replace("_", "-"))


@pytest.mark.parametrize("status", [406, 415, 431])
def test_a_request_that_the_provider_cannot_take_is_the_agents_own(gateway: Gateway, status: int) -> None:
    """A model that has spoken buys no second try by its last call."""
    with StreamingServer([says("hi"), refuses(status)]) as server, an_agent(gateway, server) as agent:
        agent.asks()
        agent.asks()
        summary = agent.closes()
    assert summary.calls[1].outcome is CallOutcome.OWN_FAULT
    assert summary.ending.outcome is None


def test_leaving_between_a_chats_last_word_and_its_usage_is_hanging_up(gateway: Gateway) -> None:
    """With two choices one ends long before the other, and the usage comes after both."""
    said = pieces_of(Protocol.CHAT, ("one", "two"), None)[:-1]
    with (
        StreamingServer([Streamed(said, End.SILENT)]) as server,
        an_agent(gateway, server, limits=Limits(turns=None, output_tokens=1000)) as agent,
    ):
        body, came = a_request(Protocol.CHAT, stream=True, n=2), b""
        with agent.http.stream("POST", PATHS[Protocol.CHAT], json=body) as answer:
            for piece in answer.iter_raw():
                came += piece
                if came == b"".join(said):
                    break
        assert server.abandoned.wait(10)
        summary = agent.closes()
    assert summary.calls[0].outcome is CallOutcome.HUNG_UP
    assert summary.ending.outcome is Outcome.AGENT_ERROR


@pytest.mark.parametrize("stream", [1, "true", "yes", [True]])
def test_a_stream_that_is_asked_for_in_another_word_is_refused(gateway: Gateway, stream: object) -> None:
    """Lenient servers stream then, and do not tell the usage, because nothing asked them to."""
    with StreamingServer([]) as server, an_agent(gateway, server) as agent:
        assert posts(agent, json.dumps(a_request(Protocol.CHAT) | {"stream": stream})) == 400
        (call,) = agent.closes().calls
    assert (call.refusal, server.requests) == (Refusal.BODY, [])


def test_an_event_of_endless_lines_is_not_kept() -> None:
    """Its data is dropped beyond the cap, and the next event is read."""
    reader = EventReader()
    lines = b"data: " + b"x" * 1_000_000 + b"\n"
    for _ in range(2 * MOST_EVENT_BYTES // len(lines)):
        assert list(reader.feed(lines)) == []
    assert sum(map(len, reader._data)) <= MOST_EVENT_BYTES
    assert list(reader.feed(b"\ndata: next\n\n")) == [b"next"]


def test_a_body_of_very_many_small_parts_is_refused() -> None:
    """Read, its 8 MB would take 200."""
    data = b'{"model": "m", "x": [' + b"[]," * 1_200_000 + b"0]}"
    with pytest.raises(CallRefused) as refused:
        prepare(data, LanePlan(Protocol.CHAT, "http://127.0.0.1:1/v1", "", "m"))
    assert refused.value.refusal is Refusal.TOO_LARGE


def test_requests_under_way_are_held_up_to_a_cap_together(gateway: Gateway) -> None:
    """Four of thirty megabytes: three wait for their end, the fourth is refused; then there is room again."""
    part = b"x" * (30 * 1024 * 1024)
    with StreamingServer([says("hi")]) as server, an_agent(gateway, server) as agent:
        head = (
            f"POST {PATHS[Protocol.CHAT]} HTTP/1.1\r\nHost: gateway\r\n"
            f"Authorization: Bearer {agent.lane.token}\r\nContent-Length: {len(part) + 1}\r\n\r\n"
        )
        with ExitStack() as stack:
            for _ in range(4):
                one = socket.create_connection(("127.0.0.1", gateway.port or 0))
                stack.enter_context(one)
                one.sendall(head.encode() + part)
            one.sendall(b"x")
            assert b" 429 " in one.recv(100)
        assert agent.asks().status_code == 200
        summary = agent.closes()
    refusals = [call.refusal for call in summary.calls]
    assert refusals.count(Refusal.CROWDED) == 1


@pytest.mark.parametrize("field", ["service_tier", "speed", "inference_geo"])
def test_a_field_that_is_billed_at_another_price_is_taken_out(field: str) -> None:
    """The price table is not for it, and a reply does not always tell."""
    plan = a_lane_plan(Protocol.MESSAGES)
    sent = prepare(json.dumps(a_request(Protocol.MESSAGES) | {field: "us"}).encode(), plan)
    assert field not in json.loads(sent.body)
    assert sent.changes == (f"field {field} taken out",)
