"""Begins a task: a small package whose proof holds, for an author to edit step by step."""

from __future__ import annotations

from pydantic import JsonValue

from esac_ag.conduct.packages import require_new_id, write_package
from esac_ag.conduct.scaffold_text import (
    BASELINE,
    CHECKS,
    DECOYS,
    FIRST,
    NEXT,
    ORACLE,
    REFERENCES,
    REQUEST,
    SNAPSHOT,
)
from esac_ag.grading.patching import make_patch
from esac_ag.manifest.package import CheckDeclaration, Decoy, GraderPackage, Reference
from esac_ag.record import Identifier, Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree, RegularFile


class NewTask(Record):
    """A task that was begun."""

    id: Identifier
    files: tuple[str, ...]
    """What an author edits, relative to the workspace."""
    next_steps: tuple[str, ...]


def new_task(workspace: Workspace, task_id: str, *, request: str | None = None) -> NewTask:
    """Write an example task and its grader, sealed and ready to be proved.

    Args:
        workspace: where to.
        task_id: of the new task.
        request: what the agent is asked to do, in place of the example's request.

    Raises:
        UsageError: the id is taken, or none.
    """
    require_new_id(workspace, task_id)
    snapshot = FileTree.of_text(SNAPSHOT)
    package = _package(task_id)
    document: dict[str, JsonValue] = {
        "task_id": task_id,
        "title": "Example: separators in a row make one hyphen",
        "family": "ownership",
        "contrast": "restraint",
        "public_command": "python3 -m pytest -q -p no:cacheprovider",
        "baseline_expected_failure": BASELINE,
    }
    write_package(
        workspace,
        document=document,
        request=REQUEST if request is None else request.rstrip("\n") + "\n",
        snapshot=snapshot,
        grader=_private(task_id, snapshot),
        package=package,
    )
    return NewTask(
        id=task_id,
        files=tuple(
            f"{place}/{task_id}/{name}"
            for place, name in (
                ("tasks", "request.md"),
                ("tasks", "public/"),
                ("tasks", "task.json"),
                ("graders", "oracle.md"),
                ("graders", "checks.py"),
                ("graders", "grader.json"),
                ("graders", "references/"),
                ("graders", "decoys/"),
            )
        ),
        next_steps=(FIRST.format(id=task_id), *_steps(task_id)),
    )


def _steps(task_id: str) -> tuple[str, ...]:
    return tuple(f"{number}. {step.format(id=task_id)}" for number, step in enumerate(NEXT, start=1))


def _package(task_id: str) -> GraderPackage:
    return GraderPackage(
        format_version=1,
        task_id=task_id,
        checks=tuple(
            CheckDeclaration(
                id=id_, title=title, kind=kind, dimension=dimension, weight=weight, critical=critical
            )
            for id_, title, kind, dimension, weight, critical in CHECKS.declared
        ),
        references=tuple(
            Reference(id=id_, patch=f"references/{id_}.patch", why=why)
            for id_, (why, _) in REFERENCES.items()
        ),
        decoys=tuple(
            Decoy(id=id_, patch=f"decoys/{id_}.patch", fails=fails, why=why)
            for id_, (why, fails, _) in DECOYS.items()
        ),
    )


def _private(task_id: str, snapshot: FileTree) -> FileTree:
    steps = "\n".join(_steps(task_id))
    files = FileTree.of_text(
        {
            "README.md": f"# The private grader of {task_id}\n\n{FIRST.format(id=task_id)}\n\n{steps}\n",
            "oracle.md": ORACLE,
            "checks.py": CHECKS.text,
        }
    )
    changes = {f"references/{id_}.patch": change for id_, (_, change) in REFERENCES.items()}
    changes |= {f"decoys/{id_}.patch": change for id_, (_, _, change) in DECOYS.items()}
    return files.merged(
        {
            path.encode(): RegularFile(make_patch(snapshot, snapshot.merged(FileTree.of_text(change))))
            for path, change in changes.items()
        }
    )
