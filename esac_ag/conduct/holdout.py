"""A holdout is fresh: tasks that no study has met, and everything else as in the study that it confirms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.conduct.revision import package_sha256, runner_sha256
from esac_ag.conduct.sealed_before import SealedStudy, TaskKey
from esac_ag.errors import InputRefused
from esac_ag.manifest.draft import Draft
from esac_ag.manifest.inventory import difference, inventory_of
from esac_ag.manifest.lineage import HoldoutOf
from esac_ag.manifest.plan import AgentKind, AgentPlan, Arm, Images, Phase
from esac_ag.rooms.workspace import Workspace
from esac_ag.tree import FileTree

Tasks = Mapping[str, TaskKey]
"""The draft's tasks by id."""


def holdout_of(
    draft: Draft,
    bundles: Mapping[str, FileTree],
    tasks: Tasks,
    images: Images,
    workspace: Workspace,
    studies: Sequence[SealedStudy],
) -> HoldoutOf | None:
    """The study that a holdout is for; none of another phase.

    Args:
        draft: complete.
        bundles: of its arms, by id.
        tasks: its tasks, by id.
        images: at hand.
        workspace: whose runner it is.
        studies: all that the workspace sealed before.

    Raises:
        InputRefused: it names no study, has met a task before, or differs from its study in what has to be
            the same; or another phase names a study.
    """
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
        ("review", before.review, draft.review),
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
