"""Listing and sealing task packages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from esac_ag.conduct.tasks import list_tasks, seal_tasks
from esac_ag.errors import InputRefused, UsageError
from tests.builders_manifest import a_workspace, tree_hash


@pytest.mark.parametrize("blank", ["absent", "", None])
def test_a_new_task_is_sealed_without_its_digests(tmp_path: Path, blank: str | None) -> None:
    """The two keys that sealing fills in may be left out, empty or null."""
    workspace = a_workspace(tmp_path)
    path = workspace.tasks / "task-1" / "task.json"
    document = json.loads(path.read_text())
    right = {key: document.pop(key) for key in ("public_tree_sha256", "private_grader_id")}
    if blank != "absent":
        document |= dict.fromkeys(right, blank)
    path.write_text(json.dumps(document))
    (line,) = seal_tasks(workspace, ("task-1",))
    assert line.startswith("task-1: sealed")
    sealed = json.loads(path.read_text())
    assert {key: sealed[key] for key in right} == right
    assert sealed["public_tree_sha256"] == tree_hash(path.parent / "public")


def test_sealing_again_changes_nothing(tmp_path: Path) -> None:
    """A sealed task stays byte for byte what it is."""
    workspace = a_workspace(tmp_path)
    before = (workspace.tasks / "task-1" / "task.json").read_bytes()
    assert seal_tasks(workspace, ("task-1",)) == ("task-1: sealed already",)
    assert (workspace.tasks / "task-1" / "task.json").read_bytes() == before


def test_a_broken_task_does_not_hide_the_others(tmp_path: Path) -> None:
    """The list shows every task, and what is wrong with those that cannot be read."""
    workspace = a_workspace(tmp_path)
    (workspace.tasks / "task-2" / "task.json").write_text("{")
    lines = {line.id: line for line in list_tasks(workspace).tasks}
    assert len(lines) == 4
    assert lines["task-2"].fault
    assert lines["task-1"].sealed
    assert lines["task-1"].checks == 1


def test_a_task_that_is_no_object_or_not_there_is_refused(tmp_path: Path) -> None:
    """Each with its own error."""
    workspace = a_workspace(tmp_path)
    (workspace.tasks / "task-1" / "task.json").write_text("[]")
    with pytest.raises(InputRefused):
        seal_tasks(workspace, ("task-1",))
    with pytest.raises(UsageError):
        seal_tasks(workspace, ("task-9",))
