"""Auditing attempts: their files against the ledger, and what their records say of each other.

The ledger names every file of an attempt that ended. Files that it does not name are findings, but for those
that a crash explains: all files of an attempt that was cut off before its end was told, what a grading that
was cut off had written, and `.name.partial`, half of a file that was never there. These are notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from esac_ag.artifacts import file_digest
from esac_ag.attempt import AttemptRecord
from esac_ag.attempt.events import AttemptState
from esac_ag.canonical import tree_sha256
from esac_ag.conduct.audit_records import AuditFinding, GradingRecord, Records, Row, differing
from esac_ag.errors import HarnessError
from esac_ag.manifest.plan import Arm
from esac_ag.tree import FileTree

GRADING = "grading/"


def attempt_findings(study: Records, attempt: AttemptState) -> Iterator[AuditFinding]:
    """What of an attempt does not hold."""
    yield from _named(study, attempt)
    for name in _unnamed(study, attempt):
        if not _is_left_by_a_crash(attempt, name):
            where = f"attempts/{attempt.attempt_id}/{name}"
            yield AuditFinding(where=where, what="a file that the ledger does not name")
    record = study.attempts.get(attempt.attempt_id)
    if record is not None:
        yield from _record(study, attempt, record)
    elif attempt.counts and "attempt.json" not in attempt.artifacts:
        where = f"attempts/{attempt.attempt_id}"
        yield AuditFinding(where=where, what="the ledger names no record of an attempt that counts")
    grading = study.gradings.get(attempt.attempt_id)
    if grading is not None:
        yield from _grading(study, attempt, grading)
    elif attempt.grading is not None and f"{GRADING}result.json" not in attempt.artifacts:
        where = f"attempts/{attempt.attempt_id}/{GRADING}result.json"
        yield AuditFinding(where=where, what="the ledger names no digest of a grading")


def attempt_notes(study: Records, attempt: AttemptState) -> Iterator[AuditFinding]:
    """Files that a crash left: no digest covers them, and nothing of them counts."""
    for name in _unnamed(study, attempt):
        if _is_left_by_a_crash(attempt, name):
            where = f"attempts/{attempt.attempt_id}/{name}"
            yield AuditFinding(where=where, what="left by what was cut off, without a digest")


def _named(study: Records, attempt: AttemptState) -> Iterator[AuditFinding]:
    folder = study.folder.attempt(attempt.attempt_id).path
    for name, expected in sorted(attempt.artifacts.items()):
        path = folder / name
        where = f"attempts/{attempt.attempt_id}/{name}"
        if path.is_symlink() or not path.is_file():
            yield AuditFinding(where=where, what="a file of the ledger is missing", expected=expected)
        else:
            yield from differing([(where, "a file was changed", expected, file_digest(path))])


def _unnamed(study: Records, attempt: AttemptState) -> list[str]:
    return sorted(
        name
        for name in _names(study.folder.attempt(attempt.attempt_id).path)
        if name not in attempt.artifacts
    )


def _names(folder: Path) -> Iterator[str]:
    """Everything below a folder but folders; links to folders are no folders."""
    for entry in os.scandir(folder) if folder.is_dir() else ():
        if entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{name}" for name in _names(folder / entry.name))
        else:
            yield entry.name


def _is_left_by_a_crash(attempt: AttemptState, name: str) -> bool:
    last = name.rpartition("/")[2]
    if last.startswith(".") and last.endswith(".partial"):
        return True
    if not attempt.artifacts:
        return not attempt.counts  # nothing of it was told: it was cut off, or is at work now
    return name.startswith(GRADING) and attempt.grading is None


def _record(study: Records, attempt: AttemptState, record: AttemptRecord) -> Iterator[AuditFinding]:
    where = f"attempts/{attempt.attempt_id}"
    manifest = study.manifest
    arm = next((arm for arm in manifest.arms if arm.id == attempt.cell.arm), None)
    yield from differing(
        [
            (where, "the attempt carries another plan", study.manifest_sha256, record.manifest_sha256),
            (where, "the record is another attempt's", attempt.attempt_id, record.attempt_id),
            (where, "record and ledger name different cells", attempt.cell, record.cell),
            (where, "record and ledger name different launches", attempt.ordinal, record.ordinal),
            (where, "record and ledger tell different outcomes", attempt.outcome, record.outcome),
            (where, "the agent is not the sealed kind", manifest.agent.kind, record.agent_kind),
            (where, "the arm is not the sealed one", arm and _sealed_sha256(arm), record.arm_sha256),
        ]
    )
    if record.submission is None:
        if attempt.counts:
            yield AuditFinding(where=where, what="an attempt that counts has no submission")
        return
    sealed = record.submission
    yield from differing(
        (f"{where}/{name}", "record and ledger name different digests", digest, attempt.artifacts.get(name))
        for name, digest in (
            ("submission.tar.zst", sealed.archive_sha256),
            ("patch.diff", sealed.patch_sha256),
        )
    )
    try:
        tree = study.folder.attempt(attempt.attempt_id).read_submission()
    except HarnessError as error:
        yield AuditFinding(where=where, what=error.what, found=error.found)
        return
    yield from _submission(study, attempt, record, tree)


def _submission(
    study: Records, attempt: AttemptState, record: AttemptRecord, tree: FileTree
) -> Iterator[AuditFinding]:
    where = f"attempts/{attempt.attempt_id}"
    if record.submission is None:
        return
    digest = tree.exact_sha256()
    rows: list[Row] = [
        (where, "the archive is not the tree of the record", record.submission.tree_sha256, digest),
        (where, "files of the archive", record.submission.files, len(tree.files())),
        (where, "bytes of the archive", record.submission.size_bytes, tree.size_bytes()),
    ]
    grading = study.gradings.get(attempt.attempt_id)
    if grading is not None:
        rows.append((where, "the grading judged another tree", grading.submission_tree_sha256, digest))
    yield from differing(rows)


def _grading(study: Records, attempt: AttemptState, grading: GradingRecord) -> Iterator[AuditFinding]:
    where = f"attempts/{attempt.attempt_id}/{GRADING}result.json"
    yield from differing(
        [
            (where, "the grading carries another plan", study.manifest_sha256, grading.manifest_sha256),
            (where, "the grading is another attempt's", attempt.attempt_id, grading.attempt_id),
            *study.grading_rows(attempt, where),
        ]
    )


def _sealed_sha256(arm: Arm) -> str | None:
    """The tree digest that follows from the sealed inventory: that of the bytes that entered a container."""
    return None if arm.bundle is None else tree_sha256((file.path, file.sha256) for file in arm.files)
