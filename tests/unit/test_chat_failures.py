"""Failures of a model endpoint: each class is met over real HTTP and has the consequence that it should."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from esac_ag.agents.chat import make_chat_agent
from esac_ag.agents.chat_client import MOST_REPLY_BYTES
from esac_ag.agents.contract import AgentEnd
from esac_ag.agents.replies import MOST_TEXT_BYTES
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.clock import Deadline
from esac_ag.failures import (
    CONSEQUENCES,
    REMEDIES,
    Consequence,
    Failure,
    FailureClass,
    classify,
    delay_s,
)
from esac_ag.transcript import EntryKind
from tests.builders_agents import AnsweringSandbox, Written, a_manifest, an_assignment
from tests.model_server import (
    ModelServer,
    Scripted,
    broken,
    completion,
    never,
    refuses,
    says,
    submits,
    truncated,
)


def met(
    script: Sequence[Scripted], *, deadline_s: float = 600.0, **settings: float | str
) -> tuple[AgentEnd, Written, ModelServer, list[float]]:
    """Let an agent meet a script; also gives how long it would have waited, step by step."""
    slept: list[float] = []
    with ModelServer(script) as server:
        environ = {"ESAC_AG_BASE_URL": server.base_url}
        agent = replace(make_chat_agent(a_manifest(settings=settings), environ), sleep_s=slept.append)
        assignment, written = an_assignment(deadline=Deadline.after_s(deadline_s))
        end = agent.act(AnsweringSandbox(), assignment)
    return end, written, server, slept


def tells(error: object, content: str = "", finish: str = "error") -> Scripted:
    """Status 200 with an error in the choice, beside what was written until then."""
    body = json.loads(says(content, finish=finish).body)
    body["choices"][0]["error"] = error
    return Scripted(json.dumps(body).encode())


def huge() -> Scripted:
    """A reply that is larger than any reply should be."""
    return says("x" * MOST_REPLY_BYTES)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (refuses(429), "rate-limited"),
        (refuses(408), "overloaded"),
        (refuses(409), "overloaded"),
        (refuses(500), "overloaded"),
        (refuses(503), "overloaded"),
        (refuses(529), "overloaded"),
        (truncated(), "truncated"),
        (broken(), "broken-reply"),
        (broken(b""), "broken-reply"),
        (broken(b"[" * 100_000), "broken-reply"),
        (broken(b'{"choices": []}'), "broken-reply"),
        (broken(b'{"error": {"message": "upstream"}}'), "broken-reply"),
        (broken(b'{"error": {"message": "upstream", "code": 502}}'), "overloaded"),
        (tells({"code": 429, "message": "slow down"}), "rate-limited"),
        (tells({"code": 503}, content="Half an", finish="stop"), "overloaded"),
        (says("", finish="error"), "broken-reply"),
        (says("Half an", finish="insufficient_system_resource"), "broken-reply"),
        (broken(b'{"choices": [{"message": {"content": 5}}]}'), "broken-reply"),
        (broken(b'{"choices": [{"message": {"content": "a"}}], "x": NaN}'), "broken-reply"),
        (replace(says("x"), headers=(("content-encoding", "gzip"),)), "broken-reply"),
        (huge(), "broken-reply"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_passing_failure_is_retried_with_the_same_bytes(failure: Scripted, kind: str) -> None:
    """After a failure of the service the identical request is sent again, and the attempt goes on fairly."""
    end, written, server, slept = met([failure, submits()])
    assert end.outcome is Outcome.COMPLETED
    assert server.requests[0].body == server.requests[1].body
    assert any(f"({kind}, attempt 1)" in notice.text for notice in written.of_kind(EntryKind.NOTICE))
    assert 0.5 <= sum(slept) <= 1.01
    assert end.costs.usage.model_calls == 1


def test_no_answer_at_all_is_retried() -> None:
    """A port where nobody listens is a failure of the service."""
    slept: list[float] = []
    assignment, written = an_assignment()
    with ModelServer([]) as server:
        environ = {"ESAC_AG_BASE_URL": server.base_url}
    agent = replace(make_chat_agent(a_manifest(), environ), sleep_s=slept.append)
    end = agent.act(AnsweringSandbox(), assignment)
    assert end.outcome is Outcome.INFRA
    assert "transport after 5 attempt(s)" in end.reason
    assert len([n for n in written.of_kind(EntryKind.NOTICE) if "transport, attempt" in n.text]) == 5
    assert end.costs.usage.model_calls is None
    assert end.costs.usage.input_tokens is None


def test_a_failure_that_stays_spoils_the_attempt_after_the_configured_attempts() -> None:
    """The attempt is no fair one: infra, with the provider's words and a remedy."""
    end, _, server, _ = met([refuses(503, message="overloaded, sorry")] * 3, attempts=3)
    assert end.outcome is Outcome.INFRA
    assert len(server.requests) == 3
    assert "overloaded, sorry" in end.reason
    assert REMEDIES[FailureClass.OVERLOADED] in end.reason


@pytest.mark.parametrize(
    ("failure", "remedy"),
    [
        (refuses(401), REMEDIES[FailureClass.CREDENTIALS]),
        (refuses(403), REMEDIES[FailureClass.CREDENTIALS]),
        (refuses(404), REMEDIES[FailureClass.NOT_FOUND]),
        (refuses(400, message="temperature is not supported"), REMEDIES[FailureClass.REJECTED]),
        (refuses(402), REMEDIES[FailureClass.QUOTA]),
        (tells({"code": 401}), REMEDIES[FailureClass.CREDENTIALS]),
        (tells({"code": "insufficient_quota"}), REMEDIES[FailureClass.QUOTA]),
        (refuses(429, code="insufficient_quota"), REMEDIES[FailureClass.QUOTA]),
        (Scripted(b"", 307, (("location", "http://127.0.0.1:9/"),)), REMEDIES[FailureClass.REJECTED]),
    ],
)
def test_a_failure_that_waiting_does_not_cure_spoils_the_attempt_at_once(
    failure: Scripted, remedy: str
) -> None:
    """Neither retried nor followed elsewhere; the reason tells the remedy."""
    end, _, server, slept = met([failure])
    assert end.outcome is Outcome.INFRA
    assert remedy in end.reason
    assert len(server.requests) == 1
    assert slept == []


@pytest.mark.parametrize(
    "failure",
    [
        refuses(400, code="context_length_exceeded"),
        refuses(400, message="This model's maximum context length is 8192 tokens"),
        refuses(413, message="prompt is too long"),
    ],
)
def test_a_full_context_is_a_limit_of_the_model(failure: Scripted) -> None:
    """It is scored with what was done until then."""
    end, _, _, _ = met([failure])
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.INPUT_TOKENS)


def test_a_conversation_that_the_providers_filter_refuses_is_scored() -> None:
    """The filter is part of the model under test."""
    end, _, _, _ = met([refuses(400, code="content_filter")])
    assert end.outcome is Outcome.COMPLETED
    assert "filtered" in end.reason


def test_the_wait_that_the_provider_asks_for_is_kept() -> None:
    """Retry-After in seconds replaces our own pause."""
    end, _, _, slept = met([refuses(429, retry_after="37"), submits()])
    assert end.outcome is Outcome.COMPLETED
    assert sum(slept) == pytest.approx(37.0)


def test_waiting_stops_at_its_cap() -> None:
    """A provider that asks for an hour spoils the attempt instead of stopping the study."""
    end, _, server, slept = met([refuses(429, retry_after="3600"), submits()], deadline_s=10_000)
    assert end.outcome is Outcome.INFRA
    assert len(server.requests) == 1
    assert slept == []


def test_waiting_beyond_the_attempts_deadline_is_not_begun() -> None:
    """Time that the service takes away is no fair attempt, and is not waited for."""
    end, _, _, slept = met([refuses(429, retry_after="100"), submits()], deadline_s=50)
    assert end.outcome is Outcome.INFRA
    assert slept == []


def test_a_model_that_thinks_until_the_deadline_used_up_its_time() -> None:
    """Without a failure before, silence until the attempt's deadline is the model's own slowness."""
    end, _, _, _ = met([never()], deadline_s=0.5)
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)


def test_a_reply_that_does_not_come_within_its_own_time_is_retried() -> None:
    """A hang shorter than the attempt is a failure of the service."""
    end, written, server, _ = met([never(), submits()], request_timeout_s=1.5)
    assert end.outcome is Outcome.COMPLETED
    assert len(server.requests) == 2
    assert any("timed-out, attempt 1" in notice.text for notice in written.of_kind(EntryKind.NOTICE))


def test_silence_after_a_failure_until_the_deadline_is_the_services_fault() -> None:
    """The time went to the service, so the attempt is spoiled and not scored."""
    end, _, _, _ = met([refuses(500), never()], deadline_s=4.0)
    assert end.outcome is Outcome.INFRA


def test_a_time_that_passes_without_a_connection_is_the_services_fault() -> None:
    """No model is slow that nothing has reached."""
    with ExitStack() as opened:
        # Nobody takes connections from this queue, and it is full: a further one is not answered.
        queue = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(queue.getsockname())
        environ = {"ESAC_AG_BASE_URL": f"http://127.0.0.1:{queue.getsockname()[1]}/v1"}
        assignment, _ = an_assignment(deadline=Deadline.after_s(0.5))
        end = make_chat_agent(a_manifest(), environ).act(AnsweringSandbox(), assignment)
    assert end.outcome is Outcome.INFRA
    assert "no connection in time" in end.reason


def test_a_cancelled_study_does_not_wait_for_a_model() -> None:
    """A request that hangs is given up as soon as the study is stopped."""
    with ModelServer([never()]) as server:
        assignment, _ = an_assignment(cancelled=lambda: bool(server.requests))
        agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": server.base_url})
        end = agent.act(AnsweringSandbox(), assignment)
    assert end.outcome is Outcome.CANCELLED


def test_a_cancelled_study_does_not_wait_for_the_next_attempt() -> None:
    """Nor is a pause between attempts slept to its end."""
    slept: list[float] = []
    with ModelServer([refuses(429, retry_after="200")]) as server:
        assignment, _ = an_assignment(cancelled=lambda: len(slept) > 3)
        agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": server.base_url})
        end = replace(agent, sleep_s=slept.append).act(AnsweringSandbox(), assignment)
    assert end.outcome is Outcome.CANCELLED
    assert sum(slept) < 1


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": "9", "completion_tokens": 1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        {"completion_tokens": 1},
        {"prompt_tokens": 0, "completion_tokens": 1},
    ],
)
def test_an_impossible_count_is_unknown(usage: object) -> None:
    """A count that no counting gives is not taken for one; the others stay."""
    wanted = {"id": "1", "function": {"name": "submit", "arguments": '{"summary": ""}'}}
    end, _, _, _ = met([completion({"content": None, "tool_calls": [wanted]}, usage=usage)])
    assert end.costs.usage.input_tokens is None
    assert end.costs.usage.output_tokens == 1


def test_a_reply_that_is_too_large_is_told_of() -> None:
    """The transcript holds the beginning and a notice."""
    end, written, _, _ = met([says("x" * 3_000_000), submits()])
    assert end.outcome is Outcome.COMPLETED
    assert any("too large, left out: text" in notice.text for notice in written.of_kind(EntryKind.NOTICE))
    assert len(written.of_kind(EntryKind.MODEL)[0].text) == MOST_TEXT_BYTES


def test_every_class_of_failure_has_a_consequence_and_a_remedy() -> None:
    """A class without a rule would fall through unseen."""
    assert set(CONSEQUENCES) == set(REMEDIES) == set(FailureClass)
    assert set(CONSEQUENCES.values()) == set(Consequence)


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        (FailureClass.NOT_FOUND, ("--base-url", "-m)")),
        (FailureClass.REJECTED, ("--provider-decoding", "--setting")),
        (FailureClass.TRANSPORT, ("--base-url",)),
        (FailureClass.BROKEN_REPLY, ("--base-url",)),
    ],
)
def test_what_a_plan_keeps_is_corrected_by_a_new_run(kind: FailureClass, flags: tuple[str, ...]) -> None:
    """Going on with the sealed plan would fail again: the flags of a new run are named."""
    assert "sealed plan keeps" in REMEDIES[kind]
    assert "start a new run" in REMEDIES[kind]
    assert [flag for flag in flags if flag not in REMEDIES[kind]] == []


@pytest.mark.parametrize(
    ("value", "expected_s"),
    [
        ("0", 0.0),
        ("2.5", 2.5),
        ("Sun, 29 Nov 2026 10:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 09:00:00 GMT", 0.0),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(value: str, expected_s: float | None) -> None:
    """What is neither is as if it were not there."""
    now = datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC)
    assert classify(429, {"retry-after": value}, b"", now=now).retry_after_s == expected_s


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"[]", b'"x"', b"{" * 50_000, b'{"error": "text"}', b'{"error": {"code": {}}}'],
)
def test_an_error_body_of_any_kind_is_classified(body: bytes) -> None:
    """What a provider sends with an error never becomes an exception of ours."""
    assert classify(500, {}, body).kind is FailureClass.OVERLOADED


def test_pauses_double_up_to_a_minute_and_spread() -> None:
    """The jitter takes up to half of a pause away, so that many runs do not return at once."""
    failure = Failure(FailureClass.OVERLOADED, "")
    assert [delay_s(failure, attempt, 1.0) for attempt in (1, 2, 3, 10)] == [1.0, 2.0, 4.0, 60.0]
    assert delay_s(failure, 3, 0.0) == 2.0
