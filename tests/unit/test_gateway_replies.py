"""Reading replies as they pass: usage in our form from three conventions, and whether a reply is whole."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.attempt import Usage
from esac_ag.attempt.wire_usage import chat_usage, messages_usage, responses_usage
from esac_ag.failures import FailureClass
from esac_ag.gateway.calls import CALL_RULES, ENDING_OUTCOMES, STATUSES, CallOutcome, EndingKind, Refusal
from esac_ag.gateway.protocols import ENDPOINTS, KEY_HEADERS, PATHS, QUERIES, Protocol
from esac_ag.gateway.provider_tools import DROPPED_FIELDS, PROVIDER_FIELDS, STATE_FIELDS
from esac_ag.gateway.replies import ReplyFacts, ReplyReader, told_failure
from esac_ag.gateway.requests import CAP_FIELDS, DECODING_FIELDS
from tests.streaming_server import (
    ANTHROPIC_USAGE,
    OPENAI_CHAT_USAGE,
    OPENAI_RESPONSES_USAGE,
    event,
    replies,
    streams,
)

CHAT, RESPONSES, MESSAGES = Protocol


def read(protocol: Protocol, *pieces: bytes, streamed: bool = True) -> ReplyFacts:
    """What a reply in these pieces tells."""
    reader = ReplyReader(protocol, streamed=streamed)
    for piece in pieces:
        reader.feed(piece)
    return reader.facts()


def test_the_same_traffic_reads_the_same_in_each_convention() -> None:
    """468 + 2000 cached at Anthropic is 2468 at OpenAI: neither doubled nor lost."""
    anthropic, openai = messages_usage(ANTHROPIC_USAGE), chat_usage(OPENAI_CHAT_USAGE)
    assert responses_usage(OPENAI_RESPONSES_USAGE) == openai
    assert openai == Usage(
        model_calls=1, input_tokens=2468, cached_input_tokens=2000, output_tokens=40, reasoning_tokens=15
    )
    assert anthropic == openai.model_copy(update={"cache_write_tokens": 0, "reasoning_tokens": None})


def test_cache_writes_are_input_too() -> None:
    """Anthropic's input leaves them out; ours are a part of all input."""
    told = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 3000}
    usage = messages_usage(told)
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (3210, 200, 3000)


@pytest.mark.parametrize("usage", [chat_usage, responses_usage, messages_usage])
@pytest.mark.parametrize("raw", [None, {}, [], "x", {"input_tokens": -1}, {"input_tokens": True}])
def test_what_is_not_told_is_unknown(usage: object, raw: object) -> None:
    """Never zero."""
    assert callable(usage)
    assert usage(raw) == Usage(model_calls=1)


def test_a_server_without_a_cache_tells_all_input() -> None:
    """Its parts stay unknown."""
    usage = messages_usage({"input_tokens": 10, "output_tokens": 2})
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (10, None, 2)


def test_the_first_output_count_of_a_message_is_stale() -> None:
    """Only `message_delta` tells the final one."""
    first = {
        "type": "message_start",
        "message": {"model": "m", "usage": {"input_tokens": 5, "output_tokens": 4}},
    }
    last = {"type": "message_delta", "usage": {"input_tokens": 5, "output_tokens": 90}}
    stop = {"type": "message_stop"}
    assert read(MESSAGES, event(first), event(stop)).usage.output_tokens is None
    usage = read(MESSAGES, event(first), event(last), event(stop)).usage
    assert (usage.input_tokens, usage.output_tokens) == (5, 90)


def test_a_usage_that_grows_in_every_chunk_counts_once() -> None:
    """Some servers tell a running count with each piece."""
    chunks = [
        event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": count}})
        for count in (1, 2, 3)
    ]
    assert read(CHAT, *chunks, b"data: [DONE]\n\n").usage.output_tokens == 3


@pytest.mark.parametrize("protocol", list(Protocol))
@given(cuts=st.lists(st.integers(min_value=0, max_value=2000), max_size=8))
def test_facts_do_not_depend_on_where_a_stream_is_cut_into_pieces(
    protocol: Protocol, cuts: list[int]
) -> None:
    """With either kind of line end."""
    whole = b"".join(streams(protocol, ("a", "böe", "c")).pieces)
    expected = read(protocol, whole)
    assert expected.failure is None
    for data in (whole, whole.replace(b"\n", b"\r\n")):
        edges = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
        pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
        assert read(protocol, *pieces) == expected


@pytest.mark.parametrize("protocol", list(Protocol))
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(protocol: Protocol, data: bytes) -> None:
    """Replies are untrusted."""
    for streamed in (True, False):
        assert read(protocol, data, b"data: " + data + b"\n\n", streamed=streamed).usage.input_tokens is None


@pytest.mark.parametrize("protocol", list(Protocol))
@pytest.mark.parametrize(
    "value", [[], None, {"usage": []}, {"choices": 5, "response": 5, "message": 5, "error": 0}]
)
def test_odd_values_are_read_without_an_exception(protocol: Protocol, value: object) -> None:
    """JSON of the wrong form is no reply."""
    names = ("message_start", "message_delta", "response.completed", "error", "x")
    events = [{**value, "type": name} if isinstance(value, dict) else value for name in names]
    facts = read(protocol, *(f"data: {json.dumps(entry)}\n\n".encode() for entry in events))
    assert facts.failure is not None
    assert read(protocol, json.dumps(value).encode(), streamed=False).usage.input_tokens is None


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_whole_body_is_read_without_a_stream(protocol: Protocol) -> None:
    """Model and usage; no reply in it is a broken one."""
    facts = read(protocol, replies(protocol).body, streamed=False)
    assert (facts.model, facts.failure, facts.usage.input_tokens) == ("m-1", None, 2468)
    broken = read(protocol, b"{}", streamed=False).failure
    assert broken is not None
    assert broken.kind is FailureClass.BROKEN_REPLY


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error"}, FailureClass.OVERLOADED),
        ({"type": "api_error"}, FailureClass.OVERLOADED),
        ({"type": "rate_limit_error"}, FailureClass.RATE_LIMITED),
        ({"type": "authentication_error"}, FailureClass.CREDENTIALS),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, FailureClass.CONTEXT_FULL),
        ({"type": "invalid_request_error"}, FailureClass.REJECTED),
        ({"code": "insufficient_quota"}, FailureClass.QUOTA),
        ({"code": "content_filter"}, FailureClass.FILTERED),
        ({"code": 429}, FailureClass.RATE_LIMITED),
        ({"code": "something new"}, FailureClass.OVERLOADED),
        ("only words", FailureClass.OVERLOADED),
    ],
)
def test_errors_inside_of_replies_have_the_class_of_their_status(error: object, kind: FailureClass) -> None:
    """What is not known is the service's."""
    assert told_failure(error).kind is kind


def test_every_member_has_its_rule() -> None:
    """Nothing new falls through."""
    assert set(CALL_RULES) == set(CallOutcome)
    assert set(STATUSES) == set(Refusal)
    assert set(ENDING_OUTCOMES) == set(EndingKind)
    tables = (PATHS, ENDPOINTS, QUERIES, KEY_HEADERS, PROVIDER_FIELDS, DROPPED_FIELDS, STATE_FIELDS)
    for table in (*tables, DECODING_FIELDS, CAP_FIELDS):
        assert set(table) == set(Protocol)
