"""What the engine's answers tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from esac_ag.errors import EngineUnavailable
from esac_ag.sandbox.cgroup import memory_kills, memory_kills_in
from esac_ag.sandbox.docker import DockerEngine, connect
from esac_ag.sandbox.facts import container_state, image_facts, owner_in
from tests.builders_sandbox import a_spec


def _inspected(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  (JSON of the engine)
    answer = {
        "Id": "sha256:1",
        "Created": "2026-01-01T00:00:00Z",
        "Size": 5,
        "Architecture": "amd64",
        "RepoTags": ["a:1"],
        "RepoDigests": None,
        "RootFS": {"Layers": ["sha256:l1", "sha256:l2"]},
        "Config": {"Env": ["A=b"], "Labels": {"k": "v"}, "Cmd": None, "Hostname": "made-up"},
    }
    return answer | changes


def test_a_digest_ignores_names_ids_and_times() -> None:
    """Importing the same root again gives another id and the same digest."""
    one = image_facts(_inspected())
    two = image_facts(_inspected(Id="sha256:2", Created="2027", RepoTags=None, Size=9))
    assert one.digest() == two.digest()
    assert one.digest().startswith("sha256:")


@pytest.mark.parametrize(
    "changes",
    [
        {"RootFS": {"Layers": ["sha256:l2", "sha256:l1"]}},
        {"Config": {"Env": ["A=c"], "Labels": {"k": "v"}}},
        {"Config": {"Env": ["A=b"], "Labels": {"k": "v"}, "Entrypoint": ["x"]}},
        {"Config": {"Env": ["A=b"]}},
    ],
)
def test_a_digest_covers_layers_and_configuration(changes: dict[str, Any]) -> None:
    """Whatever changes what a container does changes the digest."""
    assert image_facts(_inspected(**changes)).digest() != image_facts(_inspected()).digest()


def test_empty_and_missing_settings_are_the_same() -> None:
    """Engines differ in null, empty and absent; images do not differ for that."""
    empty = {"Env": ["A=b"], "Labels": {"k": "v"}, "Cmd": [], "Volumes": {}, "WorkingDir": ""}
    assert image_facts(_inspected(Config=empty)).digest() == image_facts(_inspected()).digest()


@pytest.mark.parametrize(
    ("status", "runs"),
    [("created", True), ("running", True), ("paused", True), ("exited", False), ("dead", False)],
)
def test_a_frozen_container_still_runs(status: str, *, runs: bool) -> None:
    """Only a container whose first process ended has ended."""
    assert container_state({"State": {"Status": status, "ExitCode": 0}}).running is runs


def test_an_owner_is_told_from_labels() -> None:
    """Missing labels are said to be unknown."""
    labels = {"esac-ag.role": "agent", "esac-ag.study": "s"}
    assert owner_in(labels) == "role agent, study s, attempt unknown"
    assert owner_in(None) == "role unknown, study unknown, attempt unknown"


def test_memory_kills_are_read_from_either_version(tmp_path: Path) -> None:
    """The count of version 1 and of version 2, and None where there is neither."""
    assert memory_kills_in("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n") == 3
    assert memory_kills_in("low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n") == 1
    assert memory_kills_in("nothing of the kind\n") is None
    place = tmp_path / "system.slice" / "docker-abc.scope"
    place.mkdir(parents=True)
    (place / "memory.events").write_text("oom_kill 4\n")
    assert memory_kills("abc", tmp_path) == 4
    assert memory_kills("missing", tmp_path) is None


@pytest.mark.parametrize("address", ["unix:///no/such/engine.sock", "tcp://127.0.0.1:1", "nonsense://x"])
def test_an_engine_that_does_not_answer_is_named_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """The error tells which address was tried and what to do."""
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EngineUnavailable) as caught:
        connect()
    assert "doctor" in caught.value.remedy


def test_an_engine_is_asked_for_only_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the engine object calls nobody; the first sandbox does."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
    engine = DockerEngine("here")
    with pytest.raises(EngineUnavailable), engine.create(a_spec()):
        pass
