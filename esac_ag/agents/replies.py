"""A model's reply, read from untrusted bytes into what the loop needs; everything else is left out."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from esac_ag.attempt import Usage
from esac_ag.attempt.wire_usage import chat_usage
from esac_ag.canonical import loads_strict
from esac_ag.plural import plural

MOST_TEXT_BYTES = 1_000_000
"""Of one reply's text, as JSON: some twenty times what a cap of 8,000 tokens lets through."""
MOST_ARGUMENT_BYTES = 4_000_000
"""Of all arguments in one reply, as JSON text in JSON: the largest file that a study's tool writes fits."""
MOST_CALLS = 1000
MOST_NAME = 200
"""Characters of a tool's, a call's or a model's name."""

SERVICE_FINISHES = frozenset({"error", "timeout", "abort", "network_error", "insufficient_system_resource"})
"""Reasons to finish that are no doing of the model's: its service broke off. OpenRouter and vLLM say `error`,
Cohere `timeout`, vLLM and SGLang `abort`, Z.ai `network_error`, DeepSeek the last one."""
_FINISHES = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""Other words (Z.ai's) for what OpenAI's vocabulary has a word for."""

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Joiners, fillers and blanks that Unicode counts among letters, marks and symbols."""


class BrokenReply(ValueError):
    """A body with status 200 that is no usable chat completion."""


class ToldError(BrokenReply):
    """A body with status 200 that tells of an error, whatever it holds besides."""

    def __init__(self, error: JsonValue) -> None:
        super().__init__("the reply tells of an error")
        self.error = error


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model wants made."""

    call_id: str
    name: str
    arguments: JsonValue
    """The text as the model wrote it; null where a server sent none. Policies give the object itself."""


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
    left_out: str = ""
    """What was too large to be taken, in words; empty when all was."""


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
        ToldError: it tells of an error.
        BrokenReply: it is not JSON, has no choice that we could use, or the service broke it off.
    """
    try:
        parsed = loads_strict(body)
        if (told := _told_error(parsed)) is not None:
            raise ToldError(told)
        completion = _Completion.model_validate(parsed)
        reply = _reply_of(completion)
    except BrokenReply:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenReply(f"{'/'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise BrokenReply(f"not JSON: {error}") from error
    if reply.finish_reason in SERVICE_FINISHES:
        raise BrokenReply(f"the service broke it off: finish_reason {reply.finish_reason}")
    return within(reply, MOST_TEXT_BYTES, MOST_ARGUMENT_BYTES)


def _told_error(parsed: JsonValue) -> JsonValue:
    """What stands in `error` of a body or of its first choice; null when both say nothing."""
    if not isinstance(parsed, dict):
        return None
    if (error := parsed.get("error")) is not None:
        return error
    match parsed.get("choices"):
        case [dict() as first, *_]:
            return first.get("error")
        case _:
            return None


def _reply_of(completion: _Completion) -> Reply:
    choice = completion.choices[0]
    text, refusal = _texts(choice.message)
    calls = choice.message.tool_calls or []
    finish = (choice.finish_reason or "").lower()
    return Reply(
        text=text,
        refusal=refusal,
        calls=tuple(_calls(calls[:MOST_CALLS])),
        finish_reason=_FINISHES.get(finish, finish),
        usage=chat_usage(completion.usage, wrote=bool(text or refusal or calls)),
        model=printable(completion.model or "")[:MOST_NAME],
        left_out=plural(len(calls) - MOST_CALLS, "call") if len(calls) > MOST_CALLS else "",
    )


def within(reply: Reply, text_bytes: int, argument_bytes: int) -> Reply:
    """The reply with no more than so many bytes of text (refusal included) and of arguments, as JSON.

    What is cut loses its end, so arguments that are cut are no JSON any more, and `left_out` tells of it.
    """
    text = _cut(reply.text, text_bytes)
    refusal = _cut(reply.refusal, text_bytes - json_bytes(text))
    calls: list[ToolCall] = []
    left_bytes = argument_bytes
    for call in reply.calls:
        kept = call
        if isinstance(call.arguments, str):
            kept = replace(call, arguments=_cut(call.arguments, left_bytes))
            left_bytes -= json_bytes(str(kept.arguments))
        calls.append(kept)
    lost = [reply.left_out] if reply.left_out else []
    if (text, refusal) != (reply.text, reply.refusal):
        lost.append(f"text beyond {text_bytes} bytes")
    if tuple(calls) != reply.calls:
        lost.append(f"arguments beyond {argument_bytes} bytes")
    return replace(reply, text=text, refusal=refusal, calls=tuple(calls), left_out=", ".join(lost))


def json_bytes(text: str) -> int:
    """How long the text is as a JSON string, without its quotes."""
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def _cut(text: str, most_bytes: int) -> str:
    """The beginning of a text that is no longer than that as JSON."""
    kept = text[: max(0, most_bytes)]
    while (size := json_bytes(kept)) > most_bytes and kept:
        kept = kept[: len(kept) * max(0, most_bytes) // size]
    return kept


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, controls, joiners, fillers."""
    return all(character in _INVISIBLE or _is_invisible(character) for character in text)


def _is_invisible(character: str) -> bool:
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return is_selector or unicodedata.category(character) in _INVISIBLE_CATEGORIES


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
    taken: set[str] = set()
    for position, call in enumerate(calls):
        wanted = printable(call.id or "")[:MOST_NAME]
        call_id = wanted if wanted and wanted not in taken else f"call-{position}-{wanted}"
        taken.add(call_id)
        name = printable(call.function.name)[:MOST_NAME]
        result.append(ToolCall(call_id, name, _as_text(call.function.arguments)))
    return result


def _as_text(arguments: str | dict[str, Any] | None) -> str | None:
    """Arguments as the text that most servers send, also from those that send the object itself."""
    if isinstance(arguments, dict):
        return json.dumps(arguments)
    return None if arguments is None else printable(arguments)
