"""The commands that an agent executed, from its transcript and from the harness's own record of commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import ConfigDict, JsonValue

from esac_ag.record import Record
from esac_ag.study.masking import Masker
from esac_ag.study.packets import CommandShown, Tally
from esac_ag.study.plain import without_colours
from esac_ag.study.tallies import read_tests
from esac_ag.transcript import Entry, EntryKind

MOST_COMMAND_CHARACTERS: Final = 2_000
MOST_READ_CHARACTERS: Final = 200_000
"""Of the end of an output that are searched for the result of tests."""
MOST_OUTPUT_CHARACTERS: Final = 4_000
"""Of the end of a test run's output."""
OWN_SHELLS: Final = frozenset({"bash", "run"})
"""Tools of our own agents that execute a command of theirs; their other tools only use commands."""

_TESTS: Final = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|playwright test|doctest"
    r"|(?:npm|yarn|pnpm|bun)(?: run)? test\S*|(?:cargo|go|mvn|gradle|gradlew|dotnet|mix|swift) test"
    r"|make (?:check|test)\S*)\b"
)
_TIMES: Final = re.compile(
    r"\s{0,4}[(\[]?\b(?:in|took|time:?|duration:?|finished in)?\s?\d+(?:\.\d+)?\s?"
    r"(?:ms|s|sec|secs|seconds|minutes)\b[)\]]?(?: \(\d+:\d\d:\d\d\))?",
    re.IGNORECASE,
)
_EXIT_CODE: Final = re.compile(r"\AExit code \d+\n")
"""What one agent puts before an output."""
_KEYS: Final = ("command", "cmd", "argv")
_WRAPPED: Final = re.compile(r"\S*\b(?:ba|z|da)?sh -l?c ")
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash"})


@dataclass(frozen=True, slots=True)
class Executed:
    """One command as it was executed."""

    command: str
    exit_code: int | None
    timed_out: bool = False
    output: str = ""


class RecordedCommand(Record):
    """A line of `commands.jsonl`, as far as it is needed here."""

    model_config = ConfigDict(extra="ignore")

    tool: str
    argv: tuple[str, ...]
    exit_code: int | None = None
    timed_out: bool = False


def executed_by_tools(entries: Sequence[Entry]) -> tuple[Executed, ...]:
    """The commands among the tool calls of a transcript, with what came back."""
    return tuple(
        Executed(
            command=command,
            exit_code=None if result is None else result.exit_code,
            output="" if result is None else result.text,
        )
        for call, result in _calls(entries)
        if (command := _command_of(call.tool or "", call.arguments or {}))
    )


def executed_by_record(recorded: Sequence[RecordedCommand], entries: Sequence[Entry]) -> tuple[Executed, ...]:
    """The commands that the harness recorded; what they printed is the transcript's.

    Outputs are left out where transcript and record do not have the same calls.
    """
    own = [one for one in recorded if one.tool in OWN_SHELLS]
    results = [result for call, result in _calls(entries) if call.tool in OWN_SHELLS]
    outputs = [result.text if result else "" for result in results]
    if len(outputs) != len(own):
        outputs = [""] * len(own)
    return tuple(
        Executed(_joined(one.argv), one.exit_code, one.timed_out, output)
        for one, output in zip(own, outputs, strict=True)
    )


def shown(
    executed: Sequence[Executed], masker: Masker, public_command: str
) -> tuple[tuple[CommandShown, ...], int]:
    """Commands as reviewers see them, and how many were left out because they only loaded instructions.

    Outputs are kept of test runs alone, without times: how long something took is a cost.
    """
    found: list[CommandShown] = []
    left_out = 0
    for one in executed:
        tests = bool(_TESTS.search(one.command)) or bool(public_command and public_command in one.command)
        if not tests and masker.loads_instructions(one.command):
            left_out += 1
            continue
        found.append(_shown(one, len(found) + 1, masker, tests=tests))
    return tuple(found), left_out


def _shown(one: Executed, number: int, masker: Masker, *, tests: bool) -> CommandShown:
    output = _EXIT_CODE.sub("", without_colours(one.output[-MOST_READ_CHARACTERS:])) if tests else ""
    failed, passed = read_tests(output)
    told = tests and (bool(failed) or passed is not None)
    return CommandShown(
        id=f"command-{number}",
        command=_cut(masker.prose(one.command)),
        exit_code=one.exit_code,
        timed_out=one.timed_out,
        tests=Tally(failed=tuple(map(masker.prose, failed)), passed=passed) if told else None,
        output=_end(masker.prose(_TIMES.sub("", output))),
    )


def _calls(entries: Sequence[Entry]) -> list[tuple[Entry, Entry | None]]:
    """Each tool call with its result: ids are used again, so the next result of the id is the one."""
    following: dict[str | None, Entry] = {}
    found: list[tuple[Entry, Entry | None]] = []
    for entry in reversed(entries):
        if entry.kind is EntryKind.TOOL_RESULT:
            following[entry.call_id] = entry
        elif entry.kind is EntryKind.TOOL_CALL:
            found.append((entry, following.pop(entry.call_id, None)))
    return found[::-1]


def _command_of(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """The command of a call; empty for tools that execute none."""
    if "edit" in tool.lower():  # an editor's `command` is what it does to a file
        return ""
    for key in _KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return _unwrapped(value)
        if isinstance(value, list):
            return _joined([str(part) for part in value])
    return ""


def _unwrapped(command: str) -> str:
    """A command without the shell that an agent puts around it: `/bin/bash -lc '...'`."""
    if not _WRAPPED.match(command):
        return command
    try:
        return _joined(shlex.split(command))
    except ValueError:  # quotes that do not close
        return command


def _joined(argv: Sequence[str]) -> str:
    """A command as a shell would be given it; the text of `bash -c` is the command itself."""
    if len(argv) == 3 and argv[0].rpartition("/")[2] in _SHELLS and argv[1] in {"-c", "-lc"}:  # noqa: PLR2004
        return argv[2]
    return shlex.join(argv)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_COMMAND_CHARACTERS else text[:MOST_COMMAND_CHARACTERS] + " …"


def _end(text: str) -> str:
    return text if len(text) <= MOST_OUTPUT_CHARACTERS else "… " + text[-MOST_OUTPUT_CHARACTERS:]
