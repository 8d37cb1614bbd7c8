"""A finished study of many attempts as a folder on disk, with every digest as the ledger names it.

Nothing ran for it: records are the builders' own, and the ledger's lines are chained by hand, so that ten
thousand attempts take seconds. What has to do with an engine is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import AttemptRecord, Cell, GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    Body,
    Line,
    SessionStarted,
    StudyFinished,
    StudyOpened,
)
from esac_ag.canonical import canonical_json, sha256_of, sha256_of_bytes
from esac_ag.ledger import FIRST
from esac_ag.manifest.package import TaskPackages
from esac_ag.manifest.plan import Manifest, Phase
from esac_ag.schedule import make_schedule, schedule_document
from esac_ag.transcript import Entry, EntryKind
from tests.builders_report import SEED, a_grading, a_manifest, a_package, an_attempt, varied_score

TASKS = 50
PATCH = b"""\
diff --git a/shop/orders.py b/shop/orders.py
--- a/shop/orders.py
+++ b/shop/orders.py
@@ -1,3 +1,4 @@
 def total(order):
-    return order.sum
+    if not order:
+        return 0
     pass
"""
COMMAND = b'{"agent_kind": "chat", "argv": ["pytest", "-q"], "duration_s": 1.5, "exit_code": 0}\n'


def a_plan(attempts: int) -> Manifest:
    """A plan of two arms and so many attempts, a multiple of a hundred."""
    tasks = [f"task-{number:02}" for number in range(TASKS)]
    arms = ("neutral", "careful")
    return a_manifest(tasks=tasks, arms=arms, repetitions=attempts // TASKS // len(arms), phase=Phase.PRIMARY)


def many_attempts(folder: Path, manifest: Manifest, *, entries: int = 6) -> StudyFolder:
    """Write a finished study of a plan.

    Args:
        folder: of results; the study's own is made in it.
        manifest: the plan.
        entries: of each transcript.
    """
    study = StudyFolder(folder / manifest.study_id)
    study.path.mkdir(parents=True)
    tasks, arms = [task.id for task in manifest.tasks], [arm.id for arm in manifest.arms]
    packages = TaskPackages(packages={task: a_package(task) for task in tasks})
    study.manifest.write_bytes(canonical_json(manifest))
    study.tasks.write_bytes(canonical_json(packages))
    study.schedule.write_bytes(canonical_json(schedule_document(SEED, tasks, arms, manifest.repetitions)))
    transcript = b"".join(canonical_json(entry) + b"\n" for entry in _conversation(entries))
    opened = StudyOpened(
        study_id=manifest.study_id,
        manifest_sha256=sha256_of(manifest),
        schedule_sha256=sha256_of_bytes(study.schedule.read_bytes()),
        agent_kind=manifest.agent.kind,
        tasks_sha256=sha256_of_bytes(study.tasks.read_bytes()),
    )
    bodies: list[Body] = [opened, SessionStarted(harness_version="0.1.0", concurrency=2, engine="none")]
    for cell in make_schedule(SEED, tasks, arms, manifest.repetitions):
        bodies += _attempt(study, cell, manifest, opened.manifest_sha256, transcript)
    write_ledger(study.ledger, [*bodies, StudyFinished()])
    return study


def write_ledger(path: Path, bodies: Iterable[Body]) -> None:
    """Chain events into a ledger, without waiting for the disk after each."""
    previous = FIRST
    with path.open("wb") as file:
        for seq, body in enumerate(bodies):
            line = Line(seq=seq, at="2026-03-01T10:00:00.000Z", previous=previous, body=body)
            raw = line.model_dump_json().encode()
            previous = sha256_of_bytes(raw)
            file.write(raw + b"\n")


def _attempt(
    study: StudyFolder, cell: Cell, manifest: Manifest, manifest_sha256: str, transcript: bytes
) -> tuple[Body, ...]:
    record = an_attempt(cell, manifest).model_copy(update={"manifest_sha256": manifest_sha256})
    grading = a_grading(record, varied_score(cell)).model_copy(update={"manifest_sha256": manifest_sha256})
    result = {"grading/result.json": grading.model_dump_json().encode()}
    files = {
        "attempt.json": record.model_dump_json().encode(),
        "commands.jsonl": COMMAND,
        "patch.diff": PATCH,
        "transcript.jsonl": transcript,
    }
    place = study.attempt(record.attempt_id).path
    (place / "grading").mkdir(parents=True)
    for name, data in (files | result).items():
        (place / name).write_bytes(data)
    return _told(record, {name: sha256_of_bytes(data) for name, data in files.items()}, result)


def _told(
    record: AttemptRecord, artifacts: dict[str, str], result: dict[str, bytes]
) -> tuple[AttemptStarted, AttemptEnded, AttemptGraded]:
    name = record.attempt_id
    digests = {path: sha256_of_bytes(data) for path, data in result.items()}
    return (
        AttemptStarted(attempt_id=name, cell=record.cell, ordinal=record.ordinal),
        AttemptEnded(
            attempt_id=name, outcome=Outcome.COMPLETED, reason="the agent submitted", artifacts=artifacts
        ),
        AttemptGraded(attempt_id=name, status=GradingStatus.GRADED, artifacts=digests),
    )


def _conversation(entries: int) -> list[Entry]:
    """A request, and the same call and result over and over."""
    turns = [
        Entry(kind=EntryKind.MODEL, at_s=1.0, text="I look at it."),
        Entry(kind=EntryKind.TOOL_CALL, at_s=1.5, call_id="c1", tool="bash", arguments={"command": "ls"}),
        Entry(kind=EntryKind.TOOL_RESULT, at_s=2.0, call_id="c1", text="README.md\nshop\n", exit_code=0),
    ]
    asked = Entry(kind=EntryKind.USER, at_s=0.0, text="The total of an empty order is wrong.")
    return [asked, *(turns[number % len(turns)] for number in range(entries - 1))]
