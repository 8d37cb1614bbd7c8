"""One in-memory sandbox: the sandbox contract without a container."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, assert_never

from esac_ag.archive import ExportedTree, TreeLimits, pack, shown, unpack
from esac_ag.clock import Deadline, monotonic_s
from esac_ag.errors import SandboxLost
from esac_ag.sandbox.contract import CommandResult, Dialogue, ExitState, OutputSink, SandboxSpec, Termination
from esac_ag.sandbox.dialogue import LineDialogue, Peer
from esac_ag.sandbox.memory_dialogue import InMemoryWire
from esac_ag.sandbox.memory_files import FakeFiles
from esac_ag.sandbox.memory_process import FakeProcess, Program, Stopped, StopReason, Switches, no_input
from esac_ag.sandbox.model_socket import SOCKET_NAME
from esac_ag.sandbox.options import environment_of, require_volume
from esac_ag.sandbox.streams import CappedOutput, outputs_of
from esac_ag.tree import FileTree

_FOREVER_S = 1e9
_KILLED = 137
_MIB = 1024 * 1024


class Host(Protocol):
    """What a sandbox asks of its engine."""

    def check_fault(self, operation: str) -> None:
        """Raise an injected error."""

    def program(self, argv: Sequence[str]) -> Program | None:
        """Find a program."""

    def forget(self, container_id: str) -> None:
        """The container is gone."""


class InMemorySandbox:
    """A sandbox whose processes are Python functions; the first one runs in a thread of its own."""

    def __init__(self, host: Host, spec: SandboxSpec, container_id: str) -> None:
        self.spec = spec
        self.files = FakeFiles(spec)
        self._host = host
        self._id = container_id
        self._switches = Switches()
        self._started = False
        self._removed = False
        self._killed_from_outside = False
        self._memory_kills = 0
        self._exit_code: int | None = None
        self._output = CappedOutput(spec.output_bytes, self._send, keep=False)
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        """The first process's output; None is its end."""

    @property
    def container_id(self) -> str:
        """A number that no other sandbox of the engine has."""
        return self._id

    def put(self, tree: FileTree, path: str, *, uid: int, gid: int, mode: int | None = None) -> None:  # noqa: ARG002
        """Copy a tree into a volume; owners are not modelled."""
        self._host.check_fault("put")
        require_volume(self.spec, path, runs=self._runs() and not self._switches.frozen.is_set())
        self.files.put(tree, path)

    def start(self) -> None:
        """Start the first process."""
        self._host.check_fault("start")
        program = self._host.program(self.spec.argv)
        if program is None:
            raise self._lost("The engine refused: start it.", f"{self.spec.argv[0]}: no such program")
        process = self._process(self.spec.argv, Deadline.after_s(_FOREVER_S), self._output, None, ())
        self._started = True
        threading.Thread(target=self._run_first, args=(process, program), daemon=True).start()

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
        """Run a command and wait for it."""
        self._host.check_fault("execute")
        if not self._started or self._removed or (self._switches.frozen.is_set() and self._runs()):
            raise self._lost("No command can be executed in it.", "it does not run")
        began_s = monotonic_s()
        output = outputs_of(output_bytes, sink, error_sink)
        process = replace(
            self._process(argv, deadline, output.standard, working_dir, environment), errors=output.error
        )
        termination, exit_code = Termination.CONTAINER_ENDED, None
        if self._runs():
            program = self._host.program(argv)
            termination, exit_code = self._run(process, program or _missing)
        if termination is Termination.CONTAINER_ENDED:
            # Ended by a process of its own (`kill 1`), unless from outside.
            self._end(0)
            self._raise_if_killed()
        return CommandResult(
            termination=termination,
            exit_code=exit_code,
            output=output.standard.kept(),
            truncated=output.truncated,
            duration_s=monotonic_s() - began_s,
        )

    @contextmanager
    def open(
        self,
        argv: Sequence[str],
        *,
        working_dir: str | None = None,
        environment: Sequence[tuple[str, str]] = (),
    ) -> Iterator[Dialogue]:
        """Run a command in a thread of its own and speak with it."""
        self._host.check_fault("execute")
        if not self._runs() or self._switches.frozen.is_set():
            raise self._lost("No command can be spoken to in it.", "it does not run")
        wire = InMemoryWire(self._switches)
        process = replace(
            self._process(argv, Deadline.after_s(_FOREVER_S), wire.output, working_dir, environment),
            errors=wire.errors,
            next_line=wire.next_line,
        )
        threading.Thread(target=self._run_spoken_to, args=(process, wire), daemon=True).start()
        peer = Peer(has_ended=wire.has_ended, require_unharmed=self._require_unharmed, freeze=self.freeze)
        dialogue = LineDialogue(wire, peer, f"{argv[0]} in container {self._id[-12:]}")
        try:
            yield dialogue
        finally:
            dialogue.close()

    def _run_spoken_to(self, process: FakeProcess, wire: InMemoryWire) -> None:
        try:
            termination, _ = self._run(process, self._host.program(process.argv) or _missing)
            if termination is Termination.CONTAINER_ENDED:
                self._end(0)
        finally:
            wire.end()

    def _require_unharmed(self) -> None:
        self._raise_if_killed()
        if self._removed:
            raise self._lost("It was removed.", "somebody else removed it")

    def wait(self, deadline: Deadline, *, sink: OutputSink | None = None) -> ExitState:
        """Wait for the first process; when the deadline passes, freeze the container."""
        self._host.check_fault("wait")
        if not self._started or self._removed:
            raise self._lost("It cannot be waited for.", "it was not started")
        ended = False
        while not ended and not deadline.has_passed():
            ended = self._pass_on(sink, deadline.remaining_s())
        if not ended:
            self.freeze()
            return self._exit_state(Termination.TIMED_OUT, None)
        self._raise_if_killed()
        killed = self._exit_code == _KILLED and self._memory_kills > 0
        return self._exit_state(Termination.OUT_OF_MEMORY if killed else Termination.EXITED, self._exit_code)

    def freeze(self) -> None:
        """Stop every process where it stands."""
        self._host.check_fault("freeze")
        if self._runs():
            self._switches.freeze()

    def get(self, path: str, limits: TreeLimits) -> ExportedTree:
        """The files below a folder, by the same rules as those of a real container."""
        self._host.check_fault("get")
        if self._removed:
            raise self._lost("Nothing can be copied out of it.", "it was removed")
        if self._runs():
            self._switches.freeze()
        tree = self.files.tree(path)
        if tree is None:
            sentence = "is not a folder" if self.files.exists(path) else "does not exist"
            return ExportedTree(
                FileTree(), (f"There is nothing at `{shown(path.encode())}`: it {sentence}.",)
            )
        return unpack([pack(tree, uid=0, gid=0)], limits)

    def out_of_memory(self) -> bool:
        """Whether a process was killed for memory."""
        return self._memory_kills > 0

    def remove(self) -> None:
        """End all processes and forget everything."""
        if self._removed:
            return
        self._host.check_fault("remove")
        self._removed = True
        self._switches.end()
        self._host.forget(self._id)

    def kill_from_outside(self) -> None:
        """End the container, which is not its subject's doing."""
        self._killed_from_outside = True
        self._end(_KILLED)

    def _runs(self) -> bool:
        return self._started and not self._switches.ended.is_set()

    def _send(self, data: bytes) -> None:
        self._pieces.put(data)

    def _pass_on(self, sink: OutputSink | None, wait_s: float) -> bool:
        """Hand the next piece of output on; whether it was the end."""
        try:
            piece = self._pieces.get(timeout=wait_s)
        except queue.Empty:
            return False
        if piece is not None and sink is not None:
            sink(piece)
        return piece is None

    def _process(
        self,
        argv: Sequence[str],
        deadline: Deadline,
        output: CappedOutput,
        working_dir: str | None,
        environment: Sequence[tuple[str, str]],
    ) -> FakeProcess:
        return FakeProcess(
            argv=tuple(argv),
            environment={**environment_of(self.spec), **dict(environment)},
            working_dir=working_dir or self.spec.working_dir,
            uid=self.spec.uid,
            files=self.files,
            deadline=deadline,
            memory_bytes=self.spec.memory_mib * _MIB,
            output=output,
            errors=output,
            next_line=no_input,
            switches=self._switches,
            programs=self._host.program,
            model_socket=Path(folder, SOCKET_NAME) if (folder := self.spec.model_socket) else None,
        )

    def _run(self, process: FakeProcess, program: Program) -> tuple[Termination, int | None]:
        try:
            return Termination.EXITED, process.main(program)
        except Stopped as stopped:
            match stopped.reason:
                case StopReason.TIMED_OUT | StopReason.FROZEN:
                    self._switches.freeze()
                    return Termination.TIMED_OUT, None
                case StopReason.OUT_OF_MEMORY:
                    self._memory_kills += 1
                    return Termination.OUT_OF_MEMORY, _KILLED
                case StopReason.CONTAINER_ENDED:
                    return Termination.CONTAINER_ENDED, None
                case _:
                    assert_never(stopped.reason)

    def _run_first(self, process: FakeProcess, program: Program) -> None:
        _, exit_code = self._run(process, program)
        self._end(0 if exit_code is None else exit_code)

    def _end(self, exit_code: int) -> None:
        if self._exit_code is None:
            self._exit_code = exit_code
        self._switches.end()
        self.files.stop()
        self._pieces.put(None)

    def _exit_state(self, termination: Termination, exit_code: int | None) -> ExitState:
        return ExitState(
            termination=termination,
            exit_code=exit_code,
            out_of_memory=self._memory_kills > 0,
            truncated=self._output.truncated,
        )

    def _raise_if_killed(self) -> None:
        if self._killed_from_outside:
            raise self._lost("The container was killed from outside.", "a kill by the engine")

    def _lost(self, what: str, found: str) -> SandboxLost:
        return SandboxLost(what, where=f"container {self._id[-12:]}", found=found)


def _missing(process: FakeProcess) -> int:
    process.write(f"{process.argv[0]}: not found\n")
    return 127
