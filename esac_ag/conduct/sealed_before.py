"""The studies that a workspace has sealed so far, for rules that reach across studies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from esac_ag.canonical import loads_strict, sha256_of, tree_sha256
from esac_ag.errors import InputRefused
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.draft_rules import is_draft
from esac_ag.manifest.lineage import BundleLineage
from esac_ag.manifest.plan import Arm, Manifest, TaskReference
from esac_ag.manifest.sections import is_suite_plan
from esac_ag.rooms.lineages import LINEAGE_SUFFIX
from esac_ag.rooms.manifest_file import read_json
from esac_ag.rooms.records import read_record
from esac_ag.rooms.workspace import Workspace

_OF_STUDIES = 2
"""Format version of the manifests that can be run."""


@dataclass(frozen=True, slots=True)
class TaskKey:
    """What makes a task the same one: its snapshot, and the grader that judges it."""

    public_tree_sha256: str
    private_grader_id: str

    @classmethod
    def of(cls, task: TaskReference) -> TaskKey:
        """The key of a sealed task."""
        return cls(task.public_tree_sha256, task.private_grader_id)


@dataclass(frozen=True, slots=True)
class SealedStudy:
    """One sealed study."""

    path: Path
    manifest: Manifest
    sha256: str

    def tasks(self) -> frozenset[TaskKey]:
        """Its task set."""
        return frozenset(map(TaskKey.of, self.manifest.tasks))


def sealed_studies(workspace: Workspace, *, but: Path | None = None) -> tuple[SealedStudy, ...]:
    """Every sealed study in `manifests/` and `results/`, each once, in order of their places.

    Args:
        workspace: whose studies they are.
        but: a place that is about to be written.

    Raises:
        InputRefused: a manifest of this format is there and cannot be read: it may be the one that matters.
    """
    found: dict[str, SealedStudy] = {}
    for path in _places(workspace):
        if but is not None and path.resolve() == but.resolve():
            continue
        data = read_json(path, Collector(str(path), strict=False)).value
        if _is_sealed_study(data):
            sha256 = sha256_of(loads_strict(path.read_bytes()))
            found.setdefault(sha256, SealedStudy(path, _manifest(path), sha256))
    return tuple(found.values())


def _places(workspace: Workspace) -> Iterator[Path]:
    yield from sorted(workspace.manifests.rglob("*.json"))
    yield from sorted(workspace.results.glob("*/manifest.json"))


def _is_sealed_study(data: JsonValue) -> bool:
    return (
        isinstance(data, dict)
        and data.get("format_version") == _OF_STUDIES
        and "tasks" in data
        and "schedule" in data
        and not is_draft(data)
        and not is_suite_plan(data)
    )


def _manifest(path: Path) -> Manifest:
    try:
        return read_record(path, Manifest)
    except InputRefused as error:
        raise InputRefused(
            "an earlier sealed manifest of this workspace cannot be read",
            where=str(path),
            expected="a manifest of format version 2, for what was tested before to be known",
            found=error.found,
            remedy="restore it, or move it out of the workspace if it is none of its studies",
        ) from error


def bundle_sha256(arm: Arm) -> str | None:
    """Tree digest of a sealed arm's bundle, as `esac-ag arm freeze` prints it; none of the control."""
    return tree_sha256((file.path, file.sha256) for file in arm.files) if arm.files else None


def known_descents(workspace: Workspace, studies: Iterable[SealedStudy]) -> dict[str, set[str]]:
    """What each bundle is known to revise, by tree digest: from records beside bundles, and sealed arms.

    Raises:
        InputRefused: a record beside a bundle cannot be read.
    """
    links: dict[str, set[str]] = {}
    for path in sorted(workspace.arms.rglob(f"*{LINEAGE_SUFFIX}")):
        record = read_record(path, BundleLineage)
        links.setdefault(record.bundle_sha256, set()).add(record.revises)
    for study in studies:
        for arm in study.manifest.arms:
            digest = bundle_sha256(arm)
            if arm.lineage is not None and digest is not None:
                links.setdefault(digest, set()).add(arm.lineage.revises)
    return links


def relatives(bundle: str, links: dict[str, set[str]]) -> frozenset[str]:
    """Every bundle that is linked with one, upward, downward or sideways; the bundle itself too."""
    both: dict[str, set[str]] = {}
    for child, parents in links.items():
        for parent in parents:
            both.setdefault(child, set()).add(parent)
            both.setdefault(parent, set()).add(child)
    found, ahead = {bundle}, [bundle]
    while ahead:
        new = both.get(ahead.pop(), set()) - found
        found |= new
        ahead.extend(new)
    return frozenset(found)
