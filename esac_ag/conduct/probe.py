"""The isolation probe: a canary of the controller's, and a program in an agent's container that looks for it.

The canary lies where private material lies during a study: in the private folder of a running grader's
container, in a file, an environment and the arguments of processes on the host, and in the workspace's own
folders. A second canary, the control, lies in the agent's workspace and has to be found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from esac_ag import __version__, clock
from esac_ag.agents.contract import AGENT_HOME, AGENT_ROOT, AGENT_UID
from esac_ag.canonical import sha256_of, sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.revision import runner_sha256
from esac_ag.errors import SandboxLost
from esac_ag.grading.container import GRADER_GID, GRADER_UID, PRIVATE_FOLDER, grader_spec
from esac_ag.manifest.plan import Images, Limits, Network
from esac_ag.manifest.probe import ProbedImages, ProbeRecord, ProbeRoute
from esac_ag.owner import temporary_folder
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine, Role, Sandbox, Termination
from esac_ag.tree import Directory, FileTree, RegularFile

PROBE_TIMEOUT_S = 120.0
PROBE_OUTPUT_BYTES = 1_000_000
PREFIX = "esac-ag-canary-"


def probe(
    engine: Engine,
    workspace: Workspace,
    *,
    study_id: str,
    images: Images,
    image_ids: dict[str, str],
    limits: Limits,
    network: Network,
    private_material: tuple[str, ...],
    manifest_sha256: str | None,
) -> ProbeRecord:
    """Look for the canary from a real agent's container, made exactly as a run's is.

    Args:
        engine: where runs will be.
        workspace: gets the canary in a folder beside its private rooms, for the time of the probe.
        study_id: labels the containers.
        images: what the manifest seals.
        image_ids: the engine's id of each reference.
        limits: of the agent's container.
        network: of the agent's container.
        private_material: hashes of the graders' files; none of them may be readable either.
        manifest_sha256: digest of the plan that is probed for.

    Raises:
        SandboxLost: the engine or a container failed, or the probe gave no answer.
    """
    canary, control = _canary(), _canary()
    with ExitStack() as stack:
        stack.enter_context(_on_the_host(canary, workspace))
        stack.enter_context(
            _in_a_grader(engine, canary, study_id, image_ids[images.grader.reference], limits)
        )
        answer = _look(
            engine,
            workspace,
            study_id,
            image_ids[images.agent.reference],
            limits,
            canary,
            control,
            private_material,
        )
    routes = tuple(ProbeRoute.model_validate(route) for route in answer["routes"])
    control_found = bool(answer["control"])
    routes += (
        ProbeRoute(
            name="control-found",
            tried=1,
            reached=not control_found,
            detail="" if control_found else "the search did not find the control, so it proves nothing",
        ),
    )
    return ProbeRecord(
        format_version=1,
        made_at=clock.now(),
        harness_version=__version__,
        manifest_sha256=manifest_sha256,
        images=ProbedImages(agent=images.agent.digest, grader=images.grader.digest),
        runner_sha256=runner_sha256(workspace),
        limits_sha256=sha256_of(limits),
        network=network,
        canary_sha256=sha256_of_bytes(canary.encode()),
        routes=routes,
        passed=not any(route.reached for route in routes),
    )


def _canary() -> str:
    return PREFIX + clock.opaque_id() + clock.opaque_id()


@contextmanager
def _on_the_host(canary: str, workspace: Workspace) -> Iterator[None]:
    """The canary in files of the host, and in a process's environment and arguments."""
    workspace.state.mkdir(exist_ok=True)
    with temporary_folder("probe") as elsewhere, temporary_folder("probe", inside=workspace.state) as beside:
        for folder in (elsewhere, beside):
            path = folder / f"{canary}.txt"
            path.write_text(canary)
            path.chmod(0o644)
            folder.chmod(0o755)
        # It lives as long as its input is open: a killed harness leaves no process behind.
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", "import sys; sys.stdin.read()", canary],
            env={**os.environ, "ESAC_AG_CANARY": canary},
            stdin=subprocess.PIPE,
        )
        try:
            yield
        finally:
            process.communicate()


@contextmanager
def _in_a_grader(engine: Engine, canary: str, study_id: str, image: str, limits: Limits) -> Iterator[None]:
    """A grader's container that holds the canary where hidden checks lie, while the probe looks."""
    spec = grader_spec(
        image=image, limits=limits.grader, study=study_id, attempt="probe", role=Role.PROBE
    ).model_copy(update={"argv": ("sleep", "infinity")})
    private = FileTree(
        {
            b"checks.py": RegularFile(f"# {canary}\n".encode()),
            f"{canary}.txt".encode(): RegularFile(canary.encode()),
        }
    )
    with engine.create(spec) as sandbox:
        sandbox.put(private, PRIVATE_FOLDER, uid=GRADER_UID, gid=GRADER_GID, mode=0o700)
        sandbox.start()
        yield


def _look(
    engine: Engine,
    workspace: Workspace,
    study_id: str,
    image: str,
    limits: Limits,
    canary: str,
    control: str,
    private_material: tuple[str, ...],
) -> dict[str, list[object]]:
    program = (workspace.runner / "guest" / "probe.py").read_bytes()
    spec = agent_spec(
        image=image, limits=limits, study=study_id, attempt="probe", role=Role.PROBE, environment=()
    )
    contents = FileTree(
        {
            b"workspace": Directory(),
            b"home/probe.py": RegularFile(program),
            b"home/private.txt": RegularFile("\n".join(private_material).encode()),
            b"workspace/control.txt": RegularFile(control.encode()),
        }
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        sandbox.put(contents, AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
        return _answer(sandbox, canary, control)


def _answer(sandbox: Sandbox, canary: str, control: str) -> dict[str, list[object]]:
    hashes = [sha256_of_bytes(value.encode()) for value in (canary, control)]
    done = sandbox.execute(
        ["python3", "-I", f"{AGENT_HOME}/probe.py", *hashes, f"{AGENT_HOME}/private.txt"],
        deadline=Deadline.after_s(PROBE_TIMEOUT_S),
        output_bytes=PROBE_OUTPUT_BYTES,
    )
    ended_well = done.termination is Termination.EXITED and done.exit_code == 0
    try:
        answer: dict[str, list[object]] = json.loads(done.output if ended_well else b"")
    except ValueError as error:
        raise SandboxLost(
            "the probe program gave no answer",
            where=sandbox.container_id,
            expected="one JSON object on its standard output",
            found=f"{done.termination}, exit code {done.exit_code}: {done.output[-500:]!r}",
            remedy="run `esac-ag doctor`; give the agent's container more time or memory",
        ) from error
    return answer
