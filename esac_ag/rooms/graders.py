"""Reading private grader packages (`graders/<id>/`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from esac_ag.errors import SubstitutionRefused
from esac_ag.manifest.findings import refused
from esac_ag.manifest.package import GraderPackage
from esac_ag.manifest.plan import TaskReference
from esac_ag.rooms.records import read_record
from esac_ag.rooms.trees import read_tree
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree


@dataclass(frozen=True, slots=True)
class LoadedGrader:
    """A grader package as it lies on disk, read once. Private: never enters an agent's container."""

    folder: Path
    package: GraderPackage
    files: FileTree
    """All files of `graders/<id>/`, without caches."""
    tree_sha256: str

    @property
    def private_grader_id(self) -> str:
        """`<task id>@<tree hash>`, as manifests and task packages name it."""
        return f"{self.package.task_id}@{self.tree_sha256}"


def load_grader(workspace: Workspace, task_id: str) -> LoadedGrader:
    """Read the grader package of a task; digests are computed, not compared.

    Raises:
        InputRefused: a file is missing or wrong, or the package is another task's.
    """
    folder = workspace.graders / task_id
    package = read_record(folder / "grader.json", GraderPackage)
    read = read_tree(folder, skip_ignored=True)
    if read.findings:
        raise refused("The grader package cannot be sealed.", read.findings, where=str(folder))
    if package.task_id != task_id:
        raise SubstitutionRefused(
            "The grader package is another task's.",
            where=f"{folder / 'grader.json'}#/task_id",
            expected=task_id,
            found=package.task_id,
            remedy="Correct `task_id`, or the folder's name.",
        )
    return LoadedGrader(folder=folder, package=package, files=read.tree, tree_sha256=read.tree.sha256())


def graders_revision(graders: Iterable[LoadedGrader]) -> str:
    """Tree hash over several graders as they lie in `graders/`: a manifest's `grader_revision`."""
    return FileTree(
        {
            path: node
            for grader in graders
            for path, node in grader.files.under(grader.package.task_id.encode()).items()
        }
    ).sha256()


def load_sealed_grader(workspace: Workspace, reference: TaskReference) -> LoadedGrader:
    """Read the grader of a manifest's task and compare it with what was sealed.

    Raises:
        SubstitutionRefused: the grader's files changed since.
        InputRefused: as `load_grader`.
    """
    grader = load_grader(workspace, reference.id)
    if grader.private_grader_id != reference.private_grader_id:
        raise SubstitutionRefused(
            f"The grader of task {reference.id} is not the one that the manifest sealed.",
            where=str(grader.folder),
            expected=reference.private_grader_id,
            found=grader.private_grader_id,
            remedy="Restore the sealed files, or freeze a new study from the changed ones.",
        )
    return grader
