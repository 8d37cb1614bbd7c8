"""What is judged: the submission without caches, with files restored from the frozen snapshot. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from esac_ag.canonical import canonical_json
from esac_ag.manifest.package import GraderPackage
from esac_ag.manifest.plan import GraderLimits
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile


def judged_tree(submission: FileTree, snapshot: FileTree, restore: Iterable[str]) -> FileTree:
    """The tree that the subject's processes work on.

    Caches, byte code, version control and installed packages of the submission are left out: no hash of a
    task covers them. What lies at or below a path of `restore` comes from the snapshot alone, whatever
    the submission put there or on the way there. Links that lead out of the tree are left out.
    """
    nodes = dict(submission.without_ignored())
    for path in restore:
        _restore(nodes, snapshot, path.strip("/").encode())
    return FileTree({path: node for path, node in nodes.items() if not _leads_out(path, node)})


def _restore(nodes: dict[bytes, Node], snapshot: FileTree, target: bytes) -> None:
    below = target + b"/"
    for path in [path for path in nodes if path == target or path.startswith(below)]:
        del nodes[path]
    # A link or a file in the middle of the path would swallow what is restored.
    parts = target.split(b"/")
    for depth in range(1, len(parts)):
        parent = b"/".join(parts[:depth])
        if parent in nodes and not isinstance(nodes[parent], Directory):
            del nodes[parent]
    nodes.update({p: node for p, node in snapshot.items() if p == target or p.startswith(below)})


def _leads_out(path: bytes, node: Node) -> bool:
    """Whether a link's target, read as text, lies outside the tree."""
    if not isinstance(node, Link):
        return False
    if node.target.startswith(b"/") or b"\0" in node.target:
        return True
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(path), node.target))
    return resolved == b".." or resolved.startswith(b"../")


def grader_contents(
    package: GraderPackage,
    private: FileTree,
    judged: FileTree,
    snapshot: FileTree,
    *,
    seed: str,
    limits: GraderLimits,
) -> FileTree:
    """Everything in the judge's volume. Of the private package only the checks and their files go in."""
    plan = canonical_json(
        {
            "format_version": 1,
            "checks": [{"id": check.id, "timeout_s": check.timeout_s} for check in package.checks],
            "seed": seed,
            "total_s": limits.wall_clock_s,
            "file_bytes": limits.workspace_mib * 1024 * 1024,
            **({"folders": list(package.folders)} if package.folders else {}),
        }
    )
    folders = {b"private", b"submission", b"snapshot", b"out"}
    material = FileTree({path: node for path, node in private.items() if path.startswith(b"files/")})
    return FileTree(
        {
            **{folder: Directory() for folder in folders},
            b"judge.json": RegularFile(plan),
            b"private/checks.py": private[b"checks.py"],
            **material.under(b"private"),
            **judged.under(b"submission"),
            **snapshot.under(b"snapshot"),
        }
    )
