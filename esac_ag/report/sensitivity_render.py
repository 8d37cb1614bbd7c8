"""The section on sensitivity in Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from esac_ag.report.escaping import csv_text
from esac_ag.report.escaping import markdown as safe
from esac_ag.report.markdown_table import code, table
from esac_ag.report.measured import measures
from esac_ag.report.sensitivity_view import StudySensitivity
from esac_ag.report.sensitivity_words import SENSITIVITY, compared_measures, rows_of
from esac_ag.report.view import ReportView
from esac_ag.statistics.sensitivity import Adjustment

SENSITIVITY_CSV: Final = "sensitivity.csv"
COLUMNS: Final = (
    *("study_id", "manifest_sha256", "agent_kind", "arm", "control", "measure"),
    *("what", "value", "low", "high", "note"),
)


def sensitivity_section(view: ReportView) -> Iterator[str]:
    """What the comparisons rest on; nothing at all where there is nothing to compare."""
    shown = compared_measures(view)
    if not shown:
        return
    yield "## Sensitivity"
    yield ""
    yield SENSITIVITY
    yield ""
    for measured, found in shown:
        if len(shown) > 1:
            yield f"### Sensitivity of the {measured.titled}s"
            yield ""
        yield from table(
            ("Arm", "Agent", "What", "Value", "Note"),
            [
                (code(item.arm), item.agent_kind, safe(row.what), safe(row.value), safe(row.note, limit=400))
                for item in found.arms
                for row in rows_of(item)
            ],
        )
        yield ""
        for item in found.adjustments:
            yield f"- {safe(adjustment_words(item), limit=2000)}"
        yield ""


def render_sensitivity_csv(view: ReportView) -> str:
    """The same rows with numbers where there are some, and the adjusted shares.

    Text that a spreadsheet would take for a formula starts with `'`.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in row] for row in rows(view))
    return buffer.getvalue()


def rows(view: ReportView) -> Iterator[tuple[str | float | None, ...]]:
    """The rows of `sensitivity.csv`, in the order of `COLUMNS`; text as the view holds it."""
    for measured in measures(view):
        if measured.sensitivity is not None:
            yield from _rows(view, measured.name, measured.sensitivity)


def _rows(
    view: ReportView, measure: str, found: StudySensitivity
) -> Iterator[tuple[str | float | None, ...]]:
    shared = (view.header.study_id, view.header.manifest_sha256, view.header.agent_kind)
    for item in found.arms:
        for row in rows_of(item):
            worded = row.value if row.low is None else None
            value = worded if row.number is None else row.number
            yield (*shared, item.arm, item.control, measure, row.what, value, row.low, row.high, row.note)
    for together in found.adjustments:
        for share in together.shares:
            what = f"sign-flip share of {share.name} after Holm, {together.over}"
            yield (
                *shared,
                None,
                view.header.control,
                measure,
                what,
                share.adjusted,
                None,
                None,
                f"alone {share.share:.4g}",
            )


def _cell(value: str | float | None) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    return csv_text(value or "")


def adjustment_words(item: Adjustment) -> str:
    """Shares before and after Holm's adjustment; foreign text in it is as the view holds it."""
    shares = ", ".join(f"{share.name} {share.share:.4g} → {share.adjusted:.4g}" for share in item.shares)
    left = f"; without a share: {', '.join(item.left_out)}" if item.left_out else ""
    return f"Sign-flip shares after Holm, {item.over}: {shares or 'none'}{left}."
