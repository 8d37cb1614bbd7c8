"""Replies are read from untrusted bytes: what tells of an error is none, and what is too large is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from esac_ag.agents.replies import (
    MOST_ARGUMENT_BYTES,
    MOST_CALLS,
    MOST_NAME,
    MOST_TEXT_BYTES,
    SERVICE_FINISHES,
    BrokenReply,
    ToldError,
    is_blank,
    json_bytes,
    read_reply,
)
from esac_ag.agents.tools import arguments_of
from esac_ag.failures import FailureClass, told_in_reply
from tests.model_server import Scripted, calls, completion, says

CALL = {"id": "c", "function": {"name": "f", "arguments": "{}"}}


def with_fields(reply: Scripted, **fields: object) -> bytes:
    """The reply with fields of its own at the top level."""
    return json.dumps(json.loads(reply.body) | fields).encode()


@pytest.mark.parametrize("content", ["", "Half an ans", None])
@pytest.mark.parametrize("finish", sorted(SERVICE_FINISHES | {"ERROR"}))
def test_a_reply_that_the_service_broke_off_is_no_reply(finish: str, content: str | None) -> None:
    """Whatever was written until then."""
    with pytest.raises(BrokenReply, match="broke it off"):
        read_reply(says(content, finish=finish).body)


@pytest.mark.parametrize("error", [{"code": 502}, {"message": "upstream"}, "upstream", {}, False, ""])
def test_an_error_beside_a_choice_or_in_it_is_no_reply(error: object) -> None:
    """A whole answer beside it changes nothing."""
    with pytest.raises(ToldError) as caught:
        read_reply(with_fields(says("A whole answer."), error=error))
    assert caught.value.error == error
    choice = json.loads(says("A whole answer.").body)["choices"][0] | {"error": error}
    with pytest.raises(ToldError):
        read_reply(with_fields(says(""), choices=[choice]))


def test_an_error_that_is_null_is_none() -> None:
    """Some endpoints send the field with every reply."""
    choice = json.loads(says("Done.").body)["choices"][0] | {"error": None}
    assert read_reply(with_fields(says(""), choices=[choice], error=None)).text == "Done."


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, FailureClass.RATE_LIMITED),
        ({"code": "429"}, FailureClass.RATE_LIMITED),
        ({"code": "rate_limit_exceeded"}, FailureClass.RATE_LIMITED),
        ({"code": None, "type": "rate_limit_error"}, FailureClass.RATE_LIMITED),
        ({"code": "insufficient_quota"}, FailureClass.QUOTA),
        ({"code": 402}, FailureClass.QUOTA),
        ({"code": 502, "message": "provider"}, FailureClass.OVERLOADED),
        ({"status": 503}, FailureClass.OVERLOADED),
        ({"type": "overloaded_error"}, FailureClass.OVERLOADED),
        ({"code": 401}, FailureClass.CREDENTIALS),
        ({"code": "Invalid_API_key"}, FailureClass.CREDENTIALS),
        ({"code": 404}, FailureClass.NOT_FOUND),
        ({"code": 400, "message": "temperature"}, FailureClass.REJECTED),
        ({"code": 400, "message": "maximum context length"}, FailureClass.CONTEXT_FULL),
        ({"code": "context_length_exceeded"}, FailureClass.CONTEXT_FULL),
        ({"code": "content_filter"}, FailureClass.FILTERED),
        ({"code": 200}, FailureClass.BROKEN_REPLY),
        ({"code": True}, FailureClass.BROKEN_REPLY),
        ({"code": "9" * 5000}, FailureClass.BROKEN_REPLY),
        ({"code": {"code": 429}}, FailureClass.BROKEN_REPLY),
        ({"message": "upstream"}, FailureClass.BROKEN_REPLY),
        ("upstream", FailureClass.BROKEN_REPLY),
        ([], FailureClass.BROKEN_REPLY),
    ],
)
def test_an_error_within_a_reply_is_of_the_class_that_its_code_says(error: Any, kind: FailureClass) -> None:  # noqa: ANN401
    """As if it had been the HTTP status; without a code that we know the reply is broken."""
    assert told_in_reply(error, {}).kind is kind


def test_an_error_within_a_reply_is_told_with_its_words_and_its_wait() -> None:
    """Reason and Retry-After are the provider's."""
    failure = told_in_reply({"code": 429, "message": "slow down"}, {"retry-after": "7"})
    assert ("slow down" in failure.detail, failure.retry_after_s) == (True, 7.0)


@pytest.mark.parametrize(
    ("reply", "finish"),
    [
        (says("x", finish="sensitive"), "content_filter"),
        (says("x", finish="model_context_window_exceeded"), "length"),
        (says("x", finish="STOP"), "stop"),
    ],
)
def test_other_words_for_the_same_end_are_read_alike(reply: Scripted, finish: str) -> None:
    """What the model's filter and its window did is the model's."""
    assert read_reply(reply.body).finish_reason == finish


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        (says("x", usage={"prompt_tokens": 0, "completion_tokens": 0}), (None, None)),
        (says("x", usage={"prompt_tokens": 9, "completion_tokens": 0}), (9, None)),
        (calls(("f", {}), usage={"prompt_tokens": 0, "completion_tokens": 3}), (None, 3)),
        (calls(("f", {}), usage={"prompt_tokens": 9, "completion_tokens": 0}), (9, None)),
        (
            completion(
                {"content": None, "refusal": "No."}, usage={"prompt_tokens": 9, "completion_tokens": 0}
            ),
            (9, None),
        ),
        (says("", usage={"prompt_tokens": 9, "completion_tokens": 0}), (9, 0)),
    ],
)
def test_a_count_of_zero_for_what_was_there_is_unknown(
    reply: Scripted, tokens: tuple[int | None, int | None]
) -> None:
    """No request is read, and nothing is written, without a token."""
    usage = read_reply(reply.body).usage
    assert (usage.input_tokens, usage.output_tokens) == tokens


@pytest.mark.parametrize("text", ["x" * 15_000_000, "\x01" * 1_000_000, "é\n" * 2_000_000])
def test_of_a_huge_text_the_beginning_is_taken(text: str) -> None:
    """As much as fits as JSON, with a word on the rest."""
    reply = read_reply(says(text).body)
    assert text.startswith(reply.text)
    assert MOST_TEXT_BYTES - 12 <= json_bytes(reply.text) <= MOST_TEXT_BYTES
    assert "text beyond" in reply.left_out
    refused = read_reply(completion({"content": "why", "refusal": text}).body)
    assert json_bytes(refused.text) + json_bytes(refused.refusal) <= MOST_TEXT_BYTES


def test_of_huge_arguments_the_beginning_is_taken_and_is_no_json() -> None:
    """All calls of a reply share the room; what is cut is a malformed call, and what fitted is whole."""
    huge = {"a": "x" * (MOST_ARGUMENT_BYTES - 1000)}
    reply = read_reply(calls(("f", huge), ("g", huge), ("h", {"a": 1})).body)
    assert [arguments_of(call) is None for call in reply.calls] == [False, True, True]
    assert sum(json_bytes(str(call.arguments)) for call in reply.calls) <= MOST_ARGUMENT_BYTES
    assert reply.left_out == f"arguments beyond {MOST_ARGUMENT_BYTES} bytes"


def test_what_is_honest_is_taken_whole() -> None:
    """A page of text and a file of a megabyte lose nothing."""
    wrote = {"path": "a", "content": 'print("x")\n' * 90_000}
    body = completion(
        {
            "content": "word " * 20_000,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": json.dumps(wrote)}}],
        }
    )
    reply = read_reply(body.body)
    assert (reply.text, arguments_of(reply.calls[0]), reply.left_out) == ("word " * 20_000, wrote, "")


def test_of_very_many_calls_and_very_long_names_the_beginning_is_taken() -> None:
    """Each call keeps an id of its own."""
    long = {"id": "i" * 100_000, "function": {"name": "n" * 100_000, "arguments": "{}"}}
    reply = read_reply(completion({"content": None, "tool_calls": [long, long, *[CALL] * 200_000]}).body)
    assert len({call.call_id for call in reply.calls}) == len(reply.calls) == MOST_CALLS
    assert reply.calls[0].name == "n" * MOST_NAME
    assert max(len(call.call_id) for call in reply.calls) < 2 * MOST_NAME
    assert reply.left_out == f"{200_002 - MOST_CALLS} calls"


@pytest.mark.parametrize("depth", [10, 300, 600, 900])
def test_arguments_that_are_sent_as_an_object_are_read_as_text_or_refused(depth: int) -> None:
    """However deep they are, never another exception."""
    nested = '{"a":' * depth + "1" + "}" * depth
    body = b'{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":%s}}]}}]}'
    try:
        reply = read_reply(body % nested.encode())
    except BrokenReply:
        assert depth > 10
    else:
        assert json_bytes(str(reply.calls[0].arguments)) > depth


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        " \u200b\n",
        "\ufeff",
        "\u00ad\u2060",
        "\u3164",
        "\u2800 \u00a0",
        "\u200d\ufe0f",
        "\x00\x07",
        "\U000e0041",
    ],
)
def test_a_text_of_which_nothing_can_be_seen_is_blank(text: str) -> None:
    """Zero-width characters, fillers and controls say nothing."""
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "\u200b.", "\u2764\ufe0f", "。", "\ufe0f1"])
def test_a_text_of_which_something_can_be_seen_is_not_blank(text: str) -> None:
    """One character is enough."""
    assert not is_blank(text)
