"""The judge over real HTTP: what is sent, what is retried, what is never scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from esac_ag.agents.judge_client import (
    JUDGE_KEY_VARIABLE,
    JUDGE_REMEDIES,
    MOST_REPLIES,
    Judge,
    JudgeEndpoint,
    judge_key,
    refuse_unpinned,
)
from esac_ag.clock import Deadline
from esac_ag.errors import HarnessError, InfrastructureFailure, Interrupted, UsageError
from esac_ag.failures import FailureClass
from esac_ag.suite.constitution import PINNED_JUDGE
from esac_ag.suite.contract import Turn
from esac_ag.suite.items.ambiguity_ask import ITEM as ASK
from esac_ag.suite.judging import reply_schema
from tests.builders_judge import (
    IDS,
    INSTANCE,
    KEY,
    RUN,
    Asked,
    a_reply,
    a_verdict,
    delimiter_of,
    failure_of,
    texts,
)
from tests.model_server import (
    USAGE,
    ModelServer,
    Scripted,
    broken,
    calls,
    completion,
    never,
    refuses,
    says,
    truncated,
)

GOOD = json.dumps(a_verdict())


def lacking_one() -> dict[str, Any]:
    """A verdict without its first criterion."""
    return {"reason": "", "scores": dict.fromkeys(IDS[1:], 3)}


UNUSABLE: dict[str, Scripted] = {
    "a missing criterion": says(json.dumps(lacking_one())),
    "an extra criterion": a_reply(politeness=4),
    "five": a_reply(task=5),
    "four point zero": a_reply(task=4.0),
    "true": a_reply(task=True),
    "two verdicts": says(GOOD + GOOD),
    "prose around it": says(f"Here is my verdict: {GOOD}"),
    "NaN": says(GOOD.replace(": 3", ": NaN", 1)),
    "a criterion twice": says(GOOD.replace('"task": 3', '"task": 0, "task": 3')),
    "empty": says(""),
    "white space": says(" \n"),
    "nothing": says(None),
    "a refusal": completion({"content": GOOD, "refusal": "I will not grade this."}),
    "cut at the output cap": says(GOOD, finish="length"),
    "cut by a filter": says(GOOD, finish="content_filter"),
    "a tool call": calls(("submit", {})),
    "a tool call beside a verdict": completion(
        {"content": GOOD, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    ),
}


def test_a_good_reply_is_one_judgment() -> None:
    """Scores of all criteria, the usage, the model that says it answered, no retry."""
    asked = Asked()
    with ModelServer([a_reply(task=4)]) as server:
        judged = asked.judge(server)
    assert judged.judgment.scores == {"task": 4} | dict.fromkeys(IDS[1:], 3)
    assert (judged.usage.input_tokens, judged.usage.output_tokens) == (100, 20)
    assert (judged.retries, judged.model) == (0, "m-1")
    assert asked.slept == []


def test_a_fence_around_the_whole_reply_is_forgiven() -> None:
    """It can hide no second verdict."""
    with ModelServer([says(f"```json\n{GOOD}\n```")]) as server:
        assert Asked().judge(server).retries == 0


def test_the_request_is_pinned_and_complete() -> None:
    """Model, temperature 0, top_p 1, the cap, the schema, the key in its header, and facts."""
    with ModelServer([a_reply()]) as server:
        Asked().judge(server)
    request = server.requests[0]
    sent = request.json
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert (sent["model"], sent["temperature"], sent["top_p"]) == (PINNED_JUDGE, 0, 1)
    assert sent["max_tokens"] == 4000
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == reply_schema(ASK.rubric)
    _, user = texts(sent)
    for text in (INSTANCE.prompt, RUN.final_text, ASK.facts(INSTANCE, RUN)):
        assert user.count(text) == 1


def test_no_key_sends_no_header() -> None:
    """A judge on this machine may need none."""
    with ModelServer([a_reply()]) as server:
        Asked().judge(server, key="")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_reply_is_asked_for_anew_and_then_infrastructure(name: str) -> None:
    """Four unusable replies are no score: a failure of the infrastructure that says what came."""
    asked = Asked()
    with ModelServer([UNUSABLE[name]] * (MOST_REPLIES + 1)) as server:
        error = failure_of(asked, server)
    assert len(server.requests) == MOST_REPLIES
    assert isinstance(error, InfrastructureFailure)
    assert error.exit_code == 2
    assert "4 replies that cannot be used" in error.found
    assert error.remedy
    assert sum(asked.slept) == pytest.approx(1 + 2 + 4)


def test_an_error_within_a_reply_is_the_services_and_no_unusable_reply() -> None:
    """The same bytes again, although a usable verdict stands beside the error."""
    told = json.loads(a_reply().body) | {"error": {"code": 502, "message": "upstream"}}
    asked = Asked()
    with ModelServer([Scripted(json.dumps(told).encode()), says(GOOD, finish="error"), a_reply()]) as server:
        judged = asked.judge(server)
    assert judged.retries == 2
    assert len({request.body for request in server.requests}) == 1


def test_unusable_twice_and_then_usable_is_one_judgment() -> None:
    """Retries are counted, and the usage of all three replies."""
    asked = Asked()
    with ModelServer([UNUSABLE["empty"], UNUSABLE["five"], a_reply(1)]) as server:
        judged = asked.judge(server)
    assert set(judged.judgment.scores.values()) == {1}
    assert judged.retries == 2
    assert (judged.usage.model_calls, judged.usage.input_tokens) == (3, 300)
    assert asked.events() == ["request", "reply", "failure"] * 2 + ["request", "reply"]


def test_usage_that_one_reply_lacks_is_unknown() -> None:
    """No data is never zero."""
    with ModelServer([says("", usage=None), a_reply()]) as server:
        assert Asked().judge(server).usage.input_tokens is None


def test_every_request_has_a_delimiter_of_its_own_and_is_otherwise_the_same() -> None:
    """Identical conditions: only the delimiter differs."""
    with ModelServer([UNUSABLE["empty"], UNUSABLE["empty"], a_reply()]) as server:
        Asked().judge(server)
    marks = [delimiter_of(request.json) for request in server.requests]
    assert len(set(marks)) == 3
    bodies = {
        request.body.replace(mark.encode(), b"MARK")
        for request, mark in zip(server.requests, marks, strict=True)
    }
    assert len(bodies) == 1


def test_a_delimiter_that_the_text_holds_is_drawn_again() -> None:
    """The request goes out with the next one."""
    taken, free = "a" * 64, "b" * 64
    drawn: Iterator[str] = iter([taken, taken, free])
    trace = RUN.model_copy(update={"final_text": f"END response {taken}"})
    with ModelServer([a_reply()]) as server:
        Asked().judge(server, trace=trace, delimiter=lambda: next(drawn))
    assert delimiter_of(server.requests[0].json) == free


def test_a_source_of_delimiters_that_is_stuck_is_a_failure_and_nothing_is_sent() -> None:
    """A text is never sent between lines that it could close itself."""
    mark = "a" * 64
    trace = RUN.model_copy(update={"turns": (Turn(role="assistant", text=mark),)})
    with ModelServer([a_reply()]) as server, pytest.raises(HarnessError, match="No delimiter"):
        Asked().judge(server, trace=trace, delimiter=lambda: mark)
    assert server.requests == []


@pytest.mark.parametrize(
    ("failure", "waits_s"),
    [
        pytest.param(refuses(429, retry_after="7"), 7.0, id="429"),
        pytest.param(refuses(502), 1.0, id="502"),
        pytest.param(truncated(), 1.0, id="cut-body"),
        pytest.param(broken(), 1.0, id="broken"),
    ],
)
def test_a_passing_failure_is_retried_with_the_same_bytes(failure: Scripted, waits_s: float) -> None:
    """The service's failures wait as asked for, and count as retries."""
    asked = Asked()
    with ModelServer([failure, a_reply()]) as server:
        judged = asked.judge(server)
    assert judged.retries == 1
    assert server.requests[0].body == server.requests[1].body
    assert sum(asked.slept) == pytest.approx(waits_s)
    assert asked.events() == ["request", "failure", "reply"]


def test_a_service_that_stays_broken_is_infrastructure() -> None:
    """After all attempts, with the provider's words and a remedy."""
    with ModelServer([refuses(503, message="so \x1b[2J sorry")] * 3) as server:
        error = failure_of(Asked(), server, attempts=3)
    assert "overloaded after 3 attempt(s): HTTP 503: so \\x1b[2J sorry" in error.found
    assert error.remedy == JUDGE_REMEDIES[FailureClass.OVERLOADED]


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (refuses(401), FailureClass.CREDENTIALS),
        (refuses(403), FailureClass.CREDENTIALS),
        (refuses(404), FailureClass.NOT_FOUND),
        (refuses(402), FailureClass.QUOTA),
        (refuses(400, message="response_format is not supported"), FailureClass.REJECTED),
        (refuses(400, code="context_length_exceeded"), FailureClass.CONTEXT_FULL),
        (refuses(400, code="content_filter"), FailureClass.FILTERED),
        (Scripted(b"", 307, (("location", "http://127.0.0.1:9/"),)), FailureClass.REJECTED),
    ],
)
def test_what_waiting_does_not_cure_is_infrastructure_at_once(failure: Scripted, kind: FailureClass) -> None:
    """One request, no waiting, the remedy; what scores a model is never the judge's to score."""
    asked = Asked()
    with ModelServer([failure, a_reply()]) as server:
        error = failure_of(asked, server)
    assert (len(server.requests), asked.slept) == (1, [])
    assert error.found.startswith(kind.value)
    assert error.remedy == JUDGE_REMEDIES[kind]


def test_every_remedy_speaks_of_the_judge() -> None:
    """None sends the reader to the settings of the model under test."""
    assert set(JUDGE_REMEDIES) == set(FailureClass)
    for remedy in JUDGE_REMEDIES.values():
        assert "agent.settings" not in remedy
        assert "api_key_env" not in remedy
        assert "-n" not in remedy.split()


def test_a_judge_that_never_answers_is_infrastructure() -> None:
    """The time was up: nothing is scored."""
    with ModelServer([never()]) as server:
        error = failure_of(Asked(), server, deadline_s=0.5)
    assert "before the time was up" in error.what


def test_there_is_no_waiting_beyond_the_deadline() -> None:
    """An unusable reply shortly before it is the last one."""
    asked = Asked()
    with ModelServer([UNUSABLE["empty"], a_reply()]) as server:
        endpoint = JudgeEndpoint.at(PINNED_JUDGE, server.base_url, KEY)
        judge = Judge(endpoint, jitter=lambda: 1.0, sleep_s=asked.slept.append)
        with pytest.raises(InfrastructureFailure, match="no usable reply"):
            judge.judge(
                ASK,
                INSTANCE,
                RUN,
                deadline=Deadline(Deadline.after_s(0).at_s + 0.9),
                cancelled=lambda: False,
                log=asked.log.append,
            )
    assert (len(server.requests), asked.slept) == (1, [])


@pytest.mark.parametrize("script", [[never()], [UNUSABLE["empty"]]], ids=["while-waiting", "between"])
def test_a_cancelled_judgment_is_interrupted(script: list[Scripted]) -> None:
    """Neither a score nor a failure: it will be done again."""
    with ModelServer(script) as server:
        with pytest.raises(Interrupted):
            Asked().judge(server, cancelled=lambda: len(server.requests) > 0)
        assert server.left == 0


def test_the_log_holds_requests_and_replies_and_no_key() -> None:
    """A provider that quotes the key, anywhere, gets it into neither log nor error nor judgment."""
    quoting = completion({"content": json.dumps(a_verdict() | {"reason": f"Key {KEY}"})}, model=f"m {KEY}")
    asked = Asked()
    duplicate = says(f'{{"{KEY}": 1, "{KEY}": 2}}')
    with ModelServer([refuses(500, message=f"bad key {KEY}"), duplicate, quoting]) as server:
        judged = asked.judge(server)
        reply = asked.lines()[-1]["body"]
    with ModelServer([refuses(401, message=f"no such key: {KEY}")]) as server:
        refused = failure_of(asked, server)
    with ModelServer([duplicate] * MOST_REPLIES) as server:
        unusable = failure_of(asked, server)
    assert json.loads(reply)["usage"] == USAGE
    assert asked.lines()[0]["body"]["model"] == PINNED_JUDGE
    told = "".join(map(str, (refused, unusable))) + judged.model_dump_json() + repr(asked.lines())
    assert KEY not in told
    assert "no such key: [redacted]" in refused.found
    assert "[redacted]" in unusable.found


def test_the_key_is_not_in_the_endpoint_s_text() -> None:
    """Whoever prints the endpoint prints no key."""
    assert KEY not in repr(Judge(JudgeEndpoint.at("m", "http://127.0.0.1:9/v1", KEY), jitter=lambda: 0.0))


@pytest.mark.parametrize("address", ["", "ftp://host/v1", "https://me:secret@host/v1", "https://host/v1?k=1"])
def test_an_address_that_is_none_is_a_wrong_command_line(address: str) -> None:
    """Exit code 64, and a secret in the address is not repeated."""
    with pytest.raises(UsageError) as caught:
        JudgeEndpoint.at(PINNED_JUDGE, address, "")
    assert "secret" not in str(caught.value)
    assert caught.value.exit_code == 64


def test_the_response_s_lone_surrogates_do_not_break_the_request() -> None:
    """What is no text is sent as a question mark."""
    trace = replace_final("odd \ud800 text")
    with ModelServer([a_reply()]) as server:
        Asked().judge(server, trace=trace)
    assert "odd ? text" in texts(server.requests[0].json)[1]


def replace_final(text: str) -> Any:  # noqa: ANN401  (a trace)
    """The run with another last message, which is not among the turns."""
    return RUN.model_copy(update={"final_text": text, "turns": RUN.turns[:-1]})


@pytest.mark.parametrize("judge", ["other/judge", "xiaomi/mimo-v2.6", "XIAOMI/MIMO-V2.6-PRO", ""])
def test_another_judge_is_refused_unless_it_is_asked_for(judge: str) -> None:
    """Exit code 64, naming the option that allows it."""
    with pytest.raises(UsageError) as caught:
        refuse_unpinned(judge, allow=False)
    assert caught.value.exit_code == 64
    assert "--allow-unpinned-judge" in caught.value.remedy
    assert "NOT VALID" in caught.value.what
    refuse_unpinned(judge, allow=True)


def test_the_pinned_judge_is_never_refused() -> None:
    """With or without the option."""
    refuse_unpinned(PINNED_JUDGE, allow=False)
    refuse_unpinned(PINNED_JUDGE, allow=True)


SAME = "https://models.example/v1"


@pytest.mark.parametrize(
    "judge_url",
    [
        "https://judge.example/v1",
        "http://models.example/v1",
        "https://models.example:8443/v1",
        "https://models.example/v2",
        "https://models.example.evil.test/v1",
        "https://MODELS.example/v1",
    ],
)
def test_the_model_s_key_goes_to_no_other_address(judge_url: str) -> None:
    """Another host, scheme, port, path or spelling: no key rather than the wrong one."""
    found = judge_key({}, judge_base_url=judge_url, model_base_url=SAME, model_key="model-key")
    assert found == ""


def test_the_model_s_key_is_used_at_the_very_same_address() -> None:
    """One provider for both needs one key; a trailing slash makes no other address."""
    for url in (SAME, f"{SAME}/"):
        assert judge_key({}, judge_base_url=url, model_base_url=SAME, model_key="k") == "k"


def test_the_judge_s_own_key_comes_first_wherever_it_judges() -> None:
    """The variable that the option names decides; the default variable is then not read."""
    environ = {JUDGE_KEY_VARIABLE: " own \n", "OTHER": "other"}
    for url in (SAME, "https://judge.example/v1"):
        urls = {"judge_base_url": url, "model_base_url": SAME}
        assert judge_key(environ, **urls, model_key="k") == "own"
        assert judge_key(environ, variable="OTHER", **urls, model_key="k") == "other"
    assert (
        judge_key(environ, variable="UNSET", judge_base_url=SAME, model_base_url=SAME, model_key="k") == "k"
    )


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    """Exit code 64."""
    with pytest.raises(UsageError) as caught:
        judge_key({JUDGE_KEY_VARIABLE: "schlüssel"}, judge_base_url=SAME, model_base_url=SAME, model_key="")
    assert "schlüssel" not in str(caught.value)
    assert JUDGE_KEY_VARIABLE in caught.value.where
