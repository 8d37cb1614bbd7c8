"""What of an agent's request may reach the provider: pure, for all three protocols."""

from __future__ import annotations

import json
from typing import Any

import pytest

from esac_ag.gateway.calls import CallRefused, Refusal
from esac_ag.gateway.plans import ProviderTools
from esac_ag.gateway.protocols import KeyHeader, Protocol, headers_to_agent, headers_to_provider
from esac_ag.gateway.requests import prepare
from esac_ag.manifest.plan import Decoding
from tests.builders_gateway import KEY, MODEL, a_lane_plan, a_request

CHAT, RESPONSES, MESSAGES = Protocol


def sent(protocol: Protocol, plan: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:  # noqa: ANN401  (fields)
    """What is sent of a request with these fields."""
    data = json.dumps(a_request(protocol, **more)).encode()
    parsed: dict[str, Any] = json.loads(prepare(data, a_lane_plan(protocol, **(plan or {}))).body)
    return parsed


def refusal_of(protocol: Protocol, data: bytes, **plan: Any) -> Refusal:  # noqa: ANN401  (fields)
    """Why a body is refused."""
    with pytest.raises(CallRefused) as caught:
        prepare(data, a_lane_plan(protocol, **plan))
    return caught.value.refusal


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        (CHAT, {"type": "function", "function": {"name": "f"}}),
        (CHAT, {"type": "custom", "custom": {"name": "f"}}),
        (RESPONSES, {"type": "function", "name": "f"}),
        (RESPONSES, {"type": "custom", "name": "apply_patch"}),
        (RESPONSES, {"type": "local_shell"}),
        (RESPONSES, {"type": "shell"}),
        (RESPONSES, {"type": "shell", "environment": {"type": "local"}}),
        (RESPONSES, {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]}),
        (MESSAGES, {"name": "Edit", "input_schema": {}}),
        (MESSAGES, {"type": "custom", "name": "Edit", "input_schema": {}}),
        (MESSAGES, {"type": "bash_20250124", "name": "bash"}),
        (MESSAGES, {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}),
    ],
)
def test_tools_of_the_agent_pass(protocol: Protocol, tool: dict[str, object]) -> None:
    """Their calls come back to the agent."""
    assert sent(protocol, tools=[tool], tool_choice="auto")["tools"] == [tool]


@pytest.mark.parametrize(
    ("protocol", "tool"),
    [
        (CHAT, {"type": "web_search_preview"}),
        (CHAT, {"no": "type"}),
        (RESPONSES, {"type": "web_search"}),
        (RESPONSES, {"type": "file_search", "vector_store_ids": ["v"]}),
        (RESPONSES, {"type": "code_interpreter", "container": {"type": "auto"}}),
        (RESPONSES, {"type": "mcp", "server_url": "https://a.example"}),
        (RESPONSES, {"type": "image_generation"}),
        (RESPONSES, {"type": "shell", "environment": {"type": "container_auto"}}),
        (RESPONSES, {"type": "namespace", "tools": [{"type": "web_search"}]}),
        (RESPONSES, {"type": "not-known-yet"}),
        (MESSAGES, {"type": "web_search_20250305", "name": "web_search"}),
        (MESSAGES, {"type": "web_fetch_20250910", "name": "web_fetch"}),
        (MESSAGES, {"type": "code_execution_20250825", "name": "code_execution"}),
        (MESSAGES, {"type": "mcp_toolset", "mcp_server_name": "x"}),
        (MESSAGES, {"type": "not-known-yet"}),
    ],
)
def test_tools_of_the_provider_do_not(protocol: Protocol, tool: dict[str, object]) -> None:
    """Unknown ones count as the provider's; without any tool left there is no choice either."""
    assert {"tools", "tool_choice"}.isdisjoint(sent(protocol, tools=[tool], tool_choice="auto"))
    data = json.dumps(a_request(protocol, tools=[tool])).encode()
    assert refusal_of(protocol, data, provider_tools=ProviderTools.REFUSE) is Refusal.PROVIDER_TOOL


@pytest.mark.parametrize(
    ("protocol", "name", "value"),
    [
        (CHAT, "web_search_options", {"search_context_size": "low"}),
        (CHAT, "plugins", [{"id": "web"}]),
        (CHAT, "models", ["another/model"]),
        (CHAT, "service_tier", "flex"),
        (RESPONSES, "service_tier", "priority"),
        (MESSAGES, "mcp_servers", [{"type": "url", "url": "https://a.example"}]),
        (MESSAGES, "container", {"skills": []}),
        (MESSAGES, "speed", "fast"),
    ],
)
def test_fields_that_switch_something_on_at_the_provider_are_taken_out(
    protocol: Protocol,
    name: str,
    value: Any,  # noqa: ANN401  (fields)
) -> None:
    """Another model, another price, a search."""
    body = sent(protocol, **{name: value})
    assert body.get(name) in (None, {"skills": []})
    assert body == a_request(protocol) or name == "container"


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        (RESPONSES, {"previous_response_id": "resp_1"}),
        (RESPONSES, {"conversation": "conv_1"}),
        (RESPONSES, {"prompt": {"id": "p"}}),
        (RESPONSES, {"background": True}),
        (RESPONSES, {"input": [{"type": "message", "content": [{"type": "input_file", "file_id": "f"}]}]}),
        (RESPONSES, {"input": [{"content": [{"type": "input_file", "file_url": "https://a.example"}]}]}),
        (RESPONSES, {"input": [{"content": [{"type": "input_image", "image_url": "https://a.example"}]}]}),
        (RESPONSES, {"input": [{"type": "item_reference", "id": "i"}]}),
        (CHAT, {"messages": [{"content": [{"type": "file", "file": {"file_id": "f"}}]}]}),
        (CHAT, {"messages": [{"content": [{"video_url": {"url": "https://a.example"}}]}]}),
        (CHAT, {"messages": [{"content": [{"audio_url": {"url": "file:///etc/passwd"}}]}]}),
        (CHAT, {"messages": [{"content": [{"type": "file", "file": {"file_data": "https://a.example"}}]}]}),
        (RESPONSES, {"input": [{"content": [{"type": "input_file", "file_data": "file:///etc/passwd"}]}]}),
        (MESSAGES, {"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]}),
        (MESSAGES, {"system": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}),
        (MESSAGES, {"messages": [{"content": [{"type": "container_upload", "file_id": "f"}]}]}),
        (
            MESSAGES,
            {
                "messages": [
                    {
                        "content": [
                            {
                                "type": "tool_result",
                                "content": [{"type": "image", "source": {"type": "url", "url": "x"}}],
                            }
                        ]
                    }
                ]
            },
        ),
    ],
)
def test_what_lies_at_the_provider_or_elsewhere_is_refused(protocol: Protocol, more: dict[str, Any]) -> None:
    """The provider would be a reader of files and addresses for the agent."""
    data = json.dumps(a_request(protocol, **more)).encode()
    assert refusal_of(protocol, data) is Refusal.PROVIDER_STATE


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        (CHAT, {"messages": [{"content": [{"image_url": {"url": "data:image/png;base64,AA"}}]}]}),
        (CHAT, {"messages": [{"content": [{"file": {"file_data": "data:application/pdf;base64,AA//"}}]}]}),
        (CHAT, {"messages": [{"content": "see https://a.example and file_id f"}]}),
        (
            MESSAGES,
            {"messages": [{"content": [{"type": "image", "source": {"type": "base64", "data": "A"}}]}]},
        ),
        (
            MESSAGES,
            {
                "messages": [
                    {"content": [{"type": "tool_use", "input": {"file_id": "x", "source": {"type": "url"}}}]}
                ]
            },
        ),
        (RESPONSES, {"input": [{"type": "function_call", "arguments": '{"file_id": "x"}'}]}),
    ],
)
def test_texts_data_and_arguments_pass_byte_for_byte(protocol: Protocol, more: dict[str, Any]) -> None:
    """What the model wrote is not looked into, and what needs no change is not changed."""
    data = json.dumps(a_request(protocol, **more), indent=1).encode()
    assert prepare(data, a_lane_plan(protocol)).body == data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"model": NaN}',
        b'{"model": "maker/model-1", "model": "another"}',
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"model": "maker/model-1", "temperature": 1e999, "service_tier": "x"}',
    ],
)
def test_a_body_that_can_be_read_in_two_ways_is_refused(data: bytes) -> None:
    """The gateway and the provider must not read it differently."""
    assert refusal_of(CHAT, data) is Refusal.BODY


@pytest.mark.parametrize("model", [None, "", "maker/model-1:online", "Maker/Model-1", 5, ["maker/model-1"]])
def test_only_the_model_under_test_may_be_asked(model: object) -> None:
    """Exactly its name."""
    assert refusal_of(CHAT, json.dumps({"model": model, "messages": []}).encode()) is Refusal.MODEL


def test_reasoning_is_fixed_where_each_protocol_has_it() -> None:
    """Other members of the same field stay."""
    plan: dict[str, Any] = {"reasoning": "low"}
    assert sent(CHAT, plan, reasoning_effort="high")["reasoning_effort"] == "low"
    wanted = {"effort": "low", "summary": "auto"}
    assert sent(RESPONSES, plan, reasoning={"effort": "high", "summary": "auto"})["reasoning"] == wanted
    assert sent(MESSAGES, plan)["output_config"] == {"effort": "low"}


def test_a_cap_of_the_plan_lowers_and_never_raises() -> None:
    """In the field that the agent used, else in the protocol's own."""
    plan: dict[str, Any] = {"decoding": Decoding(max_output_tokens=50)}
    assert sent(MESSAGES, plan)["max_tokens"] == 50
    assert sent(MESSAGES, plan, max_tokens=1)["max_tokens"] == 1
    assert sent(RESPONSES, plan)["max_output_tokens"] == 50
    assert sent(CHAT, plan, max_completion_tokens="many")["max_completion_tokens"] == 50


def test_the_record_names_the_decoding_that_was_sent() -> None:
    """In short, whatever the agent put there."""
    data = json.dumps(
        a_request(RESPONSES, temperature=0.5, reasoning={"effort": "x" * 500, "deep": {}})
    ).encode()
    prepared = prepare(data, a_lane_plan(RESPONSES))
    assert prepared.decoding == {"temperature": 0.5, "reasoning": {"effort": "x" * 100}}
    assert (prepared.model, prepared.streamed) == (MODEL, False)


def test_of_the_agents_headers_only_those_of_the_protocol_pass() -> None:
    """Its token, its cookies and opt-ins to what runs at the provider do not."""
    asked = {
        "authorization": "Bearer token",
        "x-api-key": "token",
        "cookie": "a=b",
        "host": "model",
        "user-agent": "cli/1",
        "anthropic-beta": "context-1m-2025-08-07, files-api-2025-04-14,code-execution-2025-08-25",
    }
    headers = dict(headers_to_provider(asked, MESSAGES, KeyHeader.X_API_KEY, KEY))
    assert headers == {
        "user-agent": "cli/1",
        "anthropic-beta": "context-1m-2025-08-07",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "accept-encoding": "identity",
        "x-api-key": KEY,
    }
    assert "authorization" not in dict(headers_to_provider(asked, CHAT, KeyHeader.BEARER, ""))


def test_of_the_providers_headers_nothing_hop_by_hop_passes() -> None:
    """Nor what names the account."""
    given = [("Connection", "x"), ("Transfer-Encoding", "chunked"), ("Set-Cookie", "a"), ("Retry-After", "3")]
    assert headers_to_agent(given) == [("retry-after", "3")]
