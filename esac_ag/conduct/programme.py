"""Rules of a programme of studies, checked when a draft is frozen: revision cycles, and fresh holdouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from esac_ag.conduct.holdout import holdout_of
from esac_ag.conduct.sealed_before import (
    SealedStudy,
    TaskKey,
    bundle_sha256,
    known_descents,
    relatives,
    sealed_studies,
)
from esac_ag.errors import InputRefused
from esac_ag.manifest.draft import Draft, DraftArm
from esac_ag.manifest.lineage import MOST_CYCLES, HoldoutOf, Lineage
from esac_ag.manifest.plan import Images, Phase
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.graders import LoadedGrader
from esac_ag.rooms.lineages import kept_lineage, lineage_path
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree

__all__ = ["Programme", "programme_of"]


@dataclass(frozen=True, slots=True)
class Programme:
    """Where a draft stands among the workspace's studies."""

    lineages: dict[str, Lineage] = field(default_factory=dict)
    """By arm id; arms that revise nothing are left out."""
    holdout_of: HoldoutOf | None = None


def programme_of(
    draft: Draft,
    folder: Path,
    pairs: Sequence[tuple[LoadedTask, LoadedGrader]],
    *,
    images: Images,
    workspace: Workspace,
    output: Path,
) -> Programme:
    """Count revision cycles, and check a holdout against the study that it confirms.

    Args:
        draft: complete.
        folder: what its paths are relative to.
        pairs: its tasks and graders.
        images: at hand.
        workspace: whose earlier studies count.
        output: where the sealed manifest will lie.

    Raises:
        InputRefused: a third revision on one task set; a holdout that names no study, has met a task
            before, or differs from its study in what has to be the same.
    """
    bundles = {arm.id: read_bundle(folder / arm.bundle) for arm in draft.arms if arm.bundle is not None}
    declared = {
        arm.id: revises
        for arm in draft.arms
        if arm.bundle is not None and (revises := _declared(arm, folder / arm.bundle, bundles[arm.id]))
    }
    if not declared and draft.phase is not Phase.HOLDOUT and draft.holdout_of is None:
        return Programme()
    tasks = {
        task.id: TaskKey(package.snapshot_sha256, grader.private_grader_id)
        for task, (package, grader) in zip(draft.tasks, pairs, strict=True)
    }
    studies = sealed_studies(workspace, but=output)
    return Programme(
        lineages=_lineages(draft, bundles, declared, frozenset(tasks.values()), workspace, studies),
        holdout_of=holdout_of(draft, bundles, tasks, images, workspace, studies),
    )


def _declared(arm: DraftArm, bundle: Path, tree: FileTree) -> str | None:
    """What a bundle is said to revise, by the draft or by the record beside it; both may, and then agree."""
    record = kept_lineage(bundle, tree.sha256())
    kept = None if record is None else record.revises
    said = arm.lineage.revises if arm.lineage is not None else None
    if said is not None and kept is not None and said != kept:
        raise InputRefused(
            f"Draft and record disagree on what the bundle of arm {arm.id} revises.",
            where=str(lineage_path(bundle)),
            expected=kept,
            found=said,
            remedy="leave `lineage` out of the draft, or freeze the bundle under another id",
        )
    return said or kept


def _lineages(
    draft: Draft,
    bundles: Mapping[str, FileTree],
    declared: Mapping[str, str],
    tasks: frozenset[TaskKey],
    workspace: Workspace,
    studies: Sequence[SealedStudy],
) -> dict[str, Lineage]:
    links = known_descents(workspace, studies)
    for arm_id, revises in declared.items():
        links.setdefault(bundles[arm_id].sha256(), set()).add(revises)
    cycles = _cycles_on(tasks, studies)
    before = dict(cycles)
    lineages = {}
    for arm in draft.arms:
        if arm.id not in declared:
            continue
        digest = bundles[arm.id].sha256()
        cycle = before[digest] if digest in before else _next_cycle(relatives(digest, links), before, cycles)
        if cycle > MOST_CYCLES:
            raise _third(arm.id, relatives(digest, links), cycles, studies)
        if arm.lineage is not None and arm.lineage.cycle not in (None, cycle):
            raise InputRefused(
                f"The bundle of arm {arm.id} is another revision of its task set than the draft says.",
                expected=f"cycle {cycle}, by the sealed manifests of this workspace",
                found=f"cycle {arm.lineage.cycle}",
                remedy="leave `cycle` out: freezing counts it",
            )
        cycles[digest] = cycle
        lineages[arm.id] = Lineage(revises=declared[arm.id], cycle=cycle)
    return lineages


def _cycles_on(tasks: frozenset[TaskKey], studies: Sequence[SealedStudy]) -> dict[str, int]:
    """The cycle of every bundle that this task set has met; 0 for those that revised nothing then.

    A set that only drops or only adds tasks is still the same one.
    """
    cycles: dict[str, int] = {}
    for study in studies:
        met = study.tasks()
        if met <= tasks or tasks <= met:
            for arm in study.manifest.arms:
                digest = bundle_sha256(arm)
                if digest is not None:
                    cycle = 0 if arm.lineage is None else arm.lineage.cycle
                    cycles[digest] = max(cycle, cycles.get(digest, 0))
    return cycles


def _next_cycle(family: frozenset[str], before: Mapping[str, int], cycles: Mapping[str, int]) -> int:
    """0 where no relative had met the set before this study, else one more than the revisions so far."""
    if not family & before.keys():
        return 0
    return 1 + sum(cycles[digest] > 0 for digest in family & cycles.keys())


def _third(
    arm: str, family: frozenset[str], cycles: Mapping[str, int], studies: Sequence[SealedStudy]
) -> InputRefused:
    used = {digest for digest in family if cycles.get(digest, 0) > 0}
    named = sorted(
        {
            f"{item.id} in {study.manifest.study_id}"
            for study in studies
            for item in study.manifest.arms
            if bundle_sha256(item) in used
        }
    )
    return InputRefused(
        f"The bundle of arm {arm} is a third revision on one task set; nothing was sealed.",
        expected=f"at most {MOST_CYCLES} prompt revisions per task set",
        found=f"revised already: {', '.join(named) or 'in this draft'}",
        remedy="change the task set: what is fitted to its tasks again and again says nothing of others",
    )
