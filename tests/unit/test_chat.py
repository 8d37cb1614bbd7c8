"""The chat agent's loop, against a scripted model server over real HTTP and a sandbox that only answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from esac_ag.agents.chat import ChatAgent, make_chat_agent
from esac_ag.agents.contract import AgentEnd, Assignment
from esac_ag.agents.conversation import CUT_OFF, NUDGE
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.canonical import canonical_json, sha256_of, sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.manifest.plan import Decoding, Limits, Prices, TokenPrice
from esac_ag.sandbox.contract import Termination
from esac_ag.transcript import EntryKind
from tests.builders_agents import AnsweringSandbox, Written, a_manifest, an_assignment, exited
from tests.model_server import (
    ModelServer,
    Scripted,
    calls,
    completion,
    says,
    submits,
)

KEY = "sk-very-secret-0123"


def an_agent(server: ModelServer, **manifest: Any) -> ChatAgent:  # noqa: ANN401
    """A chat agent for the server, with a key, that never really waits."""
    environ = {"ESAC_AG_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
    return replace(make_chat_agent(a_manifest(**manifest), environ), sleep_s=lambda _s: None)


def conversed(
    script: Sequence[Scripted],
    *,
    sandbox: AnsweringSandbox | None = None,
    given: tuple[Assignment, Written] | None = None,
    limits: Limits | None = None,
    **manifest: Any,  # noqa: ANN401
) -> tuple[AgentEnd, Written, ModelServer]:
    """Let an agent converse by a script to its end."""
    assignment, written = given or an_assignment(limits=limits)
    with ModelServer(script) as server:
        agent = an_agent(server, limits=assignment.limits, **manifest)
        end = agent.act(sandbox or AnsweringSandbox(), assignment)
    return end, written, server


def test_a_model_that_works_and_submits_completes() -> None:
    """Commands run in order in the sandbox, the model is told their results, and submit ends the attempt."""
    sandbox = AnsweringSandbox(lambda argv: exited(1, b"boom\n") if "pytest" in argv[-1] else exited())
    end, written, server = conversed(
        [
            calls(
                ("write_file", {"path": "a.py", "content": "x = 1\n"}),
                ("bash", {"command": "pytest -q", "timeout_s": 7}),
            ),
            submits("repaired"),
        ],
        sandbox=sandbox,
    )
    assert (end.outcome, end.reason) == (Outcome.COMPLETED, "The model submitted its work")
    assert [command[4] for command in sandbox.commands[:1]] == ["/agent/workspace/a.py"]
    assert sandbox.commands[1] == ["bash", "-c", "pytest -q"]
    assert sandbox.time_limits_s[1] == 7.0
    told = [m["content"] for m in server.requests[1].json["messages"] if m["role"] == "tool"]
    assert told == ["Wrote 6 bytes to /agent/workspace/a.py.", "boom\n[exit code 1]"]
    assert end.costs.tool_calls == 3
    assert end.costs.turns == 2
    assert [line["tool"] for line in written.commands] == ["write_file", "bash"]
    assert written.commands[1]["exit_code"] == 1


def test_usage_is_summed_and_normalised() -> None:
    """Input counts cached tokens, output counts reasoning, and what no reply tells stays unknown."""
    end, _, _ = conversed([calls(("bash", {"command": "ls"})), submits()])
    usage = end.costs.usage
    assert usage.model_calls == 2
    assert (usage.input_tokens, usage.cached_input_tokens) == (200, 120)
    assert (usage.output_tokens, usage.reasoning_tokens) == (40, 10)
    assert usage.cache_write_tokens is None


def test_one_call_without_usage_makes_the_totals_unknown() -> None:
    """Unknown plus known is unknown, never the known part."""
    end, _, _ = conversed([calls(("bash", {"command": "ls"}), usage=None), submits()])
    assert end.costs.usage.model_calls == 2
    assert end.costs.usage.input_tokens is None
    assert end.costs.usage.output_tokens is None
    assert end.costs.cost is None


def test_decoding_is_sent_exactly_and_nothing_else() -> None:
    """What the manifest sets goes out under its field; what it leaves open is not sent."""
    decoding = Decoding(temperature=0.2, top_p=0.9, max_output_tokens=512, seed=7)
    _, _, server = conversed(
        [submits()],
        decoding=decoding,
        reasoning="low",
        settings={"output_tokens_field": "max_completion_tokens"},
    )
    sent = server.requests[0].json
    assert {key: sent[key] for key in sent if key not in {"messages", "tools"}} == {
        "model": "m-1",
        "stream": False,
        "temperature": 0.2,
        "top_p": 0.9,
        "max_completion_tokens": 512,
        "seed": 7,
        "reasoning_effort": "low",
    }
    _, _, bare = conversed([submits()])
    assert set(bare.requests[0].json) == {"model", "stream", "messages", "tools"}


def test_every_request_can_be_rebuilt_from_the_log_and_matches_its_digest() -> None:
    """The digest in the transcript is that of the bytes on the wire, and the log holds those bytes' parts."""
    _, written, server = conversed([calls(("bash", {"command": "ls"})), says("hm"), submits()])
    digests = [entry.request_sha256 for entry in written.of_kind(EntryKind.MODEL)]
    assert digests == [sha256_of_bytes(request.body) for request in server.requests]
    logged = written.log_objects("request")
    fixed, messages = logged[0]["body"], []
    for line, request in zip(logged, server.requests, strict=True):
        messages += line["messages_added"]
        body = {**fixed, "messages": messages}
        assert canonical_json(body) == request.body
        assert sha256_of(body) == line["sha256"]


def test_the_key_travels_in_the_header_and_is_written_nowhere() -> None:
    """Even a model that repeats the key leaves no trace of it in transcript, log and commands."""
    end, written, server = conversed(
        [
            calls(("bash", {"command": f"echo {KEY}"})),
            calls(("bash", f'{{"command": "{KEY}", "no": 1}}')),
            says(f"the key is {KEY}"),
            says("done"),
        ],
        sandbox=AnsweringSandbox(lambda argv: exited(0, argv[-1].encode())),
    )
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in written.everything()
    assert "[redacted]" in written.everything()
    assert KEY not in end.model_dump_json()


def test_without_a_key_no_authorization_is_sent() -> None:
    """A local server without keys gets no invented one."""
    assignment, _ = an_assignment()
    with ModelServer([submits()]) as server:
        agent = make_chat_agent(a_manifest(), {"ESAC_AG_BASE_URL": server.base_url})
        agent.act(AnsweringSandbox(), assignment)
    assert "authorization" not in server.requests[0].headers
    assert agent.secrets() == ()


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("bash", '{"command": ', "not a JSON object"),
        ("bash", "[1]", "not a JSON object"),
        ("bash", '{"command": "ls", "command": "rm"}', "not a JSON object"),
        ("bash", {"cmd": "ls"}, "command: Field required"),
        ("bash", {"command": "a\0b"}, "NUL"),
        ("bash", '{"command": "\\ud800"}', "command"),
        ("bash", {"command": "x" * 130_000}, "at most"),
        ("read_file", {"path": "a", "offset": "one"}, "offset"),
        ("read_file", {"path": "a", "offset": 10**20}, "offset"),
        ("bash", {"command": "ls", "timeout_s": 10**20}, "timeout_s"),
        ("write_file", {"path": "a", "content": "x" * 1_000_001}, "at most"),
        ("browse", {"url": "http://x"}, "There is no tool 'browse'"),
        ("bad name\ud83d", {}, "There is no tool"),
    ],
)
def test_a_wrong_call_is_answered_and_counted(name: str, arguments: object, told: str) -> None:
    """The model is told what was wrong with its call, nothing runs, and the conversation goes on."""
    sandbox = AnsweringSandbox()
    end, written, server = conversed([calls((name, arguments)), submits()], sandbox=sandbox)
    assert end.outcome is Outcome.COMPLETED
    assert told in server.requests[1].json["messages"][-1]["content"]
    assert sandbox.commands == []
    assert end.costs.tool_calls == 2
    assert told in written.of_kind(EntryKind.TOOL_RESULT)[0].text


def test_broken_arguments_are_not_sent_back_to_the_endpoint() -> None:
    """Some servers refuse a conversation that holds arguments which are no JSON."""
    _, written, server = conversed([calls(("no such tool", '{"x": ')), submits()])
    function = server.requests[1].json["messages"][2]["tool_calls"][0]["function"]
    assert function == {"name": "invalid", "arguments": "{}"}
    assert written.of_kind(EntryKind.TOOL_CALL)[0].arguments == {"raw": '{"x": '}


def test_calls_with_the_same_id_get_results_of_their_own() -> None:
    """Two calls that a server gave one id are told apart."""
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    twice = completion({"content": None, "tool_calls": [{"id": "x", "function": function}] * 2})
    _, _, server = conversed([twice, submits()])
    messages = server.requests[1].json["messages"]
    asked = [call["id"] for call in messages[2]["tool_calls"]]
    assert len(set(asked)) == 2
    assert [m["tool_call_id"] for m in messages[3:]] == asked


def test_a_model_that_only_talks_is_nudged_once_and_then_scored() -> None:
    """Two replies in a row without a call end the attempt as the model's own doing."""
    end, written, server = conversed([says("I think it is fine."), says("")])
    assert (end.outcome, end.reason) == (Outcome.COMPLETED, "The model stopped without submit")
    assert server.requests[1].json["messages"][-1] == {"role": "user", "content": NUDGE}
    assert [entry.text for entry in written.of_kind(EntryKind.USER)][-1] == NUDGE


def test_a_call_after_the_nudge_starts_the_count_anew() -> None:
    """Only replies in a row count."""
    end, _, server = conversed([says("a"), calls(("bash", {"command": "ls"})), says("b"), submits()])
    assert end.reason == "The model submitted its work"
    assert server.left == 0


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (completion({"content": None, "refusal": "I won't."}), "The model refused"),
        (
            completion({"content": [{"type": "refusal", "refusal": "I won't."}]}),
            "The model refused",
        ),
        (
            says("", finish="content_filter"),
            "The provider's content filter stopped the model's reply",
        ),
    ],
)
def test_refusals_and_filtered_replies_are_scored(reply: Scripted, reason: str) -> None:
    """They are the model's and its provider's doing, and no reason for a free retry."""
    end, _, server = conversed([reply])
    assert (end.outcome, end.reason) == (Outcome.COMPLETED, reason)
    assert len(server.requests) == 1


def test_replies_that_are_cut_off_are_told_so_and_end_as_a_limit() -> None:
    """The third reply in a row that reaches the output limit without a call ends the attempt, scored."""
    end, _, server = conversed([says("long", finish="length")] * 3)
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.OUTPUT_TOKENS)
    assert server.requests[2].json["messages"][-1]["content"] == CUT_OFF


def listing(count: int = 1) -> Scripted:
    """A reply with some bash calls."""
    return calls(*[("bash", {"command": "ls"})] * count)


@pytest.mark.parametrize(
    ("limits", "script", "kind"),
    [
        (Limits(turns=2), [listing(), listing()], LimitKind.TURNS),
        (Limits(tool_calls=2), [listing(3)], LimitKind.TOOL_CALLS),
        (Limits(input_tokens=200), [listing(), listing()], LimitKind.INPUT_TOKENS),
        (Limits(output_tokens=40), [listing(), listing()], LimitKind.OUTPUT_TOKENS),
        (Limits(output_bytes=10), [listing()], LimitKind.OUTPUT),
    ],
)
def test_each_budget_ends_the_attempt_with_its_kind(
    limits: Limits, script: list[Scripted], kind: LimitKind
) -> None:
    """A used-up budget is an outcome that is graded and flagged; what was asked before it was carried out."""
    sandbox = AnsweringSandbox(lambda _argv: exited(0, b"0123456789"))
    end, _, server = conversed(script, sandbox=sandbox, limits=limits)
    assert (end.outcome, end.limit) == (Outcome.LIMIT, kind)
    assert server.left == 0
    assert 1 <= len(sandbox.commands) <= 2


def test_a_cost_limit_ends_the_attempt_and_the_cost_is_told() -> None:
    """40 fresh, 60 cached and 20 output tokens a call, priced by the manifest's table."""
    prices = Prices(
        source="x",
        currency="USD",
        date="2026-01-01",
        version="1",
        per_million={"m-1": TokenPrice(input=10.0, cached_input=1.0, output=20.0)},
    )
    end, _, _ = conversed([listing(), listing()], limits=Limits(cost_usd=0.0016), prices=prices)
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.COST)
    assert end.costs.cost == pytest.approx(2 * (40 * 10 + 60 * 1 + 20 * 20) / 1e6)


def test_a_budget_that_cannot_be_metered_is_no_fair_attempt() -> None:
    """An endpoint that tells no usage under a token limit is infrastructure, not an unlimited model."""
    end, _, _ = conversed([calls(("bash", {"command": "ls"}), usage=None)], limits=Limits(input_tokens=10))
    assert end.outcome is Outcome.INFRA
    assert "input_tokens" in end.reason


def test_submit_is_taken_even_when_the_tool_calls_are_used_up() -> None:
    """Ending the work costs nothing."""
    end, _, _ = conversed([listing(), submits()], limits=Limits(tool_calls=1))
    assert end.reason == "The model submitted its work"


def test_calls_after_submit_are_not_carried_out() -> None:
    """What counts is the state at the moment of submission."""
    sandbox = AnsweringSandbox()
    conversed([calls(("submit", {"summary": "s"}), ("bash", {"command": "rm -r ."}))], sandbox=sandbox)
    assert sandbox.commands == []


def test_a_deadline_that_has_passed_ends_before_the_model_is_asked() -> None:
    """No request is sent without time for it."""
    given = an_assignment(deadline=Deadline.after_s(-1))
    end, _, server = conversed([submits()], given=given)
    assert (end.outcome, end.limit) == (Outcome.LIMIT, LimitKind.WALL_CLOCK)
    assert server.requests == []


@pytest.mark.parametrize(
    ("termination", "outcome", "kind"),
    [
        (Termination.TIMED_OUT, Outcome.LIMIT, LimitKind.WALL_CLOCK),
        (Termination.CONTAINER_ENDED, Outcome.AGENT_ERROR, None),
    ],
)
def test_a_command_after_which_none_can_follow_ends_the_attempt_scored(
    termination: Termination, outcome: Outcome, kind: LimitKind | None
) -> None:
    """Neither evading a time limit nor ending the container buys an infrastructure failure."""
    sandbox = AnsweringSandbox(lambda _argv: exited(None, termination=termination))
    end, _, server = conversed([listing(), submits()], sandbox=sandbox)
    assert (end.outcome, end.limit) == (outcome, kind)
    assert server.left == 1


def test_a_command_gets_no_limit_of_its_own_beyond_the_attempts_deadline() -> None:
    """What would outlast the attempt is ended by the sandbox's deadline."""
    sandbox = AnsweringSandbox()
    wanted = {"command": "ls", "timeout_s": 500}
    conversed(
        [calls(("bash", wanted)), submits()],
        sandbox=sandbox,
        given=an_assignment(deadline=Deadline.after_s(400)),
    )
    assert sandbox.commands == [["bash", "-c", "ls"]]
    assert sandbox.time_limits_s == []


def test_a_command_that_ran_out_of_time_or_memory_is_told_and_the_work_goes_on() -> None:
    """A single command's end is the model's to deal with."""
    results = iter(
        [
            exited(124, b"", duration_s=120.0),
            exited(137, b"", termination=Termination.OUT_OF_MEMORY),
        ]
    )
    end, written, _ = conversed(
        [listing(), listing(), submits()], sandbox=AnsweringSandbox(lambda _argv: next(results))
    )
    told = [entry.text for entry in written.of_kind(EntryKind.TOOL_RESULT)]
    assert "[the time limit was reached and the command ended]" in told[0]
    assert "[the container ran out of memory]" in told[1]
    assert end.outcome is Outcome.COMPLETED


def test_long_output_is_shown_head_and_tail() -> None:
    """The model sees about the configured number of bytes and is told how much is missing."""
    output = b"first" + b"x" * 5000 + b"last"
    _, written, _ = conversed(
        [listing(), submits()],
        sandbox=AnsweringSandbox(lambda _argv: exited(0, output)),
        settings={"shown_output_bytes": 1000},
    )
    result = written.of_kind(EntryKind.TOOL_RESULT)[0]
    assert result.truncated
    assert result.text.startswith("first")
    assert "last\n[exit code 0]" in result.text
    assert "[... 4009 bytes left out ...]" in result.text
    assert len(result.text) < 1100


def test_a_cancelled_study_ends_the_attempt_as_cancelled() -> None:
    """It is asked before each call, and nothing is sent after."""
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 1

    given = an_assignment(cancelled=cancelled)
    end, _, _ = conversed([listing(), submits()], given=given)
    assert end.outcome is Outcome.CANCELLED


def test_another_model_than_the_one_asked_for_is_noticed() -> None:
    """An endpoint that answers with another model's name leaves a notice in the transcript."""
    other = completion({"content": "x"}, model="m-2")
    _, written, _ = conversed([other, submits()])
    assert any("answered by m-2" in entry.text for entry in written.of_kind(EntryKind.NOTICE))
