"""The isolation probe finds what it looks for: every route is proved on a container that leaks by it."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.clock import opaque_id
from esac_ag.conduct.freeze import freeze_draft
from esac_ag.conduct.layout import lay_out
from esac_ag.conduct.revision import runner_sha256
from esac_ag.conduct.tasks import Tell, load_pair, seal_tasks, task_ids
from esac_ag.errors import InputRefused
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.findings import Severity
from esac_ag.manifest.plan import GraderLimits
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine, connect
from esac_ag.sandbox.images import grader_reference
from tests.builders_docker import REPOSITORY
from tests.builders_manifest import a_workspace, write
from tests.builders_probe import (
    Leak,
    Request,
    a_weak_engine,
    bound,
    first_process,
    host_config,
    in_workspace,
    probed,
    probed_with,
    variables,
)

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("agent_image")]

ROUTES = {
    "paths",
    "private-places",
    "processes",
    "environment",
    "mounts",
    "engine-socket",
    "network",
    "other-users",
    "control-found",
}
PRIVATE = b"# a hidden check, long enough to be told from files of the image\n" * 2
PRIVATE_SHA256 = hashlib.sha256(PRIVATE).hexdigest()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the repository's runner, where probes lay their canary."""
    root = tmp_path_factory.mktemp("space")
    root.chmod(0o755)
    made = a_workspace(root)
    shutil.rmtree(made.runner)
    shutil.copytree(REPOSITORY / "runner", made.runner, ignore=shutil.ignore_patterns("__pycache__"))
    return made


@pytest.fixture(scope="module")
def passing(docker_engine: DockerEngine, workspace: Workspace) -> ProbeRecord:
    """The record of the real configuration."""
    return probed(docker_engine, workspace, private=(PRIVATE_SHA256,))


def reached(record: ProbeRecord) -> dict[str, str]:
    """Details by the routes that reached something."""
    return {route.name: route.detail for route in record.routes if route.reached}


def test_the_real_configuration_passes_with_every_route_tried(passing: ProbeRecord) -> None:
    """Nothing is reached, nothing is left untried, and the control was found."""
    assert reached(passing) == {}
    assert {route.name for route in passing.routes} == ROUTES
    assert min(route.tried for route in passing.routes) > 0
    assert passing.passed
    assert passing.holds


def at_grade(request: Request, _canary: str) -> None:
    """A second memory volume where a grader has its private folder."""
    volume = request["HostConfig"]["Mounts"][0]
    request["HostConfig"]["Mounts"].append(volume | {"Target": "/grade"})


def as_root(request: Request, _canary: str) -> None:
    """A first process, and commands, of the superuser."""
    request["User"] = "0:0"


def as_root_who_mounts(request: Request, canary: str) -> None:
    """The superuser with the right to make namespaces."""
    as_root(request, canary)
    host_config(CapAdd=["SYS_ADMIN"])(request, canary)


def a_program_that_runs_as_its_owner(mode: str) -> Leak:
    """One with a set-id bit in the scratch folder."""
    made = f"cp /bin/true /tmp/program; chmod {mode} /tmp/program; exec sleep infinity"
    return Leak(first_process("sh", "-c", made))


OPEN_FILE = 'printf %s "$1" > /tmp/x; exec 9< /tmp/x; rm /tmp/x; set --; exec sleep infinity'
SOCKET = (
    "import os, socket, time; os.chdir('/tmp'); "
    "s = socket.socket(socket.AF_UNIX); s.bind('any.sock'); time.sleep(600)"
)
SUPERUSER = {"other-users", "private-places", "processes"}
"""The superuser may list `/root` and read the kernel's messages, too."""
LEAKS: dict[str, tuple[Leak, set[str]]] = {
    "the canary in a file of a volume": (
        Leak(files=in_workspace("workspace/notes.txt", b"x" * 70_000 + b"CANARY\n")),
        {"paths"},
    ),
    "the canary across two pieces of a large file": (
        Leak(files=in_workspace("workspace/large.bin", b"x" * ((1 << 20) - 20) + b"CANARY\n")),
        {"paths"},
    ),
    "the canary as the name of an empty file": (
        Leak(files=in_workspace("workspace/CANARY")),
        {"paths"},
    ),
    "a private file under another name": (
        Leak(files=in_workspace("workspace/readme.txt", PRIVATE)),
        {"paths"},
    ),
    "a grader's name": (Leak(files=in_workspace("workspace/checks.py", b"pass\n")), {"paths"}),
    "a folder of graders that can be listed": (
        Leak(at_grade, files=lambda _: {"/grade": {"something.txt": b"x"}}),
        {"private-places"},
    ),
    "the arguments of another process": (
        Leak(first_process("sh", "-c", "sleep infinity; true", "CANARY")),
        {"processes"},
    ),
    "the environment of another process": (
        Leak(first_process("env", "NOTE=CANARY", "sleep", "infinity")),
        {"processes"},
    ),
    "a removed file that another process holds open": (
        Leak(first_process("sh", "-c", OPEN_FILE, "sh", "CANARY")),
        {"processes"},
    ),
    "the processes of the host": (Leak(host_config(PidMode="host")), {"processes"}),
    "the canary in the container's environment": (
        Leak(variables("NOTE=CANARY")),
        # The variable is every process's.
        {"environment", "processes"},
    ),
    "a variable that looks like a secret": (Leak(variables("OPENAI_API_KEY=sk-1")), {"environment"}),
    "a root that can be written to": (Leak(host_config(ReadonlyRootfs=False)), {"mounts"}),
    "a socket in a folder": (Leak(first_process("python3", "-c", SOCKET)), {"engine-socket"}),
    "a set-user-id program": (a_program_that_runs_as_its_owner("4755"), {"other-users"}),
    "a set-group-id program": (a_program_that_runs_as_its_owner("2755"), {"other-users"}),
    "the superuser": (Leak(as_root), SUPERUSER),
    "a superuser who makes namespaces": (Leak(as_root_who_mounts), SUPERUSER),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_by_its_route_and_by_no_other(
    workspace: Workspace, docker_workspace: str, name: str
) -> None:
    """A container with one thing wrong fails the probe exactly there."""
    leak, routes = LEAKS[name]
    record = probed_with(leak, workspace, docker_workspace, (PRIVATE_SHA256,))
    assert reached(record).keys() == routes, reached(record)
    assert not record.passed
    assert not record.holds


def test_a_folder_of_the_host_is_found_even_when_it_is_empty(
    tmp_path: Path, workspace: Workspace, docker_workspace: str
) -> None:
    """A bind mount is a leak by itself."""
    record = probed_with(Leak(bound(tmp_path, "/data")), workspace, docker_workspace)
    assert reached(record).keys() == {"mounts"}
    assert "/data" in reached(record)["mounts"]


def test_the_workspace_of_the_host_is_found_by_its_canary(
    workspace: Workspace, docker_workspace: str
) -> None:
    """Whoever mounts the workspace into an agent's container shows it the graders; the probe sees them."""
    record = probed_with(Leak(bound(workspace.root, "/host")), workspace, docker_workspace)
    assert reached(record).keys() == {"paths", "private-places", "mounts"}
    assert "esac-ag-canary-" in reached(record)["paths"]
    assert "/host/graders" in reached(record)["paths"]


def test_a_socket_where_the_engines_would_be_is_found(
    tmp_path: Path, workspace: Workspace, docker_workspace: str
) -> None:
    """It is told by its path, whoever listens."""
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        record = probed_with(Leak(bound(path, "/var/run/docker.sock")), workspace, docker_workspace)
    assert reached(record).keys() == {"engine-socket", "mounts"}
    assert "docker.sock" in reached(record)["engine-socket"]


@pytest.fixture
def bridge() -> Iterator[str]:
    """A network of our own, without a way out."""
    client: Any = connect()
    name = f"esac-ag-tests-{opaque_id()}"
    client.create_network(name, driver="bridge", internal=True)
    try:
        yield name
    finally:
        client.remove_network(name)
        client.close()


def test_a_network_is_found_even_when_it_leads_nowhere(
    bridge: str, workspace: Workspace, docker_workspace: str
) -> None:
    """An interface that is up is a leak by itself."""

    def networked(request: Request, _canary: str) -> None:
        request["NetworkDisabled"] = False
        request["HostConfig"]["NetworkMode"] = bridge

    record = probed_with(Leak(networked), workspace, docker_workspace)
    assert reached(record).keys() == {"network"}
    assert "interface" in reached(record)["network"]


def test_a_search_that_misses_its_control_proves_nothing(workspace: Workspace, docker_workspace: str) -> None:
    """A probe that cannot find what lies in its own workspace fails."""

    def without_control(archive: bytes, canary: str) -> bytes:
        # The name of the same length leaves the archive whole.
        found = [text for text in archive.split(b"\0") if text.startswith(b"esac-ag-canary-")]
        assert len(found) == 1
        assert canary.encode() not in archive
        return archive.replace(found[0], b"x" * len(found[0]))

    record = probed_with(Leak(contents=without_control), workspace, docker_workspace)
    assert reached(record).keys() == {"control-found"}
    assert not record.passed


def keep_proofs(workspace: Workspace, engine: DockerEngine, limits: GraderLimits) -> None:
    """Let the shipped tasks count as proved before; other tests prove them."""
    digest = engine.image_digest(grader_reference(workspace.runner))
    for task_id in task_ids(workspace):
        task, grader = load_pair(workspace, task_id)
        facts: dict[str, JsonValue] = {
            "task": task.snapshot_sha256,
            "command": task.package.public_command,
            "baseline": task.package.baseline_expected_failure,
            "grader": grader.tree_sha256,
            "image": digest,
            "runner": runner_sha256(workspace),
            "limits": limits.model_dump(mode="json"),
        }
        proof = ProofRecord(
            format_version=1,
            task_id=task_id,
            public_tree_sha256=task.snapshot_sha256,
            grader_tree_sha256=grader.tree_sha256,
            grader_image_digest=digest,
            repeats=1,
            seeds=("s",),
            variants=(),
            holds=True,
            faults=(),
        )
        name = f"{task_id}-{sha256_of(facts)[:32]}.json"
        write(workspace.root / ".esac-ag" / "proofs" / name, proof.model_dump_json())


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
        record = probed(engine, shop, limits=limits).model_dump(mode="json")
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
    assert [name for name in ROUTES if name not in done.stdout] == []
    assert ProbeRecord.model_validate_json(output.read_bytes()).holds
