"""Finding the workspace, and reading its task and grader packages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.manifest.plan import TaskReference
from esac_ag.rooms.graders import graders_revision, load_grader, load_sealed_grader
from esac_ag.rooms.tasks import load_sealed_task, load_task
from esac_ag.rooms.workspace import ROOMS, Workspace
from tests.builders_manifest import a_sealed_study, a_workspace, tree_hash, write


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with four tasks."""
    return a_workspace(tmp_path / "space")


def test_the_workspace_is_the_nearest_folder_upward_that_has_all_rooms(workspace: Workspace) -> None:
    """A folder with some of the rooms is no workspace."""
    inner = workspace.root / "tasks" / "task-1"
    (inner / "arms").mkdir()
    assert Workspace.find(start=inner / "public").root == workspace.root


def test_without_a_workspace_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    """Exit code 64, with both remedies."""
    with pytest.raises(UsageError) as refused:
        Workspace.find(start=tmp_path)
    assert (refused.value.exit_code, "--root" in refused.value.remedy) == (64, True)


@pytest.mark.parametrize("room", ROOMS)
def test_a_root_that_lacks_a_room_is_refused_by_its_name(workspace: Workspace, room: str) -> None:
    """A named folder is never replaced by another one upward."""
    (workspace.root / room).rename(workspace.root / "moved")
    with pytest.raises(UsageError) as refused:
        Workspace.find(workspace.root)
    assert f"no {room}" in refused.value.found


@pytest.mark.parametrize("name", ["tasks/task-1", "tasks/task-1/task.json"])
def test_a_task_is_loaded_from_its_folder_or_its_file(workspace: Workspace, name: str) -> None:
    """With its snapshot, its request and both digests."""
    task = load_task(workspace.root / name)
    assert task.package.task_id == "task-1"
    assert list(task.snapshot) == [b"shop.py"]
    assert (
        task.snapshot_sha256
        == task.package.public_tree_sha256
        == tree_hash(workspace.tasks / "task-1/public")
    )
    assert task.request == "The total is wrong. Please fix it.\n"


def test_a_request_with_windows_line_ends_is_the_same_request(workspace: Workspace) -> None:
    """The agent reads LF, and the digest is that of LF."""
    before = load_task(workspace.tasks / "task-1")
    path = workspace.tasks / "task-1" / "request.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    after = load_task(workspace.tasks / "task-1")
    assert (after.request, after.request_sha256) == (before.request, before.request_sha256)


def test_caches_are_no_part_of_a_snapshot(workspace: Workspace) -> None:
    """What the hash leaves out must not reach an agent."""
    write(workspace.tasks / "task-1/public/__pycache__/solution.pyc", "answer")
    write(workspace.tasks / "task-1/public/.git/HEAD", "ref")
    task = load_task(workspace.tasks / "task-1")
    assert list(task.snapshot) == [b"shop.py"]
    assert task.snapshot_sha256 == task.package.public_tree_sha256


@pytest.mark.parametrize(
    "change",
    [
        {"public_root": "../task-2/public"},
        {"public_root": "/etc"},
        {"public_root": "missing"},
        {"public_root": "a\0b"},
        {"request": "../task-2/request.md"},
        {"request": "missing.md"},
        {"request": "public"},
        {"family": 3},
        {"public_tree_sha256": "xyz"},
    ],
)
def test_a_task_package_that_is_wrong_is_refused_in_words(
    workspace: Workspace, change: dict[str, object]
) -> None:
    """Nothing outside the task's folder is read, and no exception is Python's own."""
    path = workspace.tasks / "task-1" / "task.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputRefused) as refused:
        load_task(path)
    assert "task-1" in refused.value.where
    assert refused.value.found


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1, "a": 2}', "\ufeff{}", "[" * 5000])
def test_a_package_that_is_no_json_is_refused_in_words(workspace: Workspace, text: str) -> None:
    """For tasks and for graders alike."""
    for name in ("tasks/task-1/task.json", "graders/task-1/grader.json"):
        write(workspace.root / name, text)
    with pytest.raises(InputRefused):
        load_task(workspace.tasks / "task-1")
    with pytest.raises(InputRefused):
        load_grader(workspace, "task-1")


def test_a_link_in_a_snapshot_that_leaves_it_is_refused(workspace: Workspace) -> None:
    """The finding names it."""
    (workspace.tasks / "task-1/public/answers").symlink_to("../../../graders/task-1")
    with pytest.raises(InputRefused) as refused:
        load_task(workspace.tasks / "task-1")
    assert "answers" in refused.value.found


def test_a_grader_is_loaded_with_all_its_files_and_its_id(workspace: Workspace) -> None:
    """The id is the one that manifests and task packages name."""
    grader = load_grader(workspace, "task-1")
    assert list(grader.files) == [b"checks.py", b"grader.json"]
    assert grader.private_grader_id == load_task(workspace.tasks / "task-1").package.private_grader_id


def test_a_grader_of_another_task_is_refused(workspace: Workspace) -> None:
    """A swapped folder is noticed without any manifest."""
    (workspace.graders / "task-1").rename(workspace.graders / "task-5")
    with pytest.raises(SubstitutionRefused) as refused:
        load_grader(workspace, "task-5")
    assert (refused.value.expected, refused.value.found) == ("task-5", "task-1")


def test_the_revision_of_graders_is_the_hash_of_their_room(workspace: Workspace) -> None:
    """Those of the named tasks only."""
    graders = [load_grader(workspace, f"task-{number}") for number in range(1, 5)]
    assert graders_revision(graders) == tree_hash(workspace.graders)
    assert graders_revision(graders[:2]) != graders_revision(graders)


def reference(folder: Path) -> tuple[Workspace, Path, TaskReference]:
    """A sealed study's first task."""
    study = a_sealed_study(folder)
    entry = TaskReference.model_validate(study.data["tasks"][0])
    return Workspace(folder), study.folder, entry


def test_a_sealed_task_and_its_grader_load_while_nothing_changed(tmp_path: Path) -> None:
    """What comes back is what was compared."""
    workspace, folder, entry = reference(tmp_path)
    assert load_sealed_task(folder, entry).snapshot_sha256 == entry.public_tree_sha256
    assert load_sealed_grader(workspace, entry).private_grader_id == entry.private_grader_id


@pytest.mark.parametrize(
    ("path", "name"),
    [("tasks/task-1/public/shop.py", "snapshot"), ("tasks/task-1/request.md", "request")],
)
def test_a_task_that_changed_since_sealing_is_refused_by_name(tmp_path: Path, path: str, name: str) -> None:
    """The error tells which part and both digests."""
    workspace, folder, entry = reference(tmp_path)
    write(workspace.root / path, "changed\n")
    with pytest.raises(SubstitutionRefused) as refused:
        load_sealed_task(folder, entry)
    assert refused.value.expected.startswith(name)


def test_a_grader_that_changed_since_sealing_is_refused(tmp_path: Path) -> None:
    """A new file is a change too."""
    workspace, _, entry = reference(tmp_path)
    write(workspace.graders / "task-1" / "notes.md", "new\n")
    with pytest.raises(SubstitutionRefused):
        load_sealed_grader(workspace, entry)
