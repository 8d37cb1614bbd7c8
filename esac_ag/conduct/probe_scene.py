"""The scene of an isolation probe: everything behind which its canary lies, and what the program is told."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import JsonValue

from esac_ag import clock
from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.conduct.probe_gateway import MODEL, GatewayTrial, a_gateway
from esac_ag.conduct.probe_listener import LOOPBACK, Listener, addresses_of_this_machine, listening
from esac_ag.conduct.probe_places import (
    ABSTRACT,
    START_S,
    Neighbour,
    in_a_grader,
    in_a_neighbour,
    on_the_host,
)
from esac_ag.manifest.plan import Limits, ModelWayKind
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine, SandboxSpec
from esac_ag.sandbox.model_socket import MOUNT_POINT, SOCKET_PATH
from esac_ag.sandbox.model_way import ModelWay, model_way
from esac_ag.sandbox.options import HOSTNAME

PREFIX = "esac-ag-canary-"
ATTEMPT = "probe"
"""What the containers beside the neighbour's are labelled with, and the way's network."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108  (inside the container)


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that the canary lies behind while the probe looks."""

    canary: str
    key: str
    control: str
    host_files: tuple[str, ...]
    listener: Listener
    neighbour: Neighbour
    gateway: GatewayTrial | None


def _canary() -> str:
    return PREFIX + clock.opaque_id() + clock.opaque_id()


@contextmanager
def laid_out(
    engine: Engine,
    workspace: Workspace,
    study_id: str,
    agent: str,
    grader: str,
    limits: Limits,
    way: ModelWayKind | None,
) -> Iterator[Scene]:
    """Lay the canary everywhere; the containers are made at the same time.

    Args:
        engine: that makes them.
        workspace: gets the canary beside its private rooms.
        study_id: for labels.
        agent: image of the probe's container and its neighbour's.
        grader: image of the grader's.
        limits: of all of them.
        way: to a gateway, of the probe's container and its neighbour's; none for no gateway.
    """
    canary, key = _canary(), _canary()
    with ExitStack() as stack:
        host_files = stack.enter_context(on_the_host(canary, workspace))
        listener = stack.enter_context(listening(canary))
        gateway: AbstractContextManager[GatewayTrial | None] = (
            nullcontext() if way is None else a_gateway(key, _way_maker(engine, study_id, agent, way))
        )
        grading = in_a_grader(engine, canary, study_id, grader, limits)
        nearby = in_a_neighbour(engine, canary, study_id, agent, limits, workspace, way)
        with ThreadPoolExecutor() as pool:
            graders = pool.submit(stack.enter_context, grading)
            neighbours = pool.submit(stack.enter_context, nearby)
            gateways = pool.submit(stack.enter_context, gateway)
        graders.result()
        yield Scene(
            canary=canary,
            key=key,
            control=_canary(),
            host_files=host_files,
            listener=listener,
            neighbour=neighbours.result(),
            gateway=gateways.result(),
        )


def _way_maker(
    engine: Engine, study_id: str, image: str, kind: ModelWayKind
) -> Callable[[Path], AbstractContextManager[ModelWay]]:
    def way_to(gateway_socket: Path) -> AbstractContextManager[ModelWay]:
        return model_way(
            kind,
            gateway_socket,
            engine,
            image=image,
            study=study_id,
            attempt=ATTEMPT,
            deadline=Deadline.after_s(START_S),
        )

    return way_to


def plan_for(spec: SandboxSpec, scene: Scene, private_material: tuple[str, ...]) -> dict[str, JsonValue]:
    """What the program is told, as `runner/guest/probe.py` describes it: no canary, only digests."""
    canaries: list[JsonValue] = [sha256_of_bytes(secret.encode()) for secret in (scene.canary, scene.key)]
    volumes = [volume.path for volume in spec.volumes] + [mount.path for mount in spec.scratch]
    return {
        "canaries": canaries,
        "control": sha256_of_bytes(scene.control.encode()),
        "private": list(private_material),
        "volumes": [*volumes, SHARED_MEMORY],
        "model_mount": MOUNT_POINT if spec.model_socket is not None else None,
        "host_files": list(scene.host_files),
        "host": {"addresses": list(addresses_of_this_machine()), "port": scene.listener.port},
        "neighbour": {
            "addresses": [LOOPBACK, *scene.neighbour.addresses],
            "port": scene.neighbour.port,
            "abstract": ABSTRACT,
        },
        "names": [*_names_of_this_machine(), *scene.neighbour.names],
        "peer": None if scene.gateway is None or spec.peer_network is None else _relay(scene.gateway),
        "gateway": None if scene.gateway is None else _gateway_plan(spec, scene.gateway, scene),
    }


def _names_of_this_machine() -> list[str]:
    """Its name, if that is not one that every container knows for itself."""
    name = socket.gethostname()
    return [] if name == HOSTNAME or name.startswith("localhost") else [name]


def _relay(gateway: GatewayTrial) -> list[JsonValue]:
    """Address and port, as the container sees them."""
    parts = urlsplit(gateway.way.base_url)
    return [parts.hostname, parts.port]


def _gateway_plan(spec: SandboxSpec, gateway: GatewayTrial, scene: Scene) -> dict[str, JsonValue]:
    address = f"{LOOPBACK}:{scene.listener.port}"
    return {
        "socket": None if spec.model_socket is None else SOCKET_PATH,
        "relay": _relay(gateway),
        "tokens": {protocol.value: token for protocol, token in gateway.tokens.items()},
        "paths": dict(gateway.paths),
        "other": gateway.other,
        "model": MODEL,
        "url": f"http://{address}",
        "address": address,
        "files": list(scene.host_files),
    }
