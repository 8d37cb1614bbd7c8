"""What an isolation probe's record backs: sealing, strict validation, the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from esac_ag.canonical import sha256_of
from esac_ag.conduct.freeze import freeze_draft
from esac_ag.conduct.layout import lay_out
from esac_ag.conduct.tasks import Tell, seal_tasks, task_ids
from esac_ag.errors import InputRefused
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.findings import Severity
from esac_ag.manifest.probe import ProbeRecord, Route
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from tests.builders_docker import keep_proofs
from tests.builders_manifest import write
from tests.builders_probe import (
    Leak,
    a_weak_engine,
    probed,
    variables,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine) -> Workspace:
    """The shipped content with its demonstration draft, ready to be sealed."""
    root = tmp_path_factory.mktemp("shop") / "workspace"
    lay_out(root)
    workspace = Workspace(root)
    seal_tasks(workspace, ())
    keep_proofs(workspace, docker_engine, draft_of(workspace).limits.grader)
    return workspace


def draft_of(workspace: Workspace) -> Draft:
    """The shipped draft."""
    return Draft.model_validate_json((workspace.manifests / "demo.draft.json").read_bytes())


def frozen(workspace: Workspace, engine: DockerEngine, name: str, tell: Tell = lambda _: None) -> Path:
    """Seal the shipped draft; only the probe is at work."""
    output = workspace.manifests / name
    freeze_draft(
        workspace.manifests / "demo.draft.json",
        output,
        workspace=workspace,
        engine=engine,
        repeats=1,
        tell=tell,
    )
    return output


@pytest.fixture(scope="module")
def sealed(shop: Workspace, docker_engine: DockerEngine) -> Path:
    """A manifest that was sealed with a real probe."""
    told: list[str] = []
    path = frozen(shop, docker_engine, "real.json", told.append)
    assert sum("proved before" in line for line in told) == len(task_ids(shop)), told
    return path


def test_a_leaking_probe_stops_the_sealing(shop: Workspace, docker_workspace: str) -> None:
    """The refusal names the route, and neither manifest nor record is written."""
    before = sorted(shop.manifests.rglob("*"))
    with (
        a_weak_engine(docker_workspace, Leak(variables("NOTE=CANARY"))) as engine,
        pytest.raises(InputRefused) as refusal,
    ):
        frozen(shop, engine, "leaking.json")
    assert "reached private material" in refusal.value.what
    assert "environment: variable" in refusal.value.found
    assert sorted(shop.manifests.rglob("*")) == before


def errors(path: Path, workspace: Workspace) -> set[str]:
    """Codes of the faults of a manifest; warnings left out."""
    findings = validate_manifest(path, strict=True, workspace=workspace).findings
    return {finding.code for finding in findings if finding.severity is Severity.ERROR}


def test_what_was_sealed_with_a_real_probe_is_valid(shop: Workspace, sealed: Path) -> None:
    """The record beside the manifest backs its flags."""
    report = validate_manifest(sealed, strict=True, workspace=shop)
    assert report.valid, report.findings
    record = ProbeRecord.model_validate_json(sealed.with_name("real.probe.json").read_bytes())
    assert record.holds


def resealed(sealed: Path, record: dict[str, Any], *, name: str) -> Path:
    """A copy of the manifest that names another probe record by its right digest."""
    data = json.loads(sealed.read_text())
    data["isolation"]["probe"] = {"record": f"{name}.probe.json", "sha256": sha256_of(record)}
    write(sealed.with_name(f"{name}.probe.json"), json.dumps(record))
    proofs = proof_path(sealed, "any").parent
    shutil.copytree(proofs, proof_path(sealed.with_name(f"{name}.json"), "any").parent, dirs_exist_ok=True)
    return write(sealed.with_name(f"{name}.json"), json.dumps(data))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"runner_sha256": "ab" * 32}, {"probe-stale"}),
        ({"limits_sha256": "ab" * 32}, {"probe-stale"}),
        ({"harness_version": "0.0.1"}, {"probe-stale"}),
        ({"images": {"agent": "sha256:" + "ab" * 32, "grader": "sha256:" + "cd" * 32}}, {"probe-stale"}),
        (
            {"network": "model-gateway", "model_way": "socket"},
            {"probe-stale", "probe-untried", "probe-inconsistent"},
        ),
        ({"study_id": "another"}, {"probe-stale"}),
        ({"format_version": 1}, {"probe-stale"}),
        ({"result_sha256": "ab" * 32}, {"probe-inconsistent"}),
        ({"passed": False}, {"probe-failed"}),
        ({}, set()),
    ],
)
def test_a_record_of_other_conditions_backs_nothing(
    shop: Workspace, sealed: Path, change: dict[str, Any], expected: set[str]
) -> None:
    """Another runner, other limits, another harness or foreign images: strict validation refuses."""
    record = json.loads(sealed.with_name("real.probe.json").read_text()) | change
    path = resealed(sealed, record, name="other")
    assert errors(path, shop) == expected
    assert validate_manifest(path, strict=True, workspace=shop).valid is not bool(expected)


def test_a_record_that_leaked_backs_nothing(shop: Workspace, sealed: Path, docker_workspace: str) -> None:
    """Neither as it was written, nor when somebody turns its verdict, nor when the manifest names another."""
    limits = draft_of(shop).limits
    with a_weak_engine(docker_workspace, Leak(variables("API_TOKEN=1"))) as engine:
        study_id = draft_of(shop).study_id
        record = probed(engine, shop, limits=limits, study_id=study_id).model_dump(mode="json")
    assert errors(resealed(sealed, record, name="leaked"), shop) == {"probe-reached", "probe-failed"}
    turned = record | {"passed": True}
    assert errors(resealed(sealed, turned, name="leaked"), shop) == {"probe-reached", "probe-inconsistent"}
    path = resealed(sealed, record, name="leaked")
    write(path.with_name("leaked.probe.json"), sealed.with_name("real.probe.json").read_text())
    assert errors(path, shop) == {"probe-digest"}


def test_the_command_line_tells_every_route_and_fails_on_none(shop: Workspace, sealed: Path) -> None:
    """`esac-ag probe` on the sealed manifest: a line for each route, exit code 0, a record where asked."""
    output = shop.manifests / "again.json"
    tool = Path(sys.executable).with_name("esac-ag")
    done = subprocess.run(
        [tool, "probe", sealed, "-o", output, "--root", shop.root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [name for name in Route if name is not Route.GATEWAY and name not in done.stdout] == []
    assert ProbeRecord.model_validate_json(output.read_bytes()).holds
