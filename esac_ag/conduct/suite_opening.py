"""Opening the sealed plan of a suite run: every seal, every instance and every key is checked first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from shlex import quote

from esac_ag.agents.contract import ArmBundle
from esac_ag.agents.item_agent import PolicyItemAgent, policy_named
from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.context import Stop, bundles_of
from esac_ag.conduct.opening import refuse_changed, refuse_invalid
from esac_ag.conduct.secret_words import refuse_words_of_ours
from esac_ag.conduct.suite_agents import item_agent_of, judge_of, known_secrets
from esac_ag.conduct.suite_cell import ItemCell, SuiteContext
from esac_ag.conduct.work import OpenPlan
from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.record import Sha256
from esac_ag.rooms.freezing import lay_down
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.records import read_record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import Pool
from esac_ag.suite.contract import Instance, Item
from esac_ag.suite.facts import listing
from esac_ag.suite.plan import SuitePlan, instance_bytes, schedule_document, sealed_instance
from esac_ag.suite.pools import DatasetSeed, instance_of, seed_fingerprint
from esac_ag.suite.records import ItemGrading


def load_suite_plan(path: Path, *, workspace: Workspace) -> SuitePlan:
    """The sealed plan of a suite run, valid to the last finding.

    Raises:
        InputRefused: it is not, or it plans a study.
    """
    refuse_invalid(path, workspace=workspace)
    if not plans_a_suite_run(path):
        raise InputRefused(
            "the manifest plans a study, not a suite run",
            where=str(path),
            expected="suite.name esac-ag",
            found="suite.name study",
            remedy=f"esac-ag run {path}",
        )
    return read_record(path, SuitePlan)


def open_suite(
    path: Path,
    *,
    workspace: Workspace,
    engine: Engine,
    folder: StudyFolder,
    environ: Mapping[str, str],
    stop: Stop,
    dataset_of_pool: Callable[[Pool], DatasetSeed],
    graded: Callable[[ItemGrading], None],
) -> OpenPlan:
    """Check every seal, then give what a run needs.

    Args:
        path: the sealed plan.
        workspace: where the runner is.
        engine: where it will run.
        folder: of the results; the plan may lie in it.
        environ: where keys are looked up.
        stop: the wish to end.
        dataset_of_pool: finds the dataset seed again; it is in no file of the run.
        graded: is told every grading.

    Raises:
        InputRefused, SubstitutionRefused: a seal does not hold; everything that changed is named.
        UsageError: a key or the seed is missing, it is another seed, it or a key is a word that records need,
            or an item lacks the policy to play.
    """
    plan = load_suite_plan(path, workspace=workspace)
    refuse_changed(path, plan, workspace, engine)
    dataset = dataset_of_pool(plan.pool)
    prepared = _drawn_again(plan, dataset, path)
    drawn = [instance for _, instance, _ in prepared.values()]
    agent = item_agent_of(plan, environ)
    if isinstance(agent, PolicyItemAgent):
        for item, instance, _ in prepared.values():
            policy_named(item, instance, agent.policy_name)  # an item without it is told before anything runs
    bundles = bundles_of(plan, path.parent)
    for bundle in bundles.values():
        agent.equip(bundle)  # a bundle that this agent cannot load is refused before anything runs
    judge = judge_of(plan, agent, environ)
    secrets = known_secrets(plan, dataset, environ)
    refuse_words_of_ours(secrets, canonical_json(plan), *map(instance_bytes, drawn))
    items = canonical_json(listing([item_named(name) for name in plan.item_ids]))
    schedule = canonical_json(schedule_document(plan.schedule.seed, plan.items, plan.arm_ids))
    if plan.pool is Pool.HELD_OUT:
        folder.make_private()
    folder.seal(path.read_bytes(), schedule, items)
    _keep_beside(plan, bundles, path.parent, folder.path)
    suite = SuiteContext(
        manifest=plan,
        manifest_sha256=sha256_of(loads_strict(path.read_bytes())),
        manifest_folder=path.parent,
        workspace=workspace,
        folder=folder,
        engine=engine,
        grader_image=engine.image_id(plan.images.grader.reference),
        redactor=Redactor(secrets.values()),
        stop=stop,
        agent=agent,
        agent_image=engine.image_id(plan.images.agent.reference),
        judge=judge,
        graded=graded,
    )

    def prepare(cell: Cell) -> ItemCell:
        item, instance, sha256 = prepared[cell.task]
        return ItemCell(suite, cell, item, instance, sha256)

    return OpenPlan(
        site=suite,
        cells=plan.cells(),
        schedule_sha256=plan.schedule.sha256,
        tasks_sha256=sha256_of_bytes(items),
        go_on=f"go on with: esac-ag suite run --resume {quote(str(folder.path))} "
        "(address, model and decoding are sealed: where one of them is wrong, start a new run)",
        prepare=prepare,
    )


def _keep_beside(
    plan: SuitePlan, bundles: Mapping[str, ArmBundle | None], source: Path, folder: Path
) -> None:
    """Copy what the plan names into the run's folder, so that the folder is whole by itself.

    Each copy is there whole or not at all, whenever the process ends. What lies outside of the plan's own
    folder stays where it is; such a run goes on with `--manifest`.
    """
    for arm in plan.arms:
        bundle = bundles[arm.id]
        if bundle is not None and arm.bundle is not None and _lies_below(arm.bundle):
            lay_down(bundle.files, folder / arm.bundle)
    probe = plan.isolation.probe
    if probe is not None and _lies_below(probe.record) and not (folder / probe.record).exists():
        write_atomic(folder / probe.record, (source / probe.record).read_bytes())


def _lies_below(name: str) -> bool:
    return ".." not in Path(name).parts


def _drawn_again(
    plan: SuitePlan, dataset: DatasetSeed, path: Path
) -> dict[str, tuple[Item, Instance, Sha256]]:
    """Items with their sealed instances.

    Raises:
        UsageError: the seed is another one.
        SubstitutionRefused: the bank gives other instances than those that were sealed, or the plan says
            another thing of the seed.
    """
    fingerprint = seed_fingerprint(dataset.seed)
    if fingerprint != plan.seed_fingerprint:
        raise UsageError(
            "The dataset seed is not the one that the plan was sealed with.",
            where=dataset.source.value,
            expected=f"the seed of fingerprint {plan.seed_fingerprint}",
            found=f"one of fingerprint {fingerprint}",
            remedy="Give the right one with --seed, ESAC_HELD_OUT_SEED or .heldout/seed.",
        )
    if dataset.weak != plan.seed_weak:
        raise SubstitutionRefused(
            "The plan says another thing of its seed than the seed at hand: it was edited.",
            where=f"{path}#/seed_weak",
            expected=str(dataset.weak).lower(),
            found=str(plan.seed_weak).lower(),
            remedy="Restore the plan that was sealed, or start a new run.",
        )
    found: dict[str, tuple[Item, Instance, Sha256]] = {}
    for reference in plan.items:
        item = item_named(reference.id)
        instance = instance_of(item, dataset.seed)
        found[item.id] = (item, instance, sealed_instance(dataset.seed, instance))
    changed = [one.id for one in plan.items if found[one.id][2] != one.instance_sha256]
    if changed:
        raise SubstitutionRefused(
            "The instances are not those that the plan sealed: the bank of items changed.",
            where=str(path),
            expected="the sealed instances of every item",
            found=f"others of {', '.join(changed)}",
            remedy="Use the release that sealed the plan, or start a new run.",
        )
    return found
