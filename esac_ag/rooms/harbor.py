"""Reads a Harbor task: a folder with task.toml, instruction.md, environment/, tests/ and solution/."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from esac_ag.canonical import is_ignored
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.findings import refused, shown_text
from esac_ag.manifest.package import can_be_a_folder
from esac_ag.rooms.harbor_image import Files, ReadImage, read_image
from esac_ag.rooms.harbor_report import Fate, Item
from esac_ag.rooms.harbor_settings import HarborSettings, read_settings
from esac_ag.rooms.trees import read_tree
from esac_ag.tree import FileTree, RegularFile

_KNOWN = ("task.toml", "instruction.md")
_FOLDERS = ("environment", "tests", "solution")
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_HARBORS_OWN = ("/tests", "/logs", "/solution", "/oracle")


@dataclass(frozen=True, slots=True)
class HarborTask:
    """A Harbor task as it lies on disk, read once."""

    folder: Path
    name: str
    instruction: str
    workdir: str
    """Absolute path of the task's files in Harbor's container."""
    settings: HarborSettings
    image: ReadImage
    tests: FileTree
    """With `test.sh`."""
    solution: FileTree
    """With `solve.sh`, or empty."""
    items: tuple[Item, ...]
    """What became of everything but the image's steps."""

    @property
    def variables(self) -> dict[str, str]:
        """Environment of test.sh and solve.sh, without their own."""
        return {**self.image.variables, **self.settings.environment}


def harbor_folders(folder: Path) -> tuple[Path, ...]:
    """The folders of the tasks that a folder is or holds.

    Raises:
        UsageError: it holds none.
    """
    if os.path.lexists(folder / "task.toml"):
        return (folder,)
    inside = sorted(path.parent for path in folder.glob("*/task.toml")) if folder.is_dir() else []
    if not inside:
        raise UsageError(
            "there is no Harbor task",
            where=shown_text(str(folder)),
            expected="a folder with a task.toml, or a folder of such folders",
            remedy="see docs/tasks.md for what can be imported",
        )
    for path in filter(Path.is_symlink, inside):
        raise _link(path)
    return tuple(inside)


def task_id_of(task: HarborTask) -> str:
    """An id for a task of ours, from the Harbor task's name."""
    short = task.name.rsplit("/", 1)[-1].lower()
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-")[:80] or "task"


def read_harbor_task(folder: Path) -> HarborTask:
    """Read a task; nothing is run.

    Raises:
        InputRefused: a file is missing or wrong, its schema version is unknown, a path leaves the folder, or
            the folder holds a link or a special file.
    """
    tree = _files(folder)
    settings = read_settings(_wanted(folder, tree, "task.toml"), str(folder / "task.toml"))
    instruction = _text(folder, tree, "instruction.md")
    environment, tests, solution = (_below(tree, name) for name in _FOLDERS)
    _wanted(folder, tree, "tests/test.sh")
    dockerfile = _text(folder, tree, "environment/Dockerfile") if b"Dockerfile" in environment else ""
    image = read_image(dockerfile, environment, str(folder / "environment" / "Dockerfile"))
    workdir = _workdir(folder, settings, image)
    items = (*settings.items, *image.items, *_outside(image, workdir), *_file_items(tree, solution))
    return HarborTask(
        folder=folder,
        name=settings.name or folder.resolve().name,
        instruction=instruction.replace("\r\n", "\n"),
        workdir=workdir,
        settings=settings,
        image=image,
        tests=tests.without_ignored(),
        solution=solution.without_ignored() if b"solve.sh" in solution else FileTree(),
        items=items,
    )


def _files(folder: Path) -> FileTree:
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(here) / name
            if path.is_symlink():
                raise _link(path)
    read = read_tree(folder)
    if read.findings:
        raise refused("The Harbor task cannot be read.", read.findings, where=shown_text(str(folder)))
    return read.tree


def _link(path: Path) -> InputRefused:
    return InputRefused(
        "The Harbor task holds a symbolic link.",
        where=shown_text(str(path)),
        expected="regular files and folders",
        found="a link",
        remedy="put the file itself in its place",
    )


def _wanted(folder: Path, tree: FileTree, name: str) -> bytes:
    node = tree.get(name.encode())
    if not isinstance(node, RegularFile):
        raise InputRefused(
            f"The Harbor task has no {name}.",
            where=shown_text(str(folder)),
            expected="task.toml, instruction.md and tests/test.sh",
            remedy="see docs/tasks.md for what can be imported",
        )
    return node.data


def _text(folder: Path, tree: FileTree, name: str) -> str:
    try:
        return _wanted(folder, tree, name).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputRefused(
            f"The Harbor task's {name} is no text.",
            where=shown_text(str(folder / name)),
            expected="UTF-8",
            found=str(error)[:200],
        ) from error


def _below(tree: FileTree, name: str) -> FileTree:
    prefix = name.encode() + b"/"
    return FileTree(
        {path.removeprefix(prefix): node for path, node in tree.items() if path.startswith(prefix)}
    )


def _workdir(folder: Path, settings: HarborSettings, image: ReadImage) -> str:
    workdir = settings.workdir or image.workdir
    own = workdir is not None and any(f"{workdir}/".startswith(f"{place}/") for place in _HARBORS_OWN)
    if workdir is None or own or not can_be_a_folder(workdir) or not can_be_a_folder(mount_of(workdir)):
        raise InputRefused(
            "The Harbor task's working directory cannot be had."
            if workdir
            else "The Harbor task names no working directory.",
            where=shown_text(str(folder / "environment" / "Dockerfile")),
            expected="WORKDIR in the Dockerfile, or [environment] workdir in task.toml, such as /app: a "
            "plain absolute path outside of the system's folders",
            found=shown_text(workdir or "none; that of a base image is not known here"),
            remedy="name the directory in which the task's files lie",
        )
    return workdir


def mount_of(workdir: str) -> str:
    """The folder that has to be the subject's own for it to work in a directory.

    Homes of other users are closed to it, so the folder of all of them is laid over.
    """
    parts = workdir.split("/")
    return f"/{parts[1]}" if parts[1] in ("root", "home", "agent") else workdir


def inside(tree: FileTree, workdir: str) -> FileTree:
    """Of files by absolute path, those below the working directory, relative to it."""
    prefix = workdir.lstrip("/").encode() + b"/"
    return FileTree(
        {path.removeprefix(prefix): node for path, node in tree.items() if path.startswith(prefix)}
    )


def _outside(image: ReadImage, workdir: str) -> list[Item]:
    """What became of copied files."""
    items = []
    for step in image.steps:
        if not isinstance(step, Files):
            continue
        there = inside(step.tree, workdir)
        if len(there) == len(step.tree):
            items.append(step.item)
            continue
        fate = Fate.CHANGED if there else Fate.NOT_KEPT
        why = f"only files below {workdir} are the agent's; {len(step.tree) - len(there)} lie elsewhere"
        items.append(Item(what=step.item.what, fate=fate, why=why))
    return items


def _file_items(tree: FileTree, solution: FileTree) -> list[Item]:
    items = []

    def not_kept(what: str, why: str) -> None:
        items.append(Item(what=what, fate=Fate.NOT_KEPT, why=why))

    for path in (path.decode("utf-8", "surrogateescape") for path in tree):
        top, _, rest = path.partition("/")
        if is_ignored(path):
            not_kept(path, "caches, byte code and version control are no part of a package")
        elif top == "environment" and rest in _COMPOSE:
            not_kept(path, "there is one container, without services beside it")
        elif top == "tests" and rest in ("Dockerfile", *_COMPOSE):
            not_kept(path, "the grader's image is ours; the file lies beside test.sh and is not built")
        elif path not in _KNOWN and top not in _FOLDERS:
            not_kept(path, "it is no part of a Harbor task that is known here")
    if b"environment/Dockerfile" not in tree:
        not_kept("environment", "without a Dockerfile nothing says which files the agent begins with")
    if b"solve.sh" not in solution:
        not_kept("solution", "there is no solve.sh, so there is no reference, and the proof cannot hold")
    return items
