"""What a process in a container can see and reach, proved from inside."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.clock import opaque_id
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.tree import FileTree
from tests.builders_sandbox import UID, WORK, a_memory_volume, a_spec, run
from tests.docker.conftest import MakeSandbox

pytestmark = pytest.mark.docker

ENGINE_FILES = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
"""Three small files that the engine writes for each container and mounts read-only."""


@pytest.fixture(scope="module")
def inside(docker_engine: DockerEngine, agent_image: str) -> Iterator[Sandbox]:
    """A running sandbox, shared by the tests of this file."""
    with docker_engine.create(a_spec(agent_image, volumes=(a_memory_volume(),))) as sandbox:
        sandbox.start()
        yield sandbox


def test_nothing_of_the_host_is_mounted(inside: Sandbox) -> None:
    """No mount comes from a disk of the host, but for the engine's three files."""
    lines = run(inside, "cat", "/proc/self/mountinfo").output.decode().splitlines()
    for line in lines:
        fields, _, source = line.partition(" - ")
        point, options, kind = fields.split()[4], fields.split()[5], source.split()[0]
        from_a_disk = kind not in {
            "overlay",
            "proc",
            "tmpfs",
            "devpts",
            "sysfs",
            "cgroup",
            "cgroup2",
            "mqueue",
        }
        assert not from_a_disk or (point in ENGINE_FILES and options.split(",")[0] == "ro")
        assert kind != "overlay" or point == "/"


def test_no_socket_of_the_host_is_there(inside: Sandbox) -> None:
    """No Docker socket, nor any other, lies anywhere in the file system."""
    assert run(inside, "find", "/", "-type", "s").output.replace(b"find: ", b"").count(b".sock") == 0


def test_loopback_is_the_only_network(inside: Sandbox) -> None:
    """There is one interface, no route, and no name server but loopback."""
    interfaces = run(inside, "cat", "/proc/net/dev").output.decode().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    assert len(run(inside, "cat", "/proc/net/route").output.splitlines()) <= 1
    servers = run(inside, "cat", "/etc/resolv.conf").output.decode().split("nameserver")[1:]
    assert {server.split()[0] for server in servers} <= {"127.0.0.1"}


def test_no_connection_reaches_a_listener_of_the_host(inside: Sandbox) -> None:
    """A listener on every address of the host never hears from the container."""
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104  (to be reached if anything can)
        listener.setblocking(False)
        port = listener.getsockname()[1]
        script = f"""
import socket
for host in ("127.0.0.1", "172.17.0.1", "host.docker.internal", "{_own_address()}"):
    try:
        socket.create_connection((host, {port}), 2).close()
        print("connected", host)
    except OSError:
        pass
"""
        assert run(inside, "python3", "-c", script).output == b""
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_no_abstract_socket_of_the_host_is_reached(inside: Sandbox) -> None:
    """Sockets without a file belong to the network's namespace, which is the container's own."""
    name = f"esac-ag-{opaque_id()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind("\0" + name)
        listener.listen()
        script = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        result = run(inside, "python3", "-c", script)
    assert result.exit_code == 1
    assert b"ConnectionRefusedError" in result.output


def test_namespaces_are_the_containers_own(inside: Sandbox) -> None:
    """Processes, mounts, network, host name, IPC and control groups are not the host's."""
    names = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
    paths = [f"/proc/self/ns/{name}" for name in names]
    theirs = run(inside, "readlink", *paths).output.decode().split()
    ours = [str(Path(path).readlink()) for path in paths]
    assert len(theirs) == len(ours)
    assert set(theirs).isdisjoint(ours)


def test_no_process_of_the_host_is_visible(inside: Sandbox) -> None:
    """Process 1 is the container's, and all others are its children."""
    script = "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"
    lines = [line for line in run(inside, "sh", "-c", script).output.decode().splitlines() if line.strip()]
    assert lines[0].strip() == "sleep infinity"
    assert not any("dockerd" in line or "pytest" in line for line in lines)


def test_sandboxes_do_not_see_each_other(make_sandbox: MakeSandbox) -> None:
    """Neither files nor processes of another run are within reach."""
    with make_sandbox() as one, make_sandbox() as two:
        for sandbox in (one, two):
            sandbox.start()
        run(one, "sh", "-c", f"echo secret > {WORK}/a; echo secret > /tmp/a; echo secret > /dev/shm/a")
        seen = run(two, "sh", "-c", f"cat {WORK}/a /tmp/a /dev/shm/a; ls /proc | grep -c '^[0-9]'")
    assert b"secret" not in seen.output


def test_no_secret_of_the_harness_is_inside(
    make_sandbox: MakeSandbox, docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key in the harness's environment is neither in the container nor in what the engine knows of it."""
    canary = opaque_id()
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    with make_sandbox(volumes=(a_memory_volume(),)) as sandbox:
        sandbox.start()
        script = "env; cat /proc/*/environ /proc/*/cmdline; grep -rs . /etc /run /tmp /work /home"
        seen = run(sandbox, "sh", "-c", script, output_bytes=50_000_000)
        known = json.dumps(docker_engine._client.inspect_container(sandbox.container_id))
    assert b"LANG=C.UTF-8" in seen.output
    assert not seen.truncated
    assert canary.encode() not in seen.output
    assert canary not in known


def test_labels_do_not_enter_the_container(inside: Sandbox) -> None:
    """Study, attempt and role are known to the host only."""
    script = "env; cat /proc/*/environ /proc/*/cmdline /proc/self/mountinfo /proc/self/cgroup /etc/hosts"
    seen = run(inside, "sh", "-c", script)
    assert b"LANG=" in seen.output
    for word in (b"sandbox-tests", b"0123456789abcdef", b"esac-ag"):
        assert word not in seen.output


def test_host_name_locale_zone_and_home_are_fixed(inside: Sandbox) -> None:
    """Two runs on two machines see the same surroundings."""
    script = "hostname; date +%Z; echo $LANG $LC_ALL $HOME $PATH"
    assert run(inside, "sh", "-c", script).output.decode().splitlines() == [
        "sandbox",
        "UTC",
        "C.UTF-8 C.UTF-8 /tmp /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ]


def test_the_engine_keeps_no_log_of_the_output(docker_engine: DockerEngine, inside: Sandbox) -> None:
    """Output cannot fill the host's disk by way of a log file."""
    config = docker_engine._client.inspect_container(inside.container_id)["HostConfig"]
    assert config["LogConfig"]["Type"] == "none"
    assert config["Binds"] in (None, [])
    assert config["Privileged"] is False
    assert config["NetworkMode"] == "none"


def test_nothing_is_left_after_removal(
    make_sandbox: MakeSandbox, docker_engine: DockerEngine, docker_workspace: str
) -> None:
    """Container, disk volume and memory volume are gone, which the engine confirms."""
    client = docker_engine._client
    with make_sandbox(volumes=(a_memory_volume(), a_memory_volume("/second", size_bytes=None))) as sandbox:
        sandbox.put(FileTree.of_text({"a": "x"}), "/second", uid=UID, gid=UID)
        sandbox.start()
        mounts = client.inspect_container(sandbox.container_id)["Mounts"]
        names = {mount["Name"] for mount in mounts}
        assert len(names) == 2
    left = {volume["Name"] for volume in client.volumes()["Volumes"] or ()}
    assert names.isdisjoint(left)
    assert sandbox.container_id not in {found["Id"] for found in client.containers(all=True)}


def _own_address() -> str:
    """An address of this machine that is not loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
