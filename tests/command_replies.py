"""What a model says to a command-line agent, as each provider puts it on the wire, streamed and whole."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from esac_ag.gateway.protocols import Protocol
from tests.streaming_server import event

PIECE_CHARS = 11
"""Texts and arguments come in pieces of this length, as from a model."""
CREATED_S = 1_767_225_600


@dataclass(frozen=True, slots=True)
class Said:
    """One reply of the model: words, and perhaps a call of one of the agent's tools."""

    number: int
    """How many results of calls its request held; makes ids and tokens of its own."""
    model: str
    text: str
    tool: str | None = None
    arguments: dict[str, object] | None = None

    @property
    def usage(self) -> dict[str, int]:
        """Tokens in our own normal form; another sum for every reply."""
        return {
            "input_tokens": 2468 + 100 * self.number,
            "cached_input_tokens": 2000,
            "cache_write_tokens": 30,
            "output_tokens": 40 + self.number,
            "reasoning_tokens": 15,
        }


def usage_of(protocol: Protocol, said: Said) -> dict[str, Any]:
    """The same tokens as the provider counts: one takes cached ones as input, the other sets them apart."""
    own = said.usage
    match protocol:
        case Protocol.CHAT:
            return {
                "prompt_tokens": own["input_tokens"],
                "completion_tokens": own["output_tokens"],
                "total_tokens": own["input_tokens"] + own["output_tokens"],
                "prompt_tokens_details": {"cached_tokens": own["cached_input_tokens"]},
                "completion_tokens_details": {"reasoning_tokens": own["reasoning_tokens"]},
            }
        case Protocol.RESPONSES:
            return {
                "input_tokens": own["input_tokens"],
                "output_tokens": own["output_tokens"],
                "total_tokens": own["input_tokens"] + own["output_tokens"],
                "input_tokens_details": {"cached_tokens": own["cached_input_tokens"]},
                "output_tokens_details": {"reasoning_tokens": own["reasoning_tokens"]},
            }
        case Protocol.MESSAGES:
            cached = own["cached_input_tokens"] + own["cache_write_tokens"]
            return {
                "input_tokens": own["input_tokens"] - cached,
                "cache_read_input_tokens": own["cached_input_tokens"],
                "cache_creation_input_tokens": own["cache_write_tokens"],
                "output_tokens": own["output_tokens"],
            }


def whole(protocol: Protocol, said: Said) -> bytes:
    """The reply in one body."""
    usage = usage_of(protocol, said)
    match protocol:
        case Protocol.CHAT:
            message = {"role": "assistant", "content": said.text, **_chat_calls(said)}
            choice = {"index": 0, "message": message, "finish_reason": _finish(said), "logprobs": None}
            head = {"id": f"chatcmpl-{said.number}", "object": "chat.completion", "created": CREATED_S}
            body = {**head, "model": said.model, "choices": [choice], "usage": usage}
        case Protocol.RESPONSES:
            body = _response(said, "completed", _items(said), usage)
        case Protocol.MESSAGES:
            body = {**_message(said, usage), "content": _blocks(said), "stop_reason": _stop(said)}
    return json.dumps(body).encode()


def streamed(protocol: Protocol, said: Said, *, told: bool = True) -> tuple[bytes, ...]:
    """The reply as a stream's events; `told` is whether a chat stream was asked for its usage."""
    match protocol:
        case Protocol.CHAT:
            return _chat_stream(said, usage_of(protocol, said) if told else None)
        case Protocol.RESPONSES:
            return _responses_stream(said, usage_of(protocol, said))
        case Protocol.MESSAGES:
            return _messages_stream(said, usage_of(protocol, said))


def error_of(protocol: Protocol, status: int, key: str) -> bytes:
    """An error answer in the provider's own form, which quotes the key."""
    kinds = {401: "authentication_error", 429: "rate_limit_error"}
    message = f"scripted answer of status {status} for {key}"
    match protocol:
        case Protocol.MESSAGES:
            error: dict[str, Any] = {"type": kinds.get(status, "api_error"), "message": message}
            return json.dumps({"type": "error", "error": error, "request_id": "req_1"}).encode()
        case Protocol.CHAT | Protocol.RESPONSES:
            codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
            error = {"message": message, "type": kinds.get(status, "server_error"), "param": None}
            return json.dumps({"error": {**error, "code": codes.get(status)}}).encode()


def _pieces(text: str) -> list[str]:
    return [text[begin : begin + PIECE_CHARS] for begin in range(0, len(text), PIECE_CHARS)]


def _finish(said: Said) -> str:
    return "tool_calls" if said.tool else "stop"


def _stop(said: Said) -> str:
    return "tool_use" if said.tool else "end_turn"


def _chat_calls(said: Said) -> dict[str, Any]:
    if said.tool is None:
        return {}
    function = {"name": said.tool, "arguments": json.dumps(said.arguments)}
    return {"tool_calls": [{"id": f"call_{said.number}", "type": "function", "function": function}]}


def _chat_stream(said: Said, usage: dict[str, Any] | None) -> tuple[bytes, ...]:
    head = {"id": f"chatcmpl-{said.number}", "object": "chat.completion.chunk", "created": CREATED_S}
    frame = {**head, "model": said.model, **({} if usage is None else {"usage": None})}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": piece}) for piece in _pieces(said.text)]
    if said.tool is not None:
        named = {"id": f"call_{said.number}", "type": "function"}
        function = {"name": said.tool, "arguments": ""}
        events.append(chunk({"tool_calls": [{"index": 0, **named, "function": function}]}))
        for piece in _pieces(json.dumps(said.arguments)):
            events.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    events.append(chunk({}, _finish(said)))
    if usage is not None:
        events.append(event({**frame, "choices": [], "usage": usage}))
    return (*events, b"data: [DONE]\n\n")


def _response(
    said: Said, status: str, output: list[dict[str, Any]], usage: dict[str, Any] | None
) -> dict[str, Any]:
    head = {"id": f"resp_{said.number}", "object": "response", "created_at": CREATED_S, "status": status}
    return {**head, "model": said.model, "output": output, "usage": usage, "error": None}


def _items(said: Said) -> list[dict[str, Any]]:
    part = {"type": "output_text", "text": said.text, "annotations": []}
    items: list[dict[str, Any]] = [
        {
            "id": f"msg_{said.number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    ]
    if said.tool is not None:
        call = {"name": said.tool, "arguments": json.dumps(said.arguments), "status": "completed"}
        ids = {"id": f"fc_{said.number}", "call_id": f"call_{said.number}"}
        items.append({"type": "function_call", **ids, **call})
    return items


def _responses_stream(said: Said, usage: dict[str, Any]) -> tuple[bytes, ...]:
    begun = {"response": _response(said, "in_progress", [], None)}
    events: list[dict[str, Any]] = [
        {"type": "response.created", **begun},
        {"type": "response.in_progress", **begun},
    ]
    items = _items(said)
    for index, item in enumerate(items):
        where = {"output_index": index, "item_id": item["id"]}
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        begun_item = {**item, "status": "in_progress", **empty}
        added = {"type": "response.output_item.added", "output_index": index, "item": begun_item}
        events.append(added)
        if item["type"] == "message":
            place = {**where, "content_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            events.append({"type": "response.content_part.added", **place, "part": part})
            deltas = _pieces(said.text)
            events += [{"type": "response.output_text.delta", **place, "delta": text} for text in deltas]
            events.append({"type": "response.output_text.done", **place, "text": said.text})
            whole_part = {**part, "text": said.text}
            events.append({"type": "response.content_part.done", **place, "part": whole_part})
        else:
            kind = "response.function_call_arguments"
            arguments = item["arguments"]
            events += [{"type": f"{kind}.delta", **where, "delta": piece} for piece in _pieces(arguments)]
            events.append({"type": f"{kind}.done", **where, "arguments": arguments})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": _response(said, "completed", items, usage)})
    return tuple(event({**one, "sequence_number": number}) for number, one in enumerate(events))


def _message(said: Said, usage: dict[str, Any]) -> dict[str, Any]:
    head = {"id": f"msg_{said.number}", "type": "message", "role": "assistant", "model": said.model}
    return {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _blocks(said: Said) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}]
    if said.tool is not None:
        call = {"id": f"toolu_{said.number}", "name": said.tool, "input": said.arguments}
        blocks.append({"type": "tool_use", **call})
    return blocks


def _messages_stream(said: Said, usage: dict[str, Any]) -> tuple[bytes, ...]:
    events: list[dict[str, Any]] = [
        # The output count of the start is stale, as the provider's is.
        {"type": "message_start", "message": _message(said, {**usage, "output_tokens": 1})},
        {"type": "ping"},
    ]
    for index, block in enumerate(_blocks(said)):
        is_text = block["type"] == "text"
        empty: dict[str, Any] = {"text": ""} if is_text else {"input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
        if is_text:
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(said.text)]
        else:
            pieces = _pieces(json.dumps(said.arguments))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": _stop(said), "stop_sequence": None}
    last = {"output_tokens": usage["output_tokens"]}
    events += [{"type": "message_delta", "delta": delta, "usage": last}, {"type": "message_stop"}]
    return tuple(event(one) for one in events)
