"""Recognising what would run, lie or be fetched at the provider, beyond the reach of the sandbox.

A tool whose type is not known to run at the agent counts as the provider's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import assert_never

from esac_ag.gateway.protocols import Protocol

Body = dict[str, object]

_CHAT_TOOLS = frozenset({"function", "custom"})
_RESPONSES_TOOLS = frozenset({"function", "custom", "local_shell", "apply_patch", "tool_search"})
"""`tool_search` looks among the request's own tools."""
_MESSAGES_TOOLS = ("bash_", "text_editor_", "memory_", "tool_search_tool_")
"""Versioned types of Anthropic's whose calls the agent carries out, and the search among its own tools."""

_LONGEST_SCHEME = 32

PROVIDER_FIELDS = {
    Protocol.CHAT: ("web_search_options", "search_parameters", "plugins", "data_sources"),
    Protocol.RESPONSES: ("plugins",),
    Protocol.MESSAGES: ("mcp_servers", "container"),
}
"""Fields of a request that switch on something at the provider; handled as its tools are."""

_BLOATING = ("n", "logprobs", "top_logprobs")
"""An agent reads one choice; many of them, or the odds of each token, make replies too large to count."""

DROPPED_FIELDS = {
    Protocol.CHAT: ("service_tier", "models", "route", "provider", *_BLOATING),
    Protocol.RESPONSES: ("service_tier", "models", "route", "provider", "top_logprobs"),
    Protocol.MESSAGES: ("service_tier", "speed", "inference_geo", "fallbacks", "models", "route", "provider"),
}
"""Fields that would bill at another price, let another model answer, or swell replies; always taken out."""

STATE_FIELDS = {
    Protocol.CHAT: (),
    Protocol.RESPONSES: ("previous_response_id", "conversation", "prompt", "background"),
    Protocol.MESSAGES: (),
}
"""Fields that refer to what is stored at the provider, or leave an answer there; always refused."""


def runs_at_the_provider(tool: object, protocol: Protocol) -> bool:
    """Whether a tool of a request is carried out by the provider; what is no tool is not ours to judge."""
    if not isinstance(tool, dict):
        return False
    kind = tool.get("type")
    match protocol:
        case Protocol.CHAT:
            return not _is_one_of(kind, _CHAT_TOOLS)
        case Protocol.RESPONSES:
            return not _of_responses_agents(tool, kind)
        case Protocol.MESSAGES:
            own = kind is None or kind == "custom"
            return not own and not str(kind).startswith(_MESSAGES_TOOLS)
        case _:
            assert_never(protocol)


def _of_responses_agents(tool: Body, kind: object) -> bool:
    if kind == "shell":
        environment = tool.get("environment")
        return environment is None or (isinstance(environment, dict) and environment.get("type") == "local")
    if kind == "namespace":
        inner = tool.get("tools")
        return isinstance(inner, list) and all(
            isinstance(member, dict) and _is_one_of(member.get("type"), _CHAT_TOOLS) for member in inner
        )
    return _is_one_of(kind, _RESPONSES_TOOLS)


def _is_one_of(kind: object, known: Collection[str]) -> bool:
    """Whether a value is one of these words; an agent may send a list in the place of a word."""
    return isinstance(kind, str) and kind in known


def name_of(tool: object) -> str:
    """What to call a tool in a record."""
    kind = tool.get("type") if isinstance(tool, dict) else None
    return str(kind)[:100]


def outside_reference(content: object) -> str | None:
    """The first part of the conversation that the provider would have to fetch: a file, or an address.

    Arguments of tool calls are the model's text and are not looked into.

    Args:
        content: the value of `messages`, `input` or `system`.

    Returns:
        What it is, or none.
    """
    for part in _parts(content):
        for name in ("file_id", "file_url"):
            if isinstance(part.get(name), str):
                return name
        source = part.get("source")
        if isinstance(source, dict) and _is_one_of(source.get("type"), ("url", "file")):
            return f"source of type {source['type']}"
        for name in ("image_url", "video_url", "audio_url"):
            medium = part.get(name)
            address = medium.get("url") if isinstance(medium, dict) else medium
            if isinstance(address, str) and not address.startswith("data:"):
                return f"{name} with an address"
        data = part.get("file_data")
        if isinstance(data, str) and "://" in data[:_LONGEST_SCHEME]:
            # Some providers take an address in the place of the file's own bytes.
            return "file_data with an address"
        if _is_one_of(part.get("type"), ("container_upload", "item_reference")):
            return str(part["type"])
    return None


def _parts(content: object) -> Iterator[Body]:
    """Every object of a conversation, without recursion: its depth is the caller's."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            yield value
            is_call = str(value.get("type", "")).endswith(("tool_use", "_call"))
            waiting.extend(
                inner
                for name, inner in value.items()
                if isinstance(inner, list | dict)
                and not (is_call and name in {"input", "action", "arguments"})
            )
