"""The four tools of the categories code and recovery, and their fixed limits.

They are carried out by `code_desk.Desk`; running a program is the only thing that needs a sandbox.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

from esac_ag.canonical import is_ignored
from esac_ag.suite.contract import Json, ToolSchema

RUNS_MOST: Final = 5
"""How often `run_python` may be called; afterwards it answers `runs-used-up`."""
RUN_TIMEOUT_S: Final = 10.0
OUTPUT_CHARACTERS: Final = 4_000
"""What is shown of each output of a run: its end."""
FILE_CHARACTERS: Final = 60_000
FILES_MOST: Final = 50

_PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*){0,3}")


def _text(description: str, *, least: int = 1, most: int = FILE_CHARACTERS) -> Json:
    return {"type": "string", "description": description, "minLength": least, "maxLength": most}


def _tool(name: str, description: str, required: dict[str, Json], optional: dict[str, Json]) -> ToolSchema:
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSchema(name=name, description=description, parameters=parameters)


_FILE: Final = _text("Path in the workspace, such as notes/a.txt.", most=200)

CODE_TOOLS: Final = (
    _tool("read_file", "Read a text file of the workspace.", {"path": _FILE}, {}),
    _tool(
        "write_file",
        "Write a text file of the workspace: creates it, or replaces all that it held.",
        {"path": _FILE, "content": _text("The whole text.", least=0)},
        {},
    ),
    _tool(
        "run_python",
        f"Run a Python file of the workspace with Python 3.11 (standard library only, no network, at most "
        f"{RUN_TIMEOUT_S:g} s). Returns exit code, standard output and standard error. Can be used at most "
        f"{RUNS_MOST} times.",
        {"path": _FILE},
        {"stdin": _text("What the program reads from standard input. Default: nothing.", least=0)},
    ),
    _tool(
        "submit",
        "Hand the workspace in as it is now and end the work.",
        {"summary": _text("One or two sentences on what was done.", most=2_000)},
        {},
    ),
)
"""Offered in every item of code and recovery, in this order."""


def is_workspace_path(path: str) -> bool:
    """Whether a path names a place inside the workspace: relative, plain, at most four parts.

    Caches and byte code are no part of what is handed in, so nothing may be written there.
    """
    return _PATH.fullmatch(path) is not None and posixpath.normpath(path) == path and not is_ignored(path)


def run_argv(path: str) -> tuple[str, ...]:
    """The command line of a run, in the workspace as working directory.

    Without positions inside lines, tracebacks are the same text in every version of Python.
    """
    return ("python3", "-B", "-X", "no_debug_ranges", path)
