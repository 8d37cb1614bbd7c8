"""The isolation probe: a canary of the controller's, and a program in an agent's container that looks for it.

The canary lies where private material lies during a study: with a running grader, on the host (files, a
process, a listener on every address), and with a neighbour's run (`probe_places.py`). A second canary is the
key of a model gateway, where the container has a way to one. A control lies in the agent's workspace and has
to be found. What arrived at listeners is told by the listeners, not by the program.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext

from esac_ag import __version__, clock
from esac_ag.agents.contract import AGENT_HOME, AGENT_ROOT, AGENT_UID
from esac_ag.canonical import sha256_of, sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.probe_listener import LOOPBACK
from esac_ag.conduct.probe_scene import ATTEMPT, Scene, laid_out, plan_for
from esac_ag.conduct.revision import runner_sha256
from esac_ag.errors import SandboxLost
from esac_ag.manifest.plan import Images, Limits, ModelWayKind, Network
from esac_ag.manifest.probe import ProbedImages, ProbeRecord, ProbeRoute, Route, result_sha256
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine, Role, Sandbox, SandboxSpec, Termination
from esac_ag.tree import Directory, FileTree, RegularFile

PROBE_TIMEOUT_S = 120.0
PROBE_OUTPUT_BYTES = 1_000_000
GATEWAY_MARK = b"/gateway"
"""In every address that the probe asks a gateway to turn to."""
PLAN_FILE = f"{AGENT_HOME}/plan.json"
MOST_TOLD = 20


def probe(
    engine: Engine,
    workspace: Workspace,
    *,
    study_id: str,
    images: Images,
    image_ids: dict[str, str],
    limits: Limits,
    network: Network,
    way: ModelWayKind | None,
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
        network: that the manifest seals.
        way: of the agent's container to the model gateway; none on no network.
        private_material: hashes of the graders' files; none of them may be readable either.
        manifest_sha256: digest of the plan that is probed for.

    Raises:
        SandboxLost: the engine or a container failed, or the probe gave no answer.
        InfrastructureFailure: a listener or the gateway of the probe cannot serve.
    """
    agent, grader = image_ids[images.agent.reference], image_ids[images.grader.reference]
    with laid_out(engine, workspace, study_id, agent, grader, limits, way) as scene:
        spec = agent_spec(
            image=agent, limits=limits, study=study_id, attempt=ATTEMPT, role=Role.PROBE, environment=()
        )
        answered = _look(engine, workspace, spec, scene, private_material)
        arrivals = _arrivals(scene)
        routes = tuple(_seen_from_outside(route, arrivals.get(route.name, ())) for route in answered)
    return ProbeRecord(
        format_version=2,
        made_at=clock.now(),
        study_id=study_id,
        harness_version=__version__,
        manifest_sha256=manifest_sha256,
        images=ProbedImages(agent=images.agent.digest, grader=images.grader.digest),
        runner_sha256=runner_sha256(workspace),
        limits_sha256=sha256_of(limits),
        network=network,
        model_way=way,
        canary_sha256=sha256_of_bytes(scene.canary.encode()),
        routes=routes,
        result_sha256=result_sha256(routes),
        passed=not any(route.reached for route in routes),
    )


def _look(
    engine: Engine,
    workspace: Workspace,
    spec: SandboxSpec,
    scene: Scene,
    private_material: tuple[str, ...],
) -> tuple[ProbeRoute, ...]:
    """What the program in the container says."""
    way = None if scene.gateway is None else scene.gateway.way
    if way is not None:
        spec = way.placed(spec)
    programs = FileTree(
        {
            b"home/" + source.name.encode(): RegularFile(source.read_bytes())
            for source in (workspace.runner / "guest").glob("probe*.py")
        }
    )
    contents = FileTree(
        {
            b"workspace": Directory(),
            b"home/plan.json": RegularFile(json.dumps(plan_for(spec, scene, private_material)).encode()),
            b"workspace/control.txt": RegularFile(scene.control.encode()),
        }
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        sandbox.put(programs.merged(contents), AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
        with nullcontext() if way is None else way.relayed(sandbox, Deadline.after_s(PROBE_TIMEOUT_S)):
            return _answer(sandbox)


def _answer(sandbox: Sandbox) -> tuple[ProbeRoute, ...]:
    done = sandbox.execute(
        ["python3", "-I", f"{AGENT_HOME}/probe.py", PLAN_FILE],
        deadline=Deadline.after_s(PROBE_TIMEOUT_S),
        output_bytes=PROBE_OUTPUT_BYTES,
    )
    ended_well = done.termination is Termination.EXITED and done.exit_code == 0
    try:
        answer = json.loads(done.output if ended_well else b"")
        routes = [ProbeRoute.model_validate_json(json.dumps(route)) for route in answer["routes"]]
        control_found = bool(answer["control"])
    except (ValueError, KeyError, TypeError) as error:
        raise SandboxLost(
            "the probe program gave no answer",
            where=sandbox.container_id,
            expected="one JSON object on its standard output",
            found=f"{done.termination}, exit code {done.exit_code}: {done.output[-500:]!r}",
            remedy="run `esac-ag doctor`; give the agent's container more time or memory",
        ) from error
    control = ProbeRoute(
        name=Route.CONTROL_FOUND,
        tried=1,
        reached=not control_found,
        detail="" if control_found else "the search did not find the control, so it proves nothing",
    )
    return (*routes, control)


def _arrivals(scene: Scene) -> dict[Route, list[str]]:
    """What came out of the container, as those tell to whom it came.

    Raises:
        InfrastructureFailure: the listener on the host hears nothing at all.
        SandboxLost: the neighbour does not answer, or hears nothing at all.
    """
    by_mark: dict[bool, list[str]] = {True: [], False: []}
    for arrival in scene.listener.heard():
        by_mark[GATEWAY_MARK in arrival.said].append(
            f"the host heard {arrival.said[:60]!r} from {arrival.peer}"
        )
    reached = {
        Route.HOST: by_mark[False],
        Route.NEIGHBOUR: [f"the neighbour heard {said[:60]!r}" for said in scene.neighbour.heard()],
    }
    if scene.gateway is not None:
        address = f"{LOOPBACK}:{scene.listener.port}"
        complaints = scene.gateway.provider.complaints((address, *scene.host_files))
        return reached | {Route.GATEWAY: by_mark[True] + complaints}
    # Without a gateway, whatever came was brought by the container itself.
    return reached | {Route.HOST: by_mark[False] + by_mark[True]}


def _seen_from_outside(route: ProbeRoute, arrivals: Sequence[str]) -> ProbeRoute:
    """A route with what the controller saw of it."""
    if not arrivals:
        return route
    told = [*([route.detail] if route.detail else []), *arrivals[:MOST_TOLD]]
    return route.model_copy(update={"reached": True, "detail": "; ".join(told)})
