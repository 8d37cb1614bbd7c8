"""The isolation probe finds what it looks for: every route is proved on a container that leaks by it."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esac_ag.agents.contract import AGENT_ROOT
from esac_ag.clock import opaque_id
from esac_ag.gateway import requests
from esac_ag.manifest.plan import ModelWayKind
from esac_ag.manifest.probe import ProbeRecord, Route
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine, connect
from esac_ag.sandbox.model_socket import MOUNT_POINT
from tests.builders_docker import REPOSITORY
from tests.builders_manifest import a_workspace
from tests.builders_probe import (
    Leak,
    Request,
    bound,
    each,
    exactly,
    first_process,
    host_config,
    in_workspace,
    networked,
    packed,
    probed,
    probed_with,
    variables,
    with_a_name_server,
    with_model_mount,
)
from tests.builders_probe_gateway import (
    GatewayFault,
    TakesAnyToken,
    a_leaking_gateway,
    answers_nothing,
    fetches_absolute_addresses,
    fetches_what_bodies_name,
    opens_tunnels,
    reads_files,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]

PRIVATE = b"# a hidden check, long enough to be told from files of the image\n" * 2
PRIVATE_SHA256 = hashlib.sha256(PRIVATE).hexdigest()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the repository's runner, where probes lay their canary."""
    root = tmp_path_factory.mktemp("space")
    root.chmod(0o755)
    made = a_workspace(root)
    shutil.rmtree(made.runner)
    shutil.copytree(REPOSITORY / "runner", made.runner, ignore=shutil.ignore_patterns("__pycache__"))
    return made


@pytest.fixture(scope="module")
def passing(docker_engine: DockerEngine, workspace: Workspace) -> ProbeRecord:
    """The record of the real configuration."""
    return probed(docker_engine, workspace, private=(PRIVATE_SHA256,))


@pytest.fixture(scope="module")
def passing_with_gateway(docker_engine: DockerEngine, workspace: Workspace) -> ProbeRecord:
    """The record of the real configuration of a command-line agent."""
    return probed(docker_engine, workspace, way=ModelWayKind.SOCKET)


def reached(record: ProbeRecord) -> dict[str, str]:
    """Details by the routes that reached something."""
    return {route.name.value: route.detail for route in record.routes if route.reached}


def test_the_real_configuration_passes_with_every_route_tried(passing: ProbeRecord) -> None:
    """Nothing is reached, nothing is left untried, and the control was found."""
    assert reached(passing) == {}
    assert [route.name for route in passing.routes] == [name for name in Route if name is not Route.GATEWAY]
    assert passing.untried == ()
    assert passing.model_way is None
    assert passing.passed
    assert passing.holds


def test_the_real_configuration_with_a_model_passes_with_every_route_tried(
    passing_with_gateway: ProbeRecord,
) -> None:
    """Nor does the gateway give away anything, and it did answer."""
    assert reached(passing_with_gateway) == {}
    assert [route.name for route in passing_with_gateway.routes] == list(Route)
    assert passing_with_gateway.model_way == "socket"
    assert passing_with_gateway.holds


def at_grade(request: Request, _canary: str) -> None:
    """A second memory volume where a grader has its private folder."""
    volume = request["HostConfig"]["Mounts"][0]
    request["HostConfig"]["Mounts"].append(volume | {"Target": "/grade"})


def as_root(request: Request, _canary: str) -> None:
    """A first process, and commands, of the superuser."""
    request["User"] = "0:0"


def as_root_who_mounts(request: Request, canary: str) -> None:
    """The superuser with the right to make namespaces."""
    as_root(request, canary)
    host_config(CapAdd=["SYS_ADMIN"])(request, canary)


def a_program_that_runs_as_its_owner(mode: str) -> Leak:
    """One with a set-id bit in the scratch folder."""
    made = f"cp /bin/true /tmp/program; chmod {mode} /tmp/program; exec sleep infinity"
    return Leak(first_process("sh", "-c", made))


OPEN_FILE = 'printf %s "$1" > /tmp/x; exec 9< /tmp/x; rm /tmp/x; set --; exec sleep infinity'
SOCKETS = """
import os, socket, time
os.chdir("/tmp")
named = socket.socket(socket.AF_UNIX); named.bind("any.sock")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0nobody")
tcp = socket.create_server(("127.0.0.1", 8000))
time.sleep(600)
"""
MEMORY = """
import ctypes, sys, time
held = bytes.fromhex(sys.argv[1])
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
time.sleep(600)
"""
"""Some kernels let only a process that says so be looked into by others of its user."""
ONLY_NO_NAMESPACES = json.dumps(
    {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": ["unshare", "setns"], "action": "SCMP_ACT_ERRNO"}],
    }
)
"""A profile that forgets keyrings."""


def in_memory_only(request: Request, canary: str) -> None:
    """A process that holds the canary, and shows it neither in its arguments nor in its environment."""
    first_process("python3", "-c", MEMORY, canary.encode().hex())(request, canary)


def open_ipc(request: Request, canary: str) -> None:
    """Objects of System V as the kernel allows them by default, and keyrings."""
    host_config(SecurityOpt=[f"seccomp={ONLY_NO_NAMESPACES}"])(request, canary)
    exactly(Sysctls={})(request, canary)


SUPERUSER = {"other-users", "private-places", "processes"}
"""The superuser may list `/root` and read the kernel's messages, too."""
A_DEVICE = {"PathOnHost": "/dev/null", "PathInContainer": "/dev/extra", "CgroupPermissions": "rwm"}
LEAKS: dict[str, tuple[Leak, set[str]]] = {
    "the canary in a file of a volume": (
        Leak(files=in_workspace("workspace/notes.txt", b"x" * 70_000 + b"CANARY\n")),
        {"paths"},
    ),
    "the canary across two pieces of a large file": (
        Leak(files=in_workspace("workspace/large.bin", b"x" * ((1 << 20) - 20) + b"CANARY\n")),
        {"paths"},
    ),
    "the canary as the name of an empty file": (
        Leak(files=in_workspace("workspace/CANARY")),
        {"paths"},
    ),
    "a private file under another name": (
        Leak(files=in_workspace("workspace/readme.txt", PRIVATE)),
        {"paths"},
    ),
    "a grader's name": (Leak(files=in_workspace("workspace/checks.py", b"pass\n")), {"paths"}),
    "a folder of graders that can be listed": (
        Leak(at_grade, files=lambda _: {"/grade": {"something.txt": b"x"}}),
        {"private-places", "volumes"},
    ),
    "the arguments of another process": (
        Leak(first_process("sh", "-c", "sleep infinity; true", "CANARY")),
        {"processes"},
    ),
    "the environment of another process": (
        Leak(first_process("env", "NOTE=CANARY", "sleep", "infinity")),
        {"processes"},
    ),
    "a removed file that another process holds open": (
        Leak(first_process("sh", "-c", OPEN_FILE, "sh", "CANARY")),
        {"processes"},
    ),
    "the processes of the host": (Leak(host_config(PidMode="host")), {"processes"}),
    "the canary in the container's environment": (
        Leak(variables("NOTE=CANARY")),
        # The variable is every process's.
        {"environment", "processes"},
    ),
    "a variable that looks like a secret": (Leak(variables("OPENAI_API_KEY=sk-1")), {"environment"}),
    "a root that can be written to": (Leak(host_config(ReadonlyRootfs=False)), {"mounts"}),
    "the memory of another process": (Leak(in_memory_only), {"processes"}),
    "sockets in a folder, without one, and a port": (
        Leak(first_process("python3", "-c", SOCKETS)),
        {"sockets"},
    ),
    "names that are resolved": (Leak(with_a_name_server), {"names"}),
    "shared memory and keyrings": (Leak(open_ipc), {"shared-objects"}),
    "what the engine closes of the kernel": (
        Leak(
            each(
                exactly(ReadonlyPaths=[], MaskedPaths=[]),
                host_config(Devices=[A_DEVICE]),
            )
        ),
        {"kernel"},
    ),
    "a capability": (Leak(host_config(CapAdd=["CHOWN"])), {"other-users"}),
    "new rights by set-id programs": (Leak(exactly(SecurityOpt=[])), {"other-users"}),
    "a set-user-id program": (a_program_that_runs_as_its_owner("4755"), {"other-users"}),
    "a set-group-id program": (a_program_that_runs_as_its_owner("2755"), {"other-users"}),
    "the superuser": (Leak(as_root), SUPERUSER),
    "a superuser who makes namespaces": (Leak(as_root_who_mounts), SUPERUSER),
}


PARTS: dict[str, tuple[str, ...]] = {
    "sockets in a folder, without one, and a port": (
        "/tmp/any.sock",
        "unix socket @nobody",
        "tcp port 8000 listens",
    ),
    "names that are resolved": (
        "a server answered for probe.invalid",
        "name server 127.0.0.1 answers",
    ),
    "shared memory and keyrings": ("shared memory of System V", "the session's keyring"),
    "what the engine closes of the kernel": (
        "/proc/sys is not read-only",
        "/sys/firmware is not masked",
        "device extra",
    ),
}
"""What is told of leaks that have several parts."""


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_by_its_route_and_by_no_other(
    workspace: Workspace, docker_workspace: str, name: str
) -> None:
    """A container with one thing wrong fails the probe exactly there."""
    leak, routes = LEAKS[name]
    record = probed_with(leak, workspace, docker_workspace, (PRIVATE_SHA256,))
    assert reached(record).keys() == routes, reached(record)
    told = "; ".join(reached(record).values())
    assert [part for part in PARTS.get(name, ()) if part not in told] == [], told
    assert not record.passed
    assert not record.holds


def test_a_folder_of_the_host_is_found_even_when_it_is_empty(
    tmp_path: Path, workspace: Workspace, docker_workspace: str
) -> None:
    """A bind mount is a leak by itself."""
    record = probed_with(Leak(bound(tmp_path, "/data")), workspace, docker_workspace)
    assert reached(record).keys() == {"mounts"}
    assert "/data" in reached(record)["mounts"]


def test_the_workspace_of_the_host_is_found_by_its_canary(
    workspace: Workspace, docker_workspace: str
) -> None:
    """Whoever mounts the workspace into an agent's container shows it the graders; the probe sees them."""
    record = probed_with(Leak(bound(workspace.root, "/host")), workspace, docker_workspace)
    assert reached(record).keys() == {"paths", "private-places", "mounts"}
    assert "esac-ag-canary-" in reached(record)["paths"]
    assert "/host/graders" in reached(record)["paths"]


def test_a_socket_where_the_engines_would_be_is_found(
    tmp_path: Path, workspace: Workspace, docker_workspace: str
) -> None:
    """It is told by its path, whoever listens."""
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        record = probed_with(Leak(bound(path, "/var/run/docker.sock")), workspace, docker_workspace)
    assert reached(record).keys() == {"sockets", "mounts"}
    assert "docker.sock" in reached(record)["sockets"]


@pytest.mark.parametrize(
    ("target", "routes"),
    [
        ("/var/lib/docker/overlay2", {"layers", "mounts"}),
        ("/var/lib/docker/volumes", {"volumes", "mounts"}),
    ],
)
def test_the_engines_own_store_is_found(
    tmp_path: Path, workspace: Workspace, docker_workspace: str, target: str, routes: set[str]
) -> None:
    """There lie the layers of all images, with files that were deleted since, and all volumes."""
    (tmp_path / "0123abc").mkdir()
    tmp_path.chmod(0o755)
    record = probed_with(Leak(bound(tmp_path, target)), workspace, docker_workspace)
    assert reached(record).keys() == routes, reached(record)


def test_a_private_file_in_a_layer_of_the_image_is_found(
    agent_image: str, workspace: Workspace, docker_workspace: str
) -> None:
    """Whoever builds hidden checks into an agent's image is told, by their content."""
    client: Any = connect()
    name = f"esac-ag-tests-{opaque_id()}"
    made = client.create_container(agent_image, ["true"], user="0")["Id"]
    try:
        client.put_archive(made, "/opt", packed({"readme": PRIVATE}))
        client.commit(made, repository=name)
        leak = Leak(lambda request, _canary: request.update(Image=name))
        record = probed_with(leak, workspace, docker_workspace, (PRIVATE_SHA256,))
    finally:
        client.remove_container(made, force=True, v=True)
        client.remove_image(name, force=True)
        client.close()
    assert reached(record) == {"paths": "/opt/readme"}


def test_the_volume_of_another_run_is_found(workspace: Workspace, docker_workspace: str) -> None:
    """By what lies in it, and by its being there."""

    def mounted(request: Request, client: Any, neighbour: str) -> None:  # noqa: ANN401  (the SDK's)
        mounts = client.inspect_container(neighbour)["Mounts"]
        name = next(mount["Name"] for mount in mounts if mount["Destination"] == AGENT_ROOT)
        request["HostConfig"]["Mounts"].append({"Type": "volume", "Source": name, "Target": "/other"})

    record = probed_with(Leak(near=mounted), workspace, docker_workspace)
    assert reached(record).keys() == {"paths", "volumes"}
    assert "/other/workspace/notes.txt" in reached(record)["paths"]
    assert "/other is a volume" in reached(record)["volumes"]


def test_the_listeners_of_another_run_are_found(workspace: Workspace, docker_workspace: str) -> None:
    """A container in the neighbour's network reaches it, and the neighbour says so itself."""

    def joined(request: Request, _client: Any, neighbour: str) -> None:  # noqa: ANN401  (the SDK's)
        request["NetworkDisabled"] = False
        request["HostConfig"]["NetworkMode"] = f"container:{neighbour}"
        del request["Hostname"], request["HostConfig"]["Dns"], request["HostConfig"]["DnsSearch"]

    record = probed_with(Leak(near=joined), workspace, docker_workspace)
    assert reached(record).keys() == {"neighbour", "sockets"}
    told = reached(record)["neighbour"]
    assert "127.0.0.1 by TCP; 127.0.0.1 by UDP; the socket esac-ag-probe-neighbour" in told
    assert "the neighbour heard 'GET /esac-ag-canary-" in told


@pytest.fixture
def bridge() -> Iterator[str]:
    """A network of our own without a way out, to the host neither."""
    client: Any = connect()
    name = f"esac-ag-tests-{opaque_id()}"
    options = {"com.docker.network.bridge.inhibit_ipv4": "true"}
    client.create_network(name, driver="bridge", internal=True, options=options)
    try:
        yield name
    finally:
        client.remove_network(name)
        client.close()


def test_a_network_is_found_even_when_it_leads_nowhere(
    bridge: str, workspace: Workspace, docker_workspace: str
) -> None:
    """An interface that is up is a leak by itself."""
    record = probed_with(networked(bridge), workspace, docker_workspace)
    # The engine's own name server listens inside, and some engines' answers.
    assert reached(record).keys() - {"sockets", "names"} == {"network"}, reached(record)
    assert "interface" in reached(record)["network"]


def test_the_host_is_found_on_the_default_bridge(workspace: Workspace, docker_workspace: str) -> None:
    """What the container sent arrived at the controller's listener, by TCP and by UDP."""
    record = probed_with(networked("bridge"), workspace, docker_workspace)
    assert reached(record).keys() == {"network", "host"}, reached(record)
    told = reached(record)["host"]
    assert {" by TCP", " by UDP"} <= {part[-7:] for part in told.split("; ")}
    assert "the host heard b'GET /esac-ag-canary-" in told


GATEWAY_FAULTS: dict[str, tuple[GatewayFault, str]] = {
    "files are read": (reads_files, "GET /v1/../"),
    "addresses are fetched": (fetches_absolute_addresses, "GET of an absolute address"),
    "tunnels are opened": (opens_tunnels, "CONNECT"),
    "what bodies name is fetched": (fetches_what_bodies_name, "the host heard b'GET /gateway/fetched"),
    "any token will do": (TakesAnyToken(), "another run's token in the path is answered"),
    "nothing is answered": (answers_nothing, "messages by the relay is not answered, which proves nothing"),
}


@pytest.mark.parametrize("name", GATEWAY_FAULTS)
def test_a_gateway_that_gives_more_than_a_model_is_found(
    workspace: Workspace, docker_workspace: str, name: str
) -> None:
    """It stands where the real one would, behind the mounted socket."""
    fault, told = GATEWAY_FAULTS[name]
    with a_leaking_gateway(fault) as leak:
        record = probed_with(leak, workspace, docker_workspace, way=ModelWayKind.SOCKET)
    assert reached(record).keys() == {"gateway"}, reached(record)
    assert told in reached(record)["gateway"]


def test_a_gateway_that_lets_addresses_through_is_found_at_the_provider(
    monkeypatch: pytest.MonkeyPatch, docker_engine: DockerEngine, workspace: Workspace
) -> None:
    """The provider would fetch for the agent: that it was asked to is what counts."""
    monkeypatch.setattr(requests, "outside_reference", lambda _content: None)
    record = probed(docker_engine, workspace, way=ModelWayKind.SOCKET)
    assert reached(record).keys() == {"gateway"}
    assert "the provider was asked POST /v1/responses with 127.0.0.1" in reached(record)["gateway"]


def test_a_mount_of_the_model_that_can_be_written_to_is_found(
    workspace: Workspace, docker_workspace: str
) -> None:
    """The folder of the socket gives a connection, and nothing else."""
    record = probed_with(
        Leak(with_model_mount(ReadOnly=False)),
        workspace,
        docker_workspace,
        way=ModelWayKind.SOCKET,
    )
    assert reached(record).keys() == {"mounts"}
    assert "/run/model can be written to" in reached(record)["mounts"]


def test_a_mount_of_the_model_that_can_be_listed_is_found(
    workspace: Workspace, docker_workspace: str
) -> None:
    """Names in a shared folder would carry words from run to run."""

    def opened(request: Request, _canary: str) -> None:
        mounts = request["HostConfig"]["Mounts"]
        folder = next(mount["Source"] for mount in mounts if mount["Target"] == MOUNT_POINT)
        Path(folder).chmod(0o755)

    record = probed_with(Leak(opened), workspace, docker_workspace, way=ModelWayKind.SOCKET)
    assert reached(record).keys() == {"mounts", "sockets"}
    assert "/run/model can be listed" in reached(record)["mounts"]


def test_a_search_that_misses_its_control_proves_nothing(workspace: Workspace, docker_workspace: str) -> None:
    """A probe that cannot find what lies in its own workspace fails."""

    def without_control(archive: bytes, canary: str) -> bytes:
        # The name of the same length leaves the archive whole.
        found = [text for text in archive.split(b"\0") if text.startswith(b"esac-ag-canary-")]
        assert len(found) == 1
        assert canary.encode() not in archive
        return archive.replace(found[0], b"x" * len(found[0]))

    record = probed_with(Leak(contents=without_control), workspace, docker_workspace)
    assert reached(record).keys() == {"control-found"}
    assert not record.passed
