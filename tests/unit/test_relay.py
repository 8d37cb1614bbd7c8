"""The relay as a process of this machine, between clients and servers of the test's own."""

from __future__ import annotations

import hashlib
import http.client
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from esac_ag.owner import temporary_folder
from tests.builders_relay import BIG, CHUNKS, TOGETHER, a_relay, a_server

PATIENCE_S = 60


def free_port() -> int:
    """A port of loopback that nobody listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def first_line(process: subprocess.Popen[bytes]) -> bytes:
    """What the relay says at first."""
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def serving(path: Path) -> Iterator[int]:
    """The port of a relay that is ready."""
    port = free_port()
    with a_relay(port, path) as process:
        assert first_line(process) == b"ready\n"
        yield port


@contextmanager
def a_silent_server() -> Iterator[tuple[Path, socket.socket]]:
    """A listening unix socket that has done with the relay's first look at it."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen(64)
        listener.settimeout(PATIENCE_S)
        yield folder / "s", listener


def connected(port: int, listener: socket.socket) -> tuple[socket.socket, socket.socket]:
    """A client's end and the server's end of one connection."""
    client = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    server, _ = listener.accept()
    server.settimeout(PATIENCE_S)
    return client, server


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of one connection through a relay."""
    with a_silent_server() as (path, listener), serving(path) as port:
        listener.accept()[0].close()
        client, server = connected(port, listener)
        with client, server:
            yield client, server


def asked(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Status and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def all_of(end: socket.socket) -> bytes:
    """Everything until the other side has said all."""
    return b"".join(iter(lambda: end.recv(65536), b""))


def test_requests_and_answers_of_ten_megabytes_pass_unchanged() -> None:
    """In both directions, and small ones too."""
    with a_server() as (path, _), serving(path) as port:
        assert asked(port, "GET", "/") == (200, b"hello")
        assert asked(port, "GET", "/big") == (200, BIG)
        assert asked(port, "POST", "/", BIG) == (200, hashlib.sha256(BIG).hexdigest().encode())


def test_a_piece_of_a_stream_arrives_before_the_next_is_sent() -> None:
    """The server waits for the client's word on another connection after every chunk."""
    with a_server() as (path, _), serving(path) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", "/stream")
        answer = connection.getresponse()
        for number in range(CHUNKS):
            assert answer.read(6) == b"data %d" % number
            asked(port, "GET", f"/seen/{number}")
        assert answer.read() == b""
        connection.close()


def test_twenty_connections_are_open_at_once() -> None:
    """Each is answered only when all of them have asked."""
    answers: dict[int, bytes] = {}
    with a_server() as (path, _), serving(path) as port:

        def ask(number: int) -> None:
            answers[number] = asked(port, "GET", f"/together/{number}")[1]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(TOGETHER)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {number: b"%d" % number for number in range(TOGETHER)}


def test_more_connections_than_are_served_at_once_wait_their_turn() -> None:
    """Beyond the cap nobody is refused: the next is accepted when one goes."""
    with a_server() as (path, _), serving(path) as port, ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(256)]
        late = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
        late.sendall(b"GET / HTTP/1.0\r\n\r\n")
        for one in idle:
            one.close()
        assert all_of(late).endswith(b"hello")


def test_who_has_said_all_still_hears_the_answer(ends: tuple[socket.socket, socket.socket]) -> None:
    """A half-closed connection stays open the other way, from either side."""
    client, server = ends
    client.sendall(b"question")
    client.shutdown(socket.SHUT_WR)
    assert all_of(server) == b"question"
    server.sendall(BIG[:100_000])
    server.close()
    assert all_of(client) == BIG[:100_000]


def test_a_server_that_has_said_all_still_hears(ends: tuple[socket.socket, socket.socket]) -> None:
    """The same, the other way round."""
    client, server = ends
    server.sendall(b"greeting")
    server.shutdown(socket.SHUT_WR)
    assert all_of(client) == b"greeting"
    client.sendall(b"goodbye")
    client.close()
    assert all_of(server) == b"goodbye"


def test_an_answer_that_comes_before_the_end_of_the_question_is_heard() -> None:
    """A body that the server refuses to read is swallowed, and its sender reads why."""
    with a_server() as (path, _), serving(path) as port:
        assert asked(port, "POST", "/early", BIG) == (413, b"too large")


def test_a_client_that_goes_away_ends_the_servers_work() -> None:
    """The server hears of it while it writes."""
    with a_server() as (path, server), serving(path) as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /endless HTTP/1.0\r\n\r\n")
            assert client.recv(10)
        assert server.left.wait(PATIENCE_S)


def test_a_client_that_goes_away_is_noticed_by_a_silent_server(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    """Without a byte having passed."""
    client, server = ends
    client.close()
    assert server.recv(1) == b""


def test_a_reader_that_does_not_read_stops_its_writer(ends: tuple[socket.socket, socket.socket]) -> None:
    """What is under way is bounded, so a slow reader costs no memory; then all of it arrives."""
    client, server = ends
    # Longer than it takes to fill all buffers on the way.
    server.settimeout(1.0)
    sent = 0
    with suppress(TimeoutError):
        while sent < 10 * len(BIG):
            sent += server.send(BIG)
    assert sent < 10 * len(BIG)
    server.close()
    assert len(all_of(client)) == sent


def test_a_slow_connection_holds_up_no_other() -> None:
    """One client reads nothing of an endless answer; another is served."""
    with (
        a_server() as (path, _),
        serving(path) as port,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.sendall(b"GET /endless HTTP/1.0\r\n\r\n")
        assert asked(port, "GET", "/big") == (200, BIG)


def test_a_server_that_is_full_is_asked_again() -> None:
    """A queue without room is no refusal: connections come through when it has some."""
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen(0)
        listener.settimeout(PATIENCE_S)
        with serving(folder / "s") as port, ExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
                for _ in range(5)
            ]
            for client in clients:
                client.sendall(b"x")
                client.shutdown(socket.SHUT_WR)
            heard: list[bytes] = []
            while len(heard) < len(clients):
                with listener.accept()[0] as server:
                    # The relay's first look says nothing.
                    heard += [data] if (data := all_of(server)) else []
            assert heard == [b"x"] * 5


def test_a_gateway_that_went_away_ends_connections_and_not_the_relay() -> None:
    """Whoever asks while it is gone gets no answer; when it is back, it is reached."""
    with a_silent_server() as (path, first), serving(path) as port:
        first.close()
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
            assert client.recv(1) == b""
        path.unlink()
        with socket.socket(socket.AF_UNIX) as second:
            second.bind(str(path))
            second.listen()
            second.settimeout(PATIENCE_S)
            client, server = connected(port, second)
            with client, server:
                server.sendall(b"back")
                assert client.recv(4) == b"back"


def test_it_says_why_it_cannot_begin() -> None:
    """No socket, nobody who listens, or a port that is taken: one line, and exit code 1."""
    with temporary_folder("tests") as folder, a_relay(free_port(), folder / "none") as process:
        assert first_line(process) == b"unreachable: No such file or directory\n"
        assert process.wait(PATIENCE_S) == 1
    with temporary_folder("tests") as folder, socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "s"))
        with a_relay(free_port(), folder / "s") as process:
            assert first_line(process) == b"unreachable: Connection refused\n"
            assert process.wait(PATIENCE_S) == 1
    with a_silent_server() as (path, _), socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with a_relay(port, path) as process:
            assert first_line(process) == b"unreachable: port %d: Address already in use\n" % port
            assert process.wait(PATIENCE_S) == 1


def test_it_ends_with_its_input_and_says_no_more_than_that_it_is_ready() -> None:
    """With connections open, and without an error."""
    with a_server() as (path, _), a_relay(port := free_port(), path) as process:
        assert first_line(process) == b"ready\n"
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
            out, _ = process.communicate(timeout=PATIENCE_S)
            assert client.recv(1) == b""
    assert (out, process.returncode) == (b"", 0)


def test_it_listens_on_loopback_alone() -> None:
    """Nobody else reaches it, should there ever be another interface."""
    with a_silent_server() as (path, _), serving(path) as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), PATIENCE_S)
