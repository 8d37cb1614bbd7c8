"""The decisions as `decision.csv`: one row per number of a clause."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.escaping import csv_text
from esac_ag.report.numbers import NOT_ESTIMABLE
from esac_ag.report.view import ReportView
from esac_ag.statistics.estimates import Estimate
from esac_ag.study.decision_records import Clause, Figure

DECISION_CSV: Final = "decision.csv"
COLUMNS: Final = (
    *("study_id", "manifest_sha256", "agent_kind", "arm", "control", "comparison", "measure", "preliminary"),
    *("outcome", "clause", "state", "words", "figure", "value", "test", "threshold", "met", "note"),
)


def decision_csv(view: ReportView) -> dict[str, str]:
    """`decision.csv`, for a study with decisions; a clause without numbers has one row."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in row] for row in rows(view))
    return {DECISION_CSV: buffer.getvalue()} if view.decisions else {}


def rows(view: ReportView) -> Iterator[tuple[str | float | None, ...]]:
    """The rows of `decision.csv`, in the order of `COLUMNS`; text as the view holds it."""
    for item in view.decisions:
        for clause in item.decision.clauses:
            for figure in clause.figures or (None,):
                yield _row(view, item, clause, figure)


def _row(
    view: ReportView, item: ArmDecision, clause: Clause, figure: Figure | None
) -> tuple[str | float | None, ...]:
    decision = item.decision
    shared = (
        *(view.header.study_id, view.header.manifest_sha256, item.agent_kind, item.arm, decision.control),
        *("primary" if item.primary else "secondary", decision.measure, _truth(decision.preliminary)),
        *(decision.outcome, clause.name, clause.state, clause.words),
    )
    if figure is None:
        return (*shared, *[None] * (len(COLUMNS) - len(shared)))
    return (
        *shared,
        figure.what,
        figure.value.value if isinstance(figure.value, Estimate) else NOT_ESTIMABLE,
        figure.test,
        figure.threshold,
        "" if figure.met is None else _truth(figure.met),
        None if isinstance(figure.value, Estimate) else figure.value.reason,
    )


def _truth(value: bool) -> str:  # noqa: FBT001  (a value, no switch)
    return "yes" if value else "no"


def _cell(value: str | float | None) -> str:
    match value:
        case None:
            return ""
        case str():
            return csv_text(value)
        case float():
            return f"{value:.9g}"
