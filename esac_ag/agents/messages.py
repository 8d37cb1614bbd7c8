"""Messages of a conversation, as they are sent, and the text in them."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from esac_ag.agents.replies import Reply, ToolCall
from esac_ag.agents.tools import arguments_of

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def assistant_message(reply: Reply) -> JsonValue:
    """The reply as it is sent back, in a form that every endpoint takes.

    Arguments that are no JSON object and names that are no names go back as `{}` and `invalid`, because
    some servers refuse a conversation that holds them; the tool's answer tells the model what was wrong.
    """
    message: dict[str, JsonValue] = {"role": "assistant", "content": reply.text or reply.refusal}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {
                    "name": call.name if _TOOL_NAME.fullmatch(call.name) else "invalid",
                    "arguments": _sendable_arguments(call),
                },
            }
            for call in reply.calls
        ]
    return message


def _sendable_arguments(call: ToolCall) -> str:
    arguments = arguments_of(call)
    if arguments is None:
        return "{}"
    return call.arguments if isinstance(call.arguments, str) else json.dumps(arguments)


def raw_arguments(call: ToolCall) -> str:
    """The beginning of what a model wrote as arguments, for the transcript."""
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    return raw[:2000]


def text_of(message: JsonValue) -> str:
    """All strings of a message, one a line."""
    match message:
        case str():
            return message
        case list():
            return "\n".join(map(text_of, message))
        case dict():
            return "\n".join(map(text_of, message.values()))
        case _:
            return ""
