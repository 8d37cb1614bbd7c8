"""The only way out of an agent's container, proved from inside with listeners of the test's own."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from esac_ag.agents.contract import AGENT_ROOT, AGENT_UID
from esac_ag.clock import Deadline
from esac_ag.sandbox.contract import Role, Sandbox
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.model_path import ModelPath, model_path, relayed
from esac_ag.sandbox.model_socket import MOUNT_POINT, SOCKET_NAME, SOCKET_PATH
from esac_ag.tree import FileTree, RegularFile
from tests.builders_reach import (
    ASK,
    KNOCK,
    START_S,
    a_neighbour,
    addresses_of_the_host,
    listening_on_the_host,
    told,
)
from tests.builders_relay import BIG, CHUNKS, TOGETHER, HttpServer, a_server
from tests.builders_sandbox import a_memory_volume, a_spec, run

pytestmark = pytest.mark.docker


@contextmanager
def an_agent(engine: DockerEngine, image: str, path: ModelPath) -> Iterator[Sandbox]:
    """A running container of an agent's with its way to the gateway, before the relay is there."""
    spec = a_spec(
        image, role=Role.AGENT, model_socket=path.socket_folder, volumes=(a_memory_volume(AGENT_ROOT),)
    )
    with engine.create(spec) as sandbox:
        sandbox.start()
        yield sandbox


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Path, HttpServer]]:
    """The test's own server, where the gateway would be."""
    with a_server() as made:
        yield made


@pytest.fixture(scope="module")
def path(server: tuple[Path, HttpServer]) -> Iterator[ModelPath]:
    """What leads there from the container of this file."""
    with model_path(server[0]) as made:
        yield made


@pytest.fixture(scope="module")
def inside(docker_engine: DockerEngine, agent_image: str, path: ModelPath) -> Iterator[Sandbox]:
    """A container whose relay runs."""
    with (
        an_agent(docker_engine, agent_image, path) as sandbox,
        relayed(sandbox, path, Deadline.after_s(START_S)),
    ):
        yield sandbox


def test_the_model_is_in_reach(inside: Sandbox, path: ModelPath) -> None:
    """GET and POST, and ten megabytes each way, byte for byte."""
    script = (
        ASK
        + """
big = b"0123456789abcdef" * 655_360
print(json.dumps([ask("/").decode(), ask("/", b"question").decode(), ask("/", big).decode(),
                  hashlib.sha256(ask("/big")).hexdigest()]))
"""
    )
    digest = hashlib.sha256(BIG).hexdigest()
    answers = told(inside, script, base_url=path.base_url)
    assert answers == ["hello", hashlib.sha256(b"question").hexdigest(), digest, digest]


def test_pieces_of_a_stream_arrive_as_they_are_sent(inside: Sandbox, path: ModelPath) -> None:
    """The server sends a piece only when the one before was seen inside."""
    script = (
        ASK
        + """
import http.client
connection = http.client.HTTPConnection("127.0.0.1", int(base_url.rpartition(":")[2]), timeout=60)
connection.request("GET", "/stream")
answer = connection.getresponse()
seen = []
for number in range(chunks):
    seen.append(answer.read(6).decode())
    ask(f"/seen/{number}")
print(json.dumps([seen, answer.read().decode()]))
"""
    )
    expected = [[f"data {number}" for number in range(CHUNKS)], ""]
    assert told(inside, script, base_url=path.base_url, chunks=CHUNKS) == expected


def test_twenty_calls_are_under_way_at_once(inside: Sandbox, path: ModelPath) -> None:
    """None of them is answered before all have been asked."""
    script = (
        ASK
        + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(together) as pool:
    answers = [a.decode() for a in pool.map(lambda n: ask(f"/together/{n}"), range(together))]
print(json.dumps(answers))
"""
    )
    answers = told(inside, script, base_url=path.base_url, together=TOGETHER)
    assert answers == [str(number) for number in range(TOGETHER)]


def test_loopback_is_still_the_only_network(inside: Sandbox) -> None:
    """One interface that is up, no route, no name server but loopback."""
    script = """
import glob, json, socket
def flags(name):
    return int(open(f"/sys/class/net/{name}/flags").read(), 16)
up = [name for _, name in socket.if_nameindex() if flags(name) & 1]
routes = open("/proc/net/route").read().splitlines()[1:]
routes6 = [r.split()[-1] for name in glob.glob("/proc/net/ipv6_route") for r in open(name)]
servers = [l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")]
print(json.dumps([up, routes, sorted(set(routes6) - {"lo"}), sorted(set(servers) - {"127.0.0.1"})]))
"""
    assert told(inside, script) == [["lo"], [], [], []]


def test_the_mount_holds_the_socket_alone_and_can_only_be_connected_to(inside: Sandbox) -> None:
    """The mount is read-only; its user can neither list nor write nor watch, nor leave it upwards."""
    script = """
import ctypes, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init()
def add_watch():
    if libc.inotify_add_watch(watch, path.encode(), 0xfff) < 0:
        raise OSError(ctypes.get_errno(), "")
done = {}
for name, act in {
    "list": lambda: os.listdir(point), "write": lambda: open(point + "/x", "w"),
    "remove": lambda: os.unlink(path), "rename": lambda: os.rename(path, point + "/y"),
    "chmod": lambda: os.chmod(path, 0o777), "chmod folder": lambda: os.chmod(point, 0o777),
    "touch": lambda: os.utime(path), "link": lambda: os.link(path, "/agent/x"),
    "bind": lambda: socket.socket(socket.AF_UNIX).bind(point + "/z"), "watch": add_watch,
    "above": lambda: open(point + "/../" + gateway), "read": lambda: open(path),
    "connect": lambda: socket.socket(socket.AF_UNIX).connect(path),
}.items():
    try:
        act()
        done[name] = "done"
    except OSError as error:
        done[name] = "refused"
mine = [line.split() for line in open("/proc/self/mountinfo") if " " + point in line]
done["mounts"] = [[fields[4], "ro" in fields[5].split(",")] for fields in mine]
print(json.dumps(done))
"""
    found = told(inside, script, point=MOUNT_POINT, path=SOCKET_PATH, gateway="gateway.sock")
    assert found.pop("mounts") == [[MOUNT_POINT, True]]
    assert found.pop("connect") == "done"
    assert set(found.values()) == {"refused"}, found


def test_not_even_the_superuser_of_a_container_sees_more_or_writes(
    docker_engine: DockerEngine, agent_image: str, path: ModelPath
) -> None:
    """To root the mount shows one name, and is as read-only as before."""
    spec = a_spec(agent_image, uid=0, gid=0, model_socket=path.socket_folder)
    with docker_engine.create(spec) as sandbox:
        sandbox.start()
        assert run(sandbox, "ls", "-A", MOUNT_POINT).output.decode().split() == [SOCKET_NAME]
        for command in (f"touch {MOUNT_POINT}/x", f"rm {SOCKET_PATH}", f"chmod 777 {SOCKET_PATH}"):
            done = run(sandbox, "sh", "-c", command)
            assert (done.exit_code, b"Read-only file system" in done.output) == (1, True), done.output


def test_host_bridge_and_neighbours_are_out_of_reach_by_address_and_by_name(
    docker_engine: DockerEngine, agent_image: str, docker_workspace: str, inside: Sandbox
) -> None:
    """Nothing connects, and the first that each listener hears is the test's own word."""
    with (
        listening_on_the_host() as (port, tcp, udp),
        a_neighbour(docker_engine._client, agent_image, docker_workspace) as neighbour,
    ):
        assert neighbour.said(1) == ["listening"]
        addresses = addresses_of_the_host(neighbour.gateway)
        names = ["host.docker.internal", "gateway.docker.internal", socket.gethostname()]
        targets = [(host, port) for host in (*addresses, *names)]
        targets += [(host, 8000) for host in (neighbour.address, neighbour.name, f"{neighbour.name}.bridge")]
        assert told(inside, KNOCK, targets=targets) == []
        # The listeners do listen: each hears this next, and has heard nothing before.
        for address in addresses:
            with socket.create_connection((address, port), START_S) as known:
                known.sendall(b"from the test")
                with tcp.accept()[0] as accepted:
                    assert accepted.recv(100) == b"from the test"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as known:
            known.sendto(b"from the test", ("127.0.0.1", port))
            assert udp.recv(100) == b"from the test"
        with socket.create_connection((neighbour.address, 8000), START_S) as known:
            known.sendall(b"from the test")
        assert neighbour.said(2) == ["listening", "heard from the test"]


def test_no_name_is_resolved(inside: Sandbox) -> None:
    """Neither by the container's own resolver nor by asking the engine's, loopback or the host's."""
    script = """
import json, socket
names = []
for name in ("example.com", "localhost.localdomain.test", "host.docker.internal", "_gateway", "docker"):
    try:
        names.append([name, socket.getaddrinfo(name, 80)[0][4][0]])
    except OSError:
        pass
query = bytes.fromhex("abcd01000001000000000000076578616d706c6503636f6d0000010001")
for server in ("127.0.0.1", "127.0.0.11", "127.0.0.53"):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET, kind) as asking:
            asking.settimeout(2)
            try:
                asking.connect((server, 53))
                asking.send(query)
                names.append([server, asking.recv(100).hex()])
            except OSError:
                pass
print(json.dumps(names))
"""
    assert told(inside, script) == []


def test_a_second_agent_hears_nothing_of_the_first(
    docker_engine: DockerEngine, agent_image: str, inside: Sandbox, server: tuple[Path, HttpServer]
) -> None:
    """Loopback and abstract sockets are each container's own, and so is the folder of its socket."""
    with model_path(server[0]) as path, an_agent(docker_engine, agent_image, path) as second:
        script = """
import socket, sys
tcp = socket.create_server(("127.0.0.1", 9000))
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0between"); abstract.listen()
print("listening", flush=True)
sys.stdin.read()
"""
        with second.open(("python3", "-c", script)) as listening:
            assert listening.line(Deadline.after_s(START_S), limit_bytes=100) == b"listening"
            knock = """
import json, socket
reached = []
for family, address in ((socket.AF_INET, ("127.0.0.1", 9000)), (socket.AF_UNIX, "\\0between")):
    try:
        socket.socket(family).connect(address)
        reached.append(str(address))
    except OSError:
        pass
print(json.dumps(reached))
"""
            assert told(inside, knock) == []
            assert told(second, knock) == ["('127.0.0.1', 9000)", "\0between"]
        folders = [run(each, "stat", "-c", "%i", MOUNT_POINT).output for each in (inside, second)]
    assert folders[0] != folders[1]


def test_the_relay_is_the_agents_user_and_holds_nothing_but_sockets(inside: Sandbox) -> None:
    """One thread, no open file, no variable beyond the container's."""
    script = """
import glob, json, os
pid = next(p.split("/")[2] for p in glob.glob("/proc/[0-9]*/cmdline")
           if b"/opt/esac/relay.py" in open(p, "rb").read() and p.split("/")[2] != str(os.getpid()))
kinds = {os.readlink(f).partition(":")[0] for f in glob.glob(f"/proc/{pid}/fd/*")}
variables = sorted(v.partition("=")[0] for v in open(f"/proc/{pid}/environ").read().split("\\0") if v)
print(json.dumps([os.stat(f"/proc/{pid}").st_uid, len(os.listdir(f"/proc/{pid}/task")),
                  sorted(kinds - {"socket", "pipe", "anon_inode"}), variables]))
"""
    uid, threads, files, variables = told(inside, script)
    assert (uid, threads, files) == (AGENT_UID, 1, [])
    assert set(variables) <= {"PATH", "LANG", "LC_ALL", "TZ", "HOME", "HOSTNAME"}


GUESTS = Path(__file__).parents[2] / "runner" / "guest"


def test_the_isolation_probe_refuses_the_mount_unless_it_was_told_of_it(
    docker_engine: DockerEngine, agent_image: str, path: ModelPath
) -> None:
    """Told of it where it is not, the probe fails as well."""
    nowhere: dict[str, Any] = {"addresses": [], "port": 1, "abstract": "nobody"}
    plan: dict[str, Any] = {
        "canaries": [],
        "control": "",
        "private": [],
        "volumes": [AGENT_ROOT, "/tmp", "/dev/shm"],
        "host_files": [],
        "host": nowhere,
        "neighbour": nowhere,
        "gateway": None,
        "peer": None,
        "names": [],
    }
    programs = {guest.name.encode(): RegularFile(guest.read_bytes()) for guest in GUESTS.glob("probe*.py")}
    plans = {
        name: RegularFile(json.dumps(plan | {"model_mount": mount}).encode())
        for name, mount in ((b"told", MOUNT_POINT), (b"untold", None))
    }

    def reached(sandbox: Sandbox, name: str) -> dict[str, str]:
        done = run(sandbox, "python3", "-I", "/agent/probe.py", f"/agent/{name}")
        routes = json.loads(done.output)["routes"]
        return {route["name"]: route["detail"] for route in routes if route["reached"]}

    with an_agent(docker_engine, agent_image, path) as sandbox:
        sandbox.put(FileTree(programs | plans), AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID)
        assert reached(sandbox, "told") == {}
        assert reached(sandbox, "untold").keys() == {"mounts"}
    with docker_engine.create(a_spec(agent_image, volumes=(a_memory_volume(AGENT_ROOT),))) as sandbox:
        sandbox.start()
        sandbox.put(FileTree(programs | plans), AGENT_ROOT, uid=AGENT_UID, gid=AGENT_UID)
        assert reached(sandbox, "told") == {"mounts": f"{MOUNT_POINT} is not mounted"}


def test_nothing_is_left_when_container_and_path_are_gone(
    docker_engine: DockerEngine, agent_image: str, server: tuple[Path, HttpServer]
) -> None:
    """The container goes although the relay ran, the folder is removed, and the gateway's socket stays."""
    gateway, _ = server
    before = set(gateway.parent.iterdir())
    with model_path(gateway) as path:
        with an_agent(docker_engine, agent_image, path) as sandbox:
            with relayed(sandbox, path, Deadline.after_s(START_S)):
                pass
            # The end of its input is the relay's end, too; the container goes on. The brackets keep the shell
            # from finding itself.
            ended = run(sandbox, "sh", "-c", "while pgrep -f '/opt/esac/[r]elay.py'; do sleep 0.05; done")
            assert ended.exit_code == 0
        known = {found["Id"] for found in docker_engine._client.containers(all=True)}
        assert sandbox.container_id not in known
        assert (Path(path.socket_folder) / SOCKET_NAME).is_socket()
    assert not Path(path.socket_folder).exists()
    assert set(gateway.parent.iterdir()) == before
    assert gateway.is_socket()
