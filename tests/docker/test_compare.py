"""`compare` as a user types it: real containers, a model on loopback, a stop in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from esac_ag.clock import sleep_s
from esac_ag.conduct.audit import audit
from esac_ag.conduct.layout import lay_out
from esac_ag.manifest.comparison import COMMAND_WORKSPACE_MIB
from esac_ag.manifest.plan import GraderLimits
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.agent_images import agent_image_reference
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import read_definition
from tests.builders_commands import command, started
from tests.builders_compare import MODEL, TINY, WorkingServer, a_price_table, a_skill, add_tiny_agent
from tests.builders_docker import an_engine_for, keep_proofs
from tests.builders_images import remove_images

pytestmark = [pytest.mark.docker, pytest.mark.slow]

KEY = "sk-compare-only-4711-Zq"
AGENTS = ("chat", TINY)
"""What is compared; `TINY` is a program of one request whose image is built on the way."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that was stopped and gone on with."""

    root: Path
    agent: str
    stopped: tuple[int, str]
    """Exit code and standard error of the first command."""
    done: subprocess.CompletedProcess[str]
    server: WorkingServer

    @property
    def said(self) -> Any:  # noqa: ANN401
        """What the second command wrote to standard output, all of which has to be JSON."""
        return json.loads(self.done.stdout)

    @property
    def study(self) -> Path:
        """The study's results."""
        return self.root / "results" / "compared"


@pytest.fixture(scope="module", params=AGENTS)
def compared(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    agent_image: str,
    docker_engine: DockerEngine,
) -> Iterator[Compared]:
    """One task, two arms, once each: stopped while the model is silent, then finished by the same command.

    That the task is sound counts as proved before.
    """
    agent: str = request.param
    base = tmp_path_factory.mktemp("compare")
    root = base / "workspace"
    lay_out(root)
    if agent == TINY:
        add_tiny_agent(Workspace(root))
    limits = GraderLimits(workspace_mib=COMMAND_WORKSPACE_MIB) if agent == TINY else GraderLimits()
    keep_proofs(Workspace(root), docker_engine, limits)
    with WorkingServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MY_KEY", KEY)
        argv = [
            *("compare", "--agent", agent, "-m", MODEL, "--arm", "neutral", "--arm", str(a_skill(base))),
            *("--tasks", "invoice-rounding", "-k", "1", "-n", "1", "--repeats", "1"),
            *("--study-id", "compared"),
            *("--base-url", server.base_url, "--api-key-env", "MY_KEY", "-y", "--json"),
            *("--max-cost", "1", "--prices", str(a_price_table(base))),
        ]
        server.silent = True
        process = started(*argv, folder=root)
        while not server.requests and process.poll() is None:
            sleep_s(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        server.silent = False
        server.requests.clear()
        yield Compared(root, agent, (process.returncode, errors), command(*argv, folder=root), server)
    if agent == TINY:
        remove_image(root / "runner")


def remove_image(runner: Path) -> None:
    """Take the tiny agent's image away again."""
    store = ImageStore()
    remove_images(store, agent_image_reference(read_definition(runner), read_agent(runner, TINY)))
    store.close()


def test_a_stop_tells_how_to_go_on(compared: Compared) -> None:
    """Exit code 130, and both commands."""
    code, errors = compared.stopped
    assert code == 130, errors
    assert "Traceback" not in errors
    assert "nothing that was done is lost; to go on:" in errors
    assert "manifests/compared.json -n 1" in errors
    assert "esac-ag report" in errors


def test_the_same_command_goes_on_to_the_report(compared: Compared) -> None:
    """Both runs are graded; the report is where it says; nothing but JSON is on standard output."""
    assert compared.done.returncode == 0, compared.done.stderr
    assert "sealed already, from the same draft" in compared.done.stderr
    report = json.loads((Path(compared.said["report"]) / "report.json").read_text())
    assert [(arm["planned"], arm["graded"]) for arm in report["counts"]] == [(1, 1), (1, 1)]
    assert audit(compared.study).clean


def test_the_plan_was_told_before_the_model_was_asked(compared: Compared) -> None:
    """Size, claim, agent, and a bound on time and cost."""
    _, errors = compared.stopped
    before, _, _ = errors.partition("cells done")
    for words in (
        "runs: 2 = 1 task",
        "no general claim",
        "the key in MY_KEY",
        "at most 34 min",
        "at most 1 USD",
    ):
        assert words in before


def test_the_key_reaches_the_model_and_no_file(compared: Compared) -> None:
    """Neither of the workspace nor of the results; nothing is left on the engine."""
    assert {request.headers["authorization"] for request in compared.server.requests} == {f"Bearer {KEY}"}
    files = [path for path in compared.root.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    engine = an_engine_for(compared.root)
    assert list(engine.leftovers(Workspace(compared.root).label)) == []
    engine.close()


def test_the_skill_reached_its_arm_alone(compared: Compared) -> None:
    """By the requests of the two runs."""
    texts = [request.body.decode() for request in compared.server.requests]
    assert {("my-skill" in text) for text in texts} == {True, False}
