"""The last step of freezing: fill in the manifest, validate it as anybody would, and only then write it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from esac_ag import clock
from esac_ag.artifacts import write_atomic
from esac_ag.canonical import canonical_json, sha256_of
from esac_ag.clock import Seeds
from esac_ag.conduct.opening import read_book
from esac_ag.conduct.programme import Programme
from esac_ag.conduct.revision import harness_of
from esac_ag.errors import InfrastructureFailure, InputRefused
from esac_ag.grading.proof_record import ProofRecord
from esac_ag.manifest.draft import Draft, DraftArm, DraftTask
from esac_ag.manifest.draft_rules import default_task_path
from esac_ag.manifest.findings import Severity, refused
from esac_ag.manifest.inventory import inventory_of
from esac_ag.manifest.lineage import Lineage
from esac_ag.manifest.plan import (
    NEUTRAL,
    AgentKind,
    AgentPlan,
    Arm,
    ArmKind,
    Images,
    Isolation,
    Manifest,
    ProbeReference,
    Schedule,
    Status,
    TaskReference,
)
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.record import Record
from esac_ag.rooms.bundles import read_bundle
from esac_ag.rooms.freezing import kind_of_bundle
from esac_ag.rooms.graders import LoadedGrader, graders_revision
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.rooms.validation import validate_before_sealing
from esac_ag.rooms.workspace import Workspace
from esac_ag.schedule import schedule_sha256


@dataclass(frozen=True, slots=True)
class Sealing:
    """Everything that a sealed manifest is made from."""

    draft: Draft
    pairs: tuple[tuple[LoadedTask, LoadedGrader], ...]
    """Task and grader packages, in the draft's order."""
    proofs: tuple[ProofRecord, ...]
    """Of the pairs, in their order."""
    probe: ProbeRecord
    images: Images
    folder: Path
    """The draft's, which its paths are relative to."""
    output: Path
    workspace: Workspace
    programme: Programme

    @property
    def probe_path(self) -> Path:
        """Where the probe's record will lie."""
        return self.output.parent / f"{self.output.stem}.probe.json"


def refuse_taken(output: Path) -> None:
    """A sealed manifest is never overwritten, nor is anything else.

    Raises:
        InputRefused: there is something at the place.
    """
    if os.path.lexists(output):
        raise InputRefused(
            "there is another file where the sealed manifest would be written",
            where=str(output),
            expected="no file",
            found="a manifest or another file",
            remedy="a frozen manifest is never edited: give the study a new id and another file",
        )


def seal(sealing: Sealing) -> Manifest:
    """Write the manifest with its probe record and proofs, if it passes the validation that anybody does.

    The manifest's own file comes last, whole: without it, what a crash left beside its place is overwritten
    by the next freeze.

    Raises:
        InputRefused: it does not validate, or its place was taken; nothing was written.
        InfrastructureFailure: it cannot be written.
    """
    manifest = _manifest(sealing)
    data, probe = pretty(manifest), pretty(sealing.probe)
    proofs = {proof.task_id: pretty(proof) for proof in sealing.proofs}
    refuse_invalid_seal(
        sealing.output,
        data,
        workspace=sealing.workspace,
        records={sealing.probe_path.name: probe},
        proofs=proofs,
    )
    refuse_taken(sealing.output)
    try:
        for task_id, proof in proofs.items():
            write_atomic(proof_path(sealing.output, task_id), proof)
        write_atomic(sealing.probe_path, probe)
        write_atomic(sealing.output, data)
    except OSError as error:
        raise InfrastructureFailure(
            "the sealed manifest cannot be written",
            where=str(sealing.output),
            found=str(error),
            remedy="make room, or name another place with -o; proofs are kept, so freezing again is quick",
        ) from error
    return manifest


def refuse_invalid_seal(
    output: Path,
    manifest: bytes,
    *,
    workspace: Workspace,
    records: Mapping[str, bytes],
    proofs: Mapping[str, bytes],
) -> None:
    """Validate a manifest as anybody will once it lies at its place; nothing is written.

    Raises:
        InputRefused: it would not pass.
    """
    report = validate_before_sealing(output, manifest, workspace=workspace, records=records, proofs=proofs)
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    if errors:
        what = "the manifest would not validate; nothing was sealed"
        raise refused(what, errors, where=str(output))


def task_path(task: DraftTask | TaskReference, folder: Path) -> Path:
    """Where the `task.json` of a draft's or a manifest's task lies."""
    return folder / (task.manifest or default_task_path(task.id))


def _manifest(sealing: Sealing) -> Manifest:
    draft, folder, output = sealing.draft, sealing.folder, sealing.output
    seed = draft.seed or clock.opaque_id()
    lineages = sealing.programme.lineages
    arms = tuple(_arm(arm, folder, output, lineages.get(arm.id)) for arm in draft.arms)
    design = (seed, [task.id for task in draft.tasks], [arm.id for arm in arms], draft.repetitions)
    first_arm = next(arm.id for arm in arms if arm.id != NEUTRAL)
    interval_seed = f"{Seeds(seed).number('interval') >> 192:016x}"
    graders = (grader for _, grader in sealing.pairs)
    return Manifest(
        format_version=2,
        study_id=draft.study_id,
        suite=draft.suite,
        phase=draft.phase,
        status=Status.FROZEN,
        model=draft.model,
        agent=_sealed_agent(draft.agent, folder, output.parent, sealing.workspace),
        harness=harness_of(sealing.workspace, graders_revision(graders)),
        images=sealing.images,
        limits=draft.limits,
        network=draft.network,
        isolation=_isolation(sealing),
        repetitions=draft.repetitions,
        schedule=Schedule(seed=seed, sha256=schedule_sha256(*design)),
        arms=arms,
        tasks=_task_references(sealing),
        policies=draft.policies,
        analysis=draft.analysis.sealed(interval_seed, first_arm),
        review=draft.review,
        prices=draft.prices,
        decision=draft.decision,
        holdout_of=sealing.programme.holdout_of,
    )


def _isolation(sealing: Sealing) -> Isolation:
    return Isolation(
        fresh_process_per_run=True,
        isolated_config_per_arm=True,
        private_material_unreadable=True,
        isolation_probe_passed=sealing.probe.passed,
        probe=ProbeReference(record=sealing.probe_path.name, sha256=sha256_of(sealing.probe)),
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


def _arm(arm: DraftArm, folder: Path, output: Path, lineage: Lineage | None) -> Arm:
    if arm.bundle is None:
        return Arm(id=arm.id, kind=ArmKind.NONE, bundle=None, files=())
    tree = read_bundle(folder / arm.bundle)
    return Arm(
        id=arm.id,
        kind=kind_of_bundle(tree),
        bundle=_relative(folder / arm.bundle, output.parent),
        files=inventory_of(tree),
        install=arm.install,
        lineage=lineage,
    )


def _task_references(sealing: Sealing) -> tuple[TaskReference, ...]:
    rows = zip(sealing.draft.tasks, sealing.pairs, sealing.proofs, strict=True)
    return tuple(
        TaskReference(
            id=draft.id,
            manifest=_relative(task_path(draft, sealing.folder), sealing.output.parent),
            public_tree_sha256=task.snapshot_sha256,
            request_sha256=task.request_sha256,
            private_grader_id=grader.private_grader_id,
            proof_sha256=sha256_of(proof),
        )
        for draft, (task, grader), proof in rows
    )


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def pretty(record: Record) -> bytes:
    """The canonical form's value, laid out for people; its digest is the canonical one's."""
    return (
        json.dumps(json.loads(canonical_json(record)), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    ).encode()
