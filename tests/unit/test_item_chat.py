"""A model takes items of the suite by chat: over real HTTP, in the real world of the item."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from esac_ag import clock
from esac_ag.agents.item_agent import ChatItemAgent
from esac_ag.attempt import LimitKind, Outcome
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import AgentKind, Decoding, Limits, Prices, TokenPrice
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.contract import Item, RunEnd, Tokens, Trace
from esac_ag.suite.items.code_desk import Desk, Ran
from esac_ag.suite.play import is_program_item, play
from esac_ag.transcript import EntryKind
from tests.builders_agents import an_assignment
from tests.builders_item_agents import KEY, InWorld, Taken, a_chat, as_a_model, public_instance, taken
from tests.builders_suite import golden_suite
from tests.model_server import ModelServer, Scripted, calls, completion, never, refuses, says

REFUND = item_named("tool-call-refund")
ASK = item_named("ambiguity-ask")
PROGRAM = item_named("code-log-report")
WORLD_ITEMS = [item for item in bank() if not is_program_item(public_instance(item))]
LOOK = ("payments_list_invoices", {"customer": "nobody"})


def said(run: Taken) -> list[tuple[str, str]]:
    """Role and text of the conversation's messages."""
    return [(turn.role, turn.text) for turn in run.end.turns]


def results(run: Taken) -> list[dict[str, object]]:
    """The tools' answers in the last request."""
    return [m for m in run.server.requests[-1].json["messages"] if m["role"] == "tool"]


@pytest.mark.parametrize("item", WORLD_ITEMS, ids=lambda item: item.id)
def test_a_model_that_does_what_the_reference_does_leaves_the_same_run(item: Item) -> None:
    """Calls, conversation, last message and end are those of the reference's play, and every check is met."""
    instance = public_instance(item)
    played = play(item, instance, item.reference(instance))
    run = taken(item, as_a_model(item, instance, item.reference(instance)))
    assert run.server.left == 0
    assert run.trace.model_copy(update={"tokens": Tokens()}) == played
    assert {check.fraction for check in item.check(instance, run.trace)} <= {1.0}
    assert run.end.outcome is Outcome.COMPLETED
    assert run.end.costs.tool_calls == len(played.calls)


def test_the_first_request_is_pinned_to_the_byte() -> None:
    """Model, tools in order, decoding and the request; no system message and no tool choice."""
    run = taken(REFUND, [says("Done.")])
    body = run.server.requests[0].body.decode()
    assert body == golden_suite("first-request.json", body)
    sent = json.loads(body)
    assert set(sent) == {"model", "messages", "tools", "stream", "temperature", "top_p", "max_tokens"}
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0, 1, REFUND.output_tokens)
    instance = public_instance(REFUND)
    assert sent["messages"] == [{"role": "user", "content": instance.prompt}]
    assert [tool["function"] for tool in sent["tools"]] == [t.model_dump() for t in instance.tools]
    assert {tool["type"] for tool in sent["tools"]} == {"function"}


def test_what_the_endpoint_wants_said_otherwise_is_said_so() -> None:
    """The output cap's field and the model's reasoning effort follow the manifest."""
    settings = {"output_tokens_field": "max_completion_tokens"}
    run = taken(REFUND, [says("Done.")], settings=settings, reasoning="low")
    sent = run.server.requests[0].json
    assert sent["max_completion_tokens"] == REFUND.output_tokens
    assert sent["reasoning_effort"] == "low"
    assert "max_tokens" not in sent


def test_a_plan_with_other_decoding_is_carried_out_as_it_says() -> None:
    """The report tells that it is not strictly comparable; the run is what was planned."""
    decoding = Decoding(temperature=0.7, top_p=None, max_output_tokens=9, seed=1)
    sent = taken(REFUND, [says("Done.")], decoding=decoding).server.requests[0].json
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0.7, 9, 1)
    assert "top_p" not in sent


@pytest.mark.parametrize("limits", [Limits(input_tokens=9), Limits(output_tokens=9)])
def test_a_budget_that_the_suite_has_no_rule_for_is_refused(limits: Limits) -> None:
    """It is neither ignored nor turned into a score."""
    with pytest.raises(InputRefused, match="tokens or cost"):
        taken(REFUND, [], given=an_assignment(limits=limits))


@pytest.mark.parametrize(
    ("written", "logged"),
    [
        ('{"customer": ', '{"customer": '),
        ("[1]", "[1]"),
        ("", ""),
        ('{"customer": "a", "customer": "b"}', '{"customer": "a", "customer": "b"}'),
        ('{"customer": NaN}', '{"customer": NaN}'),
        ({"customer": 10**20}, None),
        ({"customer": "\ud800"}, None),
        ('{"customer": 1e999}', None),
        ('{"customer": ' + "9" * 4000 + "}", None),
        ('{"customer": ' + "9" * 5000 + "}", None),
        ('{"a":' * 300 + "1" + "}" * 300, None),
        ('{"a":' * 450 + "1" + "}" * 450, None),
        ('{"a":' * 900 + "1" + "}" * 900, None),
        ('{"a":' * 50_000, None),
    ],
    ids=lambda value: None if value is None else str(value)[:20],
)
def test_malformed_arguments_reach_the_world_and_the_run_goes_on(written: object, logged: str | None) -> None:
    """The world logs what was written and answers with an error; transcript and messages stay readable."""
    run = taken(REFUND, [calls((LOOK[0], written)), says("Done.")])
    (call,) = run.tools.log
    assert (call.ok, call.tool) == (False, LOOK[0])
    assert call.error in {"invalid-arguments", "too-large"}
    if logged is not None:
        assert call.arguments == logged
        assert run.written.of_kind(EntryKind.TOOL_CALL)[0].arguments == {"raw": logged}
    (told,) = results(run)
    assert told["content"] == call.reply == run.written.of_kind(EntryKind.TOOL_RESULT)[0].text
    assert run.end.end is RunEnd.ANSWERED


def test_arguments_that_a_server_sends_as_an_object_are_taken_as_such() -> None:
    """Some servers send no text of JSON."""
    function = {"name": LOOK[0], "arguments": LOOK[1]}
    run = taken(REFUND, [completion({"content": None, "tool_calls": [{"id": "x", "function": function}]})])
    assert (run.tools.log[0].ok, run.tools.log[0].arguments) == (True, LOOK[1])


def test_an_unknown_tool_is_answered_by_the_world_and_counts() -> None:
    """The name reaches the world's log as it was written, and goes back in a form that servers take."""
    run = taken(REFUND, [calls(("no such tool", {"x": 1})), says("Done.")])
    assert [(call.tool, call.error) for call in run.tools.log] == [("no such tool", "unknown-tool")]
    sent_back = run.server.requests[1].json["messages"][1]["tool_calls"][0]["function"]
    assert sent_back["name"] == "invalid"
    assert run.end.costs.tool_calls == 1


def test_parallel_calls_are_carried_out_in_order() -> None:
    """Each is a turn of its own, with its own answer; text beside calls is said, and is no last message."""
    both = completion(
        {
            "content": "Let me look?",
            "tool_calls": [
                {"id": f"c{n}", "function": {"name": LOOK[0], "arguments": f'{{"customer": "{n}"}}'}}
                for n in range(2)
            ],
        }
    )
    run = taken(REFUND, [both, says("Done.")])
    assert [call.arguments for call in run.tools.log] == [{"customer": "0"}, {"customer": "1"}]
    assert [told["tool_call_id"] for told in results(run)] == ["c0", "c1"]
    assert said(run)[1:] == [("assistant", "Let me look?"), ("assistant", "Done.")]
    assert run.end.final_text == "Done."


def test_the_items_turns_are_enough_for_as_many_calls_and_an_answer() -> None:
    """Calls are turns; the last message is none."""
    run = taken(REFUND, [calls(*[LOOK] * REFUND.turns), says("Done.")])
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, "Done.")
    assert len(run.tools.log) == REFUND.turns


@pytest.mark.parametrize("parallel", [True, False])
def test_a_call_beyond_the_items_turns_is_not_carried_out_and_ends_the_run(parallel: bool) -> None:  # noqa: FBT001
    """In one message or in several: as many calls as there are turns, and no last message."""
    many = REFUND.turns + 3
    script = [calls(*[LOOK] * many)] if parallel else [calls(LOOK)] * many
    run = taken(REFUND, script)
    assert (run.end.end, run.end.final_text) == (RunEnd.TURN_LIMIT, "")
    assert (run.end.outcome, run.end.limit) == (Outcome.LIMIT, LimitKind.TURNS)
    assert len(run.tools.log) == run.end.costs.tool_calls == REFUND.turns
    assert len(run.end.turns) == 1


@pytest.mark.parametrize(
    ("reply", "end", "text"),
    [
        (says(""), RunEnd.EMPTY, ""),
        (says(None), RunEnd.EMPTY, ""),
        (says(" \n"), RunEnd.EMPTY, " \n"),
        (says(" \u200b\n"), RunEnd.EMPTY, " \u200b\n"),
        (says("\u3164"), RunEnd.EMPTY, "\u3164"),
        (says("Well", finish="sensitive"), RunEnd.REFUSED, "Well"),
        (completion({"content": None, "refusal": "I won't."}), RunEnd.REFUSED, "I won't."),
        (completion({"content": [{"type": "refusal", "refusal": "No."}]}), RunEnd.REFUSED, "No."),
        (says("Well", finish="content_filter"), RunEnd.REFUSED, "Well"),
        (calls(LOOK, finish="content_filter"), RunEnd.REFUSED, ""),
        (refuses(400, code="content_filter"), RunEnd.REFUSED, ""),
        (says("A long", finish="length"), RunEnd.OUTPUT_CAP, "A long"),
        (says("", finish="length"), RunEnd.OUTPUT_CAP, ""),
        (calls((LOOK[0], '{"customer": "no'), finish="length"), RunEnd.OUTPUT_CAP, ""),
        (refuses(400, code="context_length_exceeded"), RunEnd.OUTPUT_CAP, ""),
    ],
)
@pytest.mark.parametrize("item", [REFUND, ASK], ids=lambda item: item.id)
def test_a_failure_of_the_model_is_scored_and_not_asked_again(
    item: Item, reply: Scripted, end: RunEnd, text: str
) -> None:
    """One request, no retry, nothing carried out, and what was said is the last message."""
    run = taken(item, [reply, says("A second chance.")])
    assert (run.end.end, run.end.final_text, run.end.retries) == (end, text, 0)
    assert run.end.outcome in {Outcome.COMPLETED, Outcome.LIMIT}
    assert len(run.server.requests) == 1
    assert run.tools.log == ()
    prompt = ("user", public_instance(item).prompt)
    assert said(run) == [prompt, *([("assistant", text)] if text else [])]


def test_a_cut_off_reply_with_a_whole_call_goes_on() -> None:
    """The call that arrived whole is carried out; the one that was cut off is a malformed call."""
    run = taken(REFUND, [calls(LOOK, (LOOK[0], '{"cus'), finish="length"), says("Done.")])
    assert [call.ok for call in run.tools.log] == [True, False]
    assert run.end.end is RunEnd.ANSWERED


def test_failures_of_the_service_that_pass_leave_no_trace_in_the_score() -> None:
    """Two 429, one with Retry-After, and a 502: the same bytes again, and a run as without them."""
    instance = public_instance(REFUND)
    good = as_a_model(REFUND, instance, REFUND.reference(instance))
    run = taken(REFUND, [refuses(429, retry_after="7"), refuses(429), refuses(502), *good])
    calm = taken(REFUND, good)
    assert run.trace == calm.trace
    assert (run.end.retries, calm.end.retries) == (3, 0)
    assert run.end.costs.usage == calm.end.costs.usage
    assert len({request.body for request in run.server.requests[:4]}) == 1
    # 7 s by the provider's word, then pauses that double, each at least half of its length.
    assert 7 + 1 + 2 <= sum(run.slept) <= 7 + 2 + 4.01


def test_retries_are_counted_over_all_requests_of_a_run() -> None:
    """Not only over the last one."""
    run = taken(REFUND, [refuses(503), calls(LOOK), refuses(503), refuses(503), says("Done.")])
    assert (run.end.end, run.end.retries) == (RunEnd.ANSWERED, 3)


@pytest.mark.parametrize(
    ("script", "retries"),
    [
        ([refuses(500)] * 5, 4),
        ([calls(LOOK), *[refuses(429)] * 5], 4),
        ([refuses(401)], 0),
        ([refuses(403)], 0),
        ([refuses(404)], 0),
        ([refuses(429, code="insufficient_quota")], 0),
        ([Scripted(b"<html>")] * 5, 4),
        ([says("", finish="error")] * 5, 4),
        ([says("Refunded.", finish="error")] * 5, 4),
        ([says(None, finish="insufficient_system_resource")] * 5, 4),
        ([calls(LOOK), *[Scripted(b'{"error": {"code": 502}, "choices": []}')] * 5], 4),
        ([Scripted(b'{"error": {"code": 401}, "choices": []}')], 0),
    ],
)
def test_a_failure_of_the_service_that_stays_is_never_scored(script: list[Scripted], retries: int) -> None:
    """The run has no end of the model's, and tells what to do."""
    run = taken(REFUND, script)
    assert (run.end.end, run.end.outcome, run.end.retries) == (None, Outcome.INFRA, retries)
    assert "endpoint failed" in run.end.reason
    assert run.server.left == 0


def test_a_run_that_is_cancelled_while_the_model_thinks_is_not_scored() -> None:
    """A request that hangs is given up as soon as a person wants it."""
    instance = public_instance(REFUND)
    with ModelServer([never()]) as server:
        assignment, _ = an_assignment(cancelled=lambda: bool(server.requests))
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
        end = agent.take(REFUND, instance, InWorld(instance), assignment)
    assert (end.end, end.outcome) == (None, Outcome.CANCELLED)


def test_a_run_that_is_cancelled_between_calls_makes_no_further_one() -> None:
    """What was carried out stays, what was wanted besides is left."""
    instance = public_instance(REFUND)
    tools = InWorld(instance)
    with ModelServer([calls(LOOK, LOOK)]) as server:
        assignment, _ = an_assignment(cancelled=lambda: bool(tools.log))
        end = ChatItemAgent(a_chat(server, lambda _s: None)).take(REFUND, instance, tools, assignment)
    assert (end.end, end.outcome, len(tools.log)) == (None, Outcome.CANCELLED, 1)


@dataclass
class MovedClock:
    """A clock that sleeping puts forward, so that no test really waits."""

    ahead_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep_s(self, duration_s: float) -> None:
        """Let time pass at once."""
        self.ahead_s += duration_s
        self.slept.append(duration_s)


@pytest.fixture
def moved_clock(monkeypatch: pytest.MonkeyPatch) -> MovedClock:
    """The package's clock, put forward by what was slept."""
    moved, real = MovedClock(), clock.monotonic_s
    monkeypatch.setattr(clock, "monotonic_s", lambda: real() + moved.ahead_s)
    return moved


def test_time_that_the_service_takes_is_no_part_of_the_runs(moved_clock: MovedClock) -> None:
    """Pauses that together are far longer than the run's time spoil nothing and end nothing."""
    instance = public_instance(REFUND)
    script = [
        refuses(429, retry_after="100"),
        calls(LOOK),
        *[refuses(503, retry_after="70")] * 4,
        says("Done."),
    ]
    assignment, _ = an_assignment(deadline=Deadline.after_s(60))
    with ModelServer(script) as server:
        agent = ChatItemAgent(a_chat(server, moved_clock.sleep_s))
        end = agent.take(REFUND, instance, InWorld(instance), assignment)
    assert (end.end, end.retries) == (RunEnd.ANSWERED, 5)
    assert moved_clock.ahead_s == pytest.approx(380)


def test_the_waits_for_one_request_have_an_end(moved_clock: MovedClock) -> None:
    """A provider that asks for more than `max_wait_s` ends the launch, and scores nothing."""
    instance = public_instance(REFUND)
    assignment, _ = an_assignment(deadline=Deadline.after_s(60))
    with ModelServer([refuses(429, retry_after="200")] * 3) as server:
        agent = ChatItemAgent(a_chat(server, moved_clock.sleep_s))
        end = agent.take(REFUND, instance, InWorld(instance), assignment)
    assert (end.end, end.outcome, server.left) == (None, Outcome.INFRA, 1)


def test_a_model_that_is_slow_after_a_failure_of_the_service_had_its_whole_time() -> None:
    """The failure took nothing from it, so silence until the deadline is its own."""
    run = taken(REFUND, [refuses(500), never()], given=an_assignment(deadline=Deadline.after_s(1)))
    assert (run.end.end, run.end.outcome) == (RunEnd.TIME_LIMIT, Outcome.LIMIT)
    assert (run.end.retries, run.end.tokens) == (1, Tokens())


def test_one_reply_may_take_all_of_a_runs_time() -> None:
    """`request_timeout_s` does not make a slow model a failure of the service."""
    run = taken(
        REFUND,
        [never(), says("Done.")],
        given=an_assignment(deadline=Deadline.after_s(1.5)),
        settings={"request_timeout_s": 0.3},
    )
    assert (run.end.end, run.end.retries, len(run.server.requests)) == (RunEnd.TIME_LIMIT, 0, 1)


def test_a_run_of_huge_replies_leaves_a_record_that_can_be_read_again() -> None:
    """A file as large as it may be is written once and read in all turns but one; then all goes beyond."""
    instance = public_instance(PROGRAM)
    desk = Desk(instance.files, lambda _files, _path, _stdin: Ran(0, "", ""))
    largest = json.dumps({"path": "a.txt", "content": "\U0001f600" * 60_000}, ensure_ascii=False)
    script = [
        calls(("write_file", largest)),
        *[calls(("read_file", {"path": "a.txt"}))] * (PROGRAM.turns - 2),
        calls(("write_file", {"path": "b.txt", "content": "y" * 10_000_000})),
        says("z" * 15_000_000),
    ]
    assignment, written = an_assignment()
    with ModelServer(script) as server:
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
        end = agent.take(PROGRAM, instance, desk, assignment)
    assert [call.ok for call in desk.log] == [*[True] * (PROGRAM.turns - 1), False]
    assert end.end is RunEnd.ANSWERED
    trace = Trace(
        calls=desk.log, turns=end.turns, final_text=end.final_text, final_state=desk.snapshot(), end=end.end
    )
    assert MANIFEST_CAP_BYTES / 3 < len(canonical_json(trace)) < MANIFEST_CAP_BYTES * 0.9
    notices = [notice.text for notice in written.of_kind(EntryKind.NOTICE) if "left out" in notice.text]
    assert [("arguments" in notice, "text" in notice) for notice in notices] == [(True, False), (False, True)]


def test_a_deadline_that_has_passed_is_a_used_up_time_budget() -> None:
    """Scored, and no request is sent without time for it."""
    run = taken(REFUND, [says("Done.")], given=an_assignment(deadline=Deadline.after_s(-1)))
    assert (run.end.end, run.end.outcome) == (RunEnd.TIME_LIMIT, Outcome.LIMIT)
    assert run.end.limit is LimitKind.WALL_CLOCK
    assert run.server.requests == []


def test_a_model_that_thinks_until_the_deadline_leaves_unknown_tokens() -> None:
    """What the unfinished reply cost is not known, so the sum is not either."""
    run = taken(REFUND, [calls(LOOK), never()], given=an_assignment(deadline=Deadline.after_s(2)))
    assert (run.end.end, run.end.tokens) == (RunEnd.TIME_LIMIT, Tokens())


def test_tokens_and_cost_are_summed_over_all_calls() -> None:
    """Input counts cached tokens; 40 fresh, 60 cached and 20 output tokens a call are priced by the table."""
    prices = Prices(
        source="x",
        currency="USD",
        date="2026-01-01",
        version="1",
        per_million={"m-1": TokenPrice(input=10.0, cached_input=1.0, output=20.0)},
    )
    run = taken(REFUND, [calls(LOOK), says("Done.")], prices=prices)
    assert run.end.tokens == Tokens(input=200, output=40)
    assert run.end.costs.cost == pytest.approx(2 * (40 * 10 + 60 * 1 + 20 * 20) / 1e6)
    assert (run.end.costs.turns, run.end.costs.usage.model_calls) == (2, 2)


@pytest.mark.parametrize("position", [0, 1])
def test_one_reply_without_usage_makes_the_tokens_unknown(position: int) -> None:
    """Unknown plus known is unknown, never the known part."""
    script = [calls(LOOK), says("Done.")]
    script[position] = [calls(LOOK, usage=None), says("Done.", usage=None)][position]
    assert taken(REFUND, script).end.tokens == Tokens()


def test_a_question_is_answered_where_the_item_has_a_user() -> None:
    """From the item's table; the conversation goes on, and the question is one of the item's turns."""
    question = "There are two. Which one do you mean?"
    listing = [("payments_list_invoices", {"customer": "x"})] * (ASK.turns - 1)
    run = taken(ASK, [says(question), calls(*listing), says("Done.")])
    instance = public_instance(ASK)
    assert said(run) == [
        ("user", instance.prompt),
        ("assistant", question),
        ("user", instance.questions["which"]),
        ("assistant", "Done."),
    ]
    assert run.server.requests[1].json["messages"][1:] == [
        {"role": "assistant", "content": question},
        {"role": "user", "content": instance.questions["which"]},
    ]
    assert len(run.tools.log) == ASK.turns - 1
    assert [entry.text for entry in run.written.of_kind(EntryKind.USER)][1] == instance.questions["which"]


def test_a_fourth_question_is_the_last_message() -> None:
    """Three are answered; whoever asks on has said the last word."""
    run = taken(ASK, [says(f"Which one, {n}?") for n in range(5)])
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, "Which one, 3?")
    assert [turn.role for turn in run.end.turns] == ["user", "assistant"] * 4
    assert run.server.left == 1


def test_a_question_without_a_turn_left_is_the_last_message() -> None:
    """There is nobody to answer it any more."""
    run = taken(ASK, [calls(*[LOOK] * ASK.turns), says("Which one?")])
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, "Which one?")


def test_a_question_where_the_item_has_no_user_is_the_last_message() -> None:
    """Only ambiguous items have somebody who answers."""
    run = taken(REFUND, [says("Which one do you mean?"), says("Done.")])
    assert (run.end.end, run.end.final_text) == (RunEnd.ANSWERED, "Which one do you mean?")


def test_a_message_that_asks_nothing_ends_an_ambiguous_item_too() -> None:
    """A question mark in a quote or in code is none."""
    run = taken(ASK, [says('I took "Which one?" for a rhetorical question.'), says("Done.")])
    assert (run.end.end, run.server.left) == (RunEnd.ANSWERED, 1)


def test_every_request_can_be_rebuilt_from_the_log_and_matches_its_digest() -> None:
    """The digest in the transcript is that of the bytes on the wire, and the log holds those bytes' parts."""
    run = taken(ASK, [calls(LOOK), says("Which one?"), says("Done.")])
    digests = [entry.request_sha256 for entry in run.written.of_kind(EntryKind.MODEL)]
    assert digests == [sha256_of_bytes(request.body) for request in run.server.requests]
    logged = run.written.log_objects("request")
    fixed, messages = logged[0]["body"], []
    for line, request in zip(logged, run.server.requests, strict=True):
        messages += line["messages_added"]
        assert canonical_json({**fixed, "messages": messages}) == request.body
    assert [line["reply"] for line in run.written.log_objects("reply")] == [1, 2, 3]


def test_the_key_travels_in_the_header_and_is_written_nowhere() -> None:
    """Even a model that repeats the key leaves no trace of it in what the agent writes and returns."""
    run = taken(
        ASK,
        [
            calls((LOOK[0], {"customer": KEY}), (LOOK[0], f'{{"{KEY}')),
            says(f"Is {KEY} right?"),
            says(f"The key is {KEY}."),
        ],
    )
    assert run.server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in run.written.everything()
    assert KEY not in run.end.model_dump_json()
    assert "The key is [redacted]." in run.end.final_text
    escaped = "".join(f"\\u{ord(character):04x}" for character in KEY)
    called = taken(
        REFUND,
        [
            calls(
                (f"call {KEY}", {KEY: [KEY]}),
                (LOOK[0], f'{{"customer": "{escaped}"}}'),
                (LOOK[0], f"no {KEY}"),
            ),
            says("Done."),
        ],
    )
    assert [call.tool for call in called.tools.log] == ["call [redacted]", LOOK[0], LOOK[0]]
    assert [call.arguments for call in called.tools.log] == [
        {"[redacted]": ["[redacted]"]},
        {"customer": "[redacted]"},
        "no [redacted]",
    ]
    assert KEY not in called.written.everything() + called.trace.model_dump_json()
    failed = taken(REFUND, [refuses(401, message=f"bad key {KEY}")])
    assert KEY not in failed.end.model_dump_json() + failed.written.everything()


def test_the_agent_says_what_it_is() -> None:
    """The model by the name that is asked for; the key is among the secrets."""
    with ModelServer([]) as server:
        agent = ChatItemAgent(a_chat(server, lambda _s: None))
    assert agent.label == f"chat: m-1 at {server.base_url}/chat/completions"
    assert (agent.kind, agent.secrets()) == (AgentKind.CHAT, (KEY,))
