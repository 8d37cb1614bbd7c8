"""An agent's commands in the sandbox, with a time limit for each and a record of each.

A command's own limit acts inside (`timeout` ends its process group), so that work goes on afterwards. The
attempt's deadline, and a backstop for commands that evade their limit, are the sandbox's: it freezes the
container, and nothing can be executed any more.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from esac_ag.agents.contract import AGENT_WORKSPACE
from esac_ag.agents.recorder import Recorder
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import CommandResult, Sandbox, Termination

KILL_AFTER_S = 5
"""Between the polite and the hard end of a command that is out of time."""
BACKSTOP_S = 20.0
"""How much later than a command's own limit the sandbox's deadline lies."""
KEPT_OUTPUT_BYTES = 1_000_000
"""Output of one command that is kept; the rest is drained and dropped."""
CHUNK_BYTES = 60_000
"""Bytes per command line: Linux takes arguments of up to 128 KiB, and base64 makes four of three."""
MAX_ARGUMENT_BYTES = 120_000
SHOWN_ARGUMENT_CHARACTERS = 4_000
"""Longer arguments (chunks of a file) are cut in `commands.jsonl`."""

# $1 is the path, $2 a chunk as base64, $3 is `new` for the first chunk.
WRITER = """\
set -e -o pipefail
if [ "$3" = new ]; then
  case "$1" in */*) mkdir -p -- "${1%/*}" ;; esac
  printf %s "$2" | base64 -d > "$1"
else
  printf %s "$2" | base64 -d >> "$1"
fi
"""


@dataclass(frozen=True, slots=True)
class ShellResult:
    """How a command ended, as an agent sees it."""

    exit_code: int | None
    """None when the container was frozen, or ended."""
    output: bytes
    truncated: bool
    timed_out: bool
    """Its own time limit passed; the container goes on."""
    termination: Termination


class Shell:
    """Runs an agent's commands as the sandbox's user in the workspace, and records each."""

    def __init__(self, sandbox: Sandbox, recorder: Recorder, deadline: Deadline, output_bytes: int) -> None:
        self._sandbox = sandbox
        self._recorder = recorder
        self._deadline = deadline
        self._output_left_bytes = output_bytes

    @property
    def output_used_up(self) -> bool:
        """Whether the attempt's budget of kept output is used up."""
        return self._output_left_bytes <= 0

    def run(self, argv: Sequence[str], *, tool: str, timeout_s: float | None = None) -> ShellResult:
        """Run a command to its end, to `timeout_s` or to the attempt's deadline.

        Raises:
            SandboxLost: the container or the engine went away.
        """
        deadline, wrapped = self._deadline, list(argv)
        if timeout_s is not None and timeout_s < deadline.remaining_s():
            wrapped = ["timeout", "-k", str(KILL_AFTER_S), f"{timeout_s:.3f}", *argv]
            deadline = deadline.earlier(timeout_s + BACKSTOP_S)
        result = self._sandbox.execute(
            wrapped,
            deadline=deadline,
            output_bytes=max(1, min(KEPT_OUTPUT_BYTES, self._output_left_bytes)),
            working_dir=AGENT_WORKSPACE,
        )
        self._output_left_bytes -= len(result.output)
        # `timeout` exits with 124, or is killed with its group; an agent's own 124 comes before the time.
        limited = timeout_s is not None and result.duration_s >= timeout_s
        timed_out = limited and result.exit_code in {124, 137}
        self._record(argv, result, timed_out=timed_out, tool=tool)
        return ShellResult(result.exit_code, result.output, result.truncated, timed_out, result.termination)

    def _record(self, argv: Sequence[str], result: CommandResult, *, timed_out: bool, tool: str) -> None:
        self._recorder.command(
            {
                "tool": tool,
                "argv": [_shown(argument) for argument in argv],
                "exit_code": result.exit_code,
                "duration_s": round(result.duration_s, 3),
                "timed_out": timed_out or result.termination is Termination.TIMED_OUT,
                "termination": result.termination.value,
                "output_bytes": len(result.output),
                "truncated": result.truncated,
            }
        )
        self._recorder.output(result.output)

    def write_file(self, path: str, data: bytes, *, tool: str, timeout_s: float | None = None) -> ShellResult:
        """Write a file with the agent's own rights; missing folders are made, links are followed.

        A command inside does it, because the engine's archive interface acts as root on paths that the
        agent may have planted.
        """
        chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)] or [b""]
        for number, chunk in enumerate(chunks):
            encoded = base64.b64encode(chunk).decode("ascii")
            step = "new" if number == 0 else "more"
            argv = ["bash", "-c", WRITER, "esac-ag", path, encoded, step]
            result = self.run(argv, tool=tool, timeout_s=timeout_s)
            if result.exit_code != 0:
                break
        return result


def _shown(argument: str) -> str:
    if len(argument) <= SHOWN_ARGUMENT_CHARACTERS:
        return argument
    return f"{argument[:SHOWN_ARGUMENT_CHARACTERS]}... ({len(argument)} characters)"
