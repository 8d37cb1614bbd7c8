"""A model's reply, read from untrusted bytes into what the loop needs; everything else is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from esac_ag.attempt import Usage
from esac_ag.canonical import loads_strict

MOST_TOKENS = 10**12
"""Counts beyond are no counts."""


class BrokenReply(ValueError):
    """A body with status 200 that is no usable chat completion."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model wants made."""

    call_id: str
    name: str
    arguments: JsonValue
    """The text as the model wrote it; some servers send the object itself."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model."""

    text: str
    refusal: str
    calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage
    """Of this call; null where the endpoint did not tell."""
    model: str
    """What the endpoint says answered; empty when it says nothing."""


class _Wire(BaseModel):
    """Of an endpoint's answer; it may say more than we read."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Function(_Wire):
    name: str
    arguments: str | dict[str, Any] | None = None


class _ToolCall(_Wire):
    id: str | None = None
    function: _Function


class _Part(_Wire):
    type: str
    text: str = ""
    refusal: str = ""


class _Message(_Wire):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(_Wire):
    message: _Message
    finish_reason: str | None = None


class _Completion(_Wire):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str | None = None
    usage: Any = None


def read_reply(body: bytes) -> Reply:
    """Read a chat completion's body.

    Raises:
        BrokenReply: it is not JSON, or has no choice that we could use.
    """
    try:
        completion = _Completion.model_validate(loads_strict(body))
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenReply(f"{'/'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise BrokenReply(f"not JSON: {error}") from error
    choice = completion.choices[0]
    text, refusal = _texts(choice.message)
    return Reply(
        text=text,
        refusal=refusal,
        calls=tuple(_calls(choice.message.tool_calls or ())),
        finish_reason=choice.finish_reason or "",
        usage=read_usage(completion.usage),
        model=printable(completion.model or ""),
    )


def printable(text: str) -> str:
    """The text without lone surrogates, which JSON allows and UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _texts(message: _Message) -> tuple[str, str]:
    match message.content:
        case None:
            text, refusal = "", ""
        case str() as whole:
            text, refusal = whole, ""
        case parts:
            text = "".join(part.text for part in parts)
            refusal = "".join(part.refusal for part in parts)
    return printable(text), printable(message.refusal or refusal)


def _calls(calls: Sequence[_ToolCall]) -> list[ToolCall]:
    """The calls, each with an id of its own: results are joined by it."""
    result: list[ToolCall] = []
    for position, call in enumerate(calls):
        wanted = printable(call.id or "")
        taken = {known.call_id for known in result}
        call_id = wanted if wanted and wanted not in taken else f"call-{position}-{wanted}"
        arguments: JsonValue = call.function.arguments
        if isinstance(arguments, str):
            arguments = printable(arguments)
        result.append(ToolCall(call_id, printable(call.function.name), arguments))
    return result


def read_usage(raw: object) -> Usage:
    """Usage in our fields, from OpenAI's: input includes cached tokens, output includes reasoning.

    A count that is absent or impossible is unknown, never zero.
    """
    usage = raw if isinstance(raw, dict) else {}
    input_tokens = _count(usage.get("prompt_tokens"))
    output_tokens = _count(usage.get("completion_tokens"))
    return Usage(
        model_calls=1,
        input_tokens=input_tokens,
        cached_input_tokens=_part(usage.get("prompt_tokens_details"), "cached_tokens", input_tokens),
        output_tokens=output_tokens,
        reasoning_tokens=_part(usage.get("completion_tokens_details"), "reasoning_tokens", output_tokens),
    )


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return value
    return None


def _part(details: object, name: str, whole: int | None) -> int | None:
    """A part of a count; a part that is larger than the whole is no count."""
    part = _count(details.get(name)) if isinstance(details, dict) else None
    return part if part is not None and whole is not None and part <= whole else None
