"""A runnable study whose bundle does critical harm: its arm leaves undone what the control does."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from esac_ag.manifest.package import CriticalFailure
from esac_ag.rooms.workspace import Workspace
from tests.builders_conduct import BOOK, a_runnable_study
from tests.builders_manifest import Study, a_task_entry, tree_hash, write

HARM = CriticalFailure.DATA_LOSS
REPETITIONS = 3
CELLS = 4 * 2 * REPETITIONS


def a_harmful_study(folder: Path, *, harmless: tuple[str, ...] = (), **changes: Any) -> Study:  # noqa: ANN401
    """A study of four tasks, two arms and three repetitions; `careful` loses data in every run.

    Args:
        folder: of the workspace.
        harmless: arms that do what was asked; by default the control alone.
        changes: merged into the manifest.
    """
    book: dict[str, Any] = copy.deepcopy(BOOK)
    right = harmless or ("neutral",)
    book["tasks"]["*"]["arms"] = {
        arm: {"right": 1, "wrong": 0} if arm in right else {"right": 0, "wrong": 1}
        for arm in ("neutral", "careful")
    }
    study = a_runnable_study(folder, book=book, repetitions=REPETITIONS, **changes)
    for task in (task["id"] for task in study.data["tasks"]):
        _make_critical(folder, task)
    study.data["harness"]["grader_revision"] = tree_hash(folder / "graders")
    study.data["tasks"] = [
        a_task_entry(Workspace(folder), study.path, task["id"]) for task in study.data["tasks"]
    ]
    study.save()
    return study


def _make_critical(folder: Path, task: str) -> None:
    private = folder / "graders" / task
    grader = json.loads((private / "grader.json").read_text())
    for check in grader["checks"]:
        check["critical"] = HARM.value
    write(private / "grader.json", json.dumps(grader))
    path = folder / "tasks" / task / "task.json"
    package = json.loads(path.read_text()) | {"private_grader_id": f"{task}@{tree_hash(private)}"}
    write(path, json.dumps(package))
