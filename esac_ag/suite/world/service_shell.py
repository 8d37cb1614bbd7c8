"""The mock shell's tool."""

from __future__ import annotations

from typing import Final

from .shell_interpreter import run
from .snapshot import State
from .tables import Arguments, Operation, Row

MAX_SHOWN: Final = 20_000
"""Characters of each stream that a reply shows."""


def shell_run(state: State, arguments: Arguments) -> Row:
    """Run a command line over the state's files."""
    outcome = run(arguments["command"], state["fs"], state["cwd"])
    streams = {"stdout": outcome.out, "stderr": outcome.err}
    shown = {
        name: text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")[:MAX_SHOWN]
        for name, text in streams.items()
    }
    cut = any(len(text) > MAX_SHOWN for text in streams.values())
    return {"exit_code": outcome.exit_code, **shown, **({"truncated": True} if cut else {})}


OPERATIONS: dict[str, Operation] = {"shell_run": shell_run}
