"""The sandbox contract: what a container is given, what can be done with it, and how it ended.

The order of a container's life is `create`, `put`, `start`, `execute`..., `freeze`, `get`, `remove`. A disk
volume takes files before the start and keeps them after the end; a memory volume (`size_bytes` given) takes
files only while the container runs and is empty once it stops, so it is read while frozen. For that reason
a deadline freezes the container rather than kills it: what was made until then can still be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Annotated, Protocol, Self

from pydantic import Field, model_validator

from esac_ag.archive import ExportedTree, TreeLimits
from esac_ag.clock import Deadline
from esac_ag.record import Record
from esac_ag.tree import FileTree

__all__ = [
    "CommandResult",
    "Dialogue",
    "Engine",
    "ExitState",
    "ExportedTree",
    "OutputSink",
    "Role",
    "Sandbox",
    "SandboxSpec",
    "ScratchMount",
    "Termination",
    "TreeLimits",
    "Volume",
]

OutputSink = Callable[[bytes], None]
"""Receives output as it arrives, at most the limit in all."""


class Role(StrEnum):
    """What a container is for; part of its labels."""

    AGENT = "agent"
    GRADER = "grader"
    PROBE = "probe"
    RELAY = "relay"
    """Leads from a network of two containers to the model gateway; see `sandbox/model_way.py`."""


class Volume(Record):
    """A volume of the container's own, removed with it."""

    path: str
    """Absolute path inside."""
    size_bytes: int | None = None
    """Given: held in memory, and capped. None: on disk, without a cap of its own."""
    max_files: int | None = None
    """Cap on inodes of a memory volume."""
    owner_uid: int = 0


class ScratchMount(Record):
    """A memory file system that the harness never reads (`/tmp`)."""

    path: str
    size_bytes: int
    owner_uid: int = 0
    mode: int = 0o1777
    max_files: int | None = None
    executable: bool = True


class SandboxSpec(Record):
    """Everything that makes a container. Hardening is not an option: see `sandbox/options.py`."""

    image: str
    """Reference or engine id."""
    role: Role
    study: str
    attempt: str
    argv: tuple[str, ...]
    """The first process; it has to end on SIGTERM."""
    uid: int
    gid: int
    capabilities: tuple[str, ...] = ()
    """Added to an otherwise empty set; only the grader's supervisor has some."""
    environment: tuple[tuple[str, str], ...] = ()
    """Beyond the fixed HOME, PATH, LANG, TZ."""
    home: str = "/tmp"  # noqa: S108  (inside the container)
    working_dir: str = "/"
    volumes: tuple[Volume, ...] = ()
    scratch: tuple[ScratchMount, ...] = ()
    model_socket: Annotated[str, Field(pattern=r"^/.")] | None = None
    """Folder of the host that holds the model gateway's socket and nothing else: the only mount of the host
    there is, read-only, at `sandbox.model_socket.MOUNT_POINT`. Without a network there is no other way to a
    model. A grader never has one."""
    peer_network: Annotated[str, Field(pattern=r"^esac-ag-net-[0-9a-f]{16}$")] | None = None
    """Name that `Engine.network` gave: the container's only network, with one other container on it, its
    relay. None: no network at all. A grader never has one."""
    cpus: Annotated[float, Field(gt=0)]
    memory_mib: Annotated[int, Field(gt=0)]
    pids: Annotated[int, Field(gt=0)]
    output_bytes: int = 10_000_000
    """Cap on what is kept of the first process's output."""

    @model_validator(mode="after")
    def _no_model_for_graders(self) -> Self:
        ways = [way for way in (self.model_socket, self.peer_network) if way is not None]
        if self.role is Role.GRADER and ways:
            raise ValueError("a grader reaches no model")
        if self.role is Role.RELAY and (self.peer_network is None or self.model_socket is not None):
            raise ValueError("a relay has a network and no socket")
        if len(ways) > 1:
            raise ValueError("there is one way to a model, a socket or a network")
        return self


class Termination(StrEnum):
    """How a command or a container ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    """The host's deadline passed; the container was frozen and runs no further."""
    OUT_OF_MEMORY = "out_of_memory"
    """The kernel killed it, or a process that it started, for the container's memory limit."""
    CONTAINER_ENDED = "container_ended"
    """The first process ended and took the command with it, or had ended before: the subject's own doing,
    because a kill from outside is `SandboxLost`."""


class CommandResult(Record):
    """How a command in a sandbox ended."""

    termination: Termination
    exit_code: int | None
    """None when it did not end by itself: timed out, or its container ended. 126 or 127 when there is no such
    program; the engine's message is then the output."""
    output: bytes
    """Standard output and error as they came, at most the limit."""
    truncated: bool
    """Whether output beyond the limit was dropped; standard error that goes elsewhere does not count."""
    duration_s: float


class ExitState(Record):
    """How the first process ended."""

    termination: Termination
    """Never `CONTAINER_ENDED`; `OUT_OF_MEMORY` when the first process itself was killed for memory."""
    exit_code: int | None
    """None when it timed out."""
    out_of_memory: bool
    """Whether any process of the container was killed for memory."""
    truncated: bool = False
    """Whether output beyond the spec's cap was dropped."""


class Dialogue(Protocol):
    """A command in a sandbox that is spoken to over its standard input and output, for tool servers of ours.

    Bytes pass as they are. Input and output are independent: a command may write before it reads. One thread
    at a time uses a dialogue; a container may have several, each in a thread of its own.

    When a deadline passes, the whole container is frozen as by `Sandbox.execute`, so its other dialogues fall
    silent too. There is no exit code: a program that does not exist shows as one line, the engine's message,
    and then the end.
    """

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Write all of it; what the command writes meanwhile is kept for `line`.

        That a command ended is seen at the latest by `line`: what fits a pipe may be taken without a reader.

        Raises:
            DialogueTimeout: the command did not take it in time; the container is frozen.
            SandboxLost: the container or the engine is gone.
            InfrastructureFailure: the command ended, the dialogue was closed, or the command wrote more than
                64 MiB that no `line` has taken.
        """

    def line(self, deadline: Deadline, *, limit_bytes: int) -> bytes | None:
        """The next line of standard output without its newline, at most `limit_bytes` long.

        None when the command ended, or the dialogue was closed; a last line without a newline is dropped.
        A command that closes its outputs and goes on is silent: the engine does not tell. Lines that arrived
        before are given whatever the deadline.

        Raises:
            DialogueTimeout: no line was finished in time; the container is frozen.
            SandboxLost: the container or the engine is gone.
            InfrastructureFailure: the line is longer than `limit_bytes`; so is the next call's.
        """

    def has_line(self, deadline: Deadline, *, beside: int) -> bool:
        """Wait until `line` would answer at once, and tell whether it would.

        For those who listen to something else, too: it waits no longer than until the descriptor `beside` can
        be read. False may come earlier, and when the deadline passes; nothing is frozen then.

        Raises:
            SandboxLost: the container or the engine is gone.
        """

    def errors(self) -> bytes:
        """Standard error as far as `send` and `line` came across it; its first 64 KiB are kept."""

    def close(self) -> None:
        """End the command's standard input and drop what it writes from now on. Idempotent.

        The command may go on; the end of the container takes it.
        """


class Sandbox(Protocol):
    """One container. Every method may raise `SandboxLost` when the engine or the container is gone."""

    @property
    def container_id(self) -> str:
        """The engine's id."""

    def put(self, tree: FileTree, path: str, *, uid: int, gid: int, mode: int | None = None) -> None:
        """Copy a tree into a volume at `path`, owned by `uid:gid`.

        `mode` is given to the folder `path` itself. Missing parent folders inside the volume are made.
        Each call costs about 50 ms whatever its size: merge trees that go to one place.

        Raises:
            UsageError: `path` lies in no volume, or in a memory volume of a container that does not run.
        """

    def start(self) -> None:
        """Start the first process. Its output has to be taken by `wait`: it blocks after about a megabyte."""

    def execute(
        self,
        argv: Sequence[str],
        *,
        deadline: Deadline,
        output_bytes: int,
        working_dir: str | None = None,
        environment: Sequence[tuple[str, str]] = (),
        sink: OutputSink | None = None,
        error_sink: OutputSink | None = None,
    ) -> CommandResult:
        """Run a command as the sandbox's user and wait for it.

        Output is drained and kept up to `output_bytes`; a process left in the background that holds the
        output open is not waited for. When the deadline passes, the whole container is frozen, because a
        client that goes away leaves the process running; nothing can be executed in it any more.

        With an `error_sink` standard error goes there and nowhere else, at most `output_bytes` of it: for
        programs whose output is data.
        """

    def open(
        self,
        argv: Sequence[str],
        *,
        working_dir: str | None = None,
        environment: Sequence[tuple[str, str]] = (),
    ) -> AbstractContextManager[Dialogue]:
        """Run a command as the sandbox's user and speak with it; leaving the block closes the dialogue.

        Raises:
            SandboxLost: the container does not run, whatever ended it, or the engine is gone.
        """

    def wait(self, deadline: Deadline, *, sink: OutputSink | None = None) -> ExitState:
        """Wait for the first process; when the deadline passes, freeze the container.

        Its output is drained and streamed to `sink` up to the spec's cap. Called once.
        """

    def freeze(self) -> None:
        """Stop every process where it stands, so that files can be read and nothing changes under it.

        No error on a container that is frozen or has ended. There is no way back.
        """

    def get(self, path: str, limits: TreeLimits) -> ExportedTree:
        """The files below the folder `path` of a volume; nothing is executed inside.

        A running container is frozen first. A path that does not exist, or is no folder, gives an empty
        tree and a finding.
        """

    def out_of_memory(self) -> bool:
        """Whether the kernel killed any process of the container for its memory limit."""

    def remove(self) -> None:
        """Kill and remove container and volumes, and confirm that they are gone. Idempotent."""


class Engine(Protocol):
    """Makes sandboxes."""

    def create(self, spec: SandboxSpec) -> AbstractContextManager[Sandbox]:
        """A created, not yet started container; leaving the block removes it.

        Raises:
            EngineUnavailable: no engine answers.
            ImageMissing: the image is not there.
            SandboxLost: the engine refused or lost the container.
            UsageError: the spec's `model_socket` is not a private folder with one socket in it, or its
                `peer_network` is not an open network of this engine with a place in it.
        """

    def network(self, *, study: str, attempt: str) -> AbstractContextManager[str]:
        """A network of one attempt's own, by its name; leaving the block removes it.

        For `SandboxSpec.peer_network` of one relay and of one other container, which are to be gone when the
        block is left. They reach each other's ports and nothing else: not the host, no other network, and
        no name server beyond the engine's, which knows their own names.

        Raises:
            EngineUnavailable: no engine answers.
            InfrastructureFailure: the engine made none, or could not remove it; it has no addresses left.
        """

    def image_digest(self, reference: str) -> str:
        """`sha256:` content digest (layer diff ids and configuration) of an image.

        Raises:
            ImageMissing: there is no such image.
        """

    def image_id(self, reference: str) -> str:
        """The engine's own, immutable id of an image, which a container can be made from.

        Raises:
            ImageMissing: there is no such image.
        """

    def describe(self) -> str:
        """Name and version of the engine, for records."""

    def studies(self, workspace: str) -> tuple[str, ...]:
        """Studies of a workspace that still have containers, volumes or networks, in order."""

    def leftovers(self, workspace: str, study: str | None = None) -> Iterator[str]:
        """Descriptions of what a workspace, or a study of it, still has: containers, volumes, networks."""

    def clean(self, workspace: str, study: str | None = None) -> tuple[str, ...]:
        """Remove what `leftovers` tells, but not what another live process uses; tell what was removed."""
