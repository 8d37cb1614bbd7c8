"""Builders for tests of agents: manifests, assignments that capture what is written, and a small sandbox."""
# ruff: noqa: ARG002  (a fake takes all that the protocol gives)

from __future__ import annotations

import base64
import json
import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from esac_ag.agents.contract import (
    AGENT_HOME,
    AGENT_ROOT,
    AGENT_UID,
    AGENT_WORKSPACE,
    ArmBundle,
    Assignment,
    never,
)
from esac_ag.agents.scripted import PATCHER
from esac_ag.agents.shell import WRITER
from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json
from esac_ag.clock import Deadline, Seeds
from esac_ag.manifest.plan import (
    AgentKind,
    AgentPlan,
    Analysis,
    Arm,
    ArmKind,
    Comparison,
    Decoding,
    Harness,
    Image,
    Images,
    Interval,
    Isolation,
    Limits,
    Manifest,
    Model,
    Network,
    Phase,
    Policies,
    Prices,
    Schedule,
    Status,
    Suite,
    SuiteName,
    TaskReference,
)
from esac_ag.sandbox.contract import (
    CommandResult,
    Dialogue,
    ExitState,
    ExportedTree,
    OutputSink,
    Role,
    Sandbox,
    SandboxSpec,
    Termination,
    TreeLimits,
)
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.transcript import Entry, EntryKind
from esac_ag.tree import FileTree
from tests.builders_sandbox import MIB, a_memory_volume, a_spec

ZEROES = "0" * 64


def a_manifest(
    kind: AgentKind = AgentKind.CHAT,
    *,
    settings: Mapping[str, JsonValue] | None = None,
    limits: Limits | None = None,
    decoding: Decoding | None = None,
    reasoning: str | None = None,
    prices: Prices | None = None,
    tasks: Sequence[str] = ("some-task",),
) -> Manifest:
    """A sealed manifest with that agent."""
    return Manifest(
        format_version=2,
        study_id="study",
        suite=Suite(name=SuiteName.STUDY, version="1"),
        phase=Phase.SHADOW,
        status=Status.FROZEN,
        model=Model(
            name="m-1",
            version="2026-01",
            provider="test",
            reasoning=reasoning,
            decoding=decoding or Decoding(),
        ),
        agent=AgentPlan(kind=kind, version="1", settings=dict(settings or {})),
        harness=Harness(
            version="1",
            revision="unversioned",
            dirty=False,
            runner_sha256=ZEROES,
            grader_revision=ZEROES,
            package_sha256=ZEROES,
        ),
        images=Images(
            agent=Image(reference="agent", digest=f"sha256:{ZEROES}"),
            grader=Image(reference="grader", digest=f"sha256:{ZEROES}"),
        ),
        limits=limits or Limits(),
        network=Network.NONE,
        isolation=Isolation(
            fresh_process_per_run=True,
            isolated_config_per_arm=True,
            private_material_unreadable=True,
            isolation_probe_passed=True,
        ),
        repetitions=1,
        schedule=Schedule(seed="s", sha256=ZEROES),
        arms=(
            Arm(id="neutral", kind=ArmKind.NONE, bundle=None, files=()),
            Arm(id="some-arm", kind=ArmKind.SKILL, bundle="arms/some-arm", files=()),
        ),
        tasks=tuple(
            TaskReference(
                id=task,
                manifest=f"tasks/{task}/task.json",
                public_tree_sha256=ZEROES,
                request_sha256=ZEROES,
                private_grader_id=f"{task}@{ZEROES}",
                proof_sha256=ZEROES,
            )
            for task in tasks
        ),
        policies=Policies(),
        analysis=Analysis(interval=Interval(seed="s"), primary_comparison=Comparison(arm="some-arm")),
        prices=prices,
    )


def a_bundle(arm: str = "some-arm", kind: ArmKind = ArmKind.SKILL, **files: str) -> ArmBundle:
    """A bundle of text files; `__` in a keyword stands for the dot, `_in_` for the slash."""
    named = {name.replace("_in_", "/").replace("__", "."): text for name, text in files.items()}
    return ArmBundle(arm_id=arm, kind=kind.value, files=FileTree.of_text(named))


@dataclass
class Written:
    """What an agent wrote in one attempt."""

    entries: list[Entry] = field(default_factory=list)
    log: bytearray = field(default_factory=bytearray)
    commands: list[dict[str, object]] = field(default_factory=list)

    def record(self, entry: Entry) -> None:
        """Take a line that canonical JSON can hold, as the transcript's file does."""
        canonical_json(entry)
        self.entries.append(entry)

    def of_kind(self, kind: EntryKind) -> list[Entry]:
        """The transcript's lines of one kind."""
        return [entry for entry in self.entries if entry.kind is kind]

    def log_objects(self, key: str) -> list[dict[str, Any]]:
        """The log's JSON objects that have a key."""
        lines = [json.loads(line) for line in bytes(self.log).splitlines() if line.startswith(b"{")]
        return [line for line in lines if key in line]

    def everything(self) -> str:
        """All of it as one text."""
        entries = [canonical_json(entry).decode() for entry in self.entries]
        return "\n".join([*entries, self.log.decode(), json.dumps(self.commands)])


def an_assignment(
    *,
    task: str = "some-task",
    arm: str = "neutral",
    repetition: int = 1,
    request: str = "Please repair the thing.",
    bundle: ArmBundle | None = None,
    bundles: tuple[ArmBundle, ...] = (),
    limits: Limits | None = None,
    deadline: Deadline | None = None,
    seed: str = "seed",
    cancelled: Callable[[], bool] = never,
) -> tuple[Assignment, Written]:
    """An assignment and what will have been written when the agent is done."""
    written = Written()
    return (
        Assignment(
            cell=Cell(task=task, arm=arm, repetition=repetition),
            request=request,
            bundle=bundle,
            limits=limits or Limits(),
            deadline=deadline or Deadline.after_s(600),
            seeds=Seeds(seed),
            record=written.record,
            log=written.log.extend,
            command=written.commands.append,
            elapsed_s=lambda: 1.5,
            bundles=bundles,
            cancelled=cancelled,
        ),
        written,
    )


def exited(code: int | None = 0, output: bytes = b"", **more: Any) -> CommandResult:  # noqa: ANN401
    """The result of a command that ended by itself; `more` are fields of the result."""
    facts: dict[str, Any] = {
        "termination": Termination.EXITED,
        "exit_code": code,
        "output": output,
        "truncated": False,
        "duration_s": 0.01,
    }
    return CommandResult(**(facts | more))


@dataclass(eq=False)
class AnsweringSandbox:
    """A sandbox of no container: commands are answered by a function and kept."""

    answer: Callable[[list[str]], CommandResult] = lambda _argv: exited()
    container_id: str = "none"
    commands: list[list[str]] = field(default_factory=list)
    """The commands, without the wrapper that limits their time."""
    time_limits_s: list[float] = field(default_factory=list)
    caps_bytes: list[int] = field(default_factory=list)

    def put(self, tree: FileTree, path: str, *, uid: int, gid: int, mode: int | None = None) -> None:
        """Take nothing."""

    def start(self) -> None:
        """Start nothing."""

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
        """Answer the command."""
        command = list(argv)
        if command[0] == "timeout":
            self.time_limits_s.append(float(command[3]))
            command = command[4:]
        self.commands.append(command)
        self.caps_bytes.append(output_bytes)
        return self.answer(command)

    def open(
        self,
        argv: Sequence[str],
        *,
        working_dir: str | None = None,
        environment: Sequence[tuple[str, str]] = (),
    ) -> AbstractContextManager[Dialogue]:
        """Nobody to speak with."""
        raise AssertionError(f"nobody expected a dialogue with {argv}")

    def wait(self, deadline: Deadline, *, sink: OutputSink | None = None) -> ExitState:
        """Tell that the first process ended."""
        return ExitState(termination=Termination.EXITED, exit_code=0, out_of_memory=False)

    def freeze(self) -> None:
        """Stop nothing."""

    def get(self, path: str, limits: TreeLimits) -> ExportedTree:
        """Give nothing."""
        return ExportedTree(FileTree(), ())

    def out_of_memory(self) -> bool:
        """No."""
        return False

    def remove(self) -> None:
        """Remove nothing."""


OBEDIENT = ("sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait")
"""A first process for real containers that ends on SIGTERM; `sleep` alone, as the first, does not."""


def an_agent_spec(image: str = "any:1", **changes: object) -> SandboxSpec:
    """A container as agents act in: HOME and workspace in one memory volume."""
    agent: dict[str, object] = {
        "role": Role.AGENT,
        "volumes": (a_memory_volume(AGENT_ROOT, size_bytes=32 * MIB),),
        "home": AGENT_HOME,
        "memory_mib": 256,
    }
    return a_spec(image, **(agent | changes))


def set_up(sandbox: Sandbox, snapshot: FileTree, home: FileTree | None = None) -> None:
    """Start a container and lay the snapshot and the agent's equipment into it."""
    sandbox.start()
    sandbox.put(snapshot, AGENT_WORKSPACE, uid=AGENT_UID, gid=AGENT_UID)
    sandbox.put(home or FileTree(), AGENT_HOME, uid=AGENT_UID, gid=AGENT_UID)


def _timeout(process: FakeProcess) -> int:
    """`timeout -k N LIMIT COMMAND...`, without the limit."""
    return process.run(process.argv[4:])


def _writer(process: FakeProcess) -> int:
    """What `shell.WRITER` does."""
    path, data, step = process.argv[4:7]
    place = process.path(path)
    process.files.make_folders(posixpath.dirname(place))
    process.files.write(place, base64.b64decode(data), append=step != "new")
    return 0


def _patcher(process: FakeProcess) -> int:
    """In place of `git apply`: leaves the patch as `applied.patch`, so that plays leave different trees."""
    place, data = process.argv[4:6]
    patch = base64.b64decode(data) if data else process.files.read(place)
    process.files.write(process.path("applied.patch"), patch)
    return 0


AGENT_PROGRAMS: Mapping[tuple[str, ...], Program] = {
    ("timeout",): _timeout,
    ("bash", "-c", WRITER): _writer,
    ("bash", "-c", PATCHER): _patcher,
}
"""What the in-memory engine has to be told so that our agents can act in it."""
