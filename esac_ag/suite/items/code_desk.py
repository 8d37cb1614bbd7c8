"""The workspace of a code item as its tools see it: a state machine around a way to run a program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from esac_ag.suite.contract import Json, ToolCall
from esac_ag.suite.items.code_tools import (
    CODE_TOOLS,
    FILES_MOST,
    OUTPUT_CHARACTERS,
    RUN_TIMEOUT_S,
    RUNS_MOST,
    is_workspace_path,
)
from esac_ag.suite.world.arguments import as_received, checked, readable_name
from esac_ag.suite.world.refusal import Refused

_PARAMETERS: Final[dict[str, Any]] = {tool.name: tool.parameters for tool in CODE_TOOLS}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended; `exit_code` is none when its time was up."""

    exit_code: int | None
    stdout: str
    stderr: str


RunProgram = Callable[[Mapping[str, str], str, str], Ran]
"""`run(files, path, stdin)`: runs one of the files in a fresh copy of them; what it writes is dropped."""


class Desk:
    """One run's workspace and its call log."""

    def __init__(self, files: Mapping[str, str], run: RunProgram) -> None:
        self._files = dict(files)
        self._run = run
        self._runs = 0
        self._submitted = False
        self._log: list[ToolCall] = []

    @property
    def log(self) -> tuple[ToolCall, ...]:
        """All calls so far, refused ones too."""
        return tuple(self._log)

    @property
    def submitted(self) -> bool:
        """Whether the work has been handed in; every later call is refused."""
        return self._submitted

    @property
    def files(self) -> dict[str, str]:
        """The workspace's text files by path: what is graded."""
        return dict(self._files)

    def snapshot(self) -> dict[str, Json]:
        """The state for the trace; how often programs were run is no part of it."""
        return _state(self._files, submitted=self._submitted)

    def call(self, tool: object, arguments: object) -> str:
        """Carry a call out and log it; a malformed one is answered, never raised."""
        before = self._digest()
        code: str | None = None
        try:
            reply = self._dispatch(tool, arguments)
        except Refused as refused:
            code, reply = refused.code, f"error {refused.code}: {refused.message}"
        self._log.append(
            ToolCall(
                index=len(self._log),
                tool=readable_name(tool),
                arguments=as_received(arguments),
                ok=code is None,
                reply=reply,
                error=code,
                state_before=before,
                state_after=self._digest(),
            )
        )
        return reply

    def _dispatch(self, tool: object, arguments: object) -> str:
        if self._submitted:
            raise Refused("ended", "the work has been handed in")
        if not isinstance(tool, str) or tool not in _PARAMETERS:
            raise Refused(
                "unknown-tool", f"there is no tool of that name; there are {', '.join(_PARAMETERS)}"
            )
        given = checked(tool, _PARAMETERS[tool], arguments)
        match tool:
            case "read_file":
                return self._files[self._existing(given["path"])]
            case "write_file":
                return self._write(given["path"], given["content"])
            case "run_python":
                return self._run_python(given["path"], given.get("stdin", ""))
            case _:
                self._submitted = True
                return "handed in"

    def _existing(self, path: str) -> str:
        if path not in self._files:
            raise Refused("not-found", f"there is no file {path}; there are {', '.join(sorted(self._files))}")
        return path

    def _write(self, path: str, content: str) -> str:
        if not is_workspace_path(path) or self._is_folder_clash(path):
            raise Refused("invalid-arguments", "path has to be a plain relative path of a file")
        if path not in self._files and len(self._files) >= FILES_MOST:
            raise Refused("too-large", f"the workspace holds at most {FILES_MOST} files")
        self._files[path] = content
        return f"wrote {len(content.encode('utf-8', 'replace'))} bytes to {path}"

    def _is_folder_clash(self, path: str) -> bool:
        return any(other.startswith(path + "/") or path.startswith(other + "/") for other in self._files)

    def _run_python(self, path: str, stdin: str) -> str:
        self._existing(path)
        if self._runs >= RUNS_MOST:
            raise Refused("runs-used-up", f"run_python can be used {RUNS_MOST} times; hand in with submit")
        self._runs += 1
        ran = self._run(dict(self._files), path, stdin)
        ended = f"killed after {RUN_TIMEOUT_S:g} s" if ran.exit_code is None else f"exit code {ran.exit_code}"
        return f"{ended}\nstdout:\n{_end(ran.stdout)}\nstderr:\n{_end(ran.stderr)}"

    def _digest(self) -> str:
        text = json.dumps(self.snapshot(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def replay_desk(files: Mapping[str, str], calls: Sequence[ToolCall]) -> Iterator[dict[str, Json]]:
    """The state after each call of a log."""
    held, submitted = dict(files), False
    for call in calls:
        given = call.arguments
        if call.ok and call.tool == "write_file" and isinstance(given, dict):
            held[str(given["path"])] = str(given["content"])
        submitted |= call.ok and call.tool == "submit"
        yield _state(held, submitted=submitted)


def _state(held: Mapping[str, str], *, submitted: bool) -> dict[str, Json]:
    files: dict[str, Json] = {**dict(sorted(held.items()))}
    return {"files": files, "submitted": submitted}


def _end(text: str) -> str:
    return text if len(text) <= OUTPUT_CHARACTERS else "..." + text[-OUTPUT_CHARACTERS:]
