"""The sandbox contract: the gateway's socket is the one thing of the host that a container may have."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure, UsageError
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.model_path import ModelPath, model_path, relayed
from esac_ag.sandbox.model_socket import MOUNT_POINT
from esac_ag.tree import FileTree
from tests.builders_sandbox import UID, run
from tests.contract.conftest import Bench

START_S = 60


@pytest.fixture
def gateway() -> Iterator[socket.socket]:
    """A socket that is listened on, in a private folder."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "gateway"))
        listener.listen()
        listener.settimeout(START_S)
        yield listener


@pytest.fixture
def path(gateway: socket.socket) -> Iterator[ModelPath]:
    """What leads there."""
    with model_path(Path(gateway.getsockname())) as made:
        yield made


def test_the_relay_has_reached_the_gateway_before_the_agent_starts(
    bench: Bench, gateway: socket.socket, path: ModelPath
) -> None:
    """It connects once and says nothing; commands run beside it, and it ends with the block."""
    with bench.engine.create(bench.spec(model_socket=path.socket_folder)) as sandbox:
        sandbox.start()
        with relayed(sandbox, path, Deadline.after_s(START_S)):
            with gateway.accept()[0] as first:
                assert first.recv(1) == b""
            assert run(sandbox, "echo", "beside").output == b"beside\n"
        assert run(sandbox, "echo", "after").output == b"after\n"


def test_a_gateway_that_is_gone_is_the_machines_fault(
    bench: Bench, gateway: socket.socket, path: ModelPath
) -> None:
    """Told before the agent starts, so no attempt is lost to it."""
    gateway.close()
    with bench.engine.create(bench.spec(model_socket=path.socket_folder)) as sandbox:
        sandbox.start()
        with (
            pytest.raises(InfrastructureFailure) as failure,
            relayed(sandbox, path, Deadline.after_s(START_S)),
        ):
            pass
    assert failure.value.found == "unreachable: Connection refused"


def test_a_container_without_the_socket_reaches_no_gateway(bench: Bench, path: ModelPath) -> None:
    """As where an engine on another machine mounts something else; the remedy says what can be done."""
    with bench.engine.create(bench.spec()) as sandbox:
        sandbox.start()
        with (
            pytest.raises(InfrastructureFailure) as failure,
            relayed(sandbox, path, Deadline.after_s(START_S)),
        ):
            pass
    assert failure.value.found == "unreachable: No such file or directory"
    assert "engine on this machine" in failure.value.remedy


def test_a_folder_with_more_than_the_socket_is_never_mounted(bench: Bench, path: ModelPath) -> None:
    """The engine looks before it makes anything."""
    (Path(path.socket_folder) / "notes.txt").touch()
    before = list(bench.engine.leftovers(bench.workspace))
    with (
        pytest.raises(UsageError) as refusal,
        bench.engine.create(bench.spec(model_socket=path.socket_folder)),
    ):
        pass
    assert refusal.value.found == "2 files: model.sock, notes.txt"
    assert list(bench.engine.leftovers(bench.workspace)) == before


def test_nothing_goes_into_the_sockets_folder(bench: Bench, path: ModelPath) -> None:
    """Neither from the host nor by a command."""
    with bench.engine.create(bench.spec(model_socket=path.socket_folder)) as sandbox:
        sandbox.start()
        with pytest.raises(UsageError):
            sandbox.put(FileTree.of_text({"a": "x"}), MOUNT_POINT, uid=UID, gid=UID)
        assert run(sandbox, "sh", "-c", f"echo x > {MOUNT_POINT}/x").exit_code != 0
    assert [found.name for found in Path(path.socket_folder).iterdir()] == ["model.sock"]
