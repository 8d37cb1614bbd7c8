"""Agent files (`runner/agents/<name>.json`): a command-line agent, pinned, and how it is launched.

An agent has either a *preset*, which knows one of the agents that this version ships, or a *launch* of its
own, which is how any other program is described (docs/agents.md). In a launch's texts `${...}` stands for
what only a run knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from esac_ag.record import Identifier, Record

AGENTS_FOLDER = "/opt/agents"
"""Folder of the images in which each agent has a folder of its own, root's and read-only."""

_HOLE = re.compile(r"\$\{([^}]*)\}")


def _without_dots(path: str) -> str:
    if {".", ".."}.intersection(path.split("/")):
        raise ValueError("a path without `.` and `..` is expected")
    return path


RelativePath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._@+-]+(/[A-Za-z0-9._@+-]+)*$"),
    AfterValidator(_without_dots),
]
"""A POSIX path without `..`, of plain characters."""
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
JsonPointer = Annotated[str, StringConstraints(pattern=r"^(/[^/]+)+$")]


class WireProtocol(StrEnum):
    """How an agent speaks with its model."""

    MESSAGES = "anthropic-messages"
    RESPONSES = "openai-responses"
    CHAT = "openai-chat"


class PresetName(StrEnum):
    """The agents that this version knows how to launch."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OPENCODE = "opencode"
    MINI_SWE_AGENT = "mini-swe-agent"


class NpmPackage(Record):
    """One npm package, taken as it is: neither its dependencies nor its scripts are used."""

    source: Literal["npm"]
    package: Annotated[str, StringConstraints(pattern=r"^(@[a-z0-9._~-]+/)?[a-z0-9._~-]+$")]
    version: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+-]*$")]
    """An exact version."""
    integrity: Annotated[str, StringConstraints(pattern=r"^sha512-[A-Za-z0-9+/]{86}==$")]
    """`dist.integrity` of that version: SHA-512 of the package's archive, in base 64."""


class PypiPackages(Record):
    """Wheels from PyPI, all of them named with their digest."""

    source: Literal["pypi"]
    requirements: RelativePath
    """A file beside this one: a line `name==version --hash=sha256:...` for each wheel, dependencies too."""
    python: Annotated[str, StringConstraints(pattern=r"^3\.\d{1,2}$")]
    """The image's version of Python, for which the wheels are."""
    entry_point: Annotated[str, StringConstraints(pattern=r"^\w+(\.\w+)*:\w+$")]
    """`module:function`, which the program calls."""


class OwnFolder(Record):
    """A folder beside this file."""

    source: Literal["folder"]
    folder: RelativePath


Install = Annotated[NpmPackage | PypiPackages | OwnFolder, Field(discriminator="source")]


class PromptBy(StrEnum):
    """How the request reaches the program."""

    STDIN = "stdin"
    """On standard input, which then ends."""
    ARGUMENT = "argument"
    """As a part of `argv`, which has `${request}`; at most 120,000 bytes."""


class Hole(StrEnum):
    """What `${...}` may stand for."""

    PROGRAM = "program"
    """Absolute path of the program."""
    REQUEST = "request"
    MODEL = "model"
    BASE_URL = "base_url"
    """Address of the gateway inside the container, without a path."""
    TOKEN = "token"  # noqa: S105  (the name of a hole)
    """The dummy key that the gateway knows this attempt by."""
    REASONING = "reasoning"
    """The manifest's `model.reasoning`; empty when it says nothing."""
    HOME = "home"
    WORKSPACE = "workspace"


class ConfigFile(Record):
    """A file that is written fresh into HOME for every run."""

    path: RelativePath
    text: str | None = None
    data: JsonValue = None
    """In place of `text`: written as JSON."""

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.text is None) == (self.data is None):
            raise ValueError("a file has either `text` or `data`")
        return self


class ArmPlaces(Record):
    """Where the program looks for instructions, below HOME."""

    skills: RelativePath = "skills"
    """Folder that gets a folder for each skill."""
    instructions: RelativePath | None = None
    """File of global instructions; null when the program has none: the arm is then told in the request."""


class LogEvent(StrEnum):
    """What a line of a log is."""

    MESSAGE = "message"
    TOOL_CALL = "tool-call"
    TOOL_RESULT = "tool-result"
    USAGE = "usage"
    ERROR = "error"


class LogRule(Record):
    """What lines of one kind mean; the first rule that fits a line counts."""

    when: dict[JsonPointer, str]
    """Values that the line has; all of them."""
    event: LogEvent
    text: JsonPointer | None = None
    """Where the message, the result or the error is."""
    tool: JsonPointer | None = None
    arguments: JsonPointer | None = None
    call_id: JsonPointer | None = None
    input_tokens: JsonPointer | None = None
    """All input, cached included."""
    cached_input_tokens: JsonPointer | None = None
    output_tokens: JsonPointer | None = None


class LogFormat(StrEnum):
    """How a log is written."""

    TEXT = "text"
    JSON_LINES = "json-lines"


class LogReading(Record):
    """How the program's log becomes a transcript."""

    format: LogFormat = LogFormat.TEXT
    file: RelativePath | None = None
    """Below HOME; null for standard output."""
    rules: tuple[LogRule, ...] = ()


class Launch(Record):
    """How a program without a preset is launched."""

    protocol: WireProtocol
    prompt: PromptBy
    argv: Annotated[tuple[str, ...], Field(min_length=1)]
    environment: dict[VariableName, str] = Field(default_factory=dict)
    files: tuple[ConfigFile, ...] = ()
    arms: ArmPlaces = ArmPlaces()
    log: LogReading = LogReading()
    exit_codes_of_failure: tuple[Annotated[int, Field(ge=1, le=255)], ...] = (1,)
    """By which the program says that it did not finish; any other code but 0 is unknown, and no success."""

    @model_validator(mode="after")
    def _has_known_holes(self) -> Self:
        known = {hole.value for hole in Hole}
        if unknown := sorted({name for text in self.texts() for name in _HOLE.findall(text)} - known):
            raise ValueError(f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
        told = any(f"${{{Hole.REQUEST}}}" in text for text in self.argv)
        if told != (self.prompt is PromptBy.ARGUMENT):
            raise ValueError("`argv` has ${request} if, and only if, `prompt` is `argument`")
        return self

    @model_validator(mode="after")
    def _writes_each_file_once(self) -> Self:
        paths = [file.path for file in self.files]
        if self.arms.instructions is not None:
            paths.append(self.arms.instructions)
        if len(set(paths)) != len(paths):
            raise ValueError("`files` and `arms.instructions` name a path twice")
        return self

    def texts(self) -> Iterator[str]:
        """All texts in which holes are filled."""
        yield from self.argv
        yield from self.environment.values()
        for file in self.files:
            yield from strings_in(file.text if file.data is None else file.data)


class AgentFile(Record):
    """The contents of `runner/agents/<name>.json`."""

    format_version: Literal[1]
    name: Identifier
    """The file's name without `.json`, and the folder's in the image."""
    version: str
    platform: Literal["linux/amd64", "any"]
    install: Install
    program: RelativePath
    """The program, below the agent's folder in the image."""
    version_argv: tuple[str, ...]
    """Arguments with which the program tells its version."""
    version_line: str
    """The line that it then prints; an image in which it does not is not kept."""
    preset: PresetName | None = None
    launch: Launch | None = None

    @model_validator(mode="after")
    def _is_launched_in_one_way(self) -> Self:
        if (self.preset is None) == (self.launch is None):
            raise ValueError("an agent has either `preset` or `launch`")
        return self

    @property
    def folder(self) -> str:
        """The agent's folder in the image."""
        return f"{AGENTS_FOLDER}/{self.name}"

    @property
    def program_path(self) -> str:
        """Absolute path of the program in the image."""
        return f"{self.folder}/{self.program}"


def strings_in(value: JsonValue) -> Iterator[str]:
    """All texts within a JSON value; keys are none."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from strings_in(item)
        case dict():
            for item in value.values():
                yield from strings_in(item)
        case _:
            return


def filled(text: str, values: Mapping[Hole, str]) -> str:
    """A text with its holes filled; what is filled in is not looked through again."""
    return _HOLE.sub(lambda found: values[Hole(found[1])], text)
