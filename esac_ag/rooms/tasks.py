"""Reading public task packages (`tasks/<id>/`)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from esac_ag.canonical import file_sha256
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.manifest.findings import refused, shown_text
from esac_ag.manifest.package import TaskPackage
from esac_ag.manifest.plan import TaskReference
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.rooms.records import read_record
from esac_ag.rooms.trees import read_tree
from esac_ag.tree import FileTree

REQUEST_CAP_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task package as it lies on disk, read once."""

    path: Path
    """The `task.json`."""
    package: TaskPackage
    snapshot: FileTree
    """The files below `public_root`, without caches and version control."""
    snapshot_sha256: str
    """Tree hash of the snapshot as it was read; the package's own claim is `package.public_tree_sha256`."""
    request: str
    """What the agent is asked to do, with LF line ends."""
    request_sha256: str


def load_task(path: Path) -> LoadedTask:
    """Read a task package, given its folder or its `task.json`.

    Digests are computed, not compared: `load_sealed_task` does that.

    Raises:
        InputRefused: a file is missing or wrong, or the snapshot holds links or special files that no
            digest could cover.
    """
    path = path / "task.json" if os.path.isdir(path) else path  # noqa: PTH112  (never raises)
    package = read_record(path, TaskPackage)
    read = read_tree(_inside(path, package.public_root, "public_root"), skip_ignored=True)
    if read.findings:
        raise refused("The task's snapshot cannot be sealed.", read.findings, where=str(path.parent))
    request = _request(_inside(path, package.request, "request"))
    return LoadedTask(
        path=path,
        package=package,
        snapshot=read.tree,
        snapshot_sha256=read.tree.sha256(),
        request=request,
        request_sha256=file_sha256(request.encode()),
    )


def load_sealed_task(manifest_folder: Path, reference: TaskReference) -> LoadedTask:
    """Read a manifest's task and compare it with what was sealed.

    Raises:
        SubstitutionRefused: id, snapshot, request or grader id differ; all differences are listed.
        InputRefused: as `load_task`.
    """
    task = load_task(manifest_folder / reference.manifest)
    pairs = (
        ("id", reference.id, task.package.task_id),
        ("snapshot", reference.public_tree_sha256, task.snapshot_sha256),
        ("request", reference.request_sha256, task.request_sha256),
        ("grader id", reference.private_grader_id, task.package.private_grader_id),
    )
    different = [(name, sealed, now) for name, sealed, now in pairs if sealed != now]
    if different:
        raise SubstitutionRefused(
            f"Task {reference.id} is not the one that the manifest sealed.",
            where=str(task.path),
            expected=", ".join(f"{name} {sealed}" for name, sealed, _ in different),
            found=", ".join(f"{name} {now}" for name, _, now in different),
            remedy="Restore the sealed files, or freeze a new study from the changed ones.",
        )
    return task


def _inside(path: Path, value: str, key: str) -> Path:
    parts = PurePosixPath(value.replace("\\", "/"))
    folder = Path(os.path.realpath(path.parent))
    # A name that holds NUL, which no path can, is refused like one that leaves the folder.
    target = None if "\0" in value else Path(os.path.realpath(folder / parts))
    if target is None or parts.is_absolute() or not target.is_relative_to(folder):
        raise InputRefused(
            "A task package names a path outside its folder.",
            where=f"{path}#/{key}",
            expected="a path inside the task's folder",
            found=shown_text(value),
            remedy="Move the files into the task's folder.",
        )
    return target


def _request(path: Path) -> str:
    try:
        text = read_bounded(path, cap_bytes=REQUEST_CAP_BYTES).decode("utf-8")
    except (CannotRead, UnicodeDecodeError) as error:
        raise InputRefused(
            "The task's request cannot be read.",
            where=str(path),
            expected="a text file in UTF-8",
            found=str(error),
            remedy="Write the request there, or correct `request` in task.json.",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
