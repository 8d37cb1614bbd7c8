"""Auditing what was sealed: manifest, schedule, task packages and proofs of a study's folder."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.artifacts import file_digest
from esac_ag.attempt import Cell
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.audit_records import AuditFinding, Records, differing
from esac_ag.conduct.collect import StudyRecords
from esac_ag.conduct.kept_proofs import proof_findings
from esac_ag.conduct.opening import design_of
from esac_ag.schedule import schedule_bytes, schedule_sha256


def plan_findings(study: StudyRecords, cells: tuple[Cell, ...]) -> Iterator[AuditFinding]:
    """What of the sealed plan does not hold, and attempts of cells that it has not."""
    opened = study.state.opened
    if opened is None:
        yield AuditFinding(where="ledger.jsonl", what="the study was never opened")
        return
    manifest = study.manifest
    design = design_of(manifest)
    schedule = schedule_sha256(*design)
    rows = [
        ("manifest.json", "study id", opened.study_id, manifest.study_id),
        ("manifest.json", "digest of the sealed plan", opened.manifest_sha256, study.manifest_sha256),
        ("manifest.json", "sealed digest of the schedule", manifest.schedule.sha256, schedule),
        ("ledger.jsonl", "digest of the schedule", opened.schedule_sha256, schedule),
        ("tasks.json", "task packages", opened.tasks_sha256, file_digest(study.folder.tasks)),
    ]
    yield from differing(rows)
    if not study.folder.schedule.is_file():
        yield AuditFinding(where="schedule.json", what="the schedule is missing", expected=schedule)
    else:
        bytes_sha256 = sha256_of_bytes(schedule_bytes(*design))
        found = file_digest(study.folder.schedule)
        yield from differing([("schedule.json", "bytes of the schedule", bytes_sha256, found)])
    yield from proof_findings(study.folder, manifest)
    yield from unplanned(study, cells)


def unplanned(study: Records, cells: tuple[Cell, ...]) -> Iterator[AuditFinding]:
    """Attempts of cells that the plan has not."""
    planned = set(cells)
    for attempt in study.state.attempts.values():
        if attempt.cell not in planned:
            yield AuditFinding(where=attempt.attempt_id, what="an attempt of a cell that was not planned")
