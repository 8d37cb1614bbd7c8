"""The network of two containers, proved from inside with listeners of the test's own."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from esac_ag.agents.contract import AGENT_ROOT
from esac_ag.clock import Deadline, opaque_id
from esac_ag.errors import InfrastructureFailure
from esac_ag.manifest.plan import ModelWayKind
from esac_ag.sandbox.contract import Role, Sandbox
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.model_way import FRAMES_PROGRAM, ModelWay, model_way
from esac_ag.sandbox.options import LABEL_ROLE, LABEL_WORKSPACE
from tests.builders_reach import (
    ASK,
    START_S,
    a_neighbour,
    addresses_of_the_host,
    listening_on_the_host,
    told,
)
from tests.builders_relay import BIG, CHUNKS, HttpServer, a_server
from tests.builders_sandbox import a_memory_volume, a_spec

pytestmark = pytest.mark.docker

MANY = 64


@contextmanager
def a_way(engine: DockerEngine, image: str, gateway: Path) -> Iterator[ModelWay]:
    """A network with a relay on it."""
    with model_way(
        ModelWayKind.NETWORK,
        gateway,
        engine,
        image=image,
        study="network-tests",
        attempt=opaque_id(),
        deadline=Deadline.after_s(START_S),
    ) as way:
        yield way


@contextmanager
def an_agent(engine: DockerEngine, image: str, way: ModelWay) -> Iterator[Sandbox]:
    """An agent's container, with its relay tried."""
    spec = way.placed(a_spec(image, role=Role.AGENT, volumes=(a_memory_volume(AGENT_ROOT),)))
    with engine.create(spec) as sandbox:
        sandbox.start()
        with way.relayed(sandbox, Deadline.after_s(START_S)):
            yield sandbox


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Path, HttpServer]]:
    """The test's own server, where the gateway would be."""
    with a_server() as made:
        yield made


@pytest.fixture(scope="module")
def way(docker_engine: DockerEngine, agent_image: str, server: tuple[Path, HttpServer]) -> Iterator[ModelWay]:
    """What leads there from the container of this file."""
    with a_way(docker_engine, agent_image, server[0]) as made:
        yield made


@pytest.fixture(scope="module")
def inside(docker_engine: DockerEngine, agent_image: str, way: ModelWay) -> Iterator[Sandbox]:
    """The container of this file."""
    with an_agent(docker_engine, agent_image, way) as sandbox:
        yield sandbox


def address_of(way: ModelWay) -> tuple[str, int]:
    """Where the relay listens."""
    host, _, port = way.base_url.removeprefix("http://").partition(":")
    return host, int(port)


def relays(engine: DockerEngine, workspace: str) -> list[dict[str, Any]]:
    """The containers of relays of this session."""
    labels = [f"{LABEL_ROLE}=relay", f"{LABEL_WORKSPACE}={workspace}"]
    return [
        engine._client.inspect_container(c["Id"])
        for c in engine._client.containers(filters={"label": labels})
    ]


def test_the_model_is_in_reach(inside: Sandbox, way: ModelWay) -> None:
    """GET and POST, and ten megabytes each way, byte for byte."""
    script = """
big = b"0123456789abcdef" * 655_360
print(json.dumps([ask("/").decode(), ask("/", b"question").decode(), ask("/", big).decode(),
                  hashlib.sha256(ask("/big")).hexdigest()]))
"""
    digest = hashlib.sha256(BIG).hexdigest()
    answers = told(inside, ASK + script, base_url=way.base_url)
    assert answers == ["hello", hashlib.sha256(b"question").hexdigest(), digest, digest]


def test_pieces_of_a_stream_arrive_as_they_are_sent(inside: Sandbox, way: ModelWay) -> None:
    """The server sends a piece only when the one before was seen inside."""
    script = """
import http.client
connection = http.client.HTTPConnection(*address, timeout=60)
connection.request("GET", "/stream")
answer = connection.getresponse()
seen = []
for number in range(chunks):
    seen.append(answer.read(6).decode())
    ask(f"/seen/{number}")
print(json.dumps([seen, answer.read().decode()]))
"""
    found = told(inside, ASK + script, base_url=way.base_url, address=address_of(way), chunks=CHUNKS)
    assert found == [[f"data {number}" for number in range(CHUNKS)], ""]


def test_64_calls_are_under_way_at_once_and_each_may_end_what_it_says(
    inside: Sandbox, way: ModelWay, server: tuple[Path, HttpServer]
) -> None:
    """None is answered before all have been asked, and each had said all that it would."""
    server[1].together = threading.Barrier(MANY)
    script = """
import json, socket
clients = [socket.create_connection(address, 60) for _ in range(many)]
for number, client in enumerate(clients):
    client.sendall(b"GET /together/%d HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n" % number)
    client.shutdown(socket.SHUT_WR)
# Each ends: the server heard the end, and its own came back.
answers = [b"".join(iter(lambda: client.recv(65536), b"")) for client in clients]
print(json.dumps([answer.rpartition(b"\\n")[2].decode() for answer in answers]))
"""
    answers = told(inside, script, address=address_of(way), many=MANY)
    assert answers == [str(number) for number in range(MANY)]


def test_who_reads_nothing_keeps_nobody_waiting_and_fills_no_memory(
    inside: Sandbox, way: ModelWay, server: tuple[Path, HttpServer]
) -> None:
    """Endless replies stand still beside calls that go on, and stop when their reader leaves."""
    script = """
import socket
idle = [socket.create_connection(address, 60) for _ in range(4)]
for client in idle:
    client.sendall(b"GET /endless HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
    client.recv(1)
print(json.dumps([len(ask("/big")) for _ in range(3)]))
"""
    server[1].left.clear()
    found = told(inside, ASK + script, base_url=way.base_url, address=address_of(way))
    assert found == [len(BIG)] * 3
    assert server[1].left.wait(START_S)


KNOCK = """
import json, socket
from concurrent.futures import ThreadPoolExecutor
def knock(target):
    host, port = target
    reached = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            for family, _, _, _, address in socket.getaddrinfo(host, port, type=kind):
                with socket.socket(family, kind) as knocking:
                    knocking.settimeout(10)
                    knocking.connect(address)
                    # Whether a datagram arrives, its listener knows.
                    knocking.send(b"from the agent")
                    if kind == socket.SOCK_STREAM:
                        reached.append(f"{host}:{port}")
        except OSError:
            pass
    return reached
with ThreadPoolExecutor(len(targets)) as pool:
    print(json.dumps(sum(pool.map(knock, targets), [])))
"""


def bridges_own_addresses() -> list[str]:
    """Addresses that the kernel gave the host's ends of all bridges by itself: IPv6, link-local."""
    lines = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    groups = [(":".join(raw[at : at + 4] for at in range(0, 32, 4)), name) for raw, *_, name in lines]
    return [f"{address}%eth0" for address, name in groups if name.startswith(("br-", "docker"))]


def test_host_bridges_neighbours_and_other_attempts_are_out_of_reach_by_address_and_by_name(
    docker_engine: DockerEngine,
    agent_image: str,
    docker_workspace: str,
    inside: Sandbox,
    way: ModelWay,
    server: tuple[Path, HttpServer],
) -> None:
    """Nothing connects but the relay, and the first that each listener hears is the test's own word."""
    with (
        listening_on_the_host() as (port, tcp, udp),
        a_neighbour(docker_engine._client, agent_image, docker_workspace) as neighbour,
        a_way(docker_engine, agent_image, server[0]) as other,
    ):
        assert neighbour.said(1) == ["listening"]
        addresses = addresses_of_the_host(neighbour.gateway)
        # Where the network's own gateway would be, were the host on it.
        bridge = f"{address_of(way)[0].rpartition('.')[0]}.1"
        names = ["host.docker.internal", "gateway.docker.internal", socket.gethostname()]
        targets = [(host, port) for host in (*addresses, *names, bridge, *bridges_own_addresses())]
        targets += [(host, 8000) for host in (neighbour.address, neighbour.name, f"{neighbour.name}.bridge")]
        targets += [address_of(other), (bridge, 2375), (bridge, 22), ("192.0.2.1", 80)]
        assert told(inside, KNOCK, targets=[*targets, address_of(way)]) == [
            ":".join(map(str, address_of(way)))
        ]
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


def test_the_resolver_asks_nobody_outside_of_the_container(inside: Sandbox) -> None:
    """What it does not know goes to the container's own loopback: to the test's listener here."""
    script = """
import json, socket, threading
def known(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0]
    except OSError:
        return None
names = ("example.com", "host.docker.internal", "gateway.docker.internal", "_gateway", "docker")
before = [known(name) for name in names]
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(("127.0.0.1", 53))
heard.settimeout(60)
asking = threading.Thread(target=known, args=("secret-word.example.com",))
asking.start()
query = heard.recv(500)
asking.join()
servers = [l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")]
print(json.dumps([before, b"secret-word" in query, servers]))
"""
    assert told(inside, script) == [[None] * 5, True, ["127.0.0.11"]]


def test_there_is_one_interface_without_ipv6_and_one_neighbour(inside: Sandbox, way: ModelWay) -> None:
    """The relay is the only other that answers on the network; the agent can make no raw packets."""
    script = """
import json, socket
def flags(name):
    return int(open(f"/sys/class/net/{name}/flags").read(), 16)
up = sorted(name for _, name in socket.if_nameindex() if flags(name) & 1)
try:
    six = [line.split()[-1] for line in open("/proc/net/if_inet6") if not line.startswith("0" * 31 + "1")]
except OSError:
    six = []
raw = []
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW)):
    try:
        socket.socket(family, kind, 1).close()
        raw.append(str(family))
    except OSError:
        pass
print(json.dumps([up, six, raw]))
"""
    assert told(inside, script) == [["eth0", "lo"], [], []]


def test_the_relay_is_hardened_as_all_others_and_on_one_network_only(
    docker_engine: DockerEngine, docker_workspace: str, inside: Sandbox, way: ModelWay
) -> None:
    """No user but a number, no capability, no place to write to; what it needs is in the image."""
    (relay,) = relays(docker_engine, docker_workspace)
    agent = docker_engine._client.inspect_container(inside.container_id)
    same = (
        "CapDrop",
        "CapAdd",
        "SecurityOpt",
        "ReadonlyRootfs",
        "IpcMode",
        "Dns",
        "NetworkMode",
        "Privileged",
    )
    assert [relay["HostConfig"][key] for key in same] == [agent["HostConfig"][key] for key in same]
    assert relay["HostConfig"]["NetworkMode"] == way.peer_network
    assert relay["HostConfig"]["ReadonlyRootfs"] is True
    assert relay["Config"]["User"] == "10001:10001"
    assert relay["Mounts"] == []
    assert [*relay["NetworkSettings"]["Networks"]] == [way.peer_network]
    members = docker_engine._client.inspect_network(str(way.peer_network))["Containers"]
    assert {*members} == {relay["Id"], inside.container_id}


def test_the_end_of_the_relay_ends_connections_refuses_new_ones_and_is_told(
    docker_engine: DockerEngine, agent_image: str, docker_workspace: str, server: tuple[Path, HttpServer]
) -> None:
    """Nobody hangs, and the attempt counts as a failure of the machine."""
    before = {relay["Id"] for relay in relays(docker_engine, docker_workspace)}
    script = """
import json, socket
held = socket.create_connection(address, 60)
print("connected", flush=True)
said = ""
while not said:
    # A dying process closes its sockets one after the other, so its listener may be there a moment longer.
    try:
        assert held.recv(100) == b""
    except ConnectionResetError:
        pass
    try:
        held = socket.create_connection(address, 60)
    except OSError as error:
        said = type(error).__name__
print(said, flush=True)
"""
    with (  # noqa: PT012  (raised when the blocks end)
        pytest.raises(InfrastructureFailure) as failure,
        a_way(docker_engine, agent_image, server[0]) as way,
        an_agent(docker_engine, agent_image, way) as sandbox,
    ):
        (relay,) = [r for r in relays(docker_engine, docker_workspace) if r["Id"] not in before]
        head = f"address = {address_of(way)!r}\n"
        with sandbox.open(("python3", "-c", head + script)) as agent:
            assert agent.line(Deadline.after_s(START_S), limit_bytes=100) == b"connected"
            killing = docker_engine._client.exec_create(
                relay["Id"], ["pkill", "-9", "-f", FRAMES_PROGRAM[-1]]
            )
            docker_engine._client.exec_start(killing["Id"])
            said = agent.line(Deadline.after_s(START_S), limit_bytes=100)
            assert said == b"ConnectionRefusedError"
    assert failure.value.found == "it ended"


HOLDING = """
    import sys
    from pathlib import Path
    from esac_ag.clock import Deadline
    from esac_ag.sandbox.docker import DockerEngine
    from esac_ag.manifest.plan import ModelWayKind
    from esac_ag.sandbox.model_way import model_way
    from tests.builders_sandbox import a_spec
    workspace, image, gateway = sys.argv[1:]
    engine, until = DockerEngine(workspace), Deadline.after_s(60)
    with model_way(ModelWayKind.NETWORK, Path(gateway), engine, image=image, study="killed",
                   attempt="0123456789abcdef", deadline=until) as way:
        with engine.create(way.placed(a_spec(image))) as sandbox:
            sandbox.start()
            print("started", flush=True)
            sys.stdin.read()
"""


def test_what_a_killed_harness_leaves_is_removed_by_one_later_command(
    docker_engine: DockerEngine, agent_image: str, server: tuple[Path, HttpServer]
) -> None:
    """Both containers with their volumes, and then the network."""
    workspace = f"tests-{opaque_id()}"
    argv = [sys.executable, "-c", textwrap.dedent(HOLDING), workspace, agent_image, str(server[0])]
    root = str(Path(__file__).parents[2])
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": root}, cwd=root
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        # A live process works with it.
        assert docker_engine.clean(workspace) == ()
        process.kill()
    kinds = [line.split()[0] for line in docker_engine.clean(workspace)]
    assert kinds == ["container", "container", "network"]
    assert list(docker_engine.leftovers(workspace)) == []
    assert docker_engine._client.networks(filters={"label": f"{LABEL_WORKSPACE}={workspace}"}) == []
