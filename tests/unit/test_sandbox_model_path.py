"""What a container may be given of the host for its model: a folder with one socket, and nothing else."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from esac_ag.clock import Deadline
from esac_ag.errors import UsageError
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.contract import Role, TreeLimits
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.sandbox.model_path import ModelPath, model_path, relayed
from esac_ag.sandbox.model_socket import MOUNT_POINT, SOCKET_NAME
from esac_ag.sandbox.options import container_request
from esac_ag.tree import FileTree
from tests.builders_sandbox import a_spec, run


@pytest.fixture
def listener() -> Iterator[tuple[Path, socket.socket]]:
    """A gateway's socket that is listened on, in a private folder."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "gateway"))
        made.listen()
        made.settimeout(60)
        yield folder / "gateway", made


@pytest.fixture
def path(listener: tuple[Path, socket.socket]) -> Iterator[ModelPath]:
    """The path to that gateway for one container."""
    with model_path(listener[0]) as made:
        yield made


def test_a_container_has_no_mount_of_the_host_but_the_socket(path: ModelPath) -> None:
    """Read-only, without what may be mounted below, and nothing at all without a model."""
    without: Any = container_request(a_spec(), "here", "name")["HostConfig"]
    given: Any = container_request(a_spec(model_socket=path.socket_folder), "here", "name")["HostConfig"]
    mount = given["Mounts"].pop()
    assert given == without
    assert all(volume["Type"] == "volume" for volume in without["Mounts"])
    assert mount == {
        "Type": "bind",
        "Source": path.socket_folder,
        "Target": MOUNT_POINT,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate", "NonRecursive": True},
    }
    assert given["NetworkMode"] == "none"


def test_no_grader_is_given_a_model() -> None:
    """What judges reaches nobody."""
    with pytest.raises(ValidationError, match="a grader reaches no model"):
        a_spec(role=Role.GRADER, model_socket="/any")


def test_each_container_has_a_folder_of_its_own(listener: tuple[Path, socket.socket]) -> None:
    """With a second name of the same socket, to be connected to and not to be read; gone at the end."""
    with model_path(listener[0]) as one, model_path(listener[0]) as two:
        assert one.socket_folder != two.socket_folder
        for path in (one, two):
            folder = Path(path.socket_folder)
            assert [name.name for name in folder.iterdir()] == [SOCKET_NAME]
            assert stat.S_IMODE(folder.stat().st_mode) == 0o711
            assert stat.S_IMODE((folder / SOCKET_NAME).stat().st_mode) == 0o222
            assert (folder / SOCKET_NAME).samefile(listener[0])
            assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert [name.name for name in listener[0].parent.iterdir()] == ["gateway"]


def test_the_agents_address_is_its_own_loopback(path: ModelPath) -> None:
    """The relay listens where the base URL says."""
    assert path.base_url == f"http://127.0.0.1:{path.relay_argv[-2]}"
    assert path.relay_argv[-1] == f"{MOUNT_POINT}/{SOCKET_NAME}"


def test_a_file_a_link_or_nothing_is_no_gateway(listener: tuple[Path, socket.socket], tmp_path: Path) -> None:
    """Nothing but a socket is ever given a name in a container's folder."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(listener[0])
    for name in ("file", "link", "none"):
        with pytest.raises(UsageError), model_path(tmp_path / name):
            pass
    assert sorted(name.name for name in tmp_path.iterdir()) == ["file", "link"]


def test_a_gateway_in_an_open_folder_is_refused(listener: tuple[Path, socket.socket]) -> None:
    """Other users of the machine could connect to it."""
    listener[0].parent.chmod(0o755)
    with pytest.raises(UsageError) as refusal, model_path(listener[0]):
        pass
    assert "open to others" in refusal.value.found


def _add_file(folder: Path) -> Path:
    (folder / "notes.txt").touch()
    return folder


def _replace_by_file(folder: Path) -> Path:
    (folder / SOCKET_NAME).unlink()
    (folder / SOCKET_NAME).touch()
    return folder


def _empty(folder: Path) -> Path:
    (folder / SOCKET_NAME).unlink()
    return folder


def _let_read(folder: Path) -> Path:
    (folder / SOCKET_NAME).chmod(0o666)
    return folder


def _let_list(folder: Path) -> Path:
    folder.chmod(0o755)
    return folder


def _link(folder: Path) -> Path:
    (folder.parent / "link").symlink_to(folder)
    return folder.parent / "link"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (_add_file, "2 files: model.sock, notes.txt"),
        (_replace_by_file, "model.sock is no socket"),
        (_empty, "an empty folder"),
        (_let_read, "a socket of mode 666"),
        (_let_list, "a folder of mode 755"),
        (_link, "no folder, or a link on the way to it"),
        (lambda folder: folder / SOCKET_NAME, "no folder, or a link on the way to it"),
        (lambda folder: folder / "none", "No such file or directory"),
        (lambda _: Path("/etc"), "/ is open to others (mode 755)"),
    ],
)
def test_nothing_else_of_the_machine_is_ever_mounted(
    path: ModelPath, change: Callable[[Path], Path], found: str
) -> None:
    """The engine looks before it makes the container, whoever wrote the spec."""
    folder = change(Path(path.socket_folder))
    with (
        pytest.raises(UsageError) as refusal,
        InMemoryEngine().create(a_spec(model_socket=str(folder))),
    ):
        pass
    assert refusal.value.found == found


def test_a_fake_container_reaches_its_model(listener: tuple[Path, socket.socket], path: ModelPath) -> None:
    """Its programs connect to the socket by themselves, and its relay tells that it is there."""

    def asks(process: FakeProcess) -> int:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.fspath(process.model_socket or ""))
            client.sendall(b"hello")
        return 0

    engine = InMemoryEngine({"ask": asks})
    with engine.create(a_spec(model_socket=path.socket_folder)) as sandbox:
        sandbox.start()
        with relayed(sandbox, path, Deadline.after_s(60)):
            assert run(sandbox, "ask").exit_code == 0
        assert sandbox.get(MOUNT_POINT, TreeLimits()).tree == FileTree()
    listener[1].accept()[0].close()
    with listener[1].accept()[0] as asked:
        assert asked.recv(10) == b"hello"
