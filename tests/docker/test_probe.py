"""The isolation probe finds what it looks for: every route is proved on a container that leaks by it."""

from __future__ import annotations

import hashlib
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from esac_ag.clock import opaque_id
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine, connect
from tests.builders_docker import REPOSITORY
from tests.builders_manifest import a_workspace
from tests.builders_probe import (
    Leak,
    Request,
    bound,
    first_process,
    host_config,
    in_workspace,
    probed,
    probed_with,
    variables,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]

ROUTES = {
    "paths",
    "private-places",
    "processes",
    "environment",
    "mounts",
    "engine-socket",
    "network",
    "other-users",
    "control-found",
}
PRIVATE = b"# a hidden check, long enough to be told from files of the image\n" * 2
PRIVATE_SHA256 = hashlib.sha256(PRIVATE).hexdigest()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the repository's runner, where probes lay their canary."""
    root = tmp_path_factory.mktemp("space")
    made = a_workspace(root)
    shutil.rmtree(made.runner)
    shutil.copytree(REPOSITORY / "runner", made.runner, ignore=shutil.ignore_patterns("__pycache__"))
    return made


@pytest.fixture(scope="module")
def passing(docker_engine: DockerEngine, workspace: Workspace) -> ProbeRecord:
    """The record of the real configuration."""
    return probed(docker_engine, workspace, private=(PRIVATE_SHA256,))


def reached(record: ProbeRecord) -> dict[str, str]:
    """Details by the routes that reached something."""
    return {route.name: route.detail for route in record.routes if route.reached}


def test_the_real_configuration_passes_with_every_route_tried(passing: ProbeRecord) -> None:
    """Nothing is reached, nothing is left untried, and the control was found."""
    assert reached(passing) == {}
    assert {route.name for route in passing.routes} == ROUTES
    assert min(route.tried for route in passing.routes) > 0
    assert passing.passed
    assert passing.holds


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
SOCKET = (
    "import os, socket, time; os.chdir('/tmp'); "
    "s = socket.socket(socket.AF_UNIX); s.bind('any.sock'); time.sleep(600)"
)
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
        {"private-places"},
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
    "a socket in a folder": (Leak(first_process("python3", "-c", SOCKET)), {"engine-socket"}),
    "a set-user-id program": (a_program_that_runs_as_its_owner("4755"), {"other-users"}),
    "a set-group-id program": (a_program_that_runs_as_its_owner("2755"), {"other-users"}),
    "the superuser": (Leak(as_root), {"other-users"}),
    "a superuser who makes namespaces": (Leak(as_root_who_mounts), {"other-users"}),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_by_its_route_and_by_no_other(
    workspace: Workspace, docker_workspace: str, name: str
) -> None:
    """A container with one thing wrong fails the probe exactly there."""
    leak, routes = LEAKS[name]
    record = probed_with(leak, workspace, docker_workspace, (PRIVATE_SHA256,))
    assert reached(record).keys() == routes, reached(record)
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
    """Whoever mounts the workspace into an agent's container shows it the graders, and the probe sees them."""
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
    assert reached(record).keys() == {"engine-socket", "mounts"}
    assert "docker.sock" in reached(record)["engine-socket"]


@pytest.fixture
def bridge() -> Iterator[str]:
    """A network of our own, without a way out."""
    client: Any = connect()
    name = f"esac-ag-tests-{opaque_id()}"
    client.create_network(name, driver="bridge", internal=True)
    try:
        yield name
    finally:
        client.remove_network(name)
        client.close()


def test_a_network_is_found_even_when_it_leads_nowhere(
    bridge: str, workspace: Workspace, docker_workspace: str
) -> None:
    """An interface that is up is a leak by itself."""

    def networked(request: Request, _canary: str) -> None:
        request["NetworkDisabled"] = False
        request["HostConfig"]["NetworkMode"] = bridge

    record = probed_with(Leak(networked), workspace, docker_workspace)
    assert reached(record).keys() == {"network"}
    assert "interface" in reached(record)["network"]


def test_a_search_that_misses_its_control_proves_nothing(
    workspace: Workspace, docker_workspace: str
) -> None:
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
