"""Opening a sealed study: everything that the manifest sealed is compared with what is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import esac_ag
from esac_ag.agents.command_settings import CommandSettings
from esac_ag.agents.contract import Agent
from esac_ag.agents.registry import make_agent
from esac_ag.agents.script_book import ScriptBook, load_script_book
from esac_ag.artifacts import StudyFolder
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Cell, GradingStatus
from esac_ag.canonical import canonical_json, loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.context import Stop, StudyContext, bundles_of
from esac_ag.conduct.judging import judge
from esac_ag.conduct.kept_proofs import keep_proofs
from esac_ag.conduct.launch import launch
from esac_ag.conduct.revision import package_sha256, runner_sha256
from esac_ag.conduct.secret_words import refuse_words_of_ours
from esac_ag.conduct.stopping import early_stop_of
from esac_ag.conduct.work import Kept, Launched, OpenPlan
from esac_ag.errors import InputRefused, SubstitutionRefused
from esac_ag.manifest.findings import refused
from esac_ag.manifest.package import TaskPackages
from esac_ag.manifest.plan import AgentKind, Manifest, Plan, TaskReference
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.rooms.records import read_record
from esac_ag.rooms.tasks import LoadedTask, load_sealed_task
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.agent_files import read_agent
from esac_ag.sandbox.contract import Engine
from esac_ag.schedule import make_schedule, schedule_bytes

SCRIPT_CAP_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class TaskCell:
    """The work on one cell of a study."""

    study: StudyContext
    cell: Cell
    reference: TaskReference
    task: LoadedTask

    def launch(self, attempt_id: str, ordinal: int) -> Launched:
        """Run one attempt to its end."""
        return launch(self.study, self.task, self.cell, attempt_id, ordinal)

    def grade(self, attempt_id: str, kept: Kept) -> tuple[GradingStatus, dict[str, str]]:  # noqa: ARG002
        """Grade its submission; there are no parts to keep, for the same inputs are drawn again."""
        grading, artifacts = judge(self.study, self.reference, self.task, attempt_id)
        return grading.status, artifacts


def design_of(manifest: Manifest) -> tuple[str, list[str], list[str], int]:
    """Seed, task ids, arm ids and repetitions: what the schedule follows from."""
    return (
        manifest.schedule.seed,
        [task.id for task in manifest.tasks],
        [arm.id for arm in manifest.arms],
        manifest.repetitions,
    )


def load_manifest(path: Path, *, workspace: Workspace) -> Manifest:
    """A sealed manifest of a study whose strict validation has no error.

    Raises:
        InputRefused: it has, and all findings are listed; or it plans a suite run.
    """
    refuse_invalid(path, workspace=workspace)
    if plans_a_suite_run(path):
        raise InputRefused(
            "the manifest plans a suite run, not a study",
            where=str(path),
            expected="suite.name study",
            found="suite.name esac-ag",
            remedy=f"esac-ag suite run --manifest {path}",
        )
    return read_record(path, Manifest)


def refuse_invalid(path: Path, *, workspace: Workspace) -> None:
    """Refuse a manifest that cannot be run.

    Raises:
        InputRefused: its strict validation has errors, all of which are listed, or it is of format version 1.
    """
    report = validate_manifest(path, strict=True, workspace=workspace)
    if not report.valid:
        errors = [finding for finding in report.findings if finding.severity == "error"]
        raise refused(
            "the manifest, or what it sealed, does not hold",
            errors,
            where=str(path),
            remedy="restore what was sealed, or freeze a new study; `esac-ag validate --strict` lists it all",
        )
    if report.format_version != 2:  # noqa: PLR2004  (the format's number)
        raise InputRefused(
            "only manifests of format version 2 can be run",
            where=str(path),
            expected="format_version 2",
            found=f"format_version {report.format_version}",
            remedy="write a draft from it (docs/manifest.md) and freeze that",
        )


def open_study(
    path: Path,
    *,
    workspace: Workspace,
    engine: Engine,
    results: Path,
    environ: Mapping[str, str],
    stop: Stop,
    dry_run: bool = False,
) -> OpenPlan:
    """Check every seal, then give what a run needs.

    Args:
        path: the sealed manifest.
        workspace: where tasks, graders and the runner are.
        engine: where it will run.
        results: folder below which `<study_id>/` lies.
        environ: where keys are looked up.
        stop: the wish to end.
        dry_run: check every seal, but write nothing.

    Raises:
        InputRefused, SubstitutionRefused: a seal does not hold; everything that changed is named.
        UsageError: a key is missing, or is a word that records need.
    """
    manifest = load_manifest(path, workspace=workspace)
    refuse_changed(path, manifest, workspace, engine)
    agent = open_agent(manifest, path.parent, workspace, environ)
    for bundle in bundles_of(manifest, path.parent).values():
        agent.equip(bundle)  # a bundle that this agent cannot load is refused before anything runs
    secrets = {f"the agent's key ({number})": key for number, key in enumerate(agent.secrets(), start=1)}
    refuse_words_of_ours(secrets, canonical_json(manifest))
    folder = StudyFolder(results / manifest.study_id)
    tasks = _task_packages(manifest, path.parent)
    if not dry_run:
        folder.seal(path.read_bytes(), schedule_bytes(*design_of(manifest)), tasks)
        keep_proofs(path, manifest, folder)
    context = StudyContext(
        manifest=manifest,
        manifest_sha256=sha256_of(loads_strict(path.read_bytes())),
        manifest_folder=path.parent,
        workspace=workspace,
        folder=folder,
        engine=engine,
        agent=agent,
        agent_image=engine.image_id(manifest.images.agent.reference),
        grader_image=engine.image_id(manifest.images.grader.reference),
        redactor=Redactor(secrets.values()),
        stop=stop,
    )
    references = {reference.id: reference for reference in manifest.tasks}

    def prepare(cell: Cell) -> TaskCell:
        reference = references[cell.task]
        return TaskCell(context, cell, reference, load_sealed_task(path.parent, reference))

    return OpenPlan(
        site=context,
        cells=make_schedule(*design_of(manifest)),
        schedule_sha256=manifest.schedule.sha256,
        tasks_sha256=sha256_of_bytes(tasks),
        go_on="run the same command to go on",
        prepare=prepare,
        early_stop=early_stop_of(manifest, folder),
    )


def _task_packages(manifest: Manifest, folder: Path) -> bytes:
    """The contents of `tasks.json`: the packages, for reports that outlive the workspace."""
    packages = {reference.id: load_sealed_task(folder, reference).package for reference in manifest.tasks}
    return canonical_json(TaskPackages(packages=packages))


def open_agent(
    manifest: Manifest, manifest_folder: Path, workspace: Workspace, environ: Mapping[str, str]
) -> Agent:
    """The manifest's agent; a scripted one with its book of plays, whose digest is sealed in its settings.

    Raises:
        InputRefused: the book is missing or wrong.
        SubstitutionRefused: it is not the sealed one.
        UsageError: the workspace has no such agent, or its key or address cannot be used.
    """
    match manifest.agent.kind:
        case AgentKind.SCRIPTED:
            book = read_book(manifest.agent.settings, manifest_folder, workspace)
            return make_agent(manifest, environ=environ, script=book)
        case AgentKind.CHAT:
            return make_agent(manifest, environ=environ)
        case AgentKind.COMMAND:
            name = CommandSettings.read(manifest.agent.settings).agent
            return make_agent(manifest, environ=environ, file=read_agent(workspace.runner, name).file)
        case _:
            assert_never(manifest.agent.kind)


def read_book(settings: Mapping[str, object], folder: Path, workspace: Workspace) -> ScriptBook:
    """The script book that a scripted agent's settings name, with the patches that it names.

    Raises:
        InputRefused: there is none, or it is wrong.
    """
    script = settings.get("script")
    try:
        data = read_bounded(folder / str(script or ""), cap_bytes=SCRIPT_CAP_BYTES)
    except CannotRead as error:
        raise InputRefused(
            "the scripted agent has no script",
            where=f"{folder}#/agent/settings/script",
            expected="path of a script book, relative to the manifest",
            found=str(error),
            remedy="name one (docs/agents.md)",
        ) from error
    return load_script_book(data, where=str(script), read_file=lambda name: _patch(workspace.root / name))


def _patch(path: Path) -> bytes:
    """The bytes of a patch that a book names; raises OSError, as `load_script_book` asks."""
    try:
        return read_bounded(path, cap_bytes=SCRIPT_CAP_BYTES)
    except CannotRead as error:
        raise OSError(str(error)) from error


def refuse_changed(path: Path, manifest: Plan, workspace: Workspace, engine: Engine) -> None:
    """Refuse a plan whose images, harness or runner are not those at hand.

    Raises:
        SubstitutionRefused: everything that changed is named.
    """
    changed = list(_changes(manifest, workspace, engine))
    if changed:
        raise SubstitutionRefused(
            "what the manifest sealed is not what is at hand: " + ", ".join(name for name, _, _ in changed),
            where=str(path),
            expected="; ".join(f"{name} {sealed}" for name, sealed, _ in changed),
            found="; ".join(f"{name} {now}" for name, _, now in changed),
            remedy="restore it, or freeze a new study with a new study_id",
        )


def _changes(manifest: Plan, workspace: Workspace, engine: Engine) -> Iterator[tuple[str, str, str]]:
    """Name, sealed and present digest of whatever changed beyond what validation reads."""
    images = (("agent image", manifest.images.agent), ("grader image", manifest.images.grader))
    pairs: Sequence[tuple[str, str, str]] = (
        *((name, image.digest, engine.image_digest(image.reference)) for name, image in images),
        ("harness version", manifest.harness.version, esac_ag.__version__),
        ("harness code", manifest.harness.package_sha256, package_sha256()),
        ("runner", manifest.harness.runner_sha256, runner_sha256(workspace)),
    )
    yield from (pair for pair in pairs if pair[1] != pair[2])
