"""The doctor on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.doctor import Status, examine
from esac_ag.sandbox.doctor.limits import prove_limits
from tests.builders_images import ROOT

pytestmark = pytest.mark.docker

LIMITS = {
    "memory limit",
    "no swap",
    "pids limit",
    "cpu quota",
    "tmp size",
    "workspace size",
    "read-only root",
    "no network",
    "no capabilities",
    "no new privileges",
    "seccomp filter",
    "not root",
}


def test_every_limit_is_proved_in_a_container(docker_engine: DockerEngine, agent_image: str) -> None:
    """Each line comes from what a container met, and none fails here."""
    checks = list(prove_limits(docker_engine, agent_image))
    assert {check.name for check in checks} == LIMITS
    assert [check for check in checks if check.status is Status.FAILURE] == []


def test_a_missing_image_is_a_failure_with_its_remedy(docker_engine: DockerEngine) -> None:
    """Without an image nothing is proved, and nothing is assumed."""
    checks = list(prove_limits(docker_engine, "esac-ag/agent:no-such-image"))
    assert [check.status for check in checks] == [Status.FAILURE]
    assert "images build" in checks[0].remedy


def test_the_whole_examination_holds_here(agent_image: str, docker_workspace: str) -> None:
    """Engine, images, limits and machine in one pass; what fails would stop a study."""
    report = examine(ROOT, docker_workspace)
    assert [check for check in report.checks if check.status is Status.FAILURE] == []
    assert report.exit_code() == 0
    names = {check.name for check in report.checks}
    assert {"engine", "cgroups", "storage", "free disk", "clock", "git", "python", "workspace"} <= names
    assert "model socket" in names


def test_an_absent_engine_is_told_with_exit_code_2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What needs no engine is still looked at."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    report = examine(None, "nobody")
    assert report.exit_code() == 2
    assert report.checks[0].status is Status.FAILURE
    assert {"git", "python"} <= {check.name for check in report.checks}
