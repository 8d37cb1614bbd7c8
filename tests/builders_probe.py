"""Containers of the isolation probe that leak on purpose, by a client that alters the engine's requests."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from esac_ag.agents.contract import AGENT_ROOT, AGENT_UID
from esac_ag.conduct.freeze import images_at_hand
from esac_ag.conduct.probe import probe
from esac_ag.conduct.probe_places import NEIGHBOUR, START_S
from esac_ag.conduct.probe_scene import ATTEMPT
from esac_ag.manifest.plan import Limits, ModelWayKind, Network
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.docker import DockerEngine, connect
from esac_ag.sandbox.docker_client import APIError
from esac_ag.sandbox.model_socket import MOUNT_POINT
from esac_ag.sandbox.options import LABEL_ATTEMPT, LABEL_ROLE

CANARY = re.compile(rb"esac-ag-canary-[0-9a-f]{32}")
PROBE_LIMITS = Limits(wall_clock_s=60, workspace_mib=64, tmp_mib=16, memory_mib=512)

NAME_SERVER = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    question, asker = server.recvfrom(512)
    server.sendto(question[:2] + b"\\x81\\x83" + question[4:], asker)
"""

Request = dict[str, Any]
Files = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Leak:
    """What is wrong with an agent's container. The canary is known by then: a grader got it before."""

    request: Callable[[Request, str], None] = lambda _request, _canary: None
    """Alters the engine's request, HostConfig included."""
    files: Callable[[str], Mapping[str, Files]] = lambda _canary: {}
    """Further files by the volume that they are put into, once the container runs."""
    contents: Callable[[bytes, str], bytes] = lambda archive, _canary: archive
    """Alters the archive of the probe's own files."""
    near: Callable[[Request, Any, str], None] = lambda _request, _client, _neighbour: None
    """Alters the request by what the neighbour's container is: the engine's client, and its id."""
    made: Callable[[Any, str, str], None] = lambda _client, _made, _neighbour: None
    """Alters the container that was made: the engine's client, its id, and the neighbour's."""
    network: Request = field(default_factory=dict)
    """Other values of the request for the network that leads to the relay."""
    neighbour_joins: bool = False
    """Whether the neighbour's container is put into that network, and not into its own."""


@dataclass
class Weakening:
    """The SDK's client, but the probe's container for agents is made with a leak."""

    client: Any
    leak: Leak
    canary: str = ""
    neighbour: str = ""
    """Id of the container of the run next door."""
    weakened: set[str] = field(default_factory=set)
    """Ids of the containers that were made with the leak."""
    network: Future[str] = field(default_factory=Future)
    """Name of the network that leads to the relay."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.client, name)

    def create_network(self, name: str, **request: Any) -> Any:  # noqa: ANN401
        """Make a network, a leaky one if it leads to the relay."""
        if request["labels"][LABEL_ATTEMPT] != ATTEMPT:
            return self.client.create_network(name, **request)
        made = self.client.create_network(name, **request | self.leak.network)
        self.network.set_result(name)
        return made

    def remove_network(self, name: str) -> None:
        """Remove a network; a neighbour that was put into it may outlive its owner's containers."""
        if self.leak.neighbour_joins and name == self.network.result(START_S):
            with suppress(APIError):
                self.client.disconnect_container_from_network(self.neighbour, name, force=True)
        self.client.remove_network(name)

    def create_container_from_config(self, request: Request, name: str) -> Any:  # noqa: ANN401
        """Make a container, a leaky one if an agent's probe will act in it."""
        is_agent = request["Labels"][LABEL_ROLE] == Role.PROBE and request["User"].startswith(f"{AGENT_UID}:")
        is_neighbour = request["Labels"][LABEL_ATTEMPT] == NEIGHBOUR
        if is_neighbour and self.leak.neighbour_joins:
            # Both are made at the same time.
            request["HostConfig"]["NetworkMode"] = self.network.result(START_S)
        leaky = is_agent and not is_neighbour
        if leaky:
            self.leak.request(request, self.canary)
            self.leak.near(request, self.client, self.neighbour)
        made = self.client.create_container_from_config(request, name)
        if is_neighbour:
            self.neighbour = made["Id"]
        if leaky:
            self.weakened.add(made["Id"])
            self.leak.made(self.client, made["Id"], self.neighbour)
        return made

    def put_archive(self, container: str, path: str, data: bytes) -> Any:  # noqa: ANN401
        """Put files; into a leaky container, those of the leak as well."""
        if container not in self.weakened:
            if found := CANARY.search(data):
                self.canary = found.group().decode()
            return self.client.put_archive(container, path, data)
        for place, files in self.leak.files(self.canary).items():
            self.client.put_archive(container, place, packed(files))
        return self.client.put_archive(container, path, self.leak.contents(data, self.canary))


def packed(files: Files) -> bytes:
    """An archive of files that are the agent's."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid = len(data), AGENT_UID, AGENT_UID
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@contextmanager
def a_weak_engine(label: str, leak: Leak) -> Iterator[DockerEngine]:
    """The real engine, whose probe containers have a leak."""
    engine = DockerEngine(label, client=cast("Any", Weakening(connect(), leak)))
    try:
        yield engine
    finally:
        engine.close()


def probed(
    engine: DockerEngine,
    workspace: Workspace,
    *,
    private: tuple[str, ...] = (),
    limits: Limits = PROBE_LIMITS,
    way: ModelWayKind | None = None,
    study_id: str = "probe-tests",
) -> ProbeRecord:
    """Probe as `esac-ag probe` does."""
    images, image_ids = images_at_hand(workspace, engine)
    return probe(
        engine,
        workspace,
        study_id=study_id,
        images=images,
        image_ids=image_ids,
        limits=limits,
        network=Network.NONE if way is None else Network.MODEL_GATEWAY,
        way=way,
        private_material=private,
        manifest_sha256=None,
    )


def probed_with(
    leak: Leak,
    workspace: Workspace,
    label: str,
    private: tuple[str, ...] = (),
    way: ModelWayKind | None = None,
) -> ProbeRecord:
    """Probe a container with a leak."""
    with a_weak_engine(label, leak) as engine:
        return probed(engine, workspace, private=private, way=way)


def first_process(*argv: str) -> Callable[[Request, str], None]:
    """A request whose first process is another; `CANARY` in an argument stands for the canary."""

    def alter(request: Request, canary: str) -> None:
        request["Entrypoint"] = [argv[0]]
        request["Cmd"] = [argument.replace("CANARY", canary) for argument in argv[1:]]

    return alter


def with_a_name_server(request: Request, canary: str) -> None:
    """A first process that answers questions for names, none of which it knows."""
    first_process("python3", "-c", NAME_SERVER)(request, canary)
    host = request["HostConfig"]
    host["Sysctls"] = host["Sysctls"] | {"net.ipv4.ip_unprivileged_port_start": "0"}


def host_config(**changes: object) -> Callable[[Request, str], None]:
    """A request with other values in its HostConfig; lists are made longer."""

    def alter(request: Request, _canary: str) -> None:
        host = request["HostConfig"]
        for key, value in changes.items():
            host[key] = [*host.get(key, []), *value] if isinstance(value, list) else value

    return alter


def variables(*pairs: str) -> Callable[[Request, str], None]:
    """A request with further variables; `CANARY` stands for the canary."""

    def alter(request: Request, canary: str) -> None:
        request["Env"] += [pair.replace("CANARY", canary) for pair in pairs]

    return alter


def in_workspace(name: str, data: bytes = b"") -> Callable[[str], Mapping[str, Files]]:
    """A further file in the agent's volume; `CANARY` in name and content stands for the canary."""

    def files(canary: str) -> Mapping[str, Files]:
        return {
            AGENT_ROOT: {
                name.replace("CANARY", canary): data.replace(b"CANARY", canary.encode()),
            }
        }

    return files


def each(*alterations: Callable[[Request, str], None]) -> Callable[[Request, str], None]:
    """A request that is altered in several ways."""

    def alter(request: Request, canary: str) -> None:
        for alteration in alterations:
            alteration(request, canary)

    return alter


def exactly(**changes: object) -> Callable[[Request, str], None]:
    """A request with these values in its HostConfig, lists too."""

    def alter(request: Request, _canary: str) -> None:
        request["HostConfig"] |= changes

    return alter


def with_model_mount(**changes: object) -> Callable[[Request, str], None]:
    """A request whose one mount of the host has other values."""

    def alter(request: Request, _canary: str) -> None:
        for mount in request["HostConfig"]["Mounts"]:
            if mount["Target"] == MOUNT_POINT:
                mount.update(changes)

    return alter


def bound(source: Path, target: str) -> Callable[[Request, str], None]:
    """A request that binds something of the host."""
    return host_config(Binds=[f"{source}:{target}"])


def networked(name: str) -> Leak:
    """A container on a network."""

    def alter(request: Request, _canary: str) -> None:
        request["NetworkDisabled"] = False
        request["HostConfig"]["NetworkMode"] = name

    return Leak(alter)
