"""The isolation probe on a network of two containers: what leads beyond the relay is found by its route."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from esac_ag.manifest.plan import ModelWayKind
from esac_ag.manifest.probe import ProbeRecord, Route
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.options import LABEL_WORKSPACE
from tests.builders_docker import REPOSITORY
from tests.builders_manifest import a_workspace
from tests.builders_probe import Leak, Request, bound, each, probed, probed_with, with_a_name_server

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the repository's runner, where probes lay their canary."""
    root = tmp_path_factory.mktemp("space")
    root.chmod(0o755)
    made = a_workspace(root)
    shutil.rmtree(made.runner)
    shutil.copytree(REPOSITORY / "runner", made.runner, ignore=shutil.ignore_patterns("__pycache__"))
    return made


def reached(record: ProbeRecord) -> dict[str, str]:
    """Details by the routes that reached something."""
    return {route.name.value: route.detail for route in record.routes if route.reached}


def found_with(leak: Leak, workspace: Workspace, label: str) -> dict[str, str]:
    """Details by the routes that reached something through a leak."""
    record = probed_with(leak, workspace, label, way=ModelWayKind.NETWORK)
    assert not record.passed
    assert not record.holds
    return reached(record)


def test_the_real_configuration_passes_and_leaves_no_network(
    docker_engine: DockerEngine, workspace: Workspace, docker_workspace: str
) -> None:
    """Every route is tried, the gateway answers by the relay, and the record tells the way."""
    record = probed(docker_engine, workspace, way=ModelWayKind.NETWORK)
    assert reached(record) == {}
    assert [route.name for route in record.routes] == list(Route)
    assert record.model_way is ModelWayKind.NETWORK
    assert record.holds
    mine = {"label": f"{LABEL_WORKSPACE}={docker_workspace}"}
    assert docker_engine._client.networks(filters=mine) == []


INTERNAL_WITH_THE_HOST: Request = {"options": {}}
EXTERNAL: Request = {"internal": False, "options": {}}


@pytest.mark.parametrize("network", [INTERNAL_WITH_THE_HOST, EXTERNAL], ids=["internal", "external"])
def test_a_network_with_the_host_on_it_is_found(
    workspace: Workspace, docker_workspace: str, network: Request
) -> None:
    """Its listener is reached by the bridge's address, and somebody beside the relay answers there."""
    found = found_with(Leak(network=network), workspace, docker_workspace)
    assert found.keys() == {"host", "network"}, found
    assert {" by TCP", " by UDP"} <= {part[-7:] for part in found["host"].split("; ")}
    assert "the host heard b'GET /esac-ag-canary-" in found["host"]
    assert "somebody answers at" in found["network"]


def test_another_container_on_the_network_is_found(workspace: Workspace, docker_workspace: str) -> None:
    """By its listeners, by the name that the engine's resolver knows it by, and by being there."""
    found = found_with(Leak(neighbour_joins=True), workspace, docker_workspace)
    assert found.keys() == {"neighbour", "names", "network"}, found
    assert " by TCP; " in found["neighbour"]
    assert " by UDP; " in found["neighbour"]
    assert found["neighbour"].count("the neighbour heard 'GET /esac-ag-canary-") == len(("TCP", "UDP"))
    assert "somebody answers at" in found["network"]


def test_a_second_network_a_mount_and_a_resolver_with_somebody_behind_it_are_found(
    tmp_path: Path, workspace: Workspace, docker_workspace: str
) -> None:
    """Each by its own route: the mount that the other way has is none of this one's."""

    def joined(client: Any, made: str, neighbour: str) -> None:  # noqa: ANN401  (the SDK's)
        (network,) = client.inspect_container(neighbour)["NetworkSettings"]["Networks"]
        client.connect_container_to_network(made, network)

    leak = Leak(each(with_a_name_server, bound(tmp_path, "/run/model")), made=joined)
    found = found_with(leak, workspace, docker_workspace)
    assert found.keys() == {"mounts", "names", "neighbour", "network"}, found
    assert "/run/model is a mount" in found["mounts"]
    assert "a server answered for probe.invalid" in found["names"]
    assert "name server 127.0.0.11 answers" in found["names"]
    assert "2 interfaces beside loopback are up" in found["network"]
    assert "2 networks are in reach" in found["network"]
