"""Rules of a programme of studies, checked when a draft is frozen: revision cycles, and fresh holdouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.conduct.revision import package_sha256, runner_sha256
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
from esac_ag.manifest.inventory import difference, inventory_of
from esac_ag.manifest.lineage import MOST_CYCLES, HoldoutOf, Lineage
from esac_ag.manifest.plan import AgentKind, AgentPlan, Arm, Images, Phase
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.graders import LoadedGrader
from esac_ag.rooms.lineages import kept_lineage, lineage_path
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree

__all__ = ["Programme", "programme_of"]

Tasks = Mapping[str, TaskKey]
"""The draft's tasks by id."""


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
        holdout_of=_holdout(draft, bundles, tasks, images, workspace, studies),
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


def _holdout(
    draft: Draft,
    bundles: Mapping[str, FileTree],
    tasks: Tasks,
    images: Images,
    workspace: Workspace,
    studies: Sequence[SealedStudy],
) -> HoldoutOf | None:
    if draft.phase is not Phase.HOLDOUT:
        if draft.holdout_of is None:
            return None
        raise InputRefused(
            "Only a holdout confirms another study.",
            expected=f'phase "{Phase.HOLDOUT}" beside `holdout_of`',
            found=f'phase "{draft.phase}"',
            remedy="correct the phase, or leave `holdout_of` out",
        )
    named = [study for study in studies if study.manifest.study_id == draft.holdout_of]
    if len(named) != 1:
        known = ", ".join(sorted({study.manifest.study_id for study in studies})) or "no study"
        raise InputRefused(
            "The holdout does not name the study whose provisional winner it is for.",
            expected=f"`holdout_of` with one of: {known}",
            found=f"{len(named)} sealed studies of that id" if draft.holdout_of else "no `holdout_of`",
            remedy="name the study whose report found a provisional benefit",
        )
    study = named[0]
    faults = [*_met_before(tasks, studies), *_unlike(draft, bundles, images, workspace, study)]
    if faults:
        raise InputRefused(
            "The holdout is not a fresh one of its study; nothing was sealed.",
            where=str(study.path),
            expected="no task that any study here has met; the same bundle, repetitions and harness",
            found="; ".join(faults),
            remedy="choose tasks that no study has met, and keep everything else as in that study",
        )
    return HoldoutOf(study_id=study.manifest.study_id, manifest_sha256=study.sha256)


def _met_before(tasks: Tasks, studies: Sequence[SealedStudy]) -> Iterator[str]:
    """Tasks whose snapshot or grader an earlier study had; another id does not make them new."""
    for task_id, key in tasks.items():
        grader = _grader_digest(key)
        met = sorted(
            study.manifest.study_id
            for study in studies
            if any(
                other.public_tree_sha256 == key.public_tree_sha256 or _grader_digest(other) == grader
                for other in study.tasks()
            )
        )
        if met:
            yield f"task {task_id} was met by {', '.join(met)}"


def _grader_digest(key: TaskKey) -> str:
    return key.private_grader_id.rpartition("@")[2]


def _unlike(
    draft: Draft,
    bundles: Mapping[str, FileTree],
    images: Images,
    workspace: Workspace,
    study: SealedStudy,
) -> Iterator[str]:
    """What has to be the same in a holdout and is not."""
    before = study.manifest
    primary = before.analysis.primary_comparison
    for arm_id in dict.fromkeys((primary.arm, primary.control)):
        sealed = next(arm for arm in before.arms if arm.id == arm_id)
        yield from _unlike_arm(sealed, draft, bundles)
    pair = draft.analysis.primary_comparison
    if pair is not None and pair != primary:
        yield f"the primary comparison is {pair.arm} minus {pair.control}"
    rows = (
        ("repetitions", before.repetitions, draft.repetitions),
        ("model", before.model, draft.model),
        ("agent", _agent(before.agent), _agent(draft.agent)),
        ("limits", before.limits, draft.limits),
        ("network", before.network, draft.network),
        ("policies", before.policies, draft.policies),
        ("decision rules", before.decision, draft.decision),
        ("threshold", before.analysis.threshold_points, draft.analysis.threshold_points),
        ("agent image", before.images.agent.digest, images.agent.digest),
        ("grader image", before.images.grader.digest, images.grader.digest),
        ("harness code", before.harness.package_sha256, package_sha256()),
        ("runner", before.harness.runner_sha256, runner_sha256(workspace)),
    )
    for name, then, now in rows:
        if then != now:
            shown = f": {now}, not {then}" if isinstance(now, int | float | str) else ""
            yield f"{name} differ{shown}"


def _unlike_arm(sealed: Arm, draft: Draft, bundles: Mapping[str, FileTree]) -> Iterator[str]:
    drafted = next((arm for arm in draft.arms if arm.id == sealed.id), None)
    if drafted is None:
        yield f"arm {sealed.id} is missing"
        return
    tree = bundles.get(sealed.id, FileTree())
    unlike = difference(sealed.files, inventory_of(tree))
    if unlike:
        yield f"the bundle of arm {sealed.id} differs ({unlike})"
    if sealed.install != drafted.install:
        yield f"the installation of arm {sealed.id} differs"


def _agent(plan: AgentPlan) -> str:
    """An agent without what names a study's own files: a script book is of its tasks."""
    own = {"script", "script_sha256"} if plan.kind is AgentKind.SCRIPTED else set()
    settings = {name: value for name, value in plan.settings.items() if name not in own}
    return sha256_of_bytes(canonical_json(plan.model_copy(update={"settings": settings})))
