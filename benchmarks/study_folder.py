"""A study's folder of any size, as the harness leaves one: made quickly, for measurements only.

Plan, packages, ledger, and of each attempt the three records that a report reads. The attempts' other files
are named in the ledger, as a real run names them, and are not there: a report never opens them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    Body,
    SessionStarted,
    StudyFinished,
    StudyOpened,
)
from esac_ag.canonical import canonical_json, sha256_of, sha256_of_bytes
from esac_ag.conduct.collect import ATTEMPT, LOADED, RESULT
from esac_ag.conduct.launch_records import ARTIFACTS
from esac_ag.manifest.package import TaskPackages
from esac_ag.manifest.plan import IntervalMethod, Manifest, Phase
from esac_ag.schedule import make_schedule
from tests.builders_many import write_ledger
from tests.builders_report import (
    SEED,
    a_grading,
    a_loaded,
    a_manifest,
    a_package,
    an_attempt,
    varied_score,
)

ARMS = ("neutral", "current-restraint", "second", "markskill")
MOST_TASKS = 250
FAMILIES = 6
REPLICATES = 10_000
NOT_MADE = frozenset({LOADED, "model/bodies.tar", "model/calls.jsonl"})
"""Artifacts that a chat agent does not leave, and the one that is written here."""


def write_study(path: Path, size: int) -> int:
    """Write the folder of a study of about as many attempts; how many it has.

    Up to 250 tasks grow with the size, then the repetitions; always four arms.
    """
    manifest = _manifest(size)
    tasks = [task.id for task in manifest.tasks]
    folder = StudyFolder(path)
    path.mkdir(parents=True)
    folder.manifest.write_bytes(canonical_json(manifest))
    packages = {
        name: a_package(
            name, family=f"family-{number % FAMILIES}", contrast=("restraint", "expansion")[number % 2]
        )
        for number, name in enumerate(tasks)
    }
    folder.tasks.write_bytes(canonical_json(TaskPackages(packages=packages)))
    planned = make_schedule(SEED, tasks, ARMS, manifest.repetitions)
    write_ledger(folder.ledger, _events(folder, manifest, planned))
    return len(planned)


def _manifest(size: int) -> Manifest:
    tasks = [f"task-{number}" for number in range(min(MOST_TASKS, max(12, size // (len(ARMS) * 5))))]
    manifest = a_manifest(
        tasks=tasks,
        arms=ARMS,
        repetitions=round(size / len(tasks) / len(ARMS)),
        phase=Phase.PRIMARY,
        method=IntervalMethod.STUDENTISED_SMOOTHED,
    )
    interval = manifest.analysis.interval.model_copy(update={"replicates": REPLICATES})
    analysis = manifest.analysis.model_copy(update={"interval": interval})
    return manifest.model_copy(update={"analysis": analysis})


def _events(folder: StudyFolder, manifest: Manifest, planned: tuple[Cell, ...]) -> Iterator[Body]:
    manifest_sha256 = sha256_of(manifest.model_dump(mode="json"))
    yield StudyOpened(
        study_id=manifest.study_id,
        manifest_sha256=manifest_sha256,
        schedule_sha256=manifest.schedule.sha256,
        agent_kind=manifest.agent.kind,
        tasks_sha256=sha256_of_bytes(folder.tasks.read_bytes()),
    )
    yield SessionStarted(harness_version="0.1.0", concurrency=2, engine="none")
    for cell in planned:
        yield from _attempt(folder, manifest, manifest_sha256, cell)
    yield StudyFinished()


def _attempt(folder: StudyFolder, manifest: Manifest, manifest_sha256: str, cell: Cell) -> Iterator[Body]:
    sealed = {"manifest_sha256": manifest_sha256}
    attempt = an_attempt(cell, manifest).model_copy(update=sealed)
    name = attempt.attempt_id
    path = folder.attempt(name).path
    (path / RESULT).parent.mkdir(parents=True)
    yield AttemptStarted(attempt_id=name, cell=cell, ordinal=1)
    grading = a_grading(attempt, varied_score(cell)).model_copy(update=sealed)
    written = {
        record: _written(path / record, canonical_json(value) + b"\n")
        for record, value in ((ATTEMPT, attempt), (LOADED, a_loaded(attempt)), (RESULT, grading))
    }
    unread = {file: sha256_of_bytes(f"{name} {file}".encode()) for file in ARTIFACTS if file not in NOT_MADE}
    graded = {RESULT: written.pop(RESULT), "grading/grader.log": sha256_of_bytes(name.encode())}
    yield AttemptEnded(
        attempt_id=name, outcome=Outcome.COMPLETED, reason=attempt.reason, artifacts=written | unread
    )
    yield AttemptGraded(attempt_id=name, status=GradingStatus.GRADED, artifacts=graded)


def _written(path: Path, data: bytes) -> str:
    with path.open("wb") as file:
        file.write(data)
    return sha256_of_bytes(data)
