"""A workspace whose drafts can be frozen on the in-memory engine, and the programs that freezing runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from esac_ag.manifest.plan import Network
from esac_ag.manifest.probe import Route, routes_for
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess, Program
from tests.builders_conduct import BOOK
from tests.builders_manifest import Study, a_workspace, tree_hash, write

RUNNER = Path(__file__).parent.parent / "runner"
TASKS = tuple(f"task-{number}" for number in range(1, 5))
FAILING_TEST = "tests/test_shop.py::test_total"
NEW_CHECK = "total"
PATCH = "--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{1}\n"


def judge(process: FakeProcess) -> int:
    """A judge that fails the new check unless the submission holds `fixed.txt`."""
    plan = json.loads(process.files.read("/grade/judge.json"))
    fixed = process.files.exists("/grade/submission/fixed.txt")
    checks = [
        {
            "id": check["id"],
            "verdict": "fail" if check["id"] == NEW_CHECK and not fixed else "pass",
            "reason": "",
            "duration_s": 0.0,
        }
        for check in plan["checks"]
    ]
    result = {"format_version": 1, "status": "graded", "invalid_reason": None, "checks": checks}
    process.files.write("/grade/out/result.json", json.dumps(result).encode())
    return 0


def lenient_judge(process: FakeProcess) -> int:
    """A judge that passes everything, so that no task is proved."""
    process.files.write("/grade/submission/fixed.txt", b"")
    return judge(process)


def public_tests(process: FakeProcess) -> int:
    """The public command: its one test fails unless `fixed.txt` is there."""
    if process.files.exists("/grade/work/fixed.txt"):
        process.write("==== 1 passed in 0.01s ====\n")
        return 0
    heading = "==== short test summary info ===="
    process.write(f"{heading}\nFAILED {FAILING_TEST} - assert\n==== 1 failed in 0.01s ====\n")
    return 1


def a_probe(*, tried: int = 10, reached: bool = False) -> Program:
    """A probe program that tries every route, and answers so on the first one."""

    def probe(process: FakeProcess) -> int:
        plan = json.loads(process.files.read(process.argv[-1]))
        network = Network.NONE if plan["gateway"] is None else Network.MODEL_GATEWAY
        routes = [
            {"name": name, "tried": 10, "reached": False, "detail": ""}
            for name in sorted(routes_for(network) - {Route.CONTROL_FOUND, Route.PATHS})
        ]
        first = {"name": "paths", "tried": tried, "reached": reached, "detail": "/grade/private"}
        process.write(json.dumps({"routes": [first, *routes], "control": True}))
        return 0

    return probe


def an_engine(*, images: dict[str, str] | None = None, **programs: Program) -> InMemoryEngine:
    """An engine for freezing: programs `judge` and `probe` may be others; None lets every image exist."""
    return InMemoryEngine(
        {
            ("python3", "-I", "-S", "-B", "/esac/judge.py"): programs.get("judge", judge),
            ("python3", "-I", "/agent/home/probe.py"): programs.get("probe", a_probe()),
            ("/bin/sh", "-c"): public_tests,
        },
        images=images,
    )


def a_draft(folder: Path, **changes: Any) -> Study:  # noqa: ANN401
    """A complete draft of four tasks, two arms and a scripted agent; `changes` replace keys."""
    workspace = a_workspace(folder)
    shutil.copytree(
        RUNNER, workspace.runner, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    for task in TASKS:
        make_provable(workspace, task)
    write(workspace.manifests / "script.json", json.dumps(BOOK))
    data: dict[str, Any] = {
        "format_version": 2,
        "study_id": "study-1",
        "phase": "calibration",
        "status": "draft",
        "model": {"name": "scripted", "version": "1", "provider": "none"},
        "agent": {"kind": "scripted", "version": "1", "settings": {"script": "script.json"}},
        "repetitions": 2,
        "arms": [{"id": "neutral"}, {"id": "careful", "bundle": "../arms/careful"}],
        "tasks": [{"id": task} for task in TASKS],
    }
    draft = Study(workspace.manifests / "study.draft.json", data | changes)
    draft.save()
    return draft


def workspace_of(draft: Study) -> Workspace:
    """The draft's workspace."""
    return Workspace(draft.folder.parent)


def make_provable(workspace: Workspace, task: str) -> None:
    """Give a task as many checks, references and decoys as a proof needs, and seal it again."""
    private = workspace.graders / task
    grader = json.loads((private / "grader.json").read_text())
    shared = {"title": "t", "dimension": "behaviour", "weight": 1}
    grader["checks"] = [{"id": NEW_CHECK, "kind": "must-now-work", **shared}]
    grader["checks"] += [{"id": f"old-{n}", "kind": "must-still-work", **shared} for n in range(7)]
    grader["references"] = [{"id": f"fix-{n}", "patch": f"fix-{n}.patch", "why": "right"} for n in range(2)]
    grader["decoys"] = [
        {"id": f"no-{n}", "patch": f"no-{n}.patch", "fails": [NEW_CHECK], "why": "wrong"} for n in range(3)
    ]
    write(private / "grader.json", json.dumps(grader))
    for n in range(2):
        write(private / f"fix-{n}.patch", PATCH.format("fixed.txt", f"way {n}"))
    for n in range(3):
        write(private / f"no-{n}.patch", PATCH.format(f"other-{n}.txt", "nothing"))
    path = workspace.tasks / task / "task.json"
    package = json.loads(path.read_text()) | {"private_grader_id": f"{task}@{tree_hash(private)}"}
    write(path, json.dumps(package))
