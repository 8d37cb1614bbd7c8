"""Builders of manifests and of the files around them.

The hashes here are computed by a second, plain implementation of the written format, so that a fault
in ours cannot agree with itself.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from esac_ag.canonical import sha256_of
from esac_ag.manifest.plan import Limits, Network
from esac_ag.manifest.probe import routes_for
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.workspace import ROOMS, Workspace
from esac_ag.schedule import schedule_sha256

IGNORED = {".git", ".pytest_cache", "__pycache__", "node_modules", "test-results"}
GRADER_DIGEST = "ab" * 32
CHECKS = """\
from esac_checks import Subject, check, require


@check("total")
def total(subject: Subject) -> None:
    require(subject.exists("fixed.txt"), "nothing was fixed")
"""
SKILL_TEXT = "---\nname: careful\ndescription: Be careful.\n---\n\n# Careful\n"


def file_hash(path: Path) -> str:
    """The hash of a text file, as the written format says."""
    text = path.read_bytes().decode("utf-8")
    return hashlib.sha256(text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8")).hexdigest()


def tree_hash(folder: Path) -> str:
    """The hash of a tree of text files, as the written format says."""
    kept = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not IGNORED.intersection(path.relative_to(folder).parts)
        and path.suffix not in {".pyc", ".pyo"}
    ]
    lines = [f"{path.relative_to(folder).as_posix()}\0{file_hash(path)}" for path in sorted(kept)]
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def listed(folder: Path) -> list[dict[str, str]]:
    """The inventory of a bundle."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [{"path": path.relative_to(folder).as_posix(), "sha256": file_hash(path)} for path in files]


def write(path: Path, text: str) -> Path:
    """Write a text file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


@dataclass
class Study:
    """A manifest on disk with everything that it names."""

    path: Path
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The manifest's folder."""
        return self.path.parent

    def save(self) -> Path:
        """Write the manifest as it is now."""
        return write(self.path, json.dumps(self.data, indent=2))


def a_version1_task(folder: Path, task_id: str) -> dict[str, str]:
    """Write a task package below `tasks/`; its entry for the manifest."""
    home = folder / "tasks" / task_id
    write(home / "public" / "shop" / "__init__.py", "")
    write(home / "public" / "shop" / "orders.py", f"NAME = '{task_id}'\n\n\ndef total(x):\n    return x\n")
    write(home / "public" / "README.md", "# Shop\n\nAn example.\n")
    write(home / "public" / "shop-notes.txt", "sorts after shop/ by components, before it by characters\n")
    shared = {
        "public_tree_sha256": tree_hash(home / "public"),
        "private_grader_id": f"{task_id}@{GRADER_DIGEST}",
    }
    package = {
        "task_id": task_id,
        "family": "ownership",
        "contrast": "restraint",
        "public_root": "public",
        "public_command": "python3 -m pytest",
        "baseline_expected_failure": "tests/test_orders.py::test_total",
        "owner": "somebody else",
        **shared,
    }
    write(home / "task.json", json.dumps(package, indent=1))
    return {"id": task_id, "manifest": f"tasks/{task_id}/task.json", **shared}


def a_version1_study(folder: Path) -> Study:
    """A complete calibration study in format version 1, as another project would lay it out."""
    home = folder / "evaluations"
    for arm in ("current-restraint", "urteilskraft"):
        write(folder / "arms" / arm / "SKILL.md", f"# {arm}\n")
        write(folder / "arms" / arm / "references" / "scope.md", "How far?\n")
    data = {
        "format_version": 1,
        "study_id": "calibration-1",
        "phase": "calibration",
        "status": "frozen",
        "model": {"name": "some-model", "version": "2026-01-01", "reasoning": "high", "effort": 3},
        "harness": {"revision": "0123abc", "grader_revision": "77", "runner_sha256": "cd" * 32, "wsl": True},
        "isolation": {
            "fresh_process_per_run": True,
            "isolated_config_per_arm": True,
            "private_material_unreadable": True,
            "isolation_probe_passed": True,
        },
        "repetitions": 3,
        "arms": [
            {"id": "neutral", "kind": "control", "bundle": None, "files": []},
            *(
                {
                    "id": arm,
                    "kind": "skill",
                    "bundle": f"../arms/{arm}",
                    "files": listed(folder / "arms" / arm),
                }
                for arm in ("current-restraint", "urteilskraft")
            ),
        ],
        "tasks": [a_version1_task(home, f"task-{number}") for number in range(1, 5)],
        "policies": {
            "practical_improvement_points": 5,
            "critical_failures": ["security regression"],
            "runner_failures": "retry once",
            "early_stop": "never on favourable averages",
        },
    }
    study = Study(home / "manifest.json", data)
    study.save()
    return study


IMAGE_DIGESTS = {"agent": "sha256:" + "11" * 32, "grader": "sha256:" + "22" * 32}


def a_workspace(folder: Path) -> Workspace:
    """A workspace with one skill, four tasks with graders, and a runner."""
    for room in ROOMS:
        (folder / room).mkdir(parents=True, exist_ok=True)
    write(folder / "arms" / "careful" / "SKILL.md", SKILL_TEXT)
    write(folder / "arms" / "careful" / "references" / "more.md", "More.\n")
    write(folder / "runner" / "guest" / "hello.py", "print('hello')\n")
    for number in range(1, 5):
        a_task_with_grader(folder, f"task-{number}")
    return Workspace(folder)


def a_task_with_grader(root: Path, task_id: str) -> None:
    """Write `tasks/<id>` and `graders/<id>`, sealed to each other."""
    home, private = root / "tasks" / task_id, root / "graders" / task_id
    write(home / "public" / "shop.py", f"NAME = '{task_id}'\n")
    write(home / "request.md", "The total is wrong. Please fix it.\n")
    write(private / "checks.py", CHECKS)
    grader = {
        "format_version": 1,
        "task_id": task_id,
        "checks": [
            {"id": "total", "title": "Totals", "kind": "must-now-work", "dimension": "behaviour", "weight": 1}
        ],
        "references": [{"id": "fix", "patch": "references/fix.patch", "why": "it is right"}],
        "decoys": [{"id": "wrong", "patch": "decoys/wrong.patch", "fails": ["total"], "why": "it is not"}],
    }
    write(private / "grader.json", json.dumps(grader))
    package = {
        "task_id": task_id,
        "family": "ownership",
        "contrast": "restraint",
        "public_root": "public",
        "public_tree_sha256": tree_hash(home / "public"),
        "public_command": "python3 -m pytest",
        "baseline_expected_failure": "tests/test_shop.py::test_total",
        "private_grader_id": f"{task_id}@{tree_hash(private)}",
    }
    write(home / "task.json", json.dumps(package))


def probed_routes(network: Network = Network.NONE, **changes: JsonValue) -> list[JsonValue]:
    """What a probe tells of each route when it reached nothing; `changes` are of its first route."""
    names = [name.value for name in sorted(routes_for(network))]
    whole: list[dict[str, JsonValue]] = [
        {"name": name, "tried": 100, "reached": False, "detail": ""} for name in names
    ]
    return [whole[0] | changes, *whole[1:]]


def a_sealed_study(folder: Path) -> Study:
    """A workspace with a sealed calibration study of format version 2, its probe record and its proofs."""
    workspace = a_workspace(folder)
    tasks = [f"task-{number}" for number in range(1, 5)]
    path = workspace.manifests / "study.json"
    for task in tasks:
        write(proof_path(path, task), json.dumps({"task": task, "holds": True}))
    limits: dict[str, Any] = {"wall_clock_s": 60, "turns": 10}
    runner = tree_hash(workspace.runner)
    probe: dict[str, Any] = {
        "format_version": 2,
        "made_at": "2026-01-01T00:00:00.000Z",
        "study_id": "study-1",
        "manifest_sha256": None,
        "images": IMAGE_DIGESTS,
        "runner_sha256": runner,
        "limits_sha256": sha256_of(Limits.model_validate(limits)),
        "network": "none",
        "model_way": None,
        "harness_version": "0.1.0",
        "canary_sha256": "ee" * 32,
        "routes": (routes := probed_routes()),
        "result_sha256": sha256_of(routes),
        "passed": True,
    }
    write(workspace.manifests / "study.probe.json", json.dumps(probe))
    data: dict[str, Any] = {
        "format_version": 2,
        "study_id": "study-1",
        "suite": {"name": "study", "version": "1"},
        "phase": "calibration",
        "status": "frozen",
        "model": {"name": "scripted", "version": "1", "provider": "none"},
        "agent": {"kind": "scripted", "version": "1"},
        "harness": {
            "version": "0.1.0",
            "revision": "0123abc",
            "dirty": False,
            "package_sha256": "99" * 32,
            "runner_sha256": runner,
            "grader_revision": tree_hash(workspace.graders),
        },
        "images": {name: {"reference": f"{name}:1", "digest": IMAGE_DIGESTS[name]} for name in IMAGE_DIGESTS},
        "limits": limits,
        "network": "none",
        "isolation": {
            "fresh_process_per_run": True,
            "isolated_config_per_arm": True,
            "private_material_unreadable": True,
            "isolation_probe_passed": True,
            "probe": {"record": "study.probe.json", "sha256": sha256_of(probe)},
        },
        "repetitions": 2,
        "schedule": {"seed": "s", "sha256": schedule_sha256("s", tasks, ["neutral", "careful"], 2)},
        "arms": [
            {"id": "neutral", "kind": "none", "bundle": None, "files": []},
            {
                "id": "careful",
                "kind": "skill",
                "bundle": "../arms/careful",
                "files": listed(workspace.arms / "careful"),
            },
        ],
        "tasks": [a_task_entry(workspace, path, task) for task in tasks],
        "policies": {},
        "analysis": {"interval": {"seed": "i"}, "primary_comparison": {"arm": "careful"}},
        "prices": None,
    }
    study = Study(path, data)
    study.save()
    return study


def a_task_entry(workspace: Workspace, manifest: Path, task: str) -> dict[str, str]:
    """A task's entry in a sealed manifest."""
    home = workspace.tasks / task
    proof = json.loads(proof_path(manifest, task).read_text())
    return {
        "id": task,
        "manifest": f"../tasks/{task}/task.json",
        "public_tree_sha256": tree_hash(home / "public"),
        "request_sha256": file_hash(home / "request.md"),
        "private_grader_id": f"{task}@{tree_hash(workspace.graders / task)}",
        "proof_sha256": sha256_of(proof),
    }
