"""What the folder of a suite run holds that may be published."""

from __future__ import annotations

from esac_ag.attempt import AttemptRecord
from esac_ag.attempt.events import AttemptState
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.publishing_account import is_held_out
from esac_ag.conduct.publishing_material import REPORT, Material, as_computed, ledger_of_folder
from esac_ag.conduct.suite_results import SuiteRecords, suite_reports
from esac_ag.report.escaping import visible
from esac_ag.report.publication_rows import published_rows
from esac_ag.report.publication_view import PublishedReport
from esac_ag.report.view import AttemptRow, RunState


def suite_material(suite: SuiteRecords) -> Material:
    """What the folder of a suite run holds.

    Raises:
        InputRefused: its report is missing, or nothing was graded.
    """
    told, lines = ledger_of_folder(suite.folder)
    names = suite_reports(suite).files()
    files = {
        f"{REPORT}/{name}": as_computed(suite.folder, f"{REPORT}/{name}", data)
        for name, data in names.items()
    }
    rows = (_suite_row(record, told.state.attempts[name], suite) for name, record in suite.attempts.items())
    digests = {name: sha256_of_bytes(data) for name, data in sorted(files.items())}
    return Material(
        folder=suite.folder,
        plan=suite.manifest,
        manifest_sha256=suite.manifest_sha256,
        held_out=is_held_out(suite.manifest),
        cells=suite.manifest.cells(),
        lines=lines,
        told=told,
        rows=published_rows(rows, told.state.attempts),
        reports=(PublishedReport(number=1, at=None, reason="", files=digests),),
        report_bytes=files,
        scores=None,
    )


def _suite_row(record: AttemptRecord, attempt: AttemptState, suite: SuiteRecords) -> AttemptRow:
    """An attempt of a suite run as a row; its score is its item's, in the report."""
    return AttemptRow(
        attempt_id=record.attempt_id,
        agent_kind=record.agent_kind,
        agent_label=visible(record.agent_label),
        task=record.cell.task,
        arm=record.cell.arm,
        repetition=record.cell.repetition,
        ordinal=record.ordinal,
        counts=attempt.counts,
        outcome=record.outcome,
        limit=record.limit,
        reason=visible(record.reason),
        state=_state(attempt, graded=record.attempt_id in suite.gradings),
        invalid_reason=None,
        score=None,
        dimension_scores={},
        critical_failures=(),
        costs=record.costs,
        started_at=record.started_at,
        ended_at=record.ended_at,
        findings=(),
    )


def _state(attempt: AttemptState, *, graded: bool) -> RunState | None:
    if not attempt.counts:
        return None
    return RunState.GRADED if graded else RunState.UNGRADED
