"""Reads the folder of a study or a suite run for those that only look: reports and audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.attempt.events import AttemptState, StudyState
from esac_ag.attempt.loaded import LoadedInstructions
from esac_ag.canonical import loads_strict, sha256_of, sha256_of_bytes
from esac_ag.conduct.audit_records import GradingRecord, Records, Row
from esac_ag.errors import HarnessError, InputRefused, SubstitutionRefused
from esac_ag.ledger import read_state
from esac_ag.manifest.package import TaskPackage, TaskPackages
from esac_ag.manifest.plan import Manifest
from esac_ag.report.compact import compact_attempt
from esac_ag.report.loaded_facts import LoadedFacts
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded
from esac_ag.rooms.records import read_record

Model = TypeVar("Model", bound=BaseModel)

ATTEMPT: Final = "attempt.json"
RESULT: Final = "grading/result.json"
LOADED: Final = "loaded-instructions.json"
"""Records in an attempt's folder."""


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
    loaded: dict[str, LoadedFacts]
    """What of the arms reached the model."""

    def grading_rows(self, attempt: AttemptState, where: str) -> Iterator[Row]:
        """What a grading has to agree on with the plan and the ledger."""
        grading = self.gradings[attempt.attempt_id]
        task = next((task for task in self.manifest.tasks if task.id == attempt.cell.task), None)
        image = self.manifest.images.grader.digest
        yield where, "the grading is another task's", attempt.cell.task, grading.task_id
        yield where, "grading and ledger tell different states", attempt.grading, grading.status
        yield where, "another grader judged", task and task.private_grader_id, grading.private_grader_id
        yield where, "another image judged", image, grading.grader_image_digest


def read_study(
    path: Path, *, unreadable: list[HarnessError] | None = None, gradings: bool = True
) -> StudyRecords:
    """Everything that the ledger of a study's folder vouches for, compared with the ledger's digests.

    Args:
        path: the folder.
        unreadable: takes the refusals of attempts' records, for readers that want to know the others all the
            same; without it the first one is raised, and so is a manifest that is not the plan that was run.
        gradings: whether to read them; a reader that needs little of each goes through `vouched` itself.

    Raises:
        InputRefused: the folder holds no study.
        SubstitutionRefused: the manifest or a record is not the one that the ledger names, or is missing.
        LedgerCorrupt: the ledger does not verify.
    """
    folder = StudyFolder(path)
    refuse_no_study(folder)
    if plans_a_suite_run(folder.manifest):
        raise InputRefused(
            "the folder holds a suite run, not a study",
            where=str(path),
            expected="suite.name study",
            found="suite.name esac-ag",
            remedy=f"esac-ag suite run --resume {path} grades what is not graded; esac-ag report {path}",
        )
    manifest = read_record(folder.manifest, Manifest)
    tasks = read_record(folder.tasks, TaskPackages).packages
    state = read_state(folder.ledger)
    attempts = {
        name: compact_attempt(one, state.attempts[name])
        for name, one in vouched(folder, state, ATTEMPT, AttemptRecord, unreadable)
    }
    loaded = {
        name: LoadedFacts.of(one)
        for name, one in vouched(folder, state, LOADED, LoadedInstructions, unreadable)
    }
    graded = vouched_records(folder, state, RESULT, Grading, unreadable) if gradings else {}
    manifest_sha256 = sha256_of(loads_strict(folder.manifest.read_bytes()))
    records = StudyRecords(folder, manifest, manifest_sha256, tasks, state, attempts, graded, loaded)
    if unreadable is None:
        refuse_other_plan(records)
    return records


def refuse_other_plan(records: Records, gradings: Mapping[str, GradingRecord] | None = None) -> None:
    """Refuse a folder whose manifest is not the plan that its ledger was opened with, or its records carry.

    Who writes reports needs it; an audit tells each difference as a finding in place of it.

    Args:
        records: of the folder.
        gradings: in place of the records' own.

    Raises:
        SubstitutionRefused: the manifest was edited, or a record is another run's.
    """
    opened = records.state.opened
    carried = [
        ("ledger.jsonl", None if opened is None else opened.manifest_sha256),
        *((f"{name}/{ATTEMPT}", one.manifest_sha256) for name, one in records.attempts.items()),
        *((f"{name}/{RESULT}", one.manifest_sha256) for name, one in (gradings or records.gradings).items()),
    ]
    for place, digest in carried if records.state.attempts or opened is not None else []:
        if digest != records.manifest_sha256:
            raise SubstitutionRefused(
                "the manifest is not the plan that was run",
                where=str(records.folder.manifest),
                expected=f"{digest or 'a first line that names the plan'}, by {place}",
                found=records.manifest_sha256,
                remedy="`esac-ag audit` lists all that changed; restore the study's folder from a copy",
            )


def refuse_no_study(folder: StudyFolder) -> None:
    """Refuse a folder that nothing ran in.

    Raises:
        InputRefused: it holds no plan, or no ledger.
    """
    if not folder.manifest.is_file() or not folder.ledger.is_file():
        raise InputRefused(
            "the folder holds no study",
            where=str(folder.path),
            expected="manifest.json and ledger.jsonl",
            remedy="name a folder below results/, such as results/<study_id>",
        )


def vouched_records(
    folder: StudyFolder,
    state: StudyState,
    name: str,
    kind: type[Model],
    unreadable: list[HarnessError] | None,
) -> dict[str, Model]:
    """The records of a name, by attempt, as far as the ledger names them.

    Args:
        folder: of the study.
        state: what the ledger says.
        name: the file in each attempt's folder.
        kind: what it holds.
        unreadable: takes refusals; without it the first one is raised.

    Raises:
        InputRefused, SubstitutionRefused: a record is damaged, missing, or not the one of the ledger.
    """
    return dict(vouched(folder, state, name, kind, unreadable))


def vouched(
    folder: StudyFolder,
    state: StudyState,
    name: str,
    kind: type[Model],
    unreadable: list[HarnessError] | None = None,
) -> Iterator[tuple[str, Model]]:
    """The same one by one, for readers that keep less than the whole records.

    Raises:
        InputRefused, SubstitutionRefused: as `vouched_records`.
    """
    attempts = str(folder.attempts)
    for attempt in state.attempts.values():
        digest = attempt.artifacts.get(name)
        if digest is None:
            continue
        try:
            # Joined as text: paths as objects take as long as reading the file.
            yield attempt.attempt_id, _vouched(f"{attempts}/{attempt.attempt_id}/{name}", kind, digest)
        except InputRefused as error:
            if unreadable is None:
                raise
            unreadable.append(error)


def _vouched(path: str, kind: type[Model], expected: str) -> Model:
    """A record whose file is the one that the ledger names.

    The harness wrote these bytes, which the ledger's digest proves, so they are read once and not searched
    for what a person's file may hold. Whatever is wrong is told by the slower way.
    """
    try:
        data = read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES)
        if sha256_of_bytes(data) == expected:
            return kind.model_validate_json(data)
    except (CannotRead, ValueError):
        pass
    return read_record(vouched_file(Path(path), expected), kind)


def vouched_file(path: Path, expected: str) -> Path:
    """The path of a file that is the one that the ledger names.

    Raises:
        SubstitutionRefused: it is missing, or another one.
    """
    found = file_digest(path) if path.is_file() else "no such file"
    if found != expected:
        raise SubstitutionRefused(
            "a record of the study is not the one that the ledger names",
            where=str(path),
            expected=expected,
            found=found,
            remedy="`esac-ag audit` lists all that changed; restore the study's folder from a copy",
        )
    return path
