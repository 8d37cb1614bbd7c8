"""Changes of a format version 1 study, each with the finding that it must cause."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

from tests.builders_manifest import Study, listed, write

Change = Callable[[Study], object]


def package(study: Study, change: dict[str, object]) -> None:
    """Change the first task's task.json; None removes a key."""
    path = study.folder / "tasks/task-1/task.json"
    data = {**json.loads(path.read_text()), **change}
    path.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))


def set_at(*path: str | int, value: object) -> Change:
    """A change of one value of the manifest."""

    def change(study: Study) -> None:
        target = study.data
        for key in path[:-1]:
            target = target[key]  # type: ignore[index]
        target[path[-1]] = value  # type: ignore[index]

    return change


def drop(*path: str | int) -> Change:
    """A change that removes one key or item of the manifest."""

    def change(study: Study) -> None:
        target = study.data
        for key in path[:-1]:
            target = target[key]  # type: ignore[index]
        del target[path[-1]]  # type: ignore[arg-type]

    return change


def bundle_file(name: str, text: str) -> Change:
    """A change that writes a file of the first bundle."""
    return lambda study: write(study.folder / "../arms/current-restraint" / name, text)


def remove(path: str) -> Change:
    """A change that removes a file or folder, relative to the manifest."""

    def change(study: Study) -> None:
        target = study.folder / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()

    return change


def pack(**change: object) -> Change:
    """A change of the first task.json."""
    return lambda study: package(study, change)


def both(key: str, value: object) -> Change:
    """A change of a value that manifest and task.json share."""

    def change(study: Study) -> None:
        study.data["tasks"][0][key] = value
        package(study, {key: value})

    return change


def outside_file(study: Study) -> None:
    """List a file that lies beside the bundle, with its right hash."""
    other = study.folder / "../arms/urteilskraft"
    entry = next(item for item in listed(other) if item["path"] == "SKILL.md")
    study.data["arms"][1]["files"].append({**entry, "path": "..\\urteilskraft\\SKILL.md"})


ALWAYS: dict[str, tuple[Change, str, str]] = {
    "a wrong version": (set_at("format_version", value=3), "format-version", "/format_version"),
    "a version as text": (set_at("format_version", value="1"), "format-version", "/format_version"),
    "no version": (drop("format_version"), "format-version", "/format_version"),
    "an unknown phase": (set_at("phase", value="pilot"), "phase", "/phase"),
    "a phase of another type": (set_at("phase", value=["primary"]), "phase", "/phase"),
    "no phase": (drop("phase"), "phase", "/phase"),
    "arms that are no list": (set_at("arms", value={"neutral": {}}), "type", "/arms"),
    "an arm that is no object": (set_at("arms", 2, value="urteilskraft"), "type", "/arms/2"),
    "an arm's id that is a list": (set_at("arms", 2, "id", value=[]), "type", "/arms/2/id"),
    "no control": (drop("arms", 0), "no-neutral", "/arms"),
    "a control with a bundle": (
        set_at("arms", 0, "bundle", value="../arms"),
        "neutral-bundle",
        "/arms/0/bundle",
    ),
    "a control with files": (set_at("arms", 0, "files", value=["x"]), "neutral-bundle", "/arms/0/files"),
    "a control without an empty list": (drop("arms", 0, "files"), "neutral-bundle", "/arms/0/files"),
    "two arms of one id": (set_at("arms", 2, "id", value="current-restraint"), "duplicate-arm", "/arms/2/id"),
    "an arm without bundle": (set_at("arms", 1, "bundle", value=None), "no-bundle", "/arms/1/bundle"),
    "an empty bundle path": (set_at("arms", 1, "bundle", value=""), "no-bundle", "/arms/1/bundle"),
    "a bundle of another type": (set_at("arms", 1, "bundle", value=7), "no-bundle", "/arms/1/bundle"),
    "a bundle that is missing": (remove("../arms/current-restraint"), "bundle-missing", "/arms/1/bundle"),
    "a bundle path with NUL": (
        set_at("arms", 1, "bundle", value="a\0b"),
        "bundle-unreadable",
        "/arms/1/bundle",
    ),
    "an inventory that is empty": (set_at("arms", 1, "files", value=[]), "no-inventory", "/arms/1/files"),
    "an inventory of another type": (
        set_at("arms", 1, "files", value={"a": 1}),
        "no-inventory",
        "/arms/1/files",
    ),
    "an entry that is no object": (
        set_at("arms", 1, "files", 0, value=3),
        "inventory-entry",
        "/arms/1/files/0",
    ),
    "an entry without path": (drop("arms", 1, "files", 0, "path"), "inventory-entry", "/arms/1/files/0"),
    "a listed file that is missing": (
        remove("../arms/current-restraint/SKILL.md"),
        "file-missing",
        "/arms/1/files/0/path",
    ),
    "a file that was edited": (
        bundle_file("SKILL.md", "# other\n"),
        "hash-mismatch",
        "/arms/1/files/0/sha256",
    ),
    "an entry without hash": (
        drop("arms", 1, "files", 0, "sha256"),
        "hash-mismatch",
        "/arms/1/files/0/sha256",
    ),
    "a hash in capitals": (
        lambda study: set_at(
            "arms",
            1,
            "files",
            0,
            "sha256",
            value=listed(study.folder / "../arms/current-restraint")[0]["sha256"].upper(),
        )(study),
        "hash-mismatch",
        "/arms/1/files/0/sha256",
    ),
    "a path that escapes with backslashes": (outside_file, "file-escapes", "/arms/1/files/2/path"),
    "a file that is not listed": (bundle_file("notes/new.md", "new\n"), "unlisted-file", "/arms/1/files"),
    "a cache in the bundle": (bundle_file("__pycache__/x.pyc", "x"), "unlisted-file", "/arms/1/files"),
    "a path that is written another way": (
        set_at("arms", 1, "files", 0, "path", value="./SKILL.md"),
        "unlisted-file",
        "/arms/1/files",
    ),
    "tasks that are no list": (set_at("tasks", value=None), "type", "/tasks"),
    "a task that is no object": (set_at("tasks", 0, value="task-1"), "type", "/tasks/0"),
    "a task without id": (drop("tasks", 0, "id"), "type", "/tasks/0"),
    "two tasks of one id": (
        lambda s: s.data["tasks"].append(s.data["tasks"][0]),
        "duplicate-task",
        "/tasks/4/id",
    ),
    "a task manifest of another type": (set_at("tasks", 0, "manifest", value=1), "type", "/tasks/0/manifest"),
    "a task manifest that escapes": (
        set_at("tasks", 0, "manifest", value="../evaluations2/task.json"),
        "task-escapes",
        "/tasks/0/manifest",
    ),
    "a task manifest that is missing": (
        remove("tasks/task-1/task.json"),
        "task-missing",
        "/tasks/0/manifest",
    ),
    "a task.json that is not JSON": (
        lambda s: write(s.folder / "tasks/task-1/task.json", "{"),
        "task-not-json",
        "/tasks/0/manifest",
    ),
    "a task.json that is a list": (
        lambda s: write(s.folder / "tasks/task-1/task.json", "[]"),
        "task-not-json",
        "/tasks/0/manifest",
    ),
    "another task's package": (pack(task_id="task-9"), "task-id", "/task_id"),
    "a package without snapshot": (pack(public_root=None), "type", "/public_root"),
    "a snapshot that escapes": (pack(public_root="../task-2/public"), "tree-escapes", "/public_root"),
    "a snapshot that is missing": (pack(public_root="private"), "tree-missing", "/public_root"),
    "a snapshot that was edited": (
        lambda s: write(s.folder / "tasks/task-1/public/README.md", "x\n"),
        "tree-mismatch",
        "/tasks/0/public_tree_sha256",
    ),
    "a tree hash that differs in the manifest": (
        set_at("tasks", 0, "public_tree_sha256", value="00" * 32),
        "tree-mismatch",
        "/tasks/0/public_tree_sha256",
    ),
    "a tree hash that differs in task.json": (
        pack(public_tree_sha256="00" * 32),
        "tree-mismatch",
        "/public_tree_sha256",
    ),
    "a tree hash that task.json lacks": (
        pack(public_tree_sha256=None),
        "tree-mismatch",
        "/public_tree_sha256",
    ),
    "grader ids that differ": (
        pack(private_grader_id="task-1@" + "cd" * 32),
        "grader-id-mismatch",
        "/tasks/0/private_grader_id",
    ),
    "a grader id of another task": (
        both("private_grader_id", "task-2@" + "ab" * 32),
        "grader-id",
        "/tasks/0/private_grader_id",
    ),
    "a grader id in capitals": (
        both("private_grader_id", "task-1@" + "AB" * 32),
        "grader-id",
        "/tasks/0/private_grader_id",
    ),
    "a grader id that is too short": (
        both("private_grader_id", "task-1@ab"),
        "grader-id",
        "/tasks/0/private_grader_id",
    ),
    "a grader id without digest": (
        both("private_grader_id", "task-1"),
        "grader-id",
        "/tasks/0/private_grader_id",
    ),
    "a grader id of another type": (both("private_grader_id", 5), "grader-id", "/tasks/0/private_grader_id"),
    "isolation flags of another type": (set_at("isolation", value=[]), "type", "/isolation"),
    "isolation flags that are null": (set_at("isolation", value=None), "type", "/isolation"),
}

UNDER_STRICT: dict[str, tuple[Change, str, str]] = {
    "too few calibration tasks": (drop("tasks", 3), "too-few-tasks", "/tasks"),
    "too few primary tasks": (set_at("phase", value="primary"), "too-few-tasks", "/tasks"),
    "too few holdout tasks": (set_at("phase", value="holdout"), "too-few-tasks", "/tasks"),
    "a flag that is false": (
        set_at("isolation", "isolation_probe_passed", value=False),
        "isolation",
        "/isolation/isolation_probe_passed",
    ),
    "a flag that is 1": (
        set_at("isolation", "fresh_process_per_run", value=1),
        "isolation",
        "/isolation/fresh_process_per_run",
    ),
    "a flag that is missing": (
        drop("isolation", "private_material_unreadable"),
        "isolation",
        "/isolation/private_material_unreadable",
    ),
    "no flags": (drop("isolation"), "isolation", "/isolation/isolated_config_per_arm"),
    "a draft": (set_at("status", value="draft"), "status", "/status"),
    "no status": (drop("status"), "status", "/status"),
    "a placeholder `replace-`": (set_at("model", "name", value="replace-me"), "placeholder", "/model/name"),
    "a placeholder `record-`": (set_at("notes", value=[["to record-later"]]), "placeholder", "/notes/0/0"),
    "a placeholder `fixed-before-`": (
        set_at("a/b", value={"c~d": "fixed-before-run"}),
        "placeholder",
        "/a~1b/c~0d",
    ),
}


LEGAL: dict[str, Change] = {
    "a version that is a float": set_at("format_version", value=1.0),
    "no descriptive keys": lambda s: [
        s.data.pop(key) for key in ("study_id", "model", "harness", "policies")
    ][4:],
    "no repetitions": drop("repetitions"),
    "placeholders in keys": set_at("replace-me", value="done"),
    "backslashes in the inventory": set_at("arms", 1, "files", 1, "path", value="references\\scope.md"),
    "an entry twice": lambda s: s.data["arms"][1]["files"].append(s.data["arms"][1]["files"][0]),
    "an arm without id": drop("arms", 2, "id"),
    "an arm's id that is a number": set_at("arms", 2, "id", value=2),
    "a package without descriptive keys": pack(family=None, contrast=None, public_command=None),
    "a manifest path with dots inside the folder": set_at(
        "tasks", 0, "manifest", value="tasks/../tasks/task-1/task.json"
    ),
    "a cache in the snapshot": lambda s: [
        write(s.folder / "tasks/task-1/public/shop/__pycache__/orders.pyc", "x"),
        write(s.folder / "tasks/task-1/public/node_modules/a/index.js", "x"),
        None,
    ][2],
}
