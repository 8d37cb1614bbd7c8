"""Snapshots and git: a tree out of a commit, and a fresh repository with a snapshot as its only commit.

Git is used on our own content only, never on a submission. An agent gets the snapshot and one commit of it:
no history, tags, reflogs or dangling objects that could hold a solution.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import git

from esac_ag.errors import InputRefused
from esac_ag.owner import temporary_folder
from esac_ag.rooms.trees import read_tree
from esac_ag.tree import FileTree, Link, RegularFile

MESSAGE = "The repository as it was handed over"
WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (
        ("NAME", "ESAC-AG"),
        ("EMAIL", "esac-ag@localhost"),
        ("DATE", "2000-01-01T00:00:00 +0000"),
    )
}
ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""No configuration of the user or the machine has a say."""
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
KEPT = (b"HEAD", b"index", b"objects/", b"refs/heads/")


class _Repositories:
    """Builds repositories once per snapshot and process; the bytes are the same every time."""

    @staticmethod
    @lru_cache(maxsize=64)
    def of(snapshot: _Hashable) -> FileTree:
        return _build(snapshot.tree)


class _Hashable:
    """A snapshot as a cache key, by content."""

    def __init__(self, tree: FileTree) -> None:
        self.tree = tree
        self._digest = tree.exact_sha256()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and self._digest == other._digest


def fresh_repository(snapshot: FileTree) -> FileTree:
    """The contents of a `.git` folder whose only commit is the snapshot; the same bytes every time.

    Raises:
        InputRefused: git cannot commit the snapshot.
    """
    return _Repositories.of(_Hashable(snapshot))


def _build(snapshot: FileTree) -> FileTree:
    with temporary_folder("snapshot") as top:
        _write(snapshot, top / "tree")
        command = git.Git(str(top / "tree"))
        command.update_environment(**ALONE, **WHO, GIT_CEILING_DIRECTORIES=str(top))
        try:
            command.execute(["git", "init", "--quiet", "--template=", "--initial-branch=main"])
            command.execute(["git", "add", "--all", "--force"])
            command.execute(
                ["git", "commit", "--quiet", "--no-verify", "--allow-empty", "--message", MESSAGE]
            )
            # An index without file times: it is the same on every machine, and git refreshes it by itself.
            (top / "tree" / ".git" / "index").unlink(missing_ok=True)
            command.execute(["git", "read-tree", "HEAD"])
        except git.GitCommandError as error:
            raise InputRefused(
                "git cannot commit the snapshot",
                where="the task's snapshot",
                found=str(error.stderr).strip(),
                remedy="see that every file of the snapshot is an ordinary one",
            ) from error
        whole = read_tree(top / "tree" / ".git").tree
    kept = {path: node for path, node in whole.items() if path.startswith(KEPT)}
    return FileTree(kept).merged(FileTree.of_text({"config": CONFIG}))


def _write(tree: FileTree, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path, node in tree.items():
        target = folder / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        match node:
            case RegularFile(data=data, executable=executable):
                target.write_bytes(data)
                target.chmod(0o755 if executable else 0o644)
            case Link(target=points_to):
                target.symlink_to(os.fsdecode(points_to))
            case _:
                target.mkdir(exist_ok=True)
