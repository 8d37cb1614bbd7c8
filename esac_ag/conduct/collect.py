"""Reads a study's folder for those that only look: reports and audits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.attempt.events import StudyState
from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.errors import InputRefused
from esac_ag.ledger import read_state
from esac_ag.manifest.package import TaskPackage, TaskPackages
from esac_ag.manifest.plan import Manifest
from esac_ag.rooms.records import read_record


@dataclass(frozen=True, slots=True)
class StudyRecords:
    """What a study's folder tells."""

    folder: StudyFolder
    manifest: Manifest
    manifest_sha256: str
    tasks: dict[str, TaskPackage]
    state: StudyState
    attempts: dict[str, AttemptRecord]
    """Ended launches by id."""
    gradings: dict[str, Grading]


def read_study(path: Path) -> StudyRecords:
    """Everything that the ledger of a study's folder vouches for.

    Raises:
        InputRefused: the folder holds no study, or a file of it is missing or damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    folder = StudyFolder(path)
    if not folder.manifest.is_file() or not folder.ledger.is_file():
        raise InputRefused(
            "the folder holds no study",
            where=str(path),
            expected="manifest.json and ledger.jsonl",
            remedy="name a folder below results/, such as results/<study_id>",
        )
    manifest = read_record(folder.manifest, Manifest)
    tasks = read_record(folder.tasks, TaskPackages).packages
    state = read_state(folder.ledger)
    attempts = {}
    gradings = {}
    for attempt in state.attempts.values():
        files = folder.attempt(attempt.attempt_id).path
        if "attempt.json" in attempt.artifacts:
            attempts[attempt.attempt_id] = read_record(files / "attempt.json", AttemptRecord)
        if attempt.grading is not None:
            gradings[attempt.attempt_id] = read_record(files / "grading" / "result.json", Grading)
    digest = sha256_of(loads_strict(folder.manifest.read_bytes()))
    return StudyRecords(folder, manifest, digest, tasks, state, attempts, gradings)
