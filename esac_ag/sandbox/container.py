"""One container of the engine, by the sandbox contract. What it asks of the engine is `ContainerCalls`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import Enum, auto
from typing import Protocol

from pydantic import JsonValue

from esac_ag.archive import ExportedTree, TreeLimits, folders_of, pack, shown, unpack
from esac_ag.clock import Deadline, monotonic_s, sleep_s
from esac_ag.errors import SandboxLost
from esac_ag.sandbox.cgroup import memory_kills
from esac_ag.sandbox.contract import CommandResult, Dialogue, ExitState, OutputSink, SandboxSpec, Termination
from esac_ag.sandbox.dialogue import LineDialogue, Peer
from esac_ag.sandbox.facts import ContainerState
from esac_ag.sandbox.options import require_volume
from esac_ag.sandbox.streams import (
    CappedOutput,
    DuplexStream,
    Outputs,
    OutputStream,
    StreamEnd,
    follow,
    outputs_of,
    poll_until,
)
from esac_ag.tree import FileTree

KILLED = 137
"""Exit code of what SIGKILL ended."""

_FORGOTTEN = -1
"""Stands for the exit code of a command that the engine no longer knows."""
_END_LAG_S = 0.5
"""Between the end of a command and the engine's note that its container ended with it."""
_KILL_LAG_S = 5.0
"""Between a kill by way of the engine and the end."""
_FREEZES = 8
_FREEZE_PAUSE_S = 0.05
_REMOVALS = 20
_REMOVAL_PAUSE_S = 0.02


class ContainerCalls(Protocol):
    """Calls of the engine, a request or two each. All raise `SandboxLost` or `EngineUnavailable`."""

    def make(self, request: dict[str, JsonValue], name: str) -> str:
        """Create a container and its volumes; its id."""

    def put(self, container: str, path: str, archive: bytes) -> None:
        """Unpack an archive in a volume."""

    def attach(self, container: str) -> OutputStream:
        """The output of the first process from now on."""

    def start(self, container: str) -> None:
        """Start the first process."""

    def execute(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, OutputStream]:
        """Start a command; its id and its output."""

    def open(
        self, container: str, argv: Sequence[str], working_dir: str | None, environment: Sequence[str]
    ) -> tuple[str, DuplexStream]:
        """Start a command that is spoken to; its id, and its input and output."""

    def exit_code(self, command: str) -> int | None:
        """The exit code of a command, None while it runs."""

    def state(self, container: str) -> ContainerState:
        """How the container is."""

    def events(self, container: str) -> frozenset[str]:
        """Which of `kill` and `oom` happened to the container."""

    def pause(self, container: str) -> None:
        """Freeze all processes."""

    def kill(self, container: str) -> None:
        """Kill all processes."""

    def archive(self, container: str, path: str) -> AbstractContextManager[Iterable[bytes] | None]:
        """A tar archive of a path, None when there is nothing at it."""

    def remove(self, container: str, name: str) -> bool:
        """Remove container and volumes; whether all is gone."""


class _Life(Enum):
    """Where in its life a container is, as far as the host knows."""

    CREATED = auto()
    RUNNING = auto()
    FROZEN = auto()
    ENDED = auto()
    REMOVED = auto()


class DockerSandbox:
    """One container of the engine."""

    def __init__(self, calls: ContainerCalls, spec: SandboxSpec, name: str) -> None:
        self._calls = calls
        self._spec = spec
        self._name = name
        self._id = name
        self._life = _Life.CREATED
        self._attached: OutputStream | None = None
        self._folders: dict[str, set[bytes]] = {}
        """By path of a volume that took files: its folders, which keep owner and mode."""
        self._killed_for_memory = False
        self._lost_by: SandboxLost | None = None
        self._freezing = threading.Lock()

    @property
    def container_id(self) -> str:
        """The engine's id."""
        return self._id

    def make(self, request: dict[str, JsonValue]) -> None:
        """Create the container and its volumes."""
        self._id = self._calls.make(request, self._name)

    def put(self, tree: FileTree, path: str, *, uid: int, gid: int, mode: int | None = None) -> None:
        """Copy a tree into a volume at `path`, owned by `uid:gid`."""
        if self._life in {_Life.ENDED, _Life.REMOVED}:
            raise self._lost("No files can be put into it.", f"it is {self._life.name.lower()}")
        volume, below = require_volume(self._spec, path, runs=self._life is _Life.RUNNING)
        base = None
        if volume.size_bytes is None and volume.path not in self._folders:
            base = (volume.owner_uid, volume.owner_uid, 0o755)
            mode = 0o755 if mode is None and not below else mode
        existing = self._folders.setdefault(volume.path, set())
        prefix = below.encode()
        archive = pack(tree, uid=uid, gid=gid, root_mode=mode, prefix=prefix, base=base, existing=existing)
        existing |= folders_of([*tree.under(prefix), prefix + b"/"] if prefix else tree)
        self._calls.put(self._id, volume.path, archive)

    def start(self) -> None:
        """Start the first process, with its output attached from the first byte."""
        for volume in self._spec.volumes:
            if volume.size_bytes is None and volume.path not in self._folders and volume.owner_uid != 0:
                self.put(FileTree(), volume.path, uid=volume.owner_uid, gid=volume.owner_uid)
        self._attached = self._calls.attach(self._id)
        self._calls.start(self._id)
        self._life = _Life.RUNNING

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
        """Run a command as the sandbox's user and wait for it."""
        began_s = monotonic_s()
        output = outputs_of(output_bytes, sink, error_sink)
        kills_before = memory_kills(self._id)
        termination, exit_code = Termination.CONTAINER_ENDED, None
        if self._life is _Life.RUNNING:
            termination, exit_code = self._run(argv, deadline, output, working_dir, _variables(environment))
        elif self._life is not _Life.ENDED or not self._has_ended():
            raise self._lost("No command can be executed in it.", f"it is {self._life.name.lower()}")
        if termination is not Termination.TIMED_OUT and self._grew(kills_before, exit_code):
            termination = Termination.OUT_OF_MEMORY
        return CommandResult(
            termination=termination,
            exit_code=exit_code,
            output=output.standard.kept(),
            truncated=output.truncated,
            duration_s=monotonic_s() - began_s,
        )

    def _run(
        self,
        argv: Sequence[str],
        deadline: Deadline,
        output: Outputs,
        working_dir: str | None,
        environment: list[str],
    ) -> tuple[Termination, int | None]:
        try:
            command, stream = self._calls.execute(self._id, argv, working_dir, environment)
        except SandboxLost:
            if not self._has_ended():
                raise
            return Termination.CONTAINER_ENDED, None
        try:
            end = follow(stream, output, deadline, lambda: self._calls.exit_code(command) is not None)
        finally:
            stream.close()
        exit_code = None
        if end is not StreamEnd.TIMED_OUT:
            exit_code = poll_until(deadline, lambda: self._calls.exit_code(command))
        if exit_code is None:
            self.freeze()
            return Termination.TIMED_OUT, None
        if exit_code == KILLED and self._is_ending():
            return Termination.CONTAINER_ENDED, None
        return Termination.EXITED, exit_code

    @contextmanager
    def open(
        self,
        argv: Sequence[str],
        *,
        working_dir: str | None = None,
        environment: Sequence[tuple[str, str]] = (),
    ) -> Iterator[Dialogue]:
        """Run a command as the sandbox's user and speak with it."""
        if self._life is not _Life.RUNNING:
            raise self._lost_by or self._lost(
                "No command can be spoken to in it.", f"it is {self._life.name.lower()}"
            )
        command, stream = self._calls.open(self._id, argv, working_dir, _variables(environment))
        peer = Peer(
            has_ended=lambda: self._code_of(command) is not None,
            require_unharmed=lambda: self._require_unharmed(command),
            freeze=self.freeze,
        )
        dialogue = LineDialogue(stream, peer, f"{shown(argv[0].encode())} in container {self._id[:12]}")
        try:
            yield dialogue
        finally:
            dialogue.close()

    def _require_unharmed(self, command: str) -> None:
        """A command's output ended: raise if that is so because the container was killed from outside."""
        if poll_until(Deadline.after_s(_END_LAG_S), lambda: self._code_of(command)) == KILLED:
            self._is_ending()

    def _code_of(self, command: str) -> int | None:
        """The exit code of a command that is spoken to, perhaps long after its end; None while it runs."""
        try:
            return self._calls.exit_code(command)
        except SandboxLost:
            # Unless the container is lost, the engine has forgotten a command that ended minutes ago.
            self._has_ended()
            return _FORGOTTEN

    def wait(self, deadline: Deadline, *, sink: OutputSink | None = None) -> ExitState:
        """Wait for the first process; when the deadline passes, freeze the container."""
        if self._attached is None:
            raise self._lost("It cannot be waited for.", "it was not started, or was waited for before")
        output = CappedOutput(self._spec.output_bytes, sink, keep=False)
        stream, self._attached = self._attached, None
        try:
            end = follow(stream, Outputs(output, output), deadline, self._has_ended)
        finally:
            stream.close()
        ended = end is not StreamEnd.TIMED_OUT and poll_until(deadline, self._ended_or_none)
        if not ended:
            self.freeze()
        exit_code = self._calls.state(self._id).exit_code if ended else None
        killed_for_memory = self.out_of_memory()
        termination = Termination.EXITED if ended else Termination.TIMED_OUT
        if exit_code == KILLED and killed_for_memory:
            termination = Termination.OUT_OF_MEMORY
        return ExitState(
            termination=termination,
            exit_code=exit_code,
            out_of_memory=killed_for_memory,
            truncated=output.truncated,
        )

    def freeze(self) -> None:
        """Stop every process where it stands."""
        # A second one at the same time would be refused each time, and come to the last resort.
        with self._freezing:
            if self._life is _Life.RUNNING:
                self._pause()

    def _pause(self) -> None:
        for attempt in range(_FREEZES):
            sleep_s(attempt * _FREEZE_PAUSE_S)
            try:
                self._calls.pause(self._id)
            except SandboxLost:
                # The kernel may fail to freeze a container whose processes fork all the time, once or twice.
                if self._has_ended():
                    return
            else:
                self._life = _Life.FROZEN
                return
        # The last resort: what was in memory volumes is lost.
        self._calls.kill(self._id)
        self._life = _Life.ENDED

    def get(self, path: str, limits: TreeLimits) -> ExportedTree:
        """The files below a folder of a volume; nothing is executed inside."""
        self.freeze()
        deadline = Deadline.after_s(limits.timeout_s)
        with self._calls.archive(self._id, path) as chunks:
            if chunks is None:
                return ExportedTree(FileTree(), (f"There is nothing at `{shown(path.encode())}`.",))
            return unpack(chunks, limits, strip_parts=1, out_of_time=deadline.has_passed)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed any process of the container for its memory limit."""
        kills = memory_kills(self._id)
        if kills is None and not self._killed_for_memory:
            self._killed_for_memory = self._calls.state(
                self._id
            ).out_of_memory or "oom" in self._calls.events(self._id)
        return self._killed_for_memory or bool(kills)

    def _grew(self, kills_before: int | None, exit_code: int | None) -> bool:
        """Whether the count of memory kills grew; without a count, what the engine saw is asked."""
        kills = memory_kills(self._id)
        if kills is not None and kills_before is not None:
            self._killed_for_memory = self._killed_for_memory or kills > 0
            return kills > kills_before
        return exit_code in {None, KILLED} and self.out_of_memory()

    def _is_ending(self) -> bool:
        """Whether the container ended with what was killed in it, which the engine learns a moment later."""
        if poll_until(Deadline.after_s(_END_LAG_S), self._ended_or_none):
            return True
        killed = "kill" in self._calls.events(self._id)
        return killed and bool(poll_until(Deadline.after_s(_KILL_LAG_S), self._ended_or_none))

    def _ended_or_none(self) -> bool | None:
        return self._has_ended() or None

    def _has_ended(self) -> bool:
        """Whether the first process ended.

        Raises:
            SandboxLost: it was killed from outside.
        """
        if self._lost_by is not None:
            raise self._lost_by
        state = self._calls.state(self._id)
        if state.running:
            return False
        if self._life is not _Life.ENDED:
            self._life = _Life.ENDED
            # From inside, the first process of a PID namespace cannot be killed, but it can say it was.
            if (
                state.exit_code == KILLED
                and not state.out_of_memory
                and "kill" in self._calls.events(self._id)
            ):
                self._lost_by = self._lost("The container was killed from outside.", "a kill by the engine")
                raise self._lost_by
        return True

    def remove(self) -> None:
        """Kill and remove container and volumes, and confirm that they are gone."""
        if self._life is _Life.REMOVED:
            return
        if self._attached is not None:
            self._attached.close()
        for attempt in range(_REMOVALS):
            sleep_s(attempt * _REMOVAL_PAUSE_S)
            if self._calls.remove(self._id, self._name):
                self._life = _Life.REMOVED
                return
        raise self._lost("It could not be removed.", "it, or a volume of it, is still there")

    def _lost(self, what: str, found: str) -> SandboxLost:
        return SandboxLost(what, where=f"container {self._id[:12]}", found=found)


def _variables(environment: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{name}={value}" for name, value in environment]
