"""The chat agent's four tools: their schemas, the reading of a model's arguments, and what each does.

Tools act as the sandbox's own user, by commands in the workspace. What a model writes wrongly is answered
with a sentence that tells it so; it never ends the attempt.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Annotated, Any, assert_never

from pydantic import Field, JsonValue, ValidationError

from esac_ag.agents.contract import AGENT_WORKSPACE
from esac_ag.agents.replies import ToolCall, printable
from esac_ag.agents.settings import ChatSettings
from esac_ag.agents.shell import MAX_ARGUMENT_BYTES, Shell, ShellResult
from esac_ag.canonical import loads_strict
from esac_ag.record import Record
from esac_ag.sandbox.contract import Termination

MOST_FILE_BYTES = 1_000_000
FILE_TIMEOUT_S = 60.0
DEFAULT_LINES = 2000
MOST = 1_000_000_000
"""Larger numbers mean nothing here, and canonical JSON has none beyond 2^53."""


def _one_argument(value: str) -> str:
    """A value that fits one argument of a command.

    Raises:
        ValueError: it holds NUL, or is longer than the system takes.
    """
    if "\0" in value:
        raise ValueError("must not hold NUL")
    if len(value.encode()) > MAX_ARGUMENT_BYTES:
        raise ValueError(f"must have at most {MAX_ARGUMENT_BYTES} bytes; write a file instead")
    return value


class Tool(Record):
    """Arguments of one tool."""


class Bash(Tool):
    """Run a command."""

    command: Annotated[str, Field(min_length=1)]
    timeout_s: Annotated[float, Field(gt=0, le=MOST)] | None = None


class ReadFile(Tool):
    """Read lines of a file."""

    path: Annotated[str, Field(min_length=1)]
    offset: Annotated[int, Field(ge=1, le=MOST)] = 1
    limit: Annotated[int, Field(ge=1, le=MOST)] = DEFAULT_LINES


class WriteFile(Tool):
    """Write a whole file."""

    path: Annotated[str, Field(min_length=1)]
    content: str


class Submit(Tool):
    """End the work."""

    summary: str


@dataclass(frozen=True, slots=True)
class Misuse:
    """A call that cannot be carried out, and what the model is told."""

    message: str


TOOLS: dict[str, type[Bash | ReadFile | WriteFile | Submit]] = {
    "bash": Bash,
    "read_file": ReadFile,
    "write_file": WriteFile,
    "submit": Submit,
}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is answered."""

    text: str
    exit_code: int | None = None
    truncated: bool = False
    submitted: str | None = None
    """The summary, when the model ended its work."""
    termination: Termination = Termination.EXITED
    """How the command ended; anything but an exit may end the attempt."""


def schemas(settings: ChatSettings) -> list[JsonValue]:
    """The tools as function schemas, in a fixed order; the same in every request of a study."""
    text, whole = {"type": "string"}, {"type": "integer", "minimum": 1}
    return [
        _schema(
            "bash",
            "Run a command with bash in the workspace, without input, and get its output and exit code. Each "
            f"call is a new shell. Without timeout_s it may take {settings.command_timeout_s:g} s, with it "
            f"up to {settings.max_command_timeout_s:g} s. Send the output of background processes to a file.",
            {"command": text, "timeout_s": {"type": "number", "exclusiveMinimum": 0}},
            ["command"],
        ),
        _schema(
            "read_file",
            "Read a text file: `limit` lines from line `offset` (from 1).",
            {"path": text, "offset": whole, "limit": whole},
            ["path"],
        ),
        _schema(
            "write_file",
            "Write a whole text file; missing folders are made.",
            {"path": text, "content": text},
            ["path", "content"],
        ),
        _schema("submit", "End the work, with a short summary of it.", {"summary": text}, ["summary"]),
    ]


def _schema(name: str, description: str, properties: dict[str, Any], required: list[str]) -> JsonValue:
    parameters: JsonValue = {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def arguments_of(call: ToolCall) -> dict[str, JsonValue] | None:
    """The arguments as an object; null when the model wrote something else."""
    try:
        parsed = loads_strict(call.arguments) if isinstance(call.arguments, str) else call.arguments
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def read_call(call: ToolCall) -> Bash | ReadFile | WriteFile | Submit | Misuse:
    """What the model wants done, or what is wrong with its call."""
    tool = TOOLS.get(call.name)
    if tool is None:
        return Misuse(f"There is no tool {call.name[:100]!r}. The tools are: {', '.join(TOOLS)}.")
    arguments = arguments_of(call)
    if arguments is None:
        return Misuse(f"The arguments of {call.name} are not a JSON object. Send the call again.")
    try:
        return _within_bounds(tool.model_validate(arguments))
    except ValidationError as error:
        faults = "; ".join(f"{'/'.join(map(str, f['loc']))}: {f['msg']}" for f in error.errors())
        return Misuse(printable(f"The arguments of {call.name} are wrong: {faults}"[:2000]))
    except ValueError as error:
        return Misuse(f"The arguments of {call.name} are wrong: {error}")


def _within_bounds(
    wanted: Bash | ReadFile | WriteFile | Submit,
) -> Bash | ReadFile | WriteFile | Submit:
    """The same call, when its values fit a command line.

    Raises:
        ValueError: a value is too long or holds NUL.
    """
    match wanted:
        case Bash(command=command):
            _one_argument(command)
        case ReadFile(path=path) | WriteFile(path=path):
            _one_argument(path)
        case Submit():
            pass
        case _:
            assert_never(wanted)
    if isinstance(wanted, WriteFile) and len(wanted.content.encode()) > MOST_FILE_BYTES:
        raise ValueError(f"content must have at most {MOST_FILE_BYTES} bytes")
    return wanted


# $1 is the path, $2 the first line, $3 the number of lines. Only regular files: a FIFO would never end.
READER = """\
if [ -d "$1" ]; then echo "$1 is a directory"; exit 1; fi
if [ ! -f "$1" ]; then echo "there is no file $1"; exit 1; fi
if [ ! -r "$1" ]; then echo "$1 is not readable"; exit 1; fi
tail -n "+$2" -- "$1" | head -n "$3"
"""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Carries out a model's calls in a sandbox."""

    shell: Shell
    settings: ChatSettings

    def carry_out(self, wanted: Bash | ReadFile | WriteFile | Submit | Misuse) -> ToolResult:
        """Do what the model wants and tell it the result.

        Raises:
            SandboxLost: the container or the engine went away.
        """
        match wanted:
            case Bash(command=command, timeout_s=asked_s):
                timeout_s = min(
                    asked_s or self.settings.command_timeout_s, self.settings.max_command_timeout_s
                )
                result = self.shell.run(["bash", "-c", command], timeout_s=timeout_s, tool="bash")
                return self._told(result, status=True)
            case ReadFile(path=path, offset=offset, limit=limit):
                argv = ["bash", "-c", READER, "esac-ag", _absolute(path), str(offset), str(limit)]
                result = self.shell.run(argv, timeout_s=FILE_TIMEOUT_S, tool="read_file")
                return self._told(result, status=result.exit_code != 0)
            case WriteFile(path=path, content=content):
                data = content.encode()
                result = self.shell.write_file(
                    _absolute(path), data, timeout_s=FILE_TIMEOUT_S, tool="write_file"
                )
                if result.exit_code == 0:
                    text = f"Wrote {len(data)} bytes to {_absolute(path)}."
                    return ToolResult(text, exit_code=0, termination=result.termination)
                return self._told(result, status=True)
            case Submit(summary=summary):
                return ToolResult("Submitted.", submitted=summary)
            case Misuse(message=message):
                return ToolResult(message)
            case _:
                assert_never(wanted)

    def _told(self, result: ShellResult, *, status: bool) -> ToolResult:
        text, cut = shortened(result.output, self.settings.shown_output_bytes)
        notes = [text] if text else []
        if result.truncated:
            notes.append("[further output was dropped]")
        if result.termination is Termination.OUT_OF_MEMORY:
            notes.append("[the container ran out of memory]")
        if result.timed_out:
            notes.append("[the time limit was reached and the command ended]")
        if status:
            notes.append(f"[exit code {result.exit_code}]")
        return ToolResult(
            "\n".join(notes),
            exit_code=result.exit_code,
            truncated=cut or result.truncated,
            termination=result.termination,
        )


def _absolute(path: str) -> str:
    return posixpath.join(AGENT_WORKSPACE, path)


def shortened(output: bytes, most_bytes: int) -> tuple[str, bool]:
    """Output as text, and whether its middle was left out to keep it to about `most_bytes`."""
    if len(output) <= most_bytes:
        return output.decode("utf-8", "replace").rstrip("\n"), False
    half = most_bytes // 2
    head, tail = output[:half], output[-half:]
    left_out = len(output) - 2 * half
    return (
        head.decode("utf-8", "replace")
        + f"\n[... {left_out} bytes left out ...]\n"
        + tail.decode("utf-8", "replace").rstrip("\n"),
        True,
    )
