"""What a preset is asked and what it answers: everything of one launch that depends on the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from esac_ag.agents.contract import AGENT_HOME, ArmBundle
from esac_ag.manifest.agent_file import AgentFile, WireProtocol
from esac_ag.tree import FileTree

REQUEST_FILE = ".esac-ag/request.md"
"""The request below HOME, for programs that read it from standard input."""

TOKEN_VARIABLE = "ESAC_AG_GATEWAY_TOKEN"  # noqa: S105  (the name of a variable)
"""Holds the dummy key, for agents whose configuration names a variable."""

PROVIDER = "gateway"
"""What the gateway is called in configurations that name a provider."""

_FIRST_SIGNAL_CODE = 129
_LAST_SIGNAL_CODE = 192


@dataclass(frozen=True, slots=True)
class Order:
    """What one attempt asks of a command-line agent."""

    file: AgentFile
    request: str
    model: str
    base_url: str
    """Address of the gateway inside the container, without a path (`http://127.0.0.1:8080`)."""
    token: str
    """The dummy key that the gateway knows this attempt by."""
    bundle: ArmBundle | None
    reasoning: str | None = None
    """How hard the model is to think, in the provider's own word; None leaves it to the agent."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """All that is put into the container, and the command."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    home: FileTree
    """Laid into HOME: configuration, request and arm; nothing is left of an earlier run."""
    placed: Mapping[bytes, str]
    """Path inside the container for every path of the arm's bundle."""
    log: str | None = None
    """Path of the log inside the container; None for standard output."""


class ExitClass(StrEnum):
    """What an exit code says; what happened to the model's calls, only log and gateway tell."""

    ENDED = "ended"
    """The program says that it is done. That is no success yet."""
    FAILED = "failed"
    """The program says that it did not finish."""
    MISUSED = "misused"
    """The program refused its arguments: a fault of the harness."""
    NOT_STARTED = "not-started"
    """There is no such program, or it cannot be executed."""
    KILLED = "killed"
    """A signal ended it."""
    UNKNOWN = "unknown"
    """A code that the program is not known to end with; no success."""


class Preset(Protocol):
    """How one agent is launched."""

    protocol: WireProtocol

    def prepare(self, order: Order) -> Preparation:
        """Command, environment and files of one launch.

        Raises:
            InputRefused: the bundle cannot be given to this agent, or the request not to its program.
        """

    def exit_class(self, code: int) -> ExitClass:
        """What an exit code of the program says."""


def class_of(code: int, known: Mapping[int, ExitClass]) -> ExitClass:
    """The class of an exit code, from the codes that a program has a meaning for.

    126, 127 and codes of signals are the shell's and the engine's.
    """
    if code in known:
        return known[code]
    match code:
        case 0:
            return ExitClass.ENDED
        case 126 | 127:
            return ExitClass.NOT_STARTED
        case _ if _FIRST_SIGNAL_CODE <= code <= _LAST_SIGNAL_CODE:
            return ExitClass.KILLED
        case _:
            return ExitClass.UNKNOWN


def with_request_on_stdin(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command that reads the request file and then the end of its input.

    The request is no part of any argument: whatever it holds, and however long it is, it cannot be taken for
    an option.
    """
    return ("/bin/sh", "-c", 'exec "$@" <"$0"', f"{AGENT_HOME}/{REQUEST_FILE}", *argv)
