"""From a draft to a sealed manifest: fill in, prove every task, probe the isolation, seal.

Everything that is missing is told at once. A sealed manifest is never overwritten by another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from esac_ag import clock
from esac_ag.artifacts import write_atomic
from esac_ag.canonical import canonical_json, loads_strict, sha256_of
from esac_ag.clock import Seeds
from esac_ag.conduct.opening import read_book
from esac_ag.conduct.probe import probe
from esac_ag.conduct.revision import harness_of
from esac_ag.conduct.tasks import check_tasks, refuse_unsealed, unsealed
from esac_ag.errors import ImageMissing, InputRefused
from esac_ag.manifest.draft import Draft, DraftArm, DraftTask
from esac_ag.manifest.draft_rules import default_task_path
from esac_ag.manifest.findings import Finding, Severity, refused
from esac_ag.manifest.plan import (
    NEUTRAL,
    AgentKind,
    AgentPlan,
    Arm,
    ArmKind,
    Image,
    Images,
    Isolation,
    Manifest,
    ProbeReference,
    Schedule,
    Status,
    TaskReference,
)
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.record import Record, Sha256
from esac_ag.rooms.bundles import inventory, read_bundle
from esac_ag.rooms.freezing import kind_of_bundle
from esac_ag.rooms.graders import LoadedGrader, graders_revision, load_grader
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.records import read_record
from esac_ag.rooms.tasks import LoadedTask, load_task
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.sandbox.images import agent_reference, grader_reference
from esac_ag.schedule import schedule_sha256

Tell = Callable[[str], None]
SMALLEST_PRIVATE_FILE_BYTES = 64
"""Shorter files of a grader may well be equal to a file of the image."""


class Sealed(Record):
    """What freezing wrote."""

    path: str
    study_id: str
    manifest_sha256: Sha256
    probe: str
    tasks_proved: int


@dataclass(frozen=True, slots=True)
class _Pair:
    task: LoadedTask
    grader: LoadedGrader


def freeze_draft(
    draft_path: Path,
    output: Path,
    *,
    workspace: Workspace,
    engine: DockerEngine,
    repeats: int,
    tell: Tell,
) -> Sealed:
    """Seal a draft.

    Args:
        draft_path: the draft.
        output: the sealed manifest to write; its probe record and proofs lie beside it.
        workspace: where tasks, graders and the runner are.
        engine: where tasks are proved and the isolation is probed.
        repeats: how often each proof is repeated.
        tell: is told each step.

    Raises:
        InputRefused: the draft is incomplete, a task's proof or the isolation does not hold, or the output
            is another sealed manifest.
        ImageMissing: an image is not built.
    """
    folder = draft_path.parent
    draft = read_draft(draft_path, workspace, engine)
    pairs = {task.id: _pair(task, folder, workspace) for task in draft.tasks}
    images, image_ids = images_at_hand(workspace, engine)
    tell("proving the tasks")
    proofs = check_tasks(
        workspace,
        engine,
        tuple(pairs),
        repeats=repeats,
        limits=draft.limits.grader,
        tell=tell,
    )
    if not proofs.hold:
        faults = [f"{proof.task_id}: {fault}" for proof in proofs.proofs for fault in proof.faults]
        raise InputRefused(
            "a task's proof does not hold; nothing was sealed",
            where=str(draft_path),
            expected="baseline fails as named, no-op fails, references pass, decoys fail",
            found="; ".join(faults),
            remedy="repair the task or its grader; `esac-ag task check ID` shows each trial",
        )
    tell("probing the isolation")
    record = probe(
        engine,
        workspace,
        study_id=draft.study_id,
        images=images,
        image_ids=image_ids,
        limits=draft.limits,
        network=draft.network,
        private_material=_private_hashes(pairs),
        manifest_sha256=sha256_of(draft),
    )
    if not record.passed:
        raise _leaks(record, draft_path)
    probe_path = output.parent / f"{output.stem}.probe.json"
    tasks = tuple(
        _task_reference(task, pairs[task.id], folder, output, sha256_of(proof))
        for task, proof in zip(draft.tasks, proofs.proofs, strict=True)
    )
    isolation = Isolation(
        fresh_process_per_run=True,
        isolated_config_per_arm=True,
        private_material_unreadable=True,
        isolation_probe_passed=True,
        probe=ProbeReference(record=probe_path.name, sha256=sha256_of(record)),
    )
    revision = graders_revision(pair.grader for pair in pairs.values())
    manifest = _manifest(draft, tasks, isolation, images, folder, output, workspace, revision)
    _refuse_other(output, manifest)
    for task, proof in zip(draft.tasks, proofs.proofs, strict=True):
        write_atomic(proof_path(output, task.id), _pretty(proof))
    write_atomic(probe_path, _pretty(record))
    write_atomic(output, _pretty(manifest))
    _prove_sealed(output, workspace)
    return Sealed(
        path=str(output),
        study_id=manifest.study_id,
        manifest_sha256=sha256_of(manifest),
        probe=str(probe_path),
        tasks_proved=len(proofs.proofs),
    )


def read_draft(path: Path, workspace: Workspace, engine: DockerEngine) -> Draft:
    """A complete draft.

    Raises:
        InputRefused: it is not; everything that is missing is told.
    """
    findings = [
        finding
        for finding in validate_manifest(path, strict=False, workspace=workspace).findings
        if finding.severity is Severity.ERROR or finding.code in {"placeholder", "too-few-tasks"}
    ]
    findings += _missing(path, workspace, engine)
    if findings:
        raise refused(
            "the draft is not complete; nothing was sealed",
            findings,
            where=str(path),
            remedy="supply what is listed, then freeze again",
        )
    return read_record(path, Draft)


def _missing(path: Path, workspace: Workspace, engine: DockerEngine) -> list[Finding]:
    """What a draft lacks beyond its own text: images, sealed packages, the script of a scripted agent."""
    folder = path.parent
    findings = [
        _finding(path, "", "image-missing", f"the image {reference} is not built", "esac-ag images build")
        for reference in (agent_reference(workspace.runner), grader_reference(workspace.runner))
        if not _has_image(engine, reference)
    ]
    try:
        draft = Draft.model_validate_json(path.read_bytes())
    except (OSError, ValidationError, ValueError):
        return findings
    for index, task in enumerate(draft.tasks):
        try:
            pair = _loaded(task, folder, workspace)
        except InputRefused:
            continue  # the validator tells it better
        if unsealed(pair.task, pair.grader):
            what = f"task.json of {task.id} does not name the files at hand"
            findings.append(
                _finding(path, f"/tasks/{index}", "task-unsealed", what, f"esac-ag task seal {task.id}")
            )
    if draft.agent.kind is AgentKind.SCRIPTED:
        try:
            _sealed_agent(draft.agent, folder, folder, workspace)
        except InputRefused as error:
            findings.append(_finding(path, "/agent/settings/script", "script", error.what, error.remedy))
    return findings


def _finding(path: Path, pointer: str, code: str, what: str, remedy: str) -> Finding:
    return Finding(
        severity=Severity.ERROR, file=str(path), pointer=pointer, code=code, what=what, remedy=remedy
    )


def _has_image(engine: DockerEngine, reference: str) -> bool:
    try:
        engine.image_digest(reference)
    except ImageMissing:
        return False
    return True


def images_at_hand(workspace: Workspace, engine: DockerEngine) -> tuple[Images, dict[str, str]]:
    """The images that today's runner calls for, by content; and the engine's id of each reference.

    Raises:
        ImageMissing: one is not built.
    """
    references = (agent_reference(workspace.runner), grader_reference(workspace.runner))
    agent, grader = (Image(reference=name, digest=engine.image_digest(name)) for name in references)
    return Images(agent=agent, grader=grader), {name: engine.image_id(name) for name in references}


def probe_manifest(
    path: Path, *, workspace: Workspace, engine: DockerEngine, output: Path | None
) -> ProbeRecord:
    """Probe with the images and limits of a draft or a sealed manifest; write the record if asked.

    Raises:
        InputRefused: the file is neither, or a task cannot be read.
    """
    document = loads_strict(path.read_bytes()) if path.is_file() else None
    if isinstance(document, dict) and document.get("status") == Status.DRAFT:
        plan: Draft | Manifest = read_record(path, Draft)
    else:
        plan = read_record(path, Manifest)
    pairs = {
        task.id: _Pair(load_task(_task_path(task, path.parent)), load_grader(workspace, task.id))
        for task in plan.tasks
    }
    images, image_ids = images_at_hand(workspace, engine)
    record = probe(
        engine,
        workspace,
        study_id=plan.study_id,
        images=images,
        image_ids=image_ids,
        limits=plan.limits,
        network=plan.network,
        private_material=_private_hashes(pairs),
        manifest_sha256=sha256_of(document),
    )
    if output is not None:
        write_atomic(output, _pretty(record))
    return record


def _leaks(record: ProbeRecord, path: Path) -> InputRefused:
    reached = [f"{route.name}: {route.detail}" for route in record.routes if route.reached]
    return InputRefused(
        "the isolation probe reached private material; nothing was sealed",
        where=str(path),
        expected="no route reaches anything",
        found="; ".join(reached),
        remedy="`esac-ag doctor` shows which limits take effect here; `esac-ag probe` shows each route",
    )


def _pair(task: DraftTask, folder: Path, workspace: Workspace) -> _Pair:
    pair = _loaded(task, folder, workspace)
    refuse_unsealed(pair.task, pair.grader)
    return pair


def _loaded(task: DraftTask, folder: Path, workspace: Workspace) -> _Pair:
    return _Pair(load_task(_task_path(task, folder)), load_grader(workspace, task.id))


def _task_path(task: DraftTask | TaskReference, folder: Path) -> Path:
    return folder / (task.manifest or default_task_path(task.id))


def _private_hashes(pairs: dict[str, _Pair]) -> tuple[str, ...]:
    return tuple(
        sorted(
            hashlib.sha256(node.data).hexdigest()
            for pair in pairs.values()
            for node in pair.grader.files.files().values()
            if len(node.data) >= SMALLEST_PRIVATE_FILE_BYTES
        )
    )


def _manifest(
    draft: Draft,
    tasks: tuple[TaskReference, ...],
    isolation: Isolation,
    images: Images,
    folder: Path,
    output: Path,
    workspace: Workspace,
    grader_revision: str,
) -> Manifest:
    seed = draft.seed or clock.opaque_id()
    arms = tuple(_arm(arm, folder, output) for arm in draft.arms)
    seeds = Seeds(seed)
    design = (seed, [task.id for task in draft.tasks], [arm.id for arm in arms], draft.repetitions)
    first_arm = next(arm.id for arm in arms if arm.id != NEUTRAL)
    return Manifest(
        format_version=2,
        study_id=draft.study_id,
        suite=draft.suite,
        phase=draft.phase,
        status=Status.FROZEN,
        model=draft.model,
        agent=_sealed_agent(draft.agent, folder, output.parent, workspace),
        harness=harness_of(workspace, grader_revision),
        images=images,
        limits=draft.limits,
        network=draft.network,
        isolation=isolation,
        repetitions=draft.repetitions,
        schedule=Schedule(seed=seed, sha256=schedule_sha256(*design)),
        arms=arms,
        tasks=tasks,
        policies=draft.policies,
        analysis=draft.analysis.sealed(f"{seeds.number('interval') >> 192:016x}", first_arm),
        prices=draft.prices,
    )


def _sealed_agent(agent: AgentPlan, folder: Path, output_folder: Path, workspace: Workspace) -> AgentPlan:
    """A scripted agent's book is sealed by digest; other agents are sealed by their settings."""
    if agent.kind is not AgentKind.SCRIPTED:
        return agent
    book = read_book(agent.settings, folder, workspace)
    script = folder / str(agent.settings["script"])
    settings = agent.settings | {
        "script": _relative(script, output_folder),
        "script_sha256": book.sha256(),
    }
    return agent.model_copy(update={"settings": settings})


def _arm(arm: DraftArm, folder: Path, output: Path) -> Arm:
    if arm.bundle is None:
        return Arm(id=arm.id, kind=ArmKind.NONE, bundle=None, files=())
    bundle = folder / arm.bundle
    return Arm(
        id=arm.id,
        kind=kind_of_bundle(read_bundle(bundle)),
        bundle=_relative(bundle, output.parent),
        files=inventory(bundle),
        install=arm.install,
    )


def _task_reference(
    task: DraftTask, pair: _Pair, folder: Path, output: Path, proof_sha256: str
) -> TaskReference:
    return TaskReference(
        id=task.id,
        manifest=_relative(_task_path(task, folder), output.parent),
        public_tree_sha256=pair.task.snapshot_sha256,
        request_sha256=pair.task.request_sha256,
        private_grader_id=pair.grader.private_grader_id,
        proof_sha256=proof_sha256,
    )


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _pretty(record: Record) -> bytes:
    """The canonical form's value, laid out for people; its digest is the canonical one's."""
    return (
        json.dumps(json.loads(canonical_json(record)), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    ).encode()


def _refuse_other(output: Path, manifest: Manifest) -> None:
    if output.exists() and output.read_bytes() != _pretty(manifest):
        raise InputRefused(
            "there is another file where the sealed manifest would be written",
            where=str(output),
            expected="no file",
            found="a manifest or a file with other content",
            remedy="a frozen manifest is never edited: give the study a new id and another file",
        )


def _prove_sealed(output: Path, workspace: Workspace) -> None:
    """What was sealed has to pass the validator that everybody else uses."""
    report = validate_manifest(output, strict=True, workspace=workspace)
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    if errors:
        raise refused("the sealed manifest does not validate", errors, where=str(output))
