"""Reads a study's folder for those that only look: reports and audits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.attempt.events import StudyState
from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.errors import HarnessError, InputRefused, SubstitutionRefused
from esac_ag.ledger import read_state
from esac_ag.manifest.package import TaskPackage, TaskPackages
from esac_ag.manifest.plan import Manifest
from esac_ag.rooms.records import read_record

Model = TypeVar("Model", bound=BaseModel)


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


def read_study(path: Path, *, unreadable: list[HarnessError] | None = None) -> StudyRecords:
    """Everything that the ledger of a study's folder vouches for, compared with the ledger's digests.

    Args:
        path: the folder.
        unreadable: takes the refusals of attempts' records, for readers that want to know the others all the
            same; without it the first one is raised.

    Raises:
        InputRefused: the folder holds no study.
        SubstitutionRefused: a record is missing or is not the one that the ledger names.
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
    attempts: dict[str, AttemptRecord] = {}
    gradings: dict[str, Grading] = {}
    for attempt in state.attempts.values():
        files = folder.attempt(attempt.attempt_id).path
        with _collected(unreadable):
            if (digest := attempt.artifacts.get("attempt.json")) is not None:
                attempts[attempt.attempt_id] = _vouched(files / "attempt.json", AttemptRecord, digest)
        with _collected(unreadable):
            if (digest := attempt.artifacts.get("grading/result.json")) is not None:
                gradings[attempt.attempt_id] = _vouched(files / "grading" / "result.json", Grading, digest)
    manifest_sha256 = sha256_of(loads_strict(folder.manifest.read_bytes()))
    return StudyRecords(folder, manifest, manifest_sha256, tasks, state, attempts, gradings)


@contextmanager
def _collected(refusals: list[HarnessError] | None) -> Iterator[None]:
    """Refusals go into the list, if there is one."""
    try:
        yield
    except InputRefused as error:
        if refusals is None:
            raise
        refusals.append(error)


def _vouched(path: Path, kind: type[Model], expected: str) -> Model:
    """A record whose file is the one that the ledger names."""
    found = file_digest(path) if path.is_file() else "no such file"
    if found != expected:
        raise SubstitutionRefused(
            "a record of the study is not the one that the ledger names",
            where=str(path),
            expected=expected,
            found=found,
            remedy="`esac-ag audit` lists all that changed; restore the study's folder from a copy",
        )
    return read_record(path, kind)
