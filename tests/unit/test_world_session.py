"""A mock environment that ends, is silent, or answers otherwise than it should: never the model's fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from esac_ag.agents.contract import AGENT_ROOT
from esac_ag.agents.world_session import ANSWER_S, SERVER_ARGV, WorldSession, open_world
from esac_ag.errors import DialogueTimeout, InfrastructureFailure
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.pools import instance_of
from tests.builders_sandbox import a_memory_volume, a_spec
from tests.builders_world_server import Twist, twisted_world_program, world_program

INSTANCE = instance_of(item_named("planning-stock"), PUBLIC_SEED)
IMAGES = {"any:1": "sha256:" + "0" * 64}


def asked(world: WorldSession) -> str:
    """A call that an honest server answers."""
    return world.call("inventory_find", {"query": "a"})


@contextmanager
def a_world(program: Program, *, answer_s: float = ANSWER_S) -> Iterator[WorldSession]:
    """A session with a program in the place of the server."""
    programs: dict[tuple[str, ...], Program] = {SERVER_ARGV: program}
    engine = InMemoryEngine(programs, images=IMAGES, workspace="tests")
    with engine.create(a_spec(volumes=(a_memory_volume(AGENT_ROOT),))) as sandbox:
        sandbox.start()
        with open_world(sandbox, INSTANCE, answer_s=answer_s) as world:
            yield world


def in_calls(twist: Twist) -> Program:
    """A server that is honest until tools are called."""
    return twisted_world_program(lambda line: twist(line) if b"esac-ag/log" in line else line)


@pytest.mark.parametrize(
    "twist",
    [
        lambda line: line.replace(b"total", b"totel"),
        lambda line: line.replace(b'"isError": false', b'"isError": true'),
        lambda line: line.replace(b'"state_after": "', b'"state_after": "0'),
        lambda line: line.replace(b'"state_before": "', b'"state_before": "0'),
        lambda line: line.replace(b'"index": 0', b'"index": 1'),
        lambda line: line.replace(b'"isError": false', b'"isError": false, "more": 1'),
    ],
    ids=["reply", "error", "after", "before", "index", "more"],
)
def test_an_answer_that_differs_from_the_host_s_world_is_a_failure(twist: Twist) -> None:
    """A byte of the reply, a digest, the place in the log: the container is not believed."""
    with a_world(in_calls(twist)) as world, pytest.raises(InfrastructureFailure) as caught:
        asked(world)
    assert "answered differently" in caught.value.what


@pytest.mark.parametrize(
    "twist",
    [
        lambda _: b"{broken\n",
        lambda _: b"[]\n",
        lambda line: line.replace(b'"id": ', b'"id": 9'),
        lambda line: line.replace(b'"result"', b'"error"'),
        lambda line: line.replace(b'"total', b'"page": 1, "page": 1, "total'),
        lambda _: b"[" * 100_000 + b"\n",
    ],
    ids=["broken", "batch", "id", "error", "text", "deep"],
)
def test_nonsense_is_a_failure(twist: Twist) -> None:
    """What is no answer to the request."""
    with a_world(in_calls(twist)) as world, pytest.raises(InfrastructureFailure):
        asked(world)


@pytest.mark.parametrize(
    ("twist", "what"),
    [
        (lambda line: line.replace(b"2025-06-18", b"2024-11-05"), "protocol"),
        (lambda line: line.replace(b"inventory_find", b"inventory_fund"), "other tools"),
        (lambda line: line.replace(b'"maximum"', b'"maximal"'), "other tools"),
    ],
    ids=["protocol", "names", "schemas"],
)
def test_a_server_of_another_world_is_refused_at_the_start(twist: Twist, what: str) -> None:
    """An image of another version is found before a model is asked anything."""
    with pytest.raises(InfrastructureFailure) as caught, a_world(twisted_world_program(twist)):
        pass
    assert what in caught.value.what


def test_a_server_that_ends_is_a_failure_and_tells_its_last_words() -> None:
    """Its standard error is in the message."""

    def program(process: FakeProcess) -> int:
        process.write_error("Traceback: out of luck\n")
        return 1

    with pytest.raises(InfrastructureFailure) as caught, a_world(program):
        pass
    assert "out of luck" in caught.value.found


def test_a_silent_server_is_a_failure_once_the_time_is_up() -> None:
    """A deadline that has passed is enough to see it."""

    def program(process: FakeProcess) -> int:
        def hush(line: bytes) -> bytes:
            if b"esac-ag/log" in line:
                process.sleep(1e9)
            return line

        return twisted_world_program(hush)(process)

    with pytest.raises(DialogueTimeout), a_world(program, answer_s=0.2) as world:
        asked(world)


def test_calls_before_a_failure_stay_verified() -> None:
    """The log and the state are the host's own."""
    answers: list[bytes] = []

    def lie_later(line: bytes) -> bytes:
        answers.append(line)
        return line if len(answers) == 1 else line.replace(b"0", b"1")

    with a_world(in_calls(lie_later)) as world:
        asked(world)
        with pytest.raises(InfrastructureFailure):
            asked(world)
        assert world.log()[0].ok
    with a_world(world_program) as world:
        assert world.log() == ()
        assert world.snapshot() == INSTANCE.initial_state
