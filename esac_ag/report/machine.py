"""The report for programs: canonical JSON, and one CSV of attempts and task pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain
from typing import Final

from pydantic import JsonValue

from esac_ag.canonical import canonical_json
from esac_ag.manifest.package import Dimension
from esac_ag.record import Record
from esac_ag.report.costs import value_of
from esac_ag.report.decision_csv import decision_csv
from esac_ag.report.escaping import csv_text
from esac_ag.report.measured import measures
from esac_ag.report.numbers import NOT_ESTIMABLE, UNAVAILABLE
from esac_ag.report.view import ArmComparison, AttemptRow, CostMeasure, ReportView
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.statistics.pairs import TaskPair

CSV_NAME: Final = "report.csv"

_SHARED = ("row_kind", "study_id", "manifest_sha256", "agent_kind", "task", "family", "contrast", "arm")
_CHECK = ("manipulation_check",)
_ATTEMPT = (
    *("repetition", "attempt_id", "ordinal", "counts", "outcome", "limit", "reason", "agent_label"),
    *("state", "invalid_reason", "score", *(f"score_{dimension}" for dimension in Dimension)),
    *("quality", "failed_checks", "critical_failures", "critical_by_review", *CostMeasure, "currency"),
    *("started_at", "ended_at"),
)
_PAIR = (
    *(
        "control",
        "measure",
        "planned_runs",
        "arm_runs",
        "control_runs",
        "arm_mean",
        "control_mean",
        "difference",
    ),
    *("difference_worst", "difference_best", "note"),
)
COLUMNS: Final = (*_SHARED, *_CHECK, *_ATTEMPT, *_PAIR)
"""Columns of `report.csv`; a row leaves those of the other kind empty."""

Field = str | int | float | None


def render_json(view: ReportView) -> bytes:
    """The view in RFC 8785 form: UTF-8, sorted keys, no white space.

    Written part by part, so that a hundred thousand attempts are never there as plain values all at once.
    """
    written = io.BytesIO()
    start = b"{"
    for name in sorted(ReportView.model_fields):
        written.write(start + canonical_json(name) + b":")
        _write_json(getattr(view, name), written)
        start = b","
    written.write(b"}")
    return written.getvalue()


def _write_json(value: Record | tuple[Record, ...] | JsonValue, written: io.BytesIO) -> None:
    if not isinstance(value, tuple):
        written.write(canonical_json(value))
        return
    written.write(b"[")
    written.writelines((b"," if number else b"") + canonical_json(item) for number, item in enumerate(value))
    written.write(b"]")


def render_csv(view: ReportView) -> dict[str, str]:
    """`report.csv`: one row per attempt, then one per task, arm and kind of score; and `decision.csv`.

    Empty means that the column has no meaning for the row; what is unknown reads `unavailable` and what
    cannot be computed `not estimable`. Text that a spreadsheet would take for a formula starts with `'`.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row.get(column)) for column in COLUMNS] for row in rows(view))
    return {CSV_NAME: buffer.getvalue(), **decision_csv(view)}


def rows(view: ReportView) -> Iterator[dict[str, Field]]:
    """The rows of `report.csv` by column, columns without a meaning left out; text as the view holds it."""
    groups = {item.task: (item.family, item.contrast) for item in view.task_arms}
    attempts = (_attempt(view, row, *groups[row.task]) for row in view.attempts)
    pairs = (
        _pair(view, measured.name, comparison, pair, *groups[pair.task])
        for measured in measures(view)
        for comparison in measured.comparisons
        for pair in comparison.pairs
    )
    yield from chain(attempts, pairs)


def _attempt(view: ReportView, row: AttemptRow, family: str, contrast: str) -> dict[str, Field]:
    unscored = UNAVAILABLE if row.counts else None
    result: dict[str, Field] = {
        "row_kind": "attempt",
        **_ids(view, row.task, family, contrast, row.arm, row.agent_kind),
        "repetition": row.repetition,
        "attempt_id": row.attempt_id,
        "ordinal": UNAVAILABLE if row.ordinal is None else row.ordinal,
        "counts": "yes" if row.counts else "no",
        "outcome": row.outcome,
        "limit": row.limit,
        "reason": row.reason,
        "agent_label": UNAVAILABLE if row.agent_label is None else row.agent_label,
        "state": row.state,
        "invalid_reason": row.invalid_reason,
        "score": unscored if row.score is None else row.score,
        "quality": _quality(view, row),
        "failed_checks": " ".join(row.failed_checks),
        "critical_failures": " ".join(row.critical_failures),
        "critical_by_review": " ".join(row.critical_by_review),
        "currency": view.prices.currency if view.prices else UNAVAILABLE,
        "started_at": row.started_at or UNAVAILABLE,
        "ended_at": row.ended_at or UNAVAILABLE,
    }
    result |= {f"score_{dimension}": share for dimension, share in row.dimension_scores.items()}
    for measure in CostMeasure:
        value = value_of(row.costs, measure)
        result[measure] = UNAVAILABLE if value is None else value
    return result


def _quality(view: ReportView, row: AttemptRow) -> Field:
    """Without a review no attempt has a quality score, and the column no meaning."""
    if view.review is None or not row.counts:
        return None
    return UNAVAILABLE if row.quality is None else row.quality


def _pair(
    view: ReportView, measure: str, comparison: ArmComparison, pair: TaskPair, family: str, contrast: str
) -> dict[str, Field]:
    return {
        "row_kind": "pair",
        **_ids(view, pair.task, family, contrast, comparison.arm, comparison.agent_kind),
        "control": comparison.control,
        "measure": measure,
        "planned_runs": pair.planned,
        "arm_runs": pair.arm_n,
        "control_runs": pair.control_n,
        "arm_mean": _value(pair.arm_mean),
        "control_mean": _value(pair.control_mean),
        "difference": _value(pair.difference),
        "difference_worst": pair.bounds.low,
        "difference_best": pair.bounds.high,
        "note": pair.difference.reason if isinstance(pair.difference, NotEstimable) else None,
    }


def _ids(
    view: ReportView, task: str, family: str, contrast: str, arm: str, agent_kind: str
) -> dict[str, Field]:
    return {
        "study_id": view.header.study_id,
        "manifest_sha256": view.header.manifest_sha256,
        "agent_kind": agent_kind,
        "task": task,
        "family": family,
        "contrast": contrast,
        "arm": arm,
        "manipulation_check": view.manipulation.state,
    }


def _value(value: Estimate | NotEstimable) -> Field:
    return value.value if isinstance(value, Estimate) else NOT_ESTIMABLE


def _cell(value: Field) -> str:
    """Numbers as they are (a negative difference is a number and no formula), text made harmless."""
    match value:
        case None:
            return ""
        case str():
            return csv_text(value)
        case int() | float():
            return f"{value:.9g}" if isinstance(value, float) else str(value)
