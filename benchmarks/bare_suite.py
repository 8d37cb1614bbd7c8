"""The suite's oracle as a whole run of ours, and the same containers by the SDK alone.

What the bare side does is not written by hand: a run of ours is recorded at the sandbox contract, with its
containers, files, commands and lines, and the SDK does just that again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from esac_ag.archive import ExportedTree, TreeLimits, pack
from esac_ag.artifacts import StudyFolder
from esac_ag.clock import Deadline, opaque_id
from esac_ag.conduct.context import Stop
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite import dataset_of
from esac_ag.conduct.suite_opening import load_suite_plan, open_suite
from esac_ag.conduct.suite_programs import GRADER_LIMITS
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.conduct.suite_sealing import SuiteRequest, seal_suite
from esac_ag.conduct.suite_tally import SuiteTally
from esac_ag.manifest.plan import AgentKind, AgentPlan, Limits, Model, Policies
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import CommandResult, Dialogue, ExitState, OutputSink, Sandbox, SandboxSpec
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.options import container_request, require_volume
from esac_ag.suite.bank import bank
from esac_ag.tree import FileTree

ROOT = Path(__file__).parents[1]
HEADER_BYTES = 8
Step = tuple[str, Any]
"""What was asked of a container, and with what."""


@dataclass
class Recorded:
    """One container's life as it was asked for."""

    spec: SandboxSpec
    steps: list[Step] = field(default_factory=list)


class RecordingDialogue:
    """Passes on, and takes down what was said and how many lines were heard."""

    def __init__(self, inner: Dialogue, said: list[bytes | None]) -> None:
        self._inner, self._said = inner, said

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Say something."""
        self._said.append(data)
        self._inner.send(data, deadline)

    def line(self, deadline: Deadline, *, limit_bytes: int) -> bytes | None:
        """Hear a line."""
        self._said.append(None)
        return self._inner.line(deadline, limit_bytes=limit_bytes)

    def has_line(self, deadline: Deadline, *, beside: int) -> bool:
        """Wait for a line."""
        return self._inner.has_line(deadline, beside=beside)

    def errors(self) -> bytes:
        """Standard error."""
        return self._inner.errors()

    def close(self) -> None:
        """Nothing more."""
        self._inner.close()


class RecordingSandbox:
    """Passes on, and takes down what was asked for."""

    def __init__(self, inner: Sandbox, recorded: Recorded) -> None:
        self._inner, self._spec, self._steps = inner, recorded.spec, recorded.steps

    @property
    def container_id(self) -> str:
        """The engine's id."""
        return self._inner.container_id

    def put(self, tree: FileTree, path: str, *, uid: int, gid: int, mode: int | None = None) -> None:
        """Copy files in."""
        volume, below = require_volume(self._spec, path, runs=True)
        archive = pack(tree, uid=uid, gid=gid, root_mode=mode, prefix=below.encode())
        self._steps.append(("put", (volume.path, archive)))
        self._inner.put(tree, path, uid=uid, gid=gid, mode=mode)

    def start(self) -> None:
        """Start it."""
        self._steps.append(("start", None))
        self._inner.start()

    def execute(self, argv: Sequence[str], **more: Any) -> CommandResult:  # noqa: ANN401
        """Run a command."""
        self._steps.append(("execute", (list(argv), more.get("working_dir"))))
        return self._inner.execute(argv, **more)

    @contextmanager
    def open(self, argv: Sequence[str], **more: Any) -> Iterator[Dialogue]:  # noqa: ANN401
        """Speak with a command."""
        said: list[bytes | None] = []
        self._steps.append(("open", (list(argv), said)))
        with self._inner.open(argv, **more) as inner:
            yield RecordingDialogue(inner, said)

    def wait(self, deadline: Deadline, *, sink: OutputSink | None = None) -> ExitState:
        """Wait for the first process."""
        self._steps.append(("wait", None))
        return self._inner.wait(deadline, sink=sink)

    def freeze(self) -> None:
        """Stop it where it stands."""
        self._inner.freeze()

    def get(self, path: str, limits: TreeLimits) -> ExportedTree:
        """Copy files out."""
        self._steps.append(("get", path))
        return self._inner.get(path, limits)

    def out_of_memory(self) -> bool:
        """Whether memory ran out."""
        return self._inner.out_of_memory()

    def remove(self) -> None:
        """Remove it."""
        self._inner.remove()


class RecordingEngine:
    """A Docker engine whose sandboxes are taken down."""

    def __init__(self, inner: DockerEngine) -> None:
        self._inner = inner
        self.containers: list[Recorded] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (everything else is the engine's)
        return getattr(self._inner, name)

    @contextmanager
    def create(self, spec: SandboxSpec) -> Iterator[Sandbox]:
        """A container that is taken down."""
        recorded = Recorded(spec)
        self.containers.append(recorded)
        with self._inner.create(spec) as sandbox:
            yield RecordingSandbox(sandbox, recorded)


class OracleRun:
    """Whole runs of the reference policies on one sealed plan, without the items that a judge grades."""

    def __init__(self, folder: Path) -> None:
        """Seal the plan in an empty folder."""
        self._folder = folder
        self._workspace = Workspace(ROOT)
        self._docker = DockerEngine(self._workspace.label)
        self.engine = RecordingEngine(self._docker)
        self._dataset = dataset_of("public", None, None)
        request = SuiteRequest(
            study_id=f"bench-{opaque_id()}",
            model=Model(name="none: policy reference", version="none", provider="none"),
            agent=AgentPlan(kind=AgentKind.SCRIPTED, version="1", settings={"policy": "reference"}),
            dataset=self._dataset,
            items=tuple(item for item in bank() if not item.rubric),
            judge=None,
            limits=Limits(turns=None, tool_calls=None, grader=GRADER_LIMITS),
            policies=Policies(),
            prices=None,
            arms={},
        )
        sealed = folder / "sealed"
        path = seal_suite(
            request, sealed, workspace=self._workspace, engine=self._docker, tell=lambda _: None
        )
        self._plan = path.rename(sealed / "plan.json")
        self._runs = 0

    def run(self) -> None:
        """One whole run, from the seals to the report."""
        self._runs += 1
        folder = StudyFolder(self._folder / f"run-{self._runs}")
        self.engine.containers.clear()
        plan = load_suite_plan(self._plan, workspace=self._workspace)
        tally = SuiteTally(plan, lambda _: None)
        opened = open_suite(
            self._plan,
            workspace=self._workspace,
            engine=self.engine,
            folder=folder,
            environ={},
            stop=Stop(),
            dataset_of_pool=lambda _: self._dataset,
            graded=tally.graded,
        )
        run_study(opened, concurrency=1, watcher=tally)
        earned = write_suite_reports(folder.path).views["neutral"].counts
        if earned.full != len(plan.items):
            raise RuntimeError(f"the oracle earned {earned.full} of {len(plan.items)} items")

    def requests(self) -> list[tuple[dict[str, Any], list[Step]]]:
        """The engine's request and the steps of each container of the last run."""
        label = self._workspace.label
        return [
            (container_request(one.spec, label, f"bare-{number}", None), one.steps)
            for number, one in enumerate(self.engine.containers)
        ]

    def close(self) -> None:
        """Remove what is left and close the connection."""
        self._docker.clean(self._workspace.label)
        self._docker.close()


class BareSuite:
    """The containers of a recorded run, by the low-level client and nothing else."""

    def __init__(self, oracle: OracleRun) -> None:
        # Some of the SDK's methods have no types.
        self._client: Any = docker.APIClient(version="auto", timeout=120, max_pool_size=16)
        self._containers = oracle.requests()

    def run(self) -> None:
        """All containers, one after the other."""
        for request, steps in self._containers:
            container = self._client.create_container_from_config(request)["Id"]
            try:
                for name, given in steps:
                    getattr(self, f"_{name}")(container, given)
            finally:
                self._client.remove_container(container, v=True, force=True)

    def _put(self, container: str, given: tuple[str, bytes]) -> None:
        self._client.put_archive(container, *given)

    def _start(self, container: str, _: None) -> None:
        self._client.start(container)

    def _wait(self, container: str, _: None) -> None:
        self._client.wait(container)

    def _get(self, container: str, path: str) -> None:
        stream, _ = self._client.get_archive(container, path)
        sum(map(len, stream))

    def _execute(self, container: str, given: tuple[list[str], str | None]) -> None:
        argv, working_dir = given
        made = self._client.exec_create(container, argv, workdir=working_dir)
        self._client.exec_start(made["Id"])
        self._client.exec_inspect(made["Id"])

    def _open(self, container: str, given: tuple[list[str], list[bytes | None]]) -> None:
        argv, said = given
        made = self._client.exec_create(container, argv, stdin=True)
        opened = self._client.exec_start(made["Id"], socket=True)
        connection = opened._sock  # noqa: SLF001  (the SDK has no public way to write)
        for line in said:
            if line is not None:
                connection.sendall(line)
                continue
            while not (piece := connection.recv(1 << 20)).endswith(b"\n"):
                if not piece:
                    raise RuntimeError("the tool server ended")
        opened.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
