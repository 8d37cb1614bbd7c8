"""Both engines behind one fixture, with what the fake has to be told about the programs of the suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from esac_ag.agents.world_session import SERVER_ARGV
from esac_ag.sandbox.contract import Engine, SandboxSpec
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from esac_ag.sandbox.model_way import FRAMES_PROGRAM
from tests.builders_relay_frames import frames_program
from tests.builders_sandbox import MIB, a_spec
from tests.builders_world_server import world_program

HOG = ("python3", "-c", "x = b'x' * (1 << 30)")
BAD_TEXT = ("python3", "-c", r"import sys; sys.stdout.buffer.write(b'\xff\xc3(\x00')")
OBEDIENT = ("sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.02; done")
HOLDER = ("sh", "-c", "sleep 30 & echo started")


@dataclass(frozen=True, slots=True)
class Bench:
    """An engine, and what differs between the engines."""

    engine: Engine
    image: str
    workspace: str
    kill: Callable[[str], object]
    """Ends a container from outside."""

    def spec(self, **changes: object) -> SandboxSpec:
        """A spec with an image that exists."""
        return a_spec(self.image, **changes)


def _hog(process: FakeProcess) -> int:
    process.allocate(1024 * MIB)
    return 0


def _bad_text(process: FakeProcess) -> int:
    process.write(b"\xff\xc3(\x00")
    return 0


def _obedient(process: FakeProcess) -> int:
    process.sleep(1e9)
    return 0


@pytest.fixture(params=["memory", pytest.param("docker", marks=pytest.mark.docker)])
def bench(request: pytest.FixtureRequest) -> Bench:
    """The in-memory engine and the real one, in turn."""
    if request.param == "memory":
        programs: dict[tuple[str, ...], Program] = {HOG: _hog, BAD_TEXT: _bad_text, OBEDIENT: _obedient}
        programs |= {SERVER_ARGV: world_program, FRAMES_PROGRAM: frames_program}
        fake = InMemoryEngine(programs, images={"any:1": "sha256:" + "0" * 64}, workspace="contract")
        return Bench(fake, "any:1", "contract", fake.kill)
    engine: DockerEngine = request.getfixturevalue("docker_engine")
    image: str = request.getfixturevalue("agent_image")
    workspace: str = request.getfixturevalue("docker_workspace")
    return Bench(engine, image, workspace, engine._client.kill)
