"""Connections as lines: the guest's own relay as a process here, the harness's end, and test servers."""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure, SandboxLost
from esac_ag.manifest.plan import ModelWayKind
from esac_ag.owner import temporary_folder
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.sandbox.model_frames import FrameServer
from esac_ag.sandbox.model_frames_connection import MOST_CONNECTIONS
from esac_ag.sandbox.model_way import FRAMES_PROGRAM, ModelWay, model_way
from esac_ag.sandbox.peer_network import refusal_of
from tests.builders_relay import BIG, CHUNKS, TOGETHER, HttpServer, a_server
from tests.builders_relay_frames import frames_program
from tests.builders_sandbox import a_spec

PATIENCE_S = 60
Ends = tuple[socket.socket, socket.socket]


@contextmanager
def a_way(gateway: Path, program: Program = frames_program) -> Iterator[tuple[InMemoryEngine, ModelWay]]:
    """A network whose relay listens on this machine's loopback."""
    programs: dict[tuple[str, ...], Program] = {FRAMES_PROGRAM: program}
    engine = InMemoryEngine(programs)
    with model_way(
        ModelWayKind.NETWORK,
        gateway,
        engine,
        image="any:1",
        study="frames",
        attempt="0123456789abcdef",
        deadline=Deadline.after_s(PATIENCE_S),
    ) as way:
        yield engine, way


def address_of(way: ModelWay) -> tuple[str, int]:
    """Where the relay listens."""
    host, _, port = way.base_url.removeprefix("http://").partition(":")
    return host, int(port)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[HttpServer, tuple[str, int]]]:
    """A server, and the address that leads to it."""
    with a_server() as (path, server), a_way(path) as (_, way):
        yield server, address_of(way)


@pytest.fixture
def silent() -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    """A listening socket of the test's, and the address that leads to it."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen(MOST_CONNECTIONS)
        listener.settimeout(PATIENCE_S)
        with a_way(folder / "s") as (_, way):
            yield listener, address_of(way)


@pytest.fixture
def ends(silent: tuple[socket.socket, tuple[str, int]]) -> Iterator[Ends]:
    """Both ends of one connection: the client's and the server's."""
    listener, address = silent
    with socket.create_connection(address, PATIENCE_S) as client, listener.accept()[0] as server:
        server.settimeout(PATIENCE_S)
        yield client, server


def asked(address: tuple[str, int], method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Status and body of an answer."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def all_of(end: socket.socket) -> bytes:
    """Everything until the other side has said all."""
    return b"".join(iter(lambda: end.recv(65536), b""))


def test_ten_megabytes_pass_unchanged_each_way(served: tuple[HttpServer, tuple[str, int]]) -> None:
    """Far more than may be under way at once."""
    digest = hashlib.sha256(BIG).hexdigest().encode()
    assert asked(served[1], "GET", "/big") == (200, BIG)
    assert asked(served[1], "POST", "/", BIG) == (200, digest)


def test_a_stream_is_not_held_back(served: tuple[HttpServer, tuple[str, int]]) -> None:
    """The server sends a piece only when the one before was seen."""
    connection = http.client.HTTPConnection(*served[1], timeout=PATIENCE_S)
    connection.request("GET", "/stream")
    answer = connection.getresponse()
    for number in range(CHUNKS):
        assert answer.read(6) == b"data %d" % number
        asked(served[1], "GET", f"/seen/{number}")
    assert answer.read() == b""
    connection.close()


def test_calls_are_under_way_together(served: tuple[HttpServer, tuple[str, int]]) -> None:
    """None of them is answered before all have been asked."""
    answers: dict[int, bytes] = {}

    def ask(number: int) -> None:
        answers[number] = asked(served[1], "GET", f"/together/{number}")[1]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number).encode() for number in range(TOGETHER)}


def test_an_answer_before_the_question_has_come_is_not_lost(
    served: tuple[HttpServer, tuple[str, int]],
) -> None:
    """The server says no and closes; the client may say the rest, which nobody hears, and reads it."""
    assert asked(served[1], "POST", "/early", b"x" * 300_000) == (413, b"too large")


def test_a_server_that_floods_stands_still_until_its_reader_leaves(
    served: tuple[HttpServer, tuple[str, int]],
) -> None:
    """It learns that the client is gone; others are served meanwhile."""
    server, address = served
    server.left.clear()
    with socket.create_connection(address, PATIENCE_S) as idle:
        idle.sendall(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n")
        assert idle.recv(1)
        assert asked(address, "GET", "/") == (200, b"hello")
        assert not server.left.is_set()
    assert server.left.wait(PATIENCE_S)


def test_either_side_may_end_what_it_says_and_listen_on(ends: Ends) -> None:
    """The ends travel apart, and nothing said before one is lost."""
    client, server = ends
    client.sendall(b"question")
    client.shutdown(socket.SHUT_WR)
    assert all_of(server) == b"question"
    server.sendall(BIG[:1_000_000])
    server.shutdown(socket.SHUT_WR)
    assert all_of(client) == BIG[:1_000_000]


def test_a_server_that_says_all_may_be_spoken_to_further(ends: Ends) -> None:
    """The other way round."""
    client, server = ends
    server.sendall(b"welcome")
    server.shutdown(socket.SHUT_WR)
    assert all_of(client) == b"welcome"
    heard: list[bytes] = []
    hearing = threading.Thread(target=lambda: heard.append(all_of(server)))
    hearing.start()
    client.sendall(BIG[:1_000_000])
    client.shutdown(socket.SHUT_WR)
    hearing.join(PATIENCE_S)
    assert heard == [BIG[:1_000_000]]


def test_a_gateway_that_is_gone_closes_each_connection_without_a_word() -> None:
    """The client is not left waiting, and the relay goes on."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen()
        with a_way(folder / "s") as (_, way):
            listener.close()
            for _ in range(3):
                with socket.create_connection(address_of(way), PATIENCE_S) as client:
                    assert all_of(client) == b""


def test_as_many_as_there_may_be_are_served_and_further_ones_wait(
    silent: tuple[socket.socket, tuple[str, int]],
) -> None:
    """One beyond the most is connected when another leaves."""
    listener, address = silent
    with ExitStack() as held:
        clients = [
            held.enter_context(socket.create_connection(address, PATIENCE_S)) for _ in range(MOST_CONNECTIONS)
        ]
        servers = [held.enter_context(listener.accept()[0]) for _ in clients]
        late = held.enter_context(socket.create_connection(address, PATIENCE_S))
        late.sendall(b"late")
        clients[-1].sendall(b"early")
        servers[-1].settimeout(PATIENCE_S)
        assert servers[-1].recv(10) == b"early"
        for end in (clients.pop(), servers.pop()):
            end.close()
        accepted = held.enter_context(listener.accept()[0])
        accepted.settimeout(PATIENCE_S)
        assert accepted.recv(10) == b"late"


def a_program_that_says(*lines: bytes) -> Program:
    """A relay that is ready and breaks its rules."""

    def program(process: FakeProcess) -> int:
        if process.argv[5] == "reach":
            process.write("ready\n")
            return 0
        process.write(b"ready 127.0.0.1 9\n" + b"".join(line + b"\n" for line in lines))
        while process.read_line():
            pass
        return 0

    return program


@pytest.mark.parametrize(
    "lines",
    [
        [b"nonsense"],
        [b"open 2"],
        [b"open 1", b"open 1"],
        [b"data 1 eA=="],
        [b"open 1", b"data 1"],
        [b"open 1", b"data 1 e"],
        [b"open 1", b"took 1 1"],
        [b"open 1", b"took 1 eA=="],
        [b"open 1", b"over 1", b"over 1"],
        [b"open 1", b"over 1", b"data 1 eA=="],
        [b"open 1 1"],
        # More than may be under way, and than the gateway's own buffer takes.
        [b"open 1", *[b"data 1 " + b"QUFB" * 20_000] * 100],
        [b"x" * 200_000],
    ],
    ids=range(13),
)
def test_a_relay_that_breaks_its_rules_is_believed_nothing_more(lines: list[bytes]) -> None:
    """A failure of the machine, and not of the agent, which has no hand in it."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen()
        with (
            a_way(folder / "s", a_program_that_says(*lines)) as (engine, way),
            engine.create(way.placed(a_spec())) as sandbox,
        ):
            sandbox.start()
            with pytest.raises(InfrastructureFailure), way.relayed(sandbox, Deadline.after_s(PATIENCE_S)):
                pass


class OneThatEnds:
    """A dialogue with a relay that ends when it is told to."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.rest: bytes | None = None

    def has_line(self, deadline: Deadline, *, beside: int) -> bool:
        """The end is there, once it has ended."""
        assert beside >= 0
        return self.ended.wait(min(deadline.remaining_s(), PATIENCE_S))

    def line(self, deadline: Deadline, *, limit_bytes: int) -> bytes | None:
        """The end."""
        assert limit_bytes >= deadline.remaining_s()
        return self.rest

    def errors(self) -> bytes:
        """Its last words."""
        return b"last words"

    def send(self, data: bytes, deadline: Deadline) -> None:
        """Nothing is to be said to it."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


def test_a_relay_that_ends_just_before_it_is_asked_is_told_at_once() -> None:
    """Its last words are the reason, and nobody waits for an answer that cannot come."""
    dialogue, orders = OneThatEnds(), os.pipe()
    server = FrameServer(dialogue, Path("unused"), orders)
    thread = threading.Thread(target=server.serve)

    class EndsFirst(threading.Event):
        """Lets the relay end between the asker's two steps."""

        def clear(self) -> None:
            dialogue.ended.set()
            thread.join(PATIENCE_S)
            super().clear()

    server._answered = EndsFirst()
    thread.start()
    try:
        with pytest.raises(InfrastructureFailure) as failure:
            server.require_unharmed()
    finally:
        for end in orders:
            os.close(end)
    assert failure.value.found == "last words"


def test_a_relay_that_cannot_listen_says_why() -> None:
    """Before the agent's container is there."""

    def program(process: FakeProcess) -> int:
        process.write("unreachable: no network\n")
        return 1

    with (
        a_server() as (path, _),
        pytest.raises(InfrastructureFailure) as failure,
        a_way(path, program),
    ):
        pass
    assert failure.value.found == "unreachable: no network"


@pytest.mark.parametrize(
    "said",
    [
        "could not find an available, non-overlapping IPv4 address pool among the defaults (HTTP 404)",
        "all predefined address pools have been fully subnetted (HTTP 400)",
    ],
)
def test_an_engine_without_addresses_left_is_told_with_what_can_be_done(said: str) -> None:
    """Old and new engines say it differently; other refusals stay what they are."""
    refused = refusal_of(SandboxLost("The engine refused: make a network.", found=said))
    assert "default-address-pools" in refused.remedy
    other = SandboxLost("The engine refused: make a network.", found="no such driver")
    assert refusal_of(other) is other


def test_an_attempt_without_a_network_leaves_nothing() -> None:
    """What the engine could not make need not be removed."""
    engine = InMemoryEngine()
    engine.fail_next("network", InfrastructureFailure("no addresses"))
    with (
        a_server() as (path, _),
        pytest.raises(InfrastructureFailure),
        model_way(
            ModelWayKind.NETWORK,
            path,
            engine,
            image="any:1",
            study="frames",
            attempt="0",
            deadline=Deadline.after_s(PATIENCE_S),
        ),
    ):
        pass
    assert list(engine.leftovers("memory")) == []
