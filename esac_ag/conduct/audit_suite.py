"""Auditing what is the suite's own: its plan, its order, its items and its reports."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.artifacts import file_digest
from esac_ag.attempt import Cell
from esac_ag.canonical import canonical_json, sha256_of, sha256_of_bytes
from esac_ag.conduct.audit_plan import unplanned
from esac_ag.conduct.audit_records import AuditFinding, differing
from esac_ag.conduct.audit_reports import report_findings
from esac_ag.conduct.suite_results import SuiteRecords, suite_reports
from esac_ag.suite.plan import schedule_document


def suite_plan_findings(suite: SuiteRecords, cells: tuple[Cell, ...]) -> Iterator[AuditFinding]:
    """What of the sealed plan does not hold, and attempts of runs that it has not."""
    opened, plan = suite.state.opened, suite.manifest
    if opened is None:
        yield AuditFinding(where="ledger.jsonl", what="the run was never opened")
        return
    document = schedule_document(plan.schedule.seed, plan.items, plan.arm_ids)
    schedule, folder = sha256_of(document), suite.folder
    yield from differing(
        [
            ("manifest.json", "study id", opened.study_id, plan.study_id),
            ("manifest.json", "digest of the sealed plan", opened.manifest_sha256, suite.manifest_sha256),
            ("manifest.json", "sealed digest of the schedule", plan.schedule.sha256, schedule),
            ("ledger.jsonl", "digest of the schedule", opened.schedule_sha256, schedule),
        ]
    )
    files = (
        (folder.schedule, sha256_of_bytes(canonical_json(document))),
        (folder.tasks, opened.tasks_sha256),
    )
    for path, expected in files:
        found = file_digest(path) if path.is_file() else "no such file"
        yield from differing([(path.name, "a file of the plan was changed", expected, found)])
    yield from unplanned(suite, cells)


def suite_report_findings(suite: SuiteRecords) -> Iterator[AuditFinding]:
    """Reports of the run that are not what its records give."""
    return report_findings(suite.folder, lambda: suite_reports(suite).files())
