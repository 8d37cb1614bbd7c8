"""Which harness this is: version, commit, and digests of its own code and of what enters containers."""

from __future__ import annotations

from pathlib import Path

import esac_ag
from esac_ag.manifest.plan import Harness
from esac_ag.rooms.trees import read_tree
from esac_ag.rooms.workspace import Workspace

UNVERSIONED = "unversioned"


def harness_of(workspace: Workspace, grader_revision: str) -> Harness:
    """The harness at hand, as a manifest seals it."""
    revision, dirty = _commit(workspace.root)
    return Harness(
        version=esac_ag.__version__,
        revision=revision,
        dirty=dirty,
        package_sha256=package_sha256(),
        runner_sha256=runner_sha256(workspace),
        grader_revision=grader_revision,
    )


def package_sha256() -> str:
    """Tree hash of the package's own code: tells apart what a commit id cannot."""
    return read_tree(Path(esac_ag.__file__).parent, skip_ignored=True).tree.sha256()


def runner_sha256(workspace: Workspace) -> str:
    """Tree hash of `runner/`."""
    return read_tree(workspace.runner, skip_ignored=True).tree.sha256()


def _commit(root: Path) -> tuple[str, bool]:
    """Commit and dirtiness of the workspace, if it is a git checkout."""
    import git  # noqa: PLC0415  (costs 80 ms, and only sealing needs it)

    try:
        repository = git.Repo(root, search_parent_directories=True)
        return repository.head.commit.hexsha, repository.is_dirty(untracked_files=True)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, ValueError, git.GitCommandError):
        return UNVERSIONED, False
