"""Proofs of the tasks in a study's folder: what the untouched snapshots fail, without the workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.conduct.audit_records import AuditFinding, differing
from esac_ag.grading.proof_record import ProofRecord, VariantKind
from esac_ag.manifest.plan import Manifest
from esac_ag.rooms.proofs import proof_path
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded


def keep_proofs(sealed: Path, manifest: Manifest, folder: StudyFolder) -> None:
    """Copy the proofs beside a sealed manifest into the study's folder, where they lie the same way."""
    for task in manifest.tasks:
        source, target = (proof_path(path, task.id) for path in (sealed, folder.manifest))
        if source.is_file() and not target.exists():
            write_atomic(target, source.read_bytes())


def untouched_failures(folder: StudyFolder, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """By task: the hidden checks that its untouched snapshot fails.

    A task without a proof in the folder, or with another one than was sealed, is left out: its baseline is
    not known.
    """
    found = {}
    for task_id, sealed, data in _proofs(folder, manifest):
        if _digest(data) == sealed and (failed := _failed(data)) is not None:
            found[task_id] = failed
    return found


def proof_findings(folder: StudyFolder, manifest: Manifest) -> Iterator[AuditFinding]:
    """Proofs in the folder that are not the sealed ones; a study of before has none, which is no fault."""
    for task_id, sealed, data in _proofs(folder, manifest):
        where = proof_path(folder.manifest, task_id).relative_to(folder.path).as_posix()
        yield from differing([(where, "a task's proof", sealed, _digest(data))])


def _proofs(folder: StudyFolder, manifest: Manifest) -> Iterator[tuple[str, str, bytes]]:
    """Task, sealed digest and bytes of the proofs that are there."""
    for task in manifest.tasks:
        path = proof_path(folder.manifest, task.id)
        if not path.is_file():
            continue
        try:
            yield task.id, task.proof_sha256, read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES)
        except CannotRead:
            yield task.id, task.proof_sha256, b""


def _digest(data: bytes) -> str:
    try:
        return sha256_of(loads_strict(data))
    except (ValueError, RecursionError):
        return "no JSON"


def _failed(data: bytes) -> tuple[str, ...] | None:
    """What the untouched snapshot fails, if its trials agree; none where the proof does not tell."""
    try:
        proof = ProofRecord.model_validate_json(data)
    except ValidationError:
        return None
    untouched = [variant for variant in proof.variants if variant.kind is VariantKind.BASELINE]
    outcomes = {trial.failed for variant in untouched for trial in variant.trials if trial.valid}
    return outcomes.pop() if len(outcomes) == 1 else None
