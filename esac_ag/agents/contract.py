"""The agent contract: how an arm reaches an agent, what an agent is given, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from esac_ag.agents.loaded import LoadedInstructions
from esac_ag.artifacts import AttemptFolder
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Cell, Costs, LimitKind, Outcome
from esac_ag.clock import Deadline, Seeds
from esac_ag.manifest.plan import Limits
from esac_ag.record import Record
from esac_ag.sandbox.contract import Engine, OutputSink, Sandbox, SandboxSpec
from esac_ag.transcript import Entry
from esac_ag.tree import FileTree

AGENT_UID = 10001
AGENT_ROOT = "/agent"
"""The agent's volume; HOME and the workspace lie side by side in it."""
AGENT_HOME = "/agent/home"
AGENT_WORKSPACE = "/agent/workspace"


@dataclass(frozen=True, slots=True)
class ArmBundle:
    """The verified bytes of an arm's bundle; the control has none."""

    arm_id: str
    kind: str
    files: FileTree
    mention_in_instructions: bool = False


@dataclass(frozen=True, slots=True)
class Equipment:
    """What is put into the container before an agent acts, beside the snapshot."""

    home: FileTree
    """Laid into HOME."""
    loaded: tuple[str, ...]
    """Paths (inside the container, or `message:system`) at which instructions of the arm were put."""
    environment: tuple[tuple[str, str], ...] = ()


def never() -> bool:
    """No: the default where nobody can cancel."""
    return False


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent is given for one attempt."""

    cell: Cell
    request: str
    bundle: ArmBundle | None
    limits: Limits
    deadline: Deadline
    seeds: Seeds
    """Streams named for the cell, for agents that draw (the scripted one)."""
    record: Callable[[Entry], None]
    """Appends to the transcript."""
    log: OutputSink
    """Appends to `agent.log`."""
    command: Callable[[dict[str, object]], None]
    """Appends to `commands.jsonl`: argv, exit code, duration, whether it timed out."""
    elapsed_s: Callable[[], float]
    bundles: tuple[ArmBundle, ...] = ()
    """The bundles of all arms, so that the record can tell whether a request held one of another arm."""
    cancelled: Callable[[], bool] = never
    """Whether a person stopped the study; asked between steps and while waiting for a model."""
    snapshot: FileTree = field(default_factory=FileTree)
    """What lies in the workspace for every arm; its words are no trace of any."""


class AgentEnd(Record):
    """How an agent ended. Costs of the workspace's changes are filled in by the conductor."""

    outcome: Outcome
    reason: str
    limit: LimitKind | None = None
    exit_code: int | None = None
    costs: Costs = Costs()
    output_truncated: bool = False
    loaded: LoadedInstructions | None = None
    """What reached the model of the arm's bundle, and of other arms' (`loaded-instructions.json`)."""
    is_lasting: bool = False
    """Of `infra`: whether another launch would end the same until a person changes something."""


def unchanged(spec: SandboxSpec) -> SandboxSpec:
    """The same: the default of agents that reach nothing from inside their container."""
    return spec


@dataclass(frozen=True, slots=True)
class Commission:
    """What an agent is told of an attempt before its container is made."""

    attempt_id: str
    study: str
    request: str
    bundle: ArmBundle | None
    folder: AttemptFolder
    """Where it leaves what it keeps beyond the files of every attempt."""
    redactor: Redactor
    engine: Engine
    image: str
    """The engine's id of the agent image."""
    deadline: Deadline
    """For all that has to be made before the container."""


@dataclass(frozen=True, slots=True)
class Attendance:
    """An agent that is ready for one container."""

    equipment: Equipment
    act: Callable[[Sandbox, Assignment], AgentEnd]
    """As `Agent.act`."""
    placed: Callable[[SandboxSpec], SandboxSpec] = unchanged
    """The spec of a container from which the agent reaches what it needs."""


class Agent(Protocol):
    """One kind of agent, ready to act in many containers, one thread each."""

    @property
    def label(self) -> str:
        """What acted, for reports: names scripted agents as such."""

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """Where the arm's files go so that this agent reads them."""

    def attend(self, commission: Commission) -> AbstractContextManager[Attendance]:
        """Be ready for an attempt: whatever it needs on the host is there as long as the block lasts.

        Raises:
            InfrastructureFailure: it cannot be had.
        """

    def act(self, sandbox: Sandbox, assignment: Assignment) -> AgentEnd:
        """Work on the request until done or out of budget.

        Returns an end for everything that is the agent's or the model's doing. `INFRA` is returned (not
        raised) for service failures after retries.

        Raises:
            SandboxLost: the container or the engine went away.
        """

    def secrets(self) -> Sequence[str]:
        """Values that must be redacted from everything written."""
