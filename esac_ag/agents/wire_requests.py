"""The requests that a lane of the gateway forwarded, read back from what it kept of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard
from pydantic import JsonValue

from esac_ag.agents.loaded import SeenRequest
from esac_ag.gateway.bodies import read_body
from esac_ag.gateway.calls import CallOutcome, CallRecord

CONVERSATIONS = ("messages", "input")
"""Fields of a request that hold the conversation: chat completions and Messages, Responses."""
MODELS_ITEMS = ("custom_tool_call", "function_call", "local_shell_call", "reasoning")
"""Types of a Responses conversation's items that have no role and are the model's own."""
MOST_NESTED = 3
"""How deep JSON in strings of JSON is read: results and arguments of tools."""


def seen_requests(folder: Path, calls: Sequence[CallRecord]) -> Iterator[SeenRequest]:
    """Every request that was forwarded, by number, one body in memory at a time.

    A request whose body is missing, cut or no JSON object comes without text and as not `whole`.

    Args:
        folder: of the lane.
        calls: its calls in any order; refused ones reached no model and are left out.
    """
    for call in sorted(calls, key=lambda call: call.number):
        if call.outcome is CallOutcome.REFUSED or call.request_sha256 is None:
            continue
        body = _body(folder, call)
        if body is None:
            yield SeenRequest(call.number, call.request_sha256, (), whole=False)
        else:
            given, written = split_by_author(body)
            yield SeenRequest(
                call.number,
                call.request_sha256,
                tuple(texts_of(given)),
                offered_tools(body),
                tuple(texts_of(written)),
            )


def _body(folder: Path, call: CallRecord) -> dict[str, JsonValue] | None:
    """The body of a call as JSON; none when it was not kept, or not in full."""
    if call.request_file is None:
        return None
    try:
        body = json.loads(read_body(folder / call.request_file))
    except (OSError, ValueError, RecursionError, zstandard.ZstdError):
        return None
    return body if isinstance(body, dict) else None


def split_by_author(body: dict[str, JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """What a model is given by a request, and what it wrote before: each request has the whole of it."""
    given: list[JsonValue] = []
    written: list[JsonValue] = []
    for key, value in body.items():
        if key in CONVERSATIONS and isinstance(value, list):
            for item in value:
                (written if is_by_model(item) else given).append(item)
        else:
            given.append(value)
    return given, written


def is_by_model(item: JsonValue) -> bool:
    """Whether an item of a conversation is what the model itself wrote."""
    return isinstance(item, dict) and (item.get("role") == "assistant" or item.get("type") in MODELS_ITEMS)


def texts_of(value: JsonValue, nested: int = 0) -> Iterator[str]:
    """Every string in a JSON value, in order; after a string that is JSON itself come the strings in it.

    Without recursion: what a parser takes may be nested deeper than there is room for here.
    """
    waiting = [(value, nested)]
    while waiting:
        value, nested = waiting.pop()
        match value:
            case str():
                yield value
                if nested < MOST_NESTED and value[:1] in {"{", "["}:
                    waiting += _inside(value, nested + 1)
            case list():
                waiting += [(item, nested) for item in reversed(value)]
            case dict():
                for key, item in reversed(value.items()):
                    waiting.append((item, nested))
                    if nested:  # a tool's own answer; the protocols' keys are theirs
                        waiting.append((key, MOST_NESTED))
            case _:
                pass


def _inside(text: str, nested: int) -> list[tuple[JsonValue, int]]:
    """The JSON value that a string is, if it is one."""
    try:
        return [(json.loads(text), nested)]
    except (ValueError, RecursionError):
        return []


def offered_tools(body: dict[str, JsonValue]) -> tuple[str, ...]:
    """The names of the tools that a request offers, in its order, by any of the three protocols."""
    tools = body.get("tools")
    return tuple(_tool_name(tool) for tool in tools) if isinstance(tools, list) else ()


def _tool_name(tool: JsonValue) -> str:
    if not isinstance(tool, dict):
        return "?"
    function = tool.get("function")
    names = (tool.get("name"), function.get("name") if isinstance(function, dict) else None, tool.get("type"))
    return next((name for name in names if isinstance(name, str)), "?")
