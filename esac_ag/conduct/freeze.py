"""From a draft to a sealed manifest: fill in, prove every task, probe the isolation, seal.

Everything that is missing is told at once. A sealed manifest is never overwritten by another one, and what
is refused leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import JsonValue

from esac_ag.agents.command_settings import CommandSettings
from esac_ag.artifacts import write_atomic
from esac_ag.canonical import sha256_of, sha256_of_bytes
from esac_ag.conduct.completeness import missing_images, unfit_agent
from esac_ag.conduct.probe import probe
from esac_ag.conduct.programme import programme_of
from esac_ag.conduct.sealing import Sealing, pretty, refuse_taken, seal, task_path
from esac_ag.conduct.tasks import Proofs, prove_pairs
from esac_ag.errors import InputRefused
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.draft import Draft, DraftTask
from esac_ag.manifest.findings import Severity, refused
from esac_ag.manifest.plan import AgentPlan, Image, Images, Manifest, Status, TaskReference
from esac_ag.manifest.probe import ProbeRecord
from esac_ag.manifest.soundness import report_unsound
from esac_ag.record import Record, Sha256
from esac_ag.rooms.graders import LoadedGrader, load_grader
from esac_ag.rooms.manifest_file import read_json
from esac_ag.rooms.records import read_record
from esac_ag.rooms.tasks import LoadedTask, load_task
from esac_ag.rooms.validation import validate_manifest
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Engine
from esac_ag.sandbox.images import agent_reference, grader_reference

Tell = Callable[[str], None]
Pairs = tuple[tuple[LoadedTask, LoadedGrader], ...]
SMALLEST_PRIVATE_FILE_BYTES = 64
"""Shorter files of a grader may well be equal to a file of the image."""
REFUSING_WARNINGS = frozenset({"placeholder", "too-few-tasks"})
"""Findings that a draft may have while it is written, and may not have when it is sealed."""


class Sealed(Record):
    """What freezing wrote."""

    path: str
    study_id: str
    manifest_sha256: Sha256
    probe: str
    tasks_proved: int


def freeze_draft(
    draft_path: Path,
    output: Path,
    *,
    workspace: Workspace,
    engine: Engine,
    repeats: int,
    tell: Tell,
) -> Sealed:
    """Seal a draft. Whatever is refused, nothing is written, and the corrected draft can be frozen.

    Args:
        draft_path: the draft.
        output: the sealed manifest to write; its probe record and proofs lie beside it.
        workspace: where tasks, graders and the runner are.
        engine: where tasks are proved and the isolation is probed.
        repeats: how often each proof is repeated.
        tell: is told each step.

    Raises:
        InputRefused: the draft is incomplete, a task's proof or the isolation does not hold, or there is
            something where the output would be written.
        InfrastructureFailure: the engine failed, or the output cannot be written.
    """
    refuse_taken(output)
    draft = read_draft(draft_path, workspace, engine)
    pairs = _pairs(draft.tasks, draft_path.parent, workspace)
    images, image_ids = images_at_hand(workspace, engine, draft.agent)
    programme = programme_of(
        draft, draft_path.parent, pairs, images=images, workspace=workspace, output=output
    )
    tell("proving the tasks")
    proofs = prove_pairs(workspace, engine, pairs, repeats=repeats, limits=draft.limits.grader, tell=tell)
    if not proofs.hold:
        raise _unproved(proofs, draft_path)
    tell("probing the isolation")
    record = _probed(draft, pairs, workspace, engine, (images, image_ids), sha256_of(draft))
    refuse_leaks(record, draft_path)
    sealing = Sealing(
        draft, pairs, proofs.proofs, record, images, draft_path.parent, output, workspace, programme
    )
    manifest = seal(sealing)
    return Sealed(
        path=str(output),
        study_id=manifest.study_id,
        manifest_sha256=sha256_of(manifest),
        probe=str(sealing.probe_path),
        tasks_proved=len(proofs.proofs),
    )


def read_draft(path: Path, workspace: Workspace, engine: Engine) -> Draft:
    """A complete draft.

    Raises:
        InputRefused: it is not; everything that is missing is told, whatever else is missing or malformed.
    """
    findings = [
        finding
        for finding in validate_manifest(path, strict=False, workspace=workspace).findings
        if finding.severity is Severity.ERROR or finding.code in REFUSING_WARNINGS
    ]
    data = _sound(path)
    findings += missing_images(path, data, workspace, engine)
    if data is not None:
        findings += unfit_agent(path, data, workspace, folder=path.parent)
    if findings:
        raise refused(
            "the draft is not complete; nothing was sealed",
            findings,
            where=str(path),
            remedy="supply what is listed, then freeze again",
        )
    return read_record(path, Draft)


def _sound(path: Path) -> dict[str, JsonValue] | None:
    """The draft's contents; none of a file that is no sound JSON object."""
    ignored = Collector(str(path), strict=False)  # validation told it
    data = read_json(path, ignored).value
    if not isinstance(data, dict) or report_unsound(data, ignored):
        return None
    return data


def images_at_hand(
    workspace: Workspace, engine: Engine, plan: AgentPlan | None = None
) -> tuple[Images, dict[str, str]]:
    """The images that today's runner calls for, by content; and the engine's id of each reference.

    Args:
        workspace: whose runner it is.
        engine: that has them.
        plan: the agent that acts; a command-line agent has an image of its own.

    Raises:
        ImageMissing: one is not built.
        InputRefused: the agent's settings, or its file, cannot be used.
        UsageError: the workspace has no such command-line agent.
    """
    name = None if plan is None else CommandSettings.agent_of(plan)
    references = (agent_reference(workspace.runner, name), grader_reference(workspace.runner))
    agent, grader = (Image(reference=name, digest=engine.image_digest(name)) for name in references)
    return Images(agent=agent, grader=grader), {name: engine.image_id(name) for name in references}


def probe_manifest(path: Path, *, workspace: Workspace, engine: Engine, output: Path | None) -> ProbeRecord:
    """Probe with the images and limits of a draft or a sealed manifest; write the record if asked.

    Raises:
        InputRefused: the file is neither, or a task cannot be read.
    """
    # What is wrong with the file, `read_record` tells.
    document = read_json(path, Collector(str(path), strict=False)).value
    if isinstance(document, dict) and document.get("status") == Status.DRAFT:
        plan: Draft | Manifest = read_record(path, Draft)
    else:
        plan = read_record(path, Manifest)
    pairs = _pairs(plan.tasks, path.parent, workspace)
    at_hand = images_at_hand(workspace, engine, plan.agent)
    record = _probed(plan, pairs, workspace, engine, at_hand, sha256_of(document))
    if output is not None:
        write_atomic(output, pretty(record))
    return record


def _probed(
    plan: Draft | Manifest,
    pairs: Pairs,
    workspace: Workspace,
    engine: Engine,
    at_hand: tuple[Images, dict[str, str]],
    manifest_sha256: str,
) -> ProbeRecord:
    """The isolation as a plan's runs will have it."""
    images, image_ids = at_hand
    return probe(
        engine,
        workspace,
        study_id=plan.study_id,
        images=images,
        image_ids=image_ids,
        limits=plan.limits,
        network=plan.network,
        way=CommandSettings.way_of(plan.agent),
        private_material=_private_hashes(pairs),
        manifest_sha256=manifest_sha256,
    )


def refuse_leaks(record: ProbeRecord, path: Path) -> None:
    """Refuse to seal on a machine whose isolation does not hold.

    Raises:
        InputRefused: the probe reached something, or did not try everything.
    """
    if record.passed and record.holds:
        return
    reached = [f"{route.name}: {route.detail}" for route in record.routes if route.reached]
    untried = [f"{route.name}: nothing was tried" for route in record.routes if not route.tried]
    what = "the isolation probe reached private material" if reached else "the isolation probe proves nothing"
    raise InputRefused(
        f"{what}; nothing was sealed",
        where=str(path),
        expected="every route is tried, and none reaches anything",
        found="; ".join(reached + untried),
        remedy="`esac-ag doctor` shows which limits take effect here; `esac-ag probe` shows each route",
    )


def _unproved(proofs: Proofs, path: Path) -> InputRefused:
    faults = [f"{proof.task_id}: {fault}" for proof in proofs.proofs for fault in proof.faults]
    return InputRefused(
        "a task's proof does not hold; nothing was sealed",
        where=str(path),
        expected="baseline fails as named, no-op fails, references pass, decoys fail",
        found="; ".join(faults),
        remedy="repair the task or its grader; `esac-ag task check ID` shows each trial",
    )


def _pairs(tasks: Sequence[DraftTask | TaskReference], folder: Path, workspace: Workspace) -> Pairs:
    return tuple((load_task(task_path(task, folder)), load_grader(workspace, task.id)) for task in tasks)


def _private_hashes(pairs: Pairs) -> tuple[str, ...]:
    return tuple(
        sorted(
            sha256_of_bytes(node.data)
            for _, grader in pairs
            for node in grader.files.files().values()
            if len(node.data) >= SMALLEST_PRIVATE_FILE_BYTES
        )
    )
