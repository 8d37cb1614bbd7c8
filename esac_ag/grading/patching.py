"""Applies a task author's patch to a tree, and makes one. For references, decoys, scripted actions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from esac_ag.errors import InputRefused
from esac_ag.owner import temporary_folder
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile

_TIMEOUT_S = 60.0


def apply_patch(tree: FileTree, patch: bytes) -> FileTree:
    """The tree after `git apply -p1`, run in a folder of its own that no repository or setting touches.

    Raises:
        InputRefused: the patch does not apply, with git's reason.
    """
    with temporary_folder("patch") as name:
        folder = name / "tree"
        folder.mkdir()
        _write(folder, tree)
        try:
            _git(folder, "apply", "-p1", "--whitespace=nowarn", "-", given=patch)
        except _GitError as error:
            raise InputRefused(
                "A patch does not apply.",
                expected="a unified diff against the task's public folder, for `git apply -p1`",
                found=str(error),
                remedy="make the patch again from the snapshot with `git diff --no-index`",
            ) from error
        return _read(folder)


def make_patch(before: FileTree, after: FileTree) -> bytes:
    """What `apply_patch` makes the second tree of the first with: exact but for empty folders.

    Raises:
        InputRefused: git cannot take the trees.
    """
    with temporary_folder("patch") as folder:
        try:
            return _difference(folder, before, after)
        except _GitError as error:
            raise InputRefused(
                "git cannot compare two trees.", expected="trees of ordinary files", found=str(error)
            ) from error


def _difference(folder: Path, before: FileTree, after: FileTree) -> bytes:
    _git(folder, "init", "--quiet", "--template=", "--bare", "objects")
    (folder / "objects" / "info").mkdir(exist_ok=True)
    # Attributes that the trees bring along would change bytes on their way in.
    (folder / "objects" / "info" / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n")
    trees = [_written(folder, name, tree) for name, tree in (("before", before), ("after", after))]
    return _git(folder / "objects", "diff-tree", "-r", "-p", "--binary", "--no-renames", *trees)


def _written(folder: Path, name: str, tree: FileTree) -> str:
    """A tree as git's: its object id."""
    (folder / name).mkdir()
    _write(folder / name, tree)
    where = (f"--git-dir={folder / 'objects'}", f"--work-tree={folder / name}", "-c", "core.autocrlf=false")
    (folder / "objects" / "index").unlink(missing_ok=True)
    _git(folder / name, *where, "add", "--all", "--force")
    return _git(folder / name, *where, "write-tree").decode().strip()


class _GitError(Exception):
    """Why git did not do it."""


def _git(folder: Path, *argv: str, given: bytes = b"") -> bytes:
    """What git says in a folder that no repository or setting touches."""
    try:
        done = subprocess.run(
            ["git", *argv],
            cwd=folder,
            env=_environment(folder.parent),
            input=given,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _GitError(f"git did not end within {_TIMEOUT_S:g} s") from error
    if done.returncode != 0:
        raise _GitError(done.stderr.decode("utf-8", "backslashreplace").strip()[:2000])
    return done.stdout


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(folder),
    }


def _write(folder: Path, tree: FileTree) -> None:
    for path, node in tree.items():
        target = folder / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        match node:
            case Directory():
                target.mkdir(exist_ok=True)
            case Link(text):
                target.symlink_to(os.fsdecode(text))
            case RegularFile(data, executable):
                target.write_bytes(data)
                target.chmod(0o755 if executable else 0o644)


def _read(folder: Path) -> FileTree:
    nodes: dict[bytes, Node] = {}
    for here, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            full = Path(here) / name
            path = os.fsencode(full.relative_to(folder))
            if full.is_symlink():
                nodes[path] = Link(os.fsencode(full.readlink()))
            elif full.is_dir():
                nodes[path] = Directory()
            else:
                executable = bool(full.stat().st_mode & 0o100)
                nodes[path] = RegularFile(full.read_bytes(), executable)
    return FileTree(nodes)
