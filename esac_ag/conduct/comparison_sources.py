"""The bundles and tasks of a comparison, found and looked at; nothing is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from esac_ag.conduct.faults import Faults
from esac_ag.conduct.tasks import refuse_unsealed
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.comparison import id_of
from esac_ag.manifest.draft import DraftTask
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.plan import NEUTRAL
from esac_ag.rooms.freezing import bundle_to_freeze, lies_there, refuse_arm_id
from esac_ag.rooms.graders import load_grader
from esac_ag.rooms.tasks import LoadedTask, load_task
from esac_ag.rooms.workspace import Workspace

ARM: Final = "--arm"
ARM_WAYS: Final = "neutral, a folder or file, ID=PATH, or the id of a bundle in arms/"


@dataclass(frozen=True, slots=True)
class ArmSource:
    """Where a bundle comes from."""

    id: str
    path: Path


def arm_sources(values: Sequence[str], workspace: Workspace, faults: Faults) -> tuple[ArmSource, ...]:
    """The bundles that are compared with the control; nothing is copied yet.

    Args:
        values: what was given, one for each arm.
        workspace: where bundles go.
        faults: takes what cannot be used.
    """
    found: dict[str, ArmSource] = {}
    before = len(faults.found)
    for value in values:
        if value == NEUTRAL:
            continue
        with faults.taken():
            source = _arm_source(value, workspace)
            if source.id in found:
                raise UsageError(
                    "An arm is named twice.",
                    where=ARM,
                    found=shown_text(value),
                    remedy="leave one out, or give it another id: --arm ID=PATH",
                )
            found[source.id] = source
    if not found and len(faults.found) == before:
        faults.found.append(
            UsageError(
                "There is nothing to compare with the control.",
                where=ARM,
                expected=ARM_WAYS,
                remedy="name a skill's folder, such as --arm ~/.claude/skills/my-skill",
            )
        )
    return tuple(found.values())


def _arm_source(value: str, workspace: Workspace) -> ArmSource:
    arm_id, path = _named(value, workspace)
    if path is None:
        raise UsageError(
            "There is no such bundle.",
            where=ARM,
            expected=ARM_WAYS,
            found=shown_text(value),
            remedy="check the path; esac-ag arm list shows the bundles of the workspace",
        )
    try:
        refuse_arm_id(arm_id)
        tree = bundle_to_freeze(path)
        if not _lies_in(path, workspace.arms / arm_id):
            lies_there(tree, workspace.arms / arm_id)
    except UsageError as error:
        remedy = "give it an id: --arm ID=PATH"
        raise UsageError(
            error.what, where=ARM, expected=error.expected, found=shown_text(value), remedy=remedy
        ) from error
    except InputRefused as error:
        raise InputRefused(
            error.what,
            where=f"{ARM} {shown_text(value)}: {error.where}",
            expected=error.expected,
            found=error.found,
            remedy="correct the bundle; if another one has the place, give this one an id: --arm ID=PATH",
        ) from error
    return ArmSource(arm_id, path)


def _named(value: str, workspace: Workspace) -> tuple[str, Path | None]:
    """The id and the place of a bundle; no place when there is nothing."""
    whole = Path(value).expanduser()
    name, given, place = value.partition("=")
    if given and not whole.exists():
        path = Path(place).expanduser()
        return name, path if place and path.exists() else None
    if value and whole.exists():
        resolved = whole.resolve()
        return id_of(resolved.name if resolved.is_dir() else resolved.stem), whole
    # An empty name would be the room itself.
    known = workspace.arms / value
    return value, known if value and known.is_dir() else None


def _lies_in(path: Path, folder: Path) -> bool:
    return path.resolve() == folder.resolve()


def tasks_named(values: Sequence[str], workspace: Workspace, faults: Faults) -> tuple[DraftTask, ...]:
    """The tasks that are worked on, each with both packages, sealed to each other.

    Args:
        values: folders of task packages, single packages, or ids of the workspace's tasks; all tasks of the
            workspace when there is none.
        workspace: where graders are, and tasks that are named by id.
        faults: takes what cannot be used.
    """
    found: dict[str, DraftTask] = {}
    for value in values or (str(workspace.tasks),):
        with faults.taken():
            for path in _packages(value, workspace):
                with faults.taken():
                    task = _usable_task(path, workspace)
                    _add_task(found, task, path, workspace)
    return tuple(found.values())


def _packages(value: str, workspace: Workspace) -> tuple[Path, ...]:
    """The `task.json` of each package that a value names, in the order of their folders."""
    folder = Path(value).expanduser()
    if value and not folder.is_dir():
        folder = workspace.tasks / value
    if value and (folder / "task.json").is_file():
        return (folder / "task.json",)
    inside = tuple(sorted(folder.glob("*/task.json"))) if value and folder.is_dir() else ()
    if inside:
        return inside
    raise UsageError(
        "There is no task.",
        where="--tasks",
        expected="a folder of task packages, a package with a task.json, or the id of a task in tasks/",
        found=shown_text(value),
        remedy="esac-ag task list shows the workspace's tasks; docs/graders.md tells how one is written",
    )


def _usable_task(path: Path, workspace: Workspace) -> LoadedTask:
    task = load_task(path)
    try:
        grader = load_grader(workspace, task.package.task_id)
    except InputRefused as error:
        raise InputRefused(
            f"The task {task.package.task_id} has no grader that can be used.",
            where=error.where,
            expected=f"a grader package in graders/{task.package.task_id}/ of the workspace",
            found=error.found or error.what,
            remedy="a task's grader lies in the workspace: put it there, or name its workspace with --root",
        ) from error
    refuse_unsealed(task, grader)
    return task


def _add_task(found: dict[str, DraftTask], task: LoadedTask, path: Path, workspace: Workspace) -> None:
    task_id = task.package.task_id
    own = workspace.tasks / task_id / "task.json"
    place = Path(os.path.relpath(path.resolve(), workspace.manifests.resolve())).as_posix()
    drafted = DraftTask(id=task_id, manifest=None if path.resolve() == own.resolve() else place)
    if found.setdefault(task_id, drafted) != drafted:
        raise UsageError(
            "Two task packages have one id.",
            where="--tasks",
            expected="an id for each package",
            found=task_id,
            remedy="leave one out",
        )
