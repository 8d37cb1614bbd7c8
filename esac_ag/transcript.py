"""The normal transcript: one JSON object a line, whatever agent acted."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue

from esac_ag.attempt import Usage
from esac_ag.record import Record, Sha256


class EntryKind(StrEnum):
    """What one line of a transcript is."""

    SYSTEM = "system"
    USER = "user"
    MODEL = "model"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    NOTICE = "notice"
    """Something the harness did or saw: a limit, a retry, an error by class."""


class Entry(Record):
    """One line of `transcript.jsonl` (docs/transcript.md)."""

    kind: EntryKind
    at_s: Annotated[float, Field(ge=0)] | None = None
    """Seconds since the attempt started; null where an agent's log tells no time."""
    text: str = ""
    """The message, the tool's output as the agent saw it, or the notice."""
    reasoning: str = ""
    """What a model showed of its thinking before this message; only of the model's own entries."""
    call_id: str | None = None
    """Joins a tool call to its result."""
    tool: str | None = None
    arguments: dict[str, JsonValue] | None = None
    exit_code: int | None = None
    truncated: bool = False
    request_sha256: Sha256 | None = None
    """Digest of the request body that a model answered."""
    usage: Usage | None = None
    """Of the one model call that this message came from; null where it is not known call by call."""
