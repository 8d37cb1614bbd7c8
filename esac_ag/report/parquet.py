"""The report as Parquet tables: the columns of the CSV files, typed; what is not known is null, never zero.

A Parquet file names the library that wrote it, and another version of the library may pack the same values
otherwise. So two such files are the same report if their tables are (`same_tables`), whatever their bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from esac_ag.manifest.package import Dimension
from esac_ag.report import decision_csv, machine, sensitivity_render
from esac_ag.report.numbers import NOT_ESTIMABLE, UNAVAILABLE
from esac_ag.report.view import CostMeasure, ReportView

REPORT_PARQUET: Final = "report.parquet"
DECISION_PARQUET: Final = "decision.parquet"
SENSITIVITY_PARQUET: Final = "sensitivity.parquet"
_GROUP_ROWS: Final = 20_000
_TEXT: Final = pa.string()
_TIME: Final = pa.timestamp("ms", tz="UTC")
_REAL_COSTS: Final = frozenset({CostMeasure.LATENCY_S, CostMeasure.COST})
_TEXT_OR_UNKNOWN: Final = frozenset({"agent_label", "currency"})
"""Columns of text in which the CSV says that it is not known."""

Value = str | int | float | bool | None
Values = Mapping[str, Value]

_REPORT_TYPES: Final = {
    **dict.fromkeys(("repetition", "ordinal", "planned_runs", "arm_runs", "control_runs"), pa.int64()),
    **{measure.value: pa.float64() if measure in _REAL_COSTS else pa.int64() for measure in CostMeasure},
    **dict.fromkeys(("score", "quality", *(f"score_{name}" for name in Dimension)), pa.float64()),
    **dict.fromkeys(("arm_mean", "control_mean", "difference"), pa.float64()),
    **dict.fromkeys(("difference_worst", "difference_best"), pa.float64()),
    **dict.fromkeys(("started_at", "ended_at"), _TIME),
    "counts": pa.bool_(),
}
_DECISION_TYPES: Final = {
    **dict.fromkeys(("value", "threshold"), pa.float64()),
    **dict.fromkeys(("preliminary", "met"), pa.bool_()),
}
_SENSITIVITY_TYPES: Final = dict.fromkeys(("value", "low", "high"), pa.float64())


def render_parquet(view: ReportView) -> dict[str, bytes]:
    """`report.parquet`, `sensitivity.parquet`, and of a study with decisions `decision.parquet`.

    Sensitivity has a column more than its CSV: `words`, for values that are no numbers.
    """
    files = {
        REPORT_PARQUET: _table(machine.COLUMNS, _REPORT_TYPES, machine.rows(view)),
        SENSITIVITY_PARQUET: _table(
            (*sensitivity_render.COLUMNS, "words"), _SENSITIVITY_TYPES, _sensitivity(view)
        ),
    }
    if view.decisions:
        rows = (dict(zip(decision_csv.COLUMNS, row, strict=True)) for row in decision_csv.rows(view))
        files[DECISION_PARQUET] = _table(decision_csv.COLUMNS, _DECISION_TYPES, rows)
    return files


def same_tables(one: bytes, other: bytes) -> bool:
    """Whether two Parquet files hold the same columns and values; one that cannot be read is like none."""
    try:
        first, second = (pq.read_table(io.BytesIO(data)) for data in (one, other))
    except (pa.ArrowException, OSError):
        return False
    return bool(first.schema.equals(second.schema) and first.equals(second))


def _sensitivity(view: ReportView) -> Iterator[Values]:
    for row in sensitivity_render.rows(view):
        values: dict[str, Value] = dict(zip(sensitivity_render.COLUMNS, row, strict=True))
        if isinstance(values["value"], str):
            values["words"] = values["value"]
            values["value"] = None
        yield values


def _table(columns: Sequence[str], types: Mapping[str, pa.DataType], rows: Iterable[Values]) -> bytes:
    """Written in groups of rows, so that no large table is there as Python values all at once."""
    schema = pa.schema([pa.field(name, types.get(name, _TEXT)) for name in columns])
    sink = io.BytesIO()
    waiting = iter(rows)
    with pq.ParquetWriter(sink, schema, compression="zstd", store_schema=True) as writer:
        while group := list(islice(waiting, _GROUP_ROWS)):
            arrays = [
                pa.array([_typed(field.name, row.get(field.name), field.type) for row in group], field.type)
                for field in schema
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
    return sink.getvalue()


def _typed(name: str, value: Value, kind: pa.DataType) -> object:
    """The words that CSV has for what is not known are nulls; what an agent wrote stays as it is."""
    if kind == _TEXT:
        return None if value == UNAVAILABLE and name in _TEXT_OR_UNKNOWN else value
    if value in (UNAVAILABLE, NOT_ESTIMABLE, "", None):
        return None
    if kind == pa.bool_():
        return value == "yes"
    return _instant(str(value)) if kind == _TIME else value


def _instant(text: str) -> datetime | None:
    """A time of a record; one that is none is null here, and stands in the CSV as it is."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
