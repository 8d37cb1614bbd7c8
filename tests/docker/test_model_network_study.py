"""A whole study of a command-line agent whose containers have networks in the place of a mounted socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Outcome
from esac_ag.conduct.audit import audit
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.context import Stop
from esac_ag.conduct.freeze import freeze_draft
from esac_ag.conduct.layout import lay_out
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.study import run_study
from esac_ag.conduct.tasks import seal_tasks
from esac_ag.manifest.plan import GraderLimits, ModelWayKind
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.agent_images import agent_image_reference
from esac_ag.sandbox.contract import Role
from esac_ag.sandbox.docker import DockerEngine, ImageStore
from esac_ag.sandbox.image_definition import read_definition
from esac_ag.sandbox.images import build_images
from esac_ag.sandbox.model_way import FRAMES_PROGRAM
from esac_ag.sandbox.options import LABEL_ROLE, LABEL_WORKSPACE
from tests.builders_command_agents import Search, contents_below, searched_in
from tests.builders_compare import MODEL, TINY, WorkingServer, add_tiny_agent
from tests.builders_conduct import Told
from tests.builders_docker import an_engine_for, keep_proofs
from tests.builders_images import remove_images
from tests.builders_manifest import write
from tests.model_server import Recorded, Scripted

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]

KEY = "sk-network-only-4711-Zq"
CONTROL = b"/opt/"
"""In the arguments of the agent's program and of the relay's."""
CHANGES: dict[str, Any] = {
    "study_id": "networked",
    "phase": "shadow",
    "model": {"name": MODEL, "version": "1", "provider": "loopback"},
    "agent": {"kind": "command", "version": "1.0.0", "settings": {"agent": TINY, "model_way": "network"}},
    "limits": {"tool_calls": None},
    "network": "model-gateway",
    "repetitions": 1,
    "arms": [{"id": "neutral"}, {"id": "markskill", "bundle": "../arms/markskill"}],
    "tasks": [{"id": "invoice-rounding"}],
}


class WatchingServer(WorkingServer):
    """A model that looks at this workspace's networks whenever it is asked.

    Args:
        engine: whose networks they are.
        label: of the workspace.
    """

    def __init__(self, engine: DockerEngine, label: str) -> None:
        super().__init__()
        self._engine, self._label = engine, label
        self._client = engine._client
        self._mine = {"label": f"{LABEL_WORKSPACE}={label}"}
        self.seen: list[list[str]] = []
        """Roles of the containers on each network that there was."""
        self.searches: dict[Role, Search] = {}
        """Of agent and relay, while the first request waits for its reply."""

    def _reply_to(self, request: Recorded) -> Scripted:
        self.seen += map(self._roles, self.networks())
        for role in () if self.searches else (Role.AGENT, Role.RELAY):
            self.searches[role] = searched_in(self._engine, self._label, (KEY.encode(), CONTROL), role)
        return super()._reply_to(request)

    def networks(self) -> list[str]:
        """Ids of the workspace's networks."""
        return [network["Id"] for network in self._client.networks(filters=self._mine)]

    def _roles(self, network: str) -> list[str]:
        members = self._client.inspect_network(network)["Containers"]
        return sorted(self._client.inspect_container(id_)["Config"]["Labels"][LABEL_ROLE] for id_ in members)


@dataclass(frozen=True, slots=True)
class Done:
    """A study that was frozen, run and graded."""

    workspace: Workspace
    manifest: Path
    records: StudyRecords
    server: WatchingServer
    engine: DockerEngine


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, DockerEngine]]:
    """The shipped content with the tiny agent and its image; that its tasks are sound counts as proved."""
    root = tmp_path_factory.mktemp("networked") / "workspace"
    lay_out(root)
    workspace, engine, store = Workspace(root), an_engine_for(root), ImageStore()
    add_tiny_agent(workspace)
    seal_tasks(workspace, ())
    build_images(store, engine, workspace.runner, agents=(TINY,), progress=lambda _: None)
    try:
        keep_proofs(workspace, engine, GraderLimits())
        yield workspace, engine
    finally:
        agent = read_agent(workspace.runner, TINY)
        remove_images(store, agent_image_reference(read_definition(workspace.runner), agent))
        store.close()
        engine.close()


@pytest.fixture(scope="module")
def done(shop: tuple[Workspace, DockerEngine]) -> Done:
    """One task under two arms."""
    workspace, engine = shop
    draft = json.loads((workspace.manifests / "demo.draft.json").read_text()) | CHANGES
    path = write(workspace.manifests / "networked.draft.json", json.dumps(draft))
    manifest = workspace.manifests / "networked.json"
    freeze_draft(path, manifest, workspace=workspace, engine=engine, repeats=1, tell=lambda _: None)
    with WatchingServer(engine, workspace.label) as server:
        study = open_study(
            manifest,
            workspace=workspace,
            engine=engine,
            results=workspace.results,
            environ={"ESAC_AG_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY},
            stop=Stop(),
        )
        progress = run_study(study, concurrency=1, watcher=Told())
    assert progress.finished
    return Done(workspace, manifest, read_study(workspace.results / "networked"), server, engine)


def test_the_manifest_was_sealed_with_a_probe_of_this_way(done: Done) -> None:
    """Strict validation takes it, and a record of the other way would be refused."""
    report = validate_manifest(done.manifest, strict=True, workspace=done.workspace)
    assert report.valid, report.findings
    record = ProbeRecord.model_validate_json(done.manifest.with_name("networked.probe.json").read_bytes())
    assert record.holds
    assert record.model_way is ModelWayKind.NETWORK


def test_every_run_reached_its_model_and_was_graded(done: Done) -> None:
    """The program asked once in each run, did what the reply said, and its work was judged."""
    attempts = done.records.attempts.values()
    assert [(a.outcome, a.costs.turns) for a in attempts] == [(Outcome.COMPLETED, 1)] * 2
    patches = done.records.folder.path.glob("attempts/*/patch.diff")
    assert ["fixed.txt" in patch.read_text() for patch in patches] == [True] * 2
    assert [grading.score is not None for grading in done.records.gradings.values()] == [True] * 2
    assert {request.headers["authorization"] for request in done.server.requests} == {f"Bearer {KEY}"}
    assert audit(done.records.folder.path).clean


@pytest.mark.parametrize("role", [Role.AGENT, Role.RELAY])
def test_the_key_is_in_neither_container(done: Done, role: Role) -> None:
    """Environment, arguments, memory and files of both, and what the engine tells of them."""
    search = done.server.searches[role]
    assert search.places[KEY.encode()] == ()
    assert KEY not in search.inspected
    program = f"/opt/agents/{TINY}/" if role is Role.AGENT else FRAMES_PROGRAM[-1]
    assert any(place.startswith("arguments of ") and program in place for place in search.places[CONTROL])


def test_neither_results_nor_logs_hold_the_key(done: Done) -> None:
    """Compressed records are looked into as well."""
    assert [name for name, data in contents_below(done.workspace.root) if KEY.encode() in data] == []


def test_each_run_had_a_network_with_its_relay_and_nothing_is_left(done: Done) -> None:
    """One at a time, as one run was under way; no network, no container, no volume afterwards."""
    assert done.server.seen == [["agent", "relay"]] * 2
    assert done.server.networks() == []
    assert list(done.engine.leftovers(done.workspace.label)) == []
