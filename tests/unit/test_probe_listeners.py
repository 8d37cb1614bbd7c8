"""What the isolation probe's own listeners, its provider and its gateway say of who came."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from esac_ag.clock import Deadline
from esac_ag.conduct.probe import probe
from esac_ag.conduct.probe_gateway import a_gateway
from esac_ag.conduct.probe_listener import addresses_of_this_machine, listening
from esac_ag.conduct.probe_places import NEIGHBOUR_PROGRAM
from esac_ag.errors import SandboxLost
from esac_ag.manifest.plan import Image, Images, Limits, ModelWayKind, Network
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program, ProgramExit
from esac_ag.sandbox.model_way import FRAMES_PROGRAM, ModelWay, model_way
from tests.builders_freeze import a_draft, a_probe, an_engine, workspace_of
from tests.builders_relay_frames import frames_program

CANARY = "esac-ag-canary-" + "0" * 32
KEY = "esac-ag-canary-" + "1" * 32


def test_everybody_who_comes_is_noted_and_answered_with_the_canary() -> None:
    """By TCP, without a word too, and by UDP; the controller's own knocks are left out."""
    with listening(CANARY) as listener:
        assert listener.heard() == ()
        with socket.create_connection(("127.0.0.1", listener.port), 10) as tcp:
            tcp.sendall(b"GET /x")
            assert CANARY.encode() in tcp.makefile("rb").read()
        with socket.create_connection(("127.0.0.1", listener.port), 10) as silent:
            silent.shutdown(socket.SHUT_WR)
            silent.makefile("rb").read()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(10)
            udp.sendto(b"word", ("127.0.0.1", listener.port))
            assert udp.recv(100) == CANARY.encode()
        assert [arrival.said for arrival in listener.heard()] == [b"GET /x", b"", b"word"]
        assert [arrival.said for arrival in listener.heard()] == [b"GET /x", b"", b"word"]


def test_every_address_of_this_machine_leads_to_the_listener() -> None:
    """Loopback among them, and each is this machine's: it can be listened on."""
    addresses = addresses_of_this_machine()
    assert "127.0.0.1" in addresses
    for address in addresses:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
            sock.bind((address, 0))


def asked(http: httpx.Client, path: str, token: str, **more: object) -> httpx.Response:
    """An answer of the gateway's."""
    body = {"model": "probe-model", "messages": [{"role": "user", "content": "x"}], **more}
    return http.post(f"http://gateway{path}", json=body, headers={"authorization": f"Bearer {token}"})


def test_the_provider_complains_of_what_no_gateway_may_ask() -> None:
    """Another path, another method, another key, and an address in a body; a good question is none."""
    with a_gateway(KEY, socket_way) as trial:
        transport = httpx.HTTPTransport(uds=f"{trial.way.model_socket}/model.sock")
        with httpx.Client(transport=transport) as http:
            protocol, token = next(iter(trial.tokens.items()))
            answer = asked(http, trial.paths[protocol], token)
            assert answer.status_code == httpx.codes.OK
            assert KEY not in answer.text
            assert "[redacted]" in answer.text
            assert trial.provider.complaints(("127.0.0.1:1",)) == []
            assert asked(http, trial.paths[protocol], trial.other).status_code == httpx.codes.UNAUTHORIZED
            asked(http, trial.paths[protocol], token, note="http://127.0.0.1:1/x")
        base = f"http://{trial.provider.address}"
        httpx.get(f"{base}/etc/passwd", trust_env=False)
        httpx.request("PURGE", f"{base}/v1/messages", trust_env=False)
        httpx.post(f"{base}/v1/messages", headers={"x-api-key": "other"}, trust_env=False)
        assert trial.provider.complaints(("127.0.0.1:1",)) == [
            "the provider was asked POST /v1/chat/completions with 127.0.0.1:1",
            "the provider was asked GET /etc/passwd",
            "the provider was asked PURGE /v1/messages",
            "the provider was asked POST /v1/messages for another host or with another key",
        ]


@contextmanager
def socket_way(gateway_socket: Path) -> Iterator[ModelWay]:
    """The way by a mounted socket, which needs no engine."""
    with model_way(
        ModelWayKind.SOCKET,
        gateway_socket,
        InMemoryEngine({}),
        image="image:1",
        study="study-1",
        attempt="probe",
        deadline=Deadline.after_s(60),
    ) as way:
        yield way


def probed(folder: Path, act: Callable[[FakeProcess, dict[str, Any]], None], network: Network) -> ProbeRecord:
    """The record of a probe program that does something on the way."""

    def program(process: FakeProcess) -> ProgramExit:
        act(process, json.loads(process.files.read(process.argv[-1])))
        return a_probe()(process)

    return record_of(folder, program, network)


def record_of(
    folder: Path,
    program: Program,
    network: Network,
    engine: InMemoryEngine | None = None,
    way: ModelWayKind = ModelWayKind.SOCKET,
) -> ProbeRecord:
    """The record of a probe program."""
    image = Image(reference="image:1", digest="sha256:" + "0" * 64)
    return probe(
        engine or an_engine(probe=program),
        workspace_of(a_draft(folder)),
        study_id="study-1",
        images=Images(agent=image, grader=image),
        image_ids={"image:1": "image:1"},
        limits=Limits(),
        network=network,
        way=None if network is Network.NONE else way,
        private_material=(),
        manifest_sha256=None,
    )


def knock(port: int, said: bytes) -> None:
    """Come to the controller's listener."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(said)


@pytest.mark.parametrize("network", Network)
def test_a_program_that_keeps_still_about_its_way_out_is_told_by_the_listener(
    tmp_path: Path, network: Network
) -> None:
    """The program says that it reached nothing; what arrived counts."""
    record = probed(tmp_path, lambda _, plan: knock(plan["host"]["port"], b"GET /word"), network)
    assert [(route.name, route.detail[:33]) for route in record.routes if route.reached] == [
        ("host", "the host heard b'GET /word' from ")
    ]
    assert record.untried == ()
    assert not record.passed
    assert not record.holds


def test_what_a_gateway_was_made_to_fetch_counts_as_its_leak(tmp_path: Path) -> None:
    """The mark in the address tells who was asked to turn to it."""

    def act(_: FakeProcess, plan: dict[str, Any]) -> None:
        knock(plan["host"]["port"], b"GET /gateway/fetched")

    record = probed(tmp_path, act, Network.MODEL_GATEWAY)
    assert [route.name for route in record.routes if route.reached] == ["gateway"]
    assert record.model_way == "socket"


@pytest.mark.parametrize("network", Network)
def test_nobody_who_comes_is_a_probe_that_holds(tmp_path: Path, network: Network) -> None:
    """The record is whole, names the study, and holds no canary."""
    record = probed(tmp_path, lambda *_: None, network)
    assert record.holds
    assert record.passed
    assert record.study_id == "study-1"
    assert "esac-ag-canary-" not in record.model_dump_json()


def test_the_program_is_told_what_its_way_to_the_model_is(tmp_path: Path) -> None:
    """A mount and a socket, or a network with a relay on it; the record says which."""
    seen: list[dict[str, Any]] = []

    def program(process: FakeProcess) -> ProgramExit:
        seen.append(json.loads(process.files.read(process.argv[-1])))
        return a_probe()(process)

    engine = InMemoryEngine(
        {FRAMES_PROGRAM: frames_program, ("python3", "-I", "/agent/home/probe.py"): program}
    )
    for way in ModelWayKind:
        record = record_of(tmp_path / way, a_probe(), Network.MODEL_GATEWAY, engine, way)
        assert record.model_way is way
        assert record.holds
    by_socket, by_network = seen
    assert (by_socket["model_mount"], by_socket["peer"]) == ("/run/model", None)
    assert by_socket["gateway"]["socket"] == "/run/model/model.sock"
    assert (by_network["model_mount"], by_network["gateway"]["socket"]) == (None, None)
    assert by_network["peer"] == by_network["gateway"]["relay"]
    assert by_network["peer"][0] == "127.0.0.1"


def test_the_program_is_told_no_canary(tmp_path: Path) -> None:
    """What lies in its container holds digests, and the control alone."""
    seen: list[str] = []

    def act(process: FakeProcess, _: dict[str, Any]) -> None:
        tree = process.files.tree("/agent")
        assert tree is not None
        seen.extend(
            path.decode()
            for path, node in tree.files().items()
            if node.data.startswith(b"esac-ag-canary-") and path != b"workspace/control.txt"
        )

    probed(tmp_path, act, Network.MODEL_GATEWAY)
    assert seen == []


def test_an_answer_of_unknown_routes_is_no_answer(tmp_path: Path) -> None:
    """A program of another version proves nothing."""

    def program(process: FakeProcess) -> ProgramExit:
        route = {"name": "other", "tried": 1, "reached": False, "detail": ""}
        process.write(json.dumps({"routes": [route], "control": True}))
        return 0

    with pytest.raises(SandboxLost, match="gave no answer"):
        record_of(tmp_path, program, Network.NONE)


def with_a_neighbour(answer: str) -> InMemoryEngine:
    """An engine whose neighbour answers so."""

    def neighbour(process: FakeProcess) -> ProgramExit:
        process.write("ready 1 \n")
        while process.read_line():
            process.write(answer + "\n")
        return 0

    return InMemoryEngine(
        {
            NEIGHBOUR_PROGRAM: neighbour,
            ("python3", "-I", "/agent/home/probe.py"): a_probe(),
        }
    )


def test_who_came_to_the_neighbour_is_told_by_the_neighbour(tmp_path: Path) -> None:
    """The program in the other container says nothing of it."""
    engine = with_a_neighbour('{"own": true, "arrivals": ["GET /word"]}')
    record = record_of(tmp_path, a_probe(), Network.NONE, engine)
    assert [(route.name, route.detail) for route in record.routes if route.reached] == [
        ("neighbour", "the neighbour heard 'GET /word'")
    ]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"own": false, "arrivals": []}', "does not hear its own container"),
        ("I have seen nobody", "I have seen nobody"),
    ],
)
def test_a_neighbour_that_hears_nothing_at_all_proves_nothing(
    tmp_path: Path, answer: str, found: str
) -> None:
    """Neither a deaf listener nor an answer of another kind is silence."""
    with pytest.raises(SandboxLost) as lost:
        record_of(tmp_path, a_probe(), Network.NONE, with_a_neighbour(answer))
    assert found in lost.value.found


def test_the_neighbours_container_is_a_runs_and_holds_the_canary(tmp_path: Path) -> None:
    """The same image and limits as the probed one's; only what lies in it is another's."""
    engine = with_a_neighbour('{"own": true, "arrivals": []}')
    record_of(tmp_path, a_probe(), Network.NONE, engine)
    specs = {spec.attempt: spec for spec in engine.specs if spec.uid != 0}
    neighbour, probed_one = specs["probe-neighbour"], specs["probe"]
    (name, value), *others = neighbour.environment
    assert (name, others) == ("NOTE", [])
    assert value.startswith("esac-ag-canary-")
    assert neighbour.model_copy(update={"attempt": "probe", "environment": ()}) == probed_one
