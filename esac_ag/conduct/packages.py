"""Writes a new task with its grader: both folders, whole, or neither."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from esac_ag.errors import UsageError
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.package import GraderPackage
from esac_ag.owner import temporary_folder
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree, RegularFile

_ID = r"[a-z0-9][a-z0-9-]{0,79}"


def require_new_id(workspace: Workspace, task_id: str) -> None:
    """Refuse what is no task id, or the id of a task or a grader of the workspace.

    Raises:
        UsageError: it is one of these.
    """
    if re.fullmatch(_ID, task_id) is None:
        raise UsageError(
            "that is no task id",
            expected="lower case, digits and hyphens, 80 characters at most",
            found=shown_text(task_id[:100]),
        )
    for folder in (workspace.tasks / task_id, workspace.graders / task_id):
        if os.path.lexists(folder):
            raise UsageError(
                f"there is a task {task_id} already",
                where=str(folder),
                expected="a new id",
                remedy="choose another id, or remove the folders tasks/ID and graders/ID",
            )


def json_file(document: Mapping[str, JsonValue]) -> RegularFile:
    """A document as people edit it."""
    return RegularFile((json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())


def write_package(
    workspace: Workspace,
    *,
    document: Mapping[str, JsonValue],
    request: str,
    snapshot: FileTree,
    grader: FileTree,
    package: GraderPackage,
) -> None:
    """Write `tasks/<id>` and `graders/<id>`, sealed.

    Args:
        workspace: where to.
        document: `task.json` without what sealing fills in.
        request: what the agent is asked to do.
        snapshot: the files that it begins with.
        grader: the private files but for `grader.json`.
        package: the contents of `grader.json`.

    Raises:
        UsageError: a task or a grader of that id is there, or it is none.
    """
    task_id = package.task_id
    require_new_id(workspace, task_id)
    # Defaults are left out: what is not there does not raise questions.
    private = grader.merged(
        {b"grader.json": json_file(package.model_dump(mode="json", exclude_defaults=True))}
    )
    whole = {
        **document,
        "request": "request.md",
        "public_root": "public",
        "public_tree_sha256": snapshot.sha256(),
        "private_grader_id": f"{task_id}@{private.sha256()}",
        "trust": package.trust.value,
    }
    public = snapshot.under(b"public").merged(
        {b"task.json": json_file(whole), b"request.md": RegularFile(request.encode())}
    )
    with temporary_folder("package", inside=workspace.root) as folder:
        _write(folder / "task", public)
        (folder / "task" / "public").mkdir(exist_ok=True)
        _write(folder / "grader", private)
        (folder / "grader").rename(workspace.graders / task_id)
        try:
            (folder / "task").rename(workspace.tasks / task_id)
        except OSError:
            (workspace.graders / task_id).rename(folder / "back")
            raise


def _write(folder: Path, tree: FileTree) -> None:
    folder.mkdir()
    for path, node in tree.files().items():
        target = folder / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(node.data)
        target.chmod(0o755 if node.executable else 0o644)
