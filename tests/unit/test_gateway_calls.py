"""The gateway over real HTTP: what passes, what is refused, what is recorded, and that the key is nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from esac_ag.attempt import LimitKind, Outcome, Usage
from esac_ag.errors import InfrastructureFailure, UsageError
from esac_ag.failures import FailureClass
from esac_ag.gateway.bodies import CALLS, read_body
from esac_ag.gateway.calls import CallOutcome, CallRecord, EndingKind, Refusal
from esac_ag.gateway.plans import ProviderTools
from esac_ag.gateway.protocols import PATHS, Protocol
from esac_ag.gateway.server import Gateway
from esac_ag.manifest.plan import Decoding, Limits, TokenPrice
from tests.builders_gateway import KEY, MODEL, a_lane_plan, a_request, an_agent
from tests.model_server import Scripted, broken, refuses, says, truncated
from tests.streaming_server import Streamed, StreamingServer, replies, streams

EACH = pytest.mark.parametrize("protocol", list(Protocol))


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """One gateway for all, as in a study."""
    with Gateway(port=0) as serving:
        yield serving


PRICE = TokenPrice(input=10.0, cached_input=1.0, cache_write=None, output=50.0)


@EACH
def test_a_call_is_answered_metered_and_recorded(
    gateway: Gateway, protocol: Protocol, tmp_path: Path
) -> None:
    """The reply reaches the agent byte for byte; usage, digests, times and bodies are on record."""
    reply = replies(protocol)
    with StreamingServer([reply]) as server, an_agent(gateway, server, protocol, folder=tmp_path) as agent:
        answer = agent.asks(temperature=0.5)
        summary = agent.closes()
    (call,) = summary.calls
    assert (answer.status_code, answer.content) == (200, reply.body)
    assert (call.outcome, call.status, call.model, call.answered_by) == (
        CallOutcome.ANSWERED,
        200,
        MODEL,
        "m-1",
    )
    assert call.decoding["temperature"] == 0.5
    assert (call.usage.input_tokens, call.usage.cached_input_tokens, call.usage.output_tokens) == (
        2468,
        2000,
        40,
    )
    assert summary.usage == call.usage
    assert (call.first_token_s, call.latency_s > 0) == (None, True)
    assert read_body(tmp_path / str(call.request_file)) == server.requests[0].body
    assert read_body(tmp_path / str(call.reply_file)) == reply.body
    lines = (tmp_path / CALLS).read_text().splitlines()
    assert [CallRecord.model_validate_json(line) for line in lines] == [call]
    assert summary.ending.kind is EndingKind.CLEAR


@EACH
def test_the_provider_gets_the_real_key_and_the_agents_bytes(gateway: Gateway, protocol: Protocol) -> None:
    """An untouched request is forwarded as it came, with the key in the place of the token."""
    with StreamingServer([replies(protocol)]) as server, an_agent(gateway, server, protocol) as agent:
        agent.asks()
    (request,) = server.requests
    assert request.path == PATHS[protocol]
    assert request.json == a_request(protocol)
    by_key = request.headers.get("x-api-key"), request.headers.get("authorization")
    assert by_key == ((KEY, None) if protocol is Protocol.MESSAGES else (None, f"Bearer {KEY}"))
    assert agent.lane.token not in str(request)
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("way", ["bearer", "x-api-key", "path"])
def test_a_lane_is_found_by_each_way_of_naming_it(way: str, tmp_path: Path) -> None:
    """By header or by path, over a unix socket as over loopback; the socket is gone at the end."""
    path = tmp_path / "model.sock"
    with StreamingServer([says("hi")]) as server, Gateway(socket_path=path) as gateway:
        lane = gateway.open("a1", a_lane_plan(base_url=server.base_url))
        headers = {
            "bearer": {"authorization": f"Bearer {lane.token}"},
            "x-api-key": {"x-api-key": lane.token},
        }
        prefix = lane.path if way == "path" else ""
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://model") as http:
            answer = http.post(
                prefix + "/v1/chat/completions", json=a_request(Protocol.CHAT), headers=headers.get(way, {})
            )
        (call,) = lane.close().calls
    assert (answer.status_code, call.path) == (200, "/v1/chat/completions")
    assert not path.exists()


@pytest.mark.parametrize(
    ("method", "path", "body", "refusal", "status"),
    [
        ("POST", "/v1/embeddings", a_request(Protocol.CHAT), Refusal.PATH, 404),
        ("POST", "/v1/files", {}, Refusal.PATH, 404),
        ("POST", "/v1/../v1/files", {}, Refusal.PATH, 404),
        ("GET", "/v1/chat/completions", None, Refusal.METHOD, 405),
        ("POST", "/v1/chat/completions?x=1", a_request(Protocol.CHAT), Refusal.QUERY, 400),
        ("POST", "/v1/messages", a_request(Protocol.MESSAGES), Refusal.PATH, 404),
        ("POST", "/v1/chat/completions", {**a_request(Protocol.CHAT), "model": "x"}, Refusal.MODEL, 404),
        ("POST", "/v1/chat/completions", ["no", "object"], Refusal.BODY, 400),
        (
            "POST",
            "/v1/chat/completions",
            {**a_request(Protocol.CHAT), "messages": [{"content": [{"image_url": {"url": "http://a"}}]}]},
            Refusal.PROVIDER_STATE,
            400,
        ),
    ],
)
def test_what_is_not_listed_is_refused_and_recorded(
    gateway: Gateway, method: str, path: str, body: object, refusal: Refusal, status: int
) -> None:
    """Nothing of it reaches the provider, the agent is told in its protocol, and it costs no call."""
    with StreamingServer([]) as server, an_agent(gateway, server) as agent:
        answer = agent.http.request(method, path, json=body)
        summary = agent.closes()
    (call,) = summary.calls
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, refusal.value)
    assert (call.outcome, call.refusal, call.status) == (CallOutcome.REFUSED, refusal, status)
    assert answer.headers["x-should-retry"] == "false"
    assert server.requests == []
    assert (summary.usage, summary.ending.kind) == (Usage(), EndingKind.CLEAR)


def test_anthropics_errors_have_anthropics_shape(gateway: Gateway) -> None:
    """A refusal reads as an error of the protocol that is spoken."""
    with StreamingServer([]) as server, an_agent(gateway, server, Protocol.MESSAGES) as agent:
        answer = agent.asks(model="another")
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "not_found_error"
    assert "'another'" in answer.json()["error"]["message"]


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_caller_without_a_known_token_is_turned_away_and_recorded(token: str) -> None:
    """Neither a missing nor a wrong token, nor that of a lane that was closed, reaches the provider."""
    with StreamingServer([]) as server, Gateway(port=0) as gateway:
        lane = gateway.open("a1", a_lane_plan(base_url=server.base_url))
        lane.close()
        address = f"http://127.0.0.1:{gateway.port}"
        ways = [
            f"{address}/v1/messages",
            f"{address}/lane/{token}/v1/messages",
            f"{address}{lane.path}/v1/messages",
        ]
        answers = [httpx.post(way, json={}, headers={"x-api-key": token}) for way in ways]
        strangers = gateway.strangers
    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert {answer.json()["error"]["type"] for answer in answers} == {"authentication_error"}
    assert [call.refusal for call in strangers] == [Refusal.TOKEN] * 3
    assert lane.token not in str(strangers)
    assert server.requests == []


@EACH
def test_tools_of_the_provider_are_stripped(gateway: Gateway, protocol: Protocol) -> None:
    """Web search is taken out, the agent's own tools stay, and the record says so."""
    own = {"type": "function", "name": "edit", "function": {"name": "edit"}}
    own = {"name": "edit", "input_schema": {}} if protocol is Protocol.MESSAGES else own
    foreign = {"type": "web_search_20250305", "name": "web_search"}
    with StreamingServer([replies(protocol)]) as server, an_agent(gateway, server, protocol) as agent:
        agent.asks(tools=[own, foreign], tool_choice={"type": "tool", "name": "web_search"})
        (call,) = agent.closes().calls
    assert server.requests[0].json["tools"] == [own]
    assert "tool_choice" not in server.requests[0].json
    assert call.changes == ("tool web_search_20250305 taken out",)


def test_tools_of_the_provider_are_refused_when_the_plan_says_so(gateway: Gateway) -> None:
    """Then nothing is sent."""
    with (
        StreamingServer([]) as server,
        an_agent(gateway, server, Protocol.RESPONSES, provider_tools=ProviderTools.REFUSE) as agent,
    ):
        answer = agent.asks(tools=[{"type": "code_interpreter"}])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "provider_side_tool")
    assert server.requests == []


def test_decoding_is_fixed_by_the_plan(gateway: Gateway) -> None:
    """What the plan sets is sent in place of the agent's, its cap only if it is lower."""
    decoding = Decoding(temperature=0.0, max_output_tokens=50, seed=7)
    with (
        StreamingServer([says("a"), says("b")]) as server,
        an_agent(gateway, server, decoding=decoding) as agent,
    ):
        agent.asks(temperature=1.0, max_completion_tokens=10)
        agent.asks(max_tokens=1000)
    first, second = (request.json for request in server.requests)
    assert (first["temperature"], first["seed"], first["max_completion_tokens"]) == (0.0, 7, 10)
    assert (second["max_tokens"], "max_completion_tokens" in second) == (50, False)


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        (Limits(turns=2), LimitKind.TURNS),
        (Limits(turns=None, input_tokens=4936), LimitKind.INPUT_TOKENS),
        (Limits(turns=None, output_tokens=60), LimitKind.OUTPUT_TOKENS),
        # 468 fresh at 10, 2000 cached at 1, 40 out at 50 a million: 0.00868 a call.
        (Limits(turns=None, cost_usd=0.017), LimitKind.COST),
    ],
)
@EACH
def test_a_used_up_budget_refuses_the_next_call(
    gateway: Gateway, protocol: Protocol, limits: Limits, kind: LimitKind
) -> None:
    """Asked before each call: the third one is not sent, and the lane ends as a limit."""
    with (
        StreamingServer([replies(protocol)], endless=True) as server,
        an_agent(gateway, server, protocol, limits=limits, price=PRICE) as agent,
    ):
        statuses = [agent.asks().status_code for _ in range(4)]
        summary = agent.closes()
    assert (statuses, len(server.requests)) == ([200, 200, 400, 400], 2)
    assert (summary.ending.kind, summary.ending.limit) == (EndingKind.LIMIT, kind)
    assert summary.ending.outcome is Outcome.LIMIT
    assert (summary.usage.model_calls, summary.usage.input_tokens) == (2, 4936)
    assert summary.cost == pytest.approx(0.01736)


@EACH
def test_a_budget_that_cannot_be_counted_ends_the_lane(gateway: Gateway, protocol: Protocol) -> None:
    """A reply without usage is unknown, not zero: under a budget of tokens no further call is sent."""
    with (
        StreamingServer([replies(protocol, told=False)], endless=True) as server,
        an_agent(gateway, server, protocol, limits=Limits(output_tokens=1000)) as agent,
    ):
        statuses = [agent.asks().status_code for _ in range(2)]
        summary = agent.closes()
    assert statuses == [200, 400]
    assert (summary.ending.kind, summary.ending.limit) == (EndingKind.UNMETERED, LimitKind.OUTPUT_TOKENS)
    assert summary.ending.outcome is Outcome.INFRA
    assert (summary.usage.output_tokens, summary.cost) == (None, None)


def test_without_a_budget_of_tokens_unknown_usage_is_only_unknown(gateway: Gateway) -> None:
    """One reply without usage makes the sum unknown."""
    with StreamingServer([says("a"), says("b", usage=None)]) as server, an_agent(gateway, server) as agent:
        agent.asks()
        agent.asks()
        summary = agent.closes()
    assert (summary.usage.model_calls, summary.usage.input_tokens) == (2, None)
    assert summary.ending.kind is EndingKind.CLEAR


def test_another_tier_than_the_tables_makes_the_cost_unavailable(gateway: Gateway) -> None:
    """The agent's wish for a tier is taken out; a tier that the provider tells of is not priced."""
    reply = replies(Protocol.RESPONSES, service_tier="priority")
    with (
        StreamingServer([reply]) as server,
        an_agent(gateway, server, Protocol.RESPONSES, price=PRICE) as agent,
    ):
        agent.asks(service_tier="priority")
        summary = agent.closes()
    assert "service_tier" not in server.requests[0].json
    assert (summary.usage.input_tokens, summary.cost) == (2468, None)


@pytest.mark.parametrize(
    ("reply", "outcome", "failure", "status"),
    [
        (refuses(429, retry_after="7"), CallOutcome.SERVICE_FAILED, FailureClass.RATE_LIMITED, 429),
        (refuses(429, "insufficient_quota"), CallOutcome.SERVICE_FAILED, FailureClass.QUOTA, 429),
        (refuses(401), CallOutcome.SERVICE_FAILED, FailureClass.CREDENTIALS, 401),
        (refuses(403), CallOutcome.SERVICE_FAILED, FailureClass.CREDENTIALS, 403),
        (refuses(404), CallOutcome.SERVICE_FAILED, FailureClass.NOT_FOUND, 404),
        (refuses(500), CallOutcome.SERVICE_FAILED, FailureClass.OVERLOADED, 500),
        (refuses(529), CallOutcome.SERVICE_FAILED, FailureClass.OVERLOADED, 529),
        (refuses(302), CallOutcome.SERVICE_FAILED, FailureClass.REJECTED, 502),
        (broken(), CallOutcome.SERVICE_FAILED, FailureClass.BROKEN_REPLY, 200),
        (
            refuses(400, message="Your credit balance is too low to access it"),
            CallOutcome.SERVICE_FAILED,
            FailureClass.QUOTA,
            400,
        ),
        (refuses(400), CallOutcome.OWN_FAULT, FailureClass.REJECTED, 400),
        (refuses(400, "context_length_exceeded"), CallOutcome.OWN_FAULT, FailureClass.CONTEXT_FULL, 400),
        (refuses(400, "content_filter"), CallOutcome.OWN_FAULT, FailureClass.FILTERED, 400),
    ],
)
def test_failures_are_classed(
    gateway: Gateway, reply: Scripted, outcome: CallOutcome, failure: FailureClass, status: int
) -> None:
    """The service's failures are told from the agent's and the model's own."""
    with StreamingServer([reply]) as server, an_agent(gateway, server) as agent:
        answer = agent.asks()
        summary = agent.closes()
    (call,) = summary.calls
    assert (answer.status_code, call.outcome, call.failure) == (status, outcome, failure)
    endings = {FailureClass.CONTEXT_FULL: EndingKind.LIMIT, FailureClass.FILTERED: EndingKind.CLEAR}
    assert summary.ending.kind is endings.get(failure, EndingKind.INFRA)


def test_a_rejected_request_is_the_agents_own_once_a_model_has_spoken(gateway: Gateway) -> None:
    """Before that, nothing of a model's is in it: the plan does not fit the endpoint."""
    with StreamingServer([says("a"), refuses(400)]) as server, an_agent(gateway, server) as agent:
        agent.asks()
        agent.asks()
        summary = agent.closes()
    assert summary.calls[1].outcome is CallOutcome.OWN_FAULT
    assert (summary.ending.kind, summary.usage.model_calls, summary.usage.input_tokens) == (
        EndingKind.CLEAR,
        2,
        100,
    )


def test_retry_after_is_passed_on_and_a_later_answer_makes_good(gateway: Gateway) -> None:
    """The agent's own client waits; a failure that was overcome spoils nothing, and costs no call."""
    script = [refuses(429, retry_after="7"), says("done")]
    with StreamingServer(script) as server, an_agent(gateway, server, limits=Limits(turns=1)) as agent:
        first, second = agent.asks(), agent.asks()
        summary = agent.closes()
    assert (first.status_code, first.headers["retry-after"], second.status_code) == (429, "7", 200)
    assert (summary.ending.kind, summary.usage.model_calls) == (EndingKind.CLEAR, 1)


def test_a_provider_that_is_not_there_is_a_failure_of_the_infrastructure(gateway: Gateway) -> None:
    """The agent is told in its protocol, without an address."""
    with StreamingServer([]) as server:
        pass
    with an_agent(gateway, server) as agent:
        answer = agent.asks()
        summary = agent.closes()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "transport")
    assert "127.0.0.1" not in answer.text
    assert (summary.ending.kind, summary.ending.failure) == (EndingKind.INFRA, FailureClass.TRANSPORT)


def test_a_reply_that_ends_early_is_given_as_one(gateway: Gateway) -> None:
    """The agent's client sees the broken connection, as it would without the gateway."""
    with StreamingServer([truncated()]) as server, an_agent(gateway, server) as agent:
        with pytest.raises(httpx.RemoteProtocolError):
            agent.asks()
        summary = agent.closes()
    assert summary.calls[0].failure is FailureClass.TRUNCATED
    assert (summary.lost_replies, summary.ending.kind) == (1, EndingKind.INFRA)


def test_redirects_are_not_followed_and_lead_nowhere(gateway: Gateway) -> None:
    """The key would go with them."""
    with StreamingServer([]) as target:
        away = Scripted(b"", 307, (("location", target.base_url),))
        with StreamingServer([away]) as server, an_agent(gateway, server) as agent:
            answer = agent.asks()
    assert (answer.status_code, "location" in answer.headers) == (502, False)
    assert target.requests == []


def test_cookies_and_accounts_of_the_provider_stay_outside(gateway: Gateway) -> None:
    """Of a reply's headers only those pass that a client needs."""
    told = {
        "set-cookie": "a=b",
        "openai-organization": "mine",
        "x-request-id": "r1",
        "x-ratelimit-limit-tokens": "9",
    }
    reply = Scripted(says("hi").body, headers=(("content-type", "application/json"), *told.items()))
    with StreamingServer([reply]) as server, an_agent(gateway, server) as agent:
        answer = agent.asks()
    assert set(told) & set(answer.headers) == {"x-request-id", "x-ratelimit-limit-tokens"}


def test_a_compressed_reply_is_refused(gateway: Gateway) -> None:
    """It was not asked for, and could be neither metered nor searched for the key."""
    reply = Scripted(b"\x1f\x8b", headers=(("content-encoding", "gzip"),))
    with StreamingServer([reply]) as server, an_agent(gateway, server) as agent:
        answer = agent.asks()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "broken-reply")


@pytest.mark.parametrize("declared", [True, False])
def test_a_huge_request_is_refused(gateway: Gateway, declared: bool) -> None:  # noqa: FBT001  (a case)
    """33 MB are refused, whether the length is told before or not; the agent reads the refusal."""
    huge = b'{"model": "' + b"x" * (33 * 1024 * 1024)
    body = huge if declared else iter((huge[: 1 << 24], huge[1 << 24 :]))
    with StreamingServer([]) as server, an_agent(gateway, server) as agent:
        answer = agent.http.post("/v1/chat/completions", content=body)
        (call,) = agent.closes().calls
    assert (answer.status_code, call.refusal) == (413, Refusal.TOO_LARGE)


def test_a_large_conversation_passes_unchanged(gateway: Gateway) -> None:
    """Ten megabytes arrive byte for byte."""
    with StreamingServer([says("hi")]) as server, an_agent(gateway, server) as agent:
        agent.asks(messages=[{"role": "user", "content": "x" * 10_000_000}])
        (call,) = agent.closes().calls
    assert len(server.requests[0].body) == call.request_bytes
    assert call.changes == ()


@EACH
def test_the_key_is_nowhere(gateway: Gateway, protocol: Protocol, tmp_path: Path) -> None:
    """A provider that quotes the key, across pieces and in every kind of answer, gives it to nobody."""
    cut = len(KEY) // 2
    quoting = Streamed(
        (b"data: " + KEY[:cut].encode(), KEY[cut:].encode() + b"\n\n", *streams(protocol).pieces)
    )
    quoting = Streamed(quoting.pieces, headers=(("x-request-id", KEY),))
    whole = replies(protocol)
    whole = Scripted(
        whole.body.replace(b"m-1", KEY.encode()), headers=(("content-type", "application/json"),)
    )
    script: list[Scripted | Streamed] = [
        quoting,
        whole,
        refuses(400, message=KEY),
        refuses(401, message=KEY[:10]),
        refuses(500, KEY),
    ]
    with StreamingServer(script) as server, an_agent(gateway, server, protocol, folder=tmp_path) as agent:
        answers = [agent.asks(stream=number == 0) for number in range(len(script))]
        summary = agent.closes()
    assert len(server.requests) == len(script)
    texts = [f"{answer.headers}{answer.text}" for answer in answers]
    files = [read_body(path) for path in tmp_path.glob("*.zst")] + [(tmp_path / CALLS).read_bytes()]
    assert [text for text in [*texts, str(summary), repr(agent.lane)] if KEY in text] == []
    assert [data for data in files if KEY.encode() in data] == []
    assert KEY[:10] not in texts[3]
    assert (len(files), texts[0].count("[redacted]")) == (11, 1)


def test_plans_that_cannot_be_carried_out_are_refused_without_their_secrets() -> None:
    """At once, not at the first call."""
    faulty = [
        a_lane_plan(base_url="ftp://x"),
        a_lane_plan(base_url=f"https://user:{KEY}@host/v1"),
        a_lane_plan(key=KEY + "\n"),
        a_lane_plan(limits=Limits(cost_usd=1.0)),
        a_lane_plan(limits=Limits(cost_usd=1.0), price=TokenPrice(input=1.0)),
        a_lane_plan(Protocol.MESSAGES, decoding=Decoding(seed=1)),
    ]
    with Gateway(port=0) as gateway:
        for plan in faulty:
            with pytest.raises(UsageError) as caught:
                gateway.open("a1", plan)
            assert KEY not in str(caught.value)
            assert KEY not in repr(plan).replace(plan.base_url, "")
    with pytest.raises(UsageError):
        Gateway()


def test_a_failure_of_the_gateway_itself_is_not_the_agents(gateway: Gateway, tmp_path: Path) -> None:
    """A folder that cannot be written, for one: the agent is told, and the attempt is spoiled, not scored."""
    folder = tmp_path / "model"
    with StreamingServer([]) as server, an_agent(gateway, server, folder=folder) as agent:
        (folder / CALLS).unlink()
        folder.rmdir()
        answer = agent.asks()
        summary = agent.closes()
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "gateway")
    assert (summary.calls[0].status, summary.ending.kind) == (500, EndingKind.INFRA)
    assert server.requests == []


def test_a_gateway_that_cannot_start_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket in no folder, a proxy that cannot be used: an error at once, and nothing left behind."""
    with pytest.raises(InfrastructureFailure), Gateway(socket_path=tmp_path / "no" / "model.sock"):
        pass
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(InfrastructureFailure), Gateway(socket_path=tmp_path / "model.sock"):
        pass
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "others.sock").touch()
    with pytest.raises(InfrastructureFailure), Gateway(socket_path=tmp_path / "others.sock"):
        pass
    assert (tmp_path / "others.sock").exists()


def test_a_flood_of_refused_calls_does_not_fill_the_record(gateway: Gateway) -> None:
    """The first thousand are kept, the others counted."""
    with StreamingServer([]) as server, an_agent(gateway, server) as agent:
        for _ in range(1005):
            agent.http.get("/v1/models")
        summary = agent.closes()
    assert (len(summary.calls), summary.calls_left_out) == (1000, 5)


def test_odd_values_of_an_agent_break_no_record(gateway: Gateway, tmp_path: Path) -> None:
    """Numbers beyond JSON's and half characters are recorded in short."""
    body = (
        json.dumps(a_request(Protocol.CHAT))[:-1]
        + ', "seed": '
        + "9" * 400
        + ', "reasoning_effort": "\\ud800"}'
    )
    with StreamingServer([says("hi")]) as server, an_agent(gateway, server, folder=tmp_path) as agent:
        answer = agent.http.post("/v1/chat/completions", content=body.encode())
        (call,) = agent.closes().calls
    assert (answer.status_code, call.decoding) == (200, {"seed": "9" * 100, "reasoning_effort": "?"})
