"""Lines of transcripts and of commands as a person reads them, whatever stands in them. Pure."""

from __future__ import annotations

import json
import shlex
from typing import Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from esac_ag.attempt import Usage
from esac_ag.conduct.view_attempt import CommandLine
from esac_ag.conduct.view_lines import CutLine
from esac_ag.report.numbers import UNAVAILABLE
from esac_ag.transcript import Entry, EntryKind

Model = TypeVar("Model", bound=BaseModel)

MOST_CHARACTERS: Final = 20_000
"""Of one text; the rest is in the raw file."""
MOST_RAW_CHARACTERS: Final = 2_000
"""Of a line that is no entry."""
OPEN_LINES: Final = 12
OPEN_CHARACTERS: Final = 1_200
"""Longer outputs are folded at first."""

ROLES: Final = {
    EntryKind.SYSTEM: "System",
    EntryKind.USER: "User",
    EntryKind.MODEL: "Model",
    EntryKind.TOOL_CALL: "Tool call",
    EntryKind.TOOL_RESULT: "Tool result",
    EntryKind.NOTICE: "Notice",
}
_FOLDED: Final = frozenset({EntryKind.TOOL_RESULT, EntryKind.SYSTEM})


class ShownText(NamedTuple):
    """A text of an entry."""

    title: str
    """Empty for the entry's own text."""
    text: str
    left_out: int
    """Characters that are not shown."""
    folded: bool


class ShownEntry(NamedTuple):
    """One line of a transcript, ready for the template."""

    number: int
    role: str
    kind: str
    """For the style; empty for a line that is no entry."""
    facts: tuple[str, ...]
    texts: tuple[ShownText, ...]


class ShownCommand(NamedTuple):
    """One line of the record of commands."""

    number: int
    command: ShownText
    ended: str
    took: str
    tool: str


def shown_entry(line: CutLine) -> ShownEntry:
    """A line of `transcript.jsonl`; one that is cut or no entry is shown as it is."""
    entry = _read(line, Entry)
    if entry is None:
        return ShownEntry(line.number, "Not an entry of a transcript", "", (_size(line),), (_raw(line),))
    texts = []
    if entry.reasoning:
        texts.append(_text("Reasoning", entry.reasoning, folded=True))
    if entry.arguments is not None:
        called = json.dumps(entry.arguments, ensure_ascii=False, indent=2)
        texts.append(_text("Arguments", called, folded=_is_long(called)))
    if entry.text:
        texts.append(_text("", entry.text, folded=entry.kind in _FOLDED and _is_long(entry.text)))
    return ShownEntry(line.number, ROLES[entry.kind], entry.kind.value, tuple(_facts(entry)), tuple(texts))


def shown_command(line: CutLine) -> ShownCommand:
    """A line of `commands.jsonl`; one that cannot be read is shown as it is."""
    command = _read(line, CommandLine)
    if command is None:
        return ShownCommand(line.number, _raw(line), "a line that cannot be read", UNAVAILABLE, "")
    text = shlex.join(command.argv)
    took = UNAVAILABLE if command.duration_s is None else f"{command.duration_s:,.1f} s"
    return ShownCommand(
        line.number, _text("", text, folded=_is_long(text)), _ended(command), took, command.tool
    )


def _ended(command: CommandLine) -> str:
    code = "no exit code" if command.exit_code is None else f"exit {command.exit_code}"
    notes = (("timed out", command.timed_out), ("output cut", command.truncated))
    return ", ".join([code, *(word for word, is_so in notes if is_so)])


def _facts(entry: Entry) -> list[str]:
    facts = [entry.tool or ""]
    if entry.at_s is not None:
        facts.append(f"{entry.at_s:,.1f} s after the start")
    if entry.exit_code is not None:
        facts.append(f"exit {entry.exit_code}")
    if entry.truncated:
        facts.append("cut when it was recorded")
    if entry.usage is not None:
        facts.append(_usage(entry.usage))
    return [fact for fact in facts if fact]


def _usage(usage: Usage) -> str:
    counts = (("in", usage.input_tokens), ("out", usage.output_tokens))
    told = [f"{UNAVAILABLE if count is None else f'{count:,}'} {side}" for side, count in counts]
    return f"tokens: {', '.join(told)}"


def _read(line: CutLine, kind: type[Model]) -> Model | None:
    if not line.is_whole:
        return None
    try:
        return kind.model_validate_json(line.data)
    except ValidationError:
        return None


def _raw(line: CutLine) -> ShownText:
    text = line.data.decode("utf-8", "backslashreplace")
    shown = text[:MOST_RAW_CHARACTERS]
    return ShownText("", shown, len(text) - len(shown), folded=False)


def _size(line: CutLine) -> str:
    return f"{line.size_bytes:,} bytes"


def _text(title: str, text: str, *, folded: bool) -> ShownText:
    shown = text[:MOST_CHARACTERS]
    return ShownText(title, shown, len(text) - len(shown), folded)


def _is_long(text: str) -> bool:
    return len(text) > OPEN_CHARACTERS or text.count("\n") > OPEN_LINES
