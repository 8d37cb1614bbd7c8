"""Judging the tasks of a version 1 manifest, one at a time."""

from __future__ import annotations

from pydantic import JsonValue

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import PathPart, shown, shown_at
from esac_ag.manifest.version1_files import Fault, TaskFile, Version1Files

TASK_KEYS = ("family", "contrast", "public_command", "baseline_expected_failure")
EDIT = "Correct the value."
DIGEST_LENGTH = 64


def judge_task(
    task: dict[str, JsonValue], task_id: str, at: tuple[PathPart, ...], files: Version1Files, out: Collector
) -> None:
    """Report what is wrong with a task's entry, its package and its snapshot."""
    manifest = task.get("manifest")
    if not isinstance(manifest, str):
        what = "The task names no task.json."
        out.error((*at, "manifest"), "type", what, "a relative path", shown_at(task, "manifest"), EDIT)
        return
    package = files.task(manifest)
    if isinstance(package, Fault):
        what = f"The task package cannot be used: {package.reason}."
        remedy = "Restore task.json, or correct the path (relative to the manifest's folder and inside it)."
        out.error((*at, "manifest"), f"task-{package.code}", what, "a task.json", shown(manifest), remedy)
        return
    inner = out.about(package.name)
    if package.data.get("task_id") != task_id:
        what = "The task package is another task's."
        inner.error(
            ("task_id",),
            "task-id",
            what,
            shown(task_id),
            shown(package.data.get("task_id")),
            "Make both equal.",
        )
    for key in TASK_KEYS:
        if not isinstance(package.data.get(key), str):
            what = f"`{key}` is missing."
            inner.warn((key,), "missing-key", what, "text", shown_at(package.data, key), f"Add `{key}`.")
    _judge_tree(task, package, manifest, at, files, out)
    _judge_grader_id(task, package, task_id, at, out)


def _judge_tree(
    task: dict[str, JsonValue],
    package: TaskFile,
    manifest: str,
    at: tuple[PathPart, ...],
    files: Version1Files,
    out: Collector,
) -> None:
    inner = out.about(package.name)
    public_root = package.data.get("public_root")
    if not isinstance(public_root, str):
        what = "The task package names no snapshot."
        inner.error(("public_root",), "type", what, "a relative path", shown(public_root), EDIT)
        return
    actual = files.public_tree_sha256(manifest, public_root)
    if isinstance(actual, Fault):
        what = f"The snapshot cannot be used: {actual.reason}."
        expected = "a folder inside the task's"
        inner.error(("public_root",), f"tree-{actual.code}", what, expected, shown(public_root), EDIT)
        return
    out.findings.extend(files.tree_notes(manifest, public_root))
    key = "public_tree_sha256"
    for place, path, value in ((out, (*at, key), task.get(key)), (inner, (key,), package.data.get(key))):
        if value != actual:
            what = "The snapshot's tree hash differs."
            remedy = "Restore the frozen snapshot, or seal the task again under a new study id."
            place.error(path, "tree-mismatch", what, shown(value), shown(actual), remedy)


def _judge_grader_id(
    task: dict[str, JsonValue], package: TaskFile, task_id: str, at: tuple[PathPart, ...], out: Collector
) -> None:
    key = "private_grader_id"
    ours, theirs = task.get(key), package.data.get(key)
    expected = f"{task_id}@<64 lower-case hexadecimal digits>"
    places = ((out, (*at, key), ours), (out.about(package.name), (key,), theirs))
    for place, path, value in places:
        if not isinstance(value, str) or not _is_grader_id(value, task_id):
            place.error(
                path, "grader-id", "The private grader's id is malformed.", expected, shown(value), EDIT
            )
    if ours != theirs:
        what = "Manifest and task package name different graders."
        out.error((*at, key), "grader-id-mismatch", what, shown(theirs), shown(ours), "Make both equal.")


def _is_grader_id(value: str, task_id: str) -> bool:
    prefix, _, digest = value.partition("@")
    return prefix == task_id and len(digest) == DIGEST_LENGTH and set(digest) <= set("0123456789abcdef")
