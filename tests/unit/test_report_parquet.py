"""The report as Parquet: the CSV's rows with types, nulls as nulls, the same bytes each time."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from esac_ag.conduct.audit_reports import same_content
from esac_ag.report import decision_csv, machine, sensitivity_render
from esac_ag.report.build import build_view
from esac_ag.report.machine import render_csv
from esac_ag.report.parquet import render_parquet, same_tables
from esac_ag.report.sensitivity_render import render_sensitivity_csv
from esac_ag.report.view import ReportView
from tests.builders_report import a_manifest, a_study, varied_score
from tests.builders_report_page import a_reviewed_pilot, a_scripted_pilot


@pytest.fixture(scope="module")
def view() -> ReportView:
    """A pilot with gaps after its review."""
    return build_view(a_reviewed_pilot())


@pytest.fixture(scope="module")
def files(view: ReportView) -> dict[str, bytes]:
    """Its tables."""
    return render_parquet(view)


def table(data: bytes) -> pa.Table:
    """A file as a table."""
    return pq.read_table(io.BytesIO(data))


def rows(data: bytes) -> list[dict[str, Any]]:
    """Its rows."""
    found: list[dict[str, Any]] = table(data).to_pylist()
    return found


def test_the_tables_have_the_columns_and_rows_of_the_csv_files(
    view: ReportView, files: dict[str, bytes]
) -> None:
    """In the same order; sensitivity has one column more for values in words."""
    texts = render_csv(view)
    pairs = [
        ("report.parquet", machine.COLUMNS, texts["report.csv"]),
        ("decision.parquet", decision_csv.COLUMNS, texts["decision.csv"]),
        ("sensitivity.parquet", (*sensitivity_render.COLUMNS, "words"), render_sensitivity_csv(view)),
    ]
    assert sorted(files) == sorted(name for name, _, _ in pairs)
    for name, columns, text in pairs:
        found = table(files[name])
        assert tuple(found.column_names) == columns
        assert found.num_rows == len(list(csv.DictReader(io.StringIO(text))))
        assert set(found.column("agent_kind").to_pylist()) == {"chat"}


def test_numbers_are_numbers_and_what_is_not_known_is_null(files: dict[str, bytes]) -> None:
    """A known zero stays one; unavailable and not estimable are no numbers, and the reason stays."""
    found = rows(files["report.parquet"])
    attempt = next(row for row in found if row["row_kind"] == "attempt" and row["state"] == "graded")
    assert isinstance(attempt["score"], float)
    assert attempt["dependencies_added"] == 0
    assert attempt["cached_input_tokens"] is None
    assert attempt["counts"] is True
    assert isinstance(attempt["started_at"], datetime)
    assert attempt["started_at"].utcoffset() == timedelta(0)
    lost = next(
        row
        for row in found
        if (row["row_kind"], row["task"], row["arm"]) == ("pair", "scope-expansion", "markskill")
    )
    assert lost["difference"] is lost["arm_mean"] is None
    assert lost["note"] == "the arm has no run with a score"
    spoiled = next(row for row in found if row["counts"] is False)
    assert spoiled["score"] is spoiled["quality"] is None
    decided = rows(files["decision.parquet"])
    assert {row["preliminary"] for row in decided} == {False}
    unknown = [row for row in decided if row["figure"] and row["value"] is None]
    assert unknown
    assert all(row["note"] for row in unknown)


def test_a_study_without_prices_or_review_has_nulls_in_their_columns() -> None:
    """No currency in words, no quality of zero."""
    found = rows(render_parquet(build_view(a_scripted_pilot()))["report.parquet"])
    assert {row["currency"] for row in found} == {row["quality"] for row in found} == {None}
    assert {row["cost"] for row in found} == {None}
    assert {row["agent_kind"] for row in found} == {"scripted"}


def test_what_an_agent_wrote_stays_as_it_is() -> None:
    """A reason that reads like our word for unknown is text all the same, and so is a formula."""
    study = a_study(
        varied_score,
        manifest=a_manifest(tasks=["invoice-rounding"], repetitions=1),
        change=lambda attempt: attempt.model_copy(
            update={"reason": "=1+1" if attempt.cell.arm == "neutral" else "unavailable"}
        ),
    )
    found = rows(render_parquet(build_view(study))["report.parquet"])
    reasons = {row["arm"]: row["reason"] for row in found if row["row_kind"] == "attempt"}
    assert reasons["neutral"] == "=1+1"
    assert reasons["markskill"] == "unavailable"


def test_the_same_view_gives_the_same_bytes(view: ReportView, files: dict[str, bytes]) -> None:
    """So that an audit can compare them."""
    assert render_parquet(view) == files


def test_tables_are_compared_by_what_they_hold(files: dict[str, bytes], tmp_path: Path) -> None:
    """Packed otherwise they are the same report; another value, column or type is another one."""
    data = files["report.parquet"]
    found = table(data)

    def packed(other: pa.Table, compression: str = "none") -> bytes:
        sink = io.BytesIO()
        pq.write_table(other, sink, compression=compression)
        return sink.getvalue()

    repacked = packed(found)
    assert repacked != data
    assert same_tables(repacked, data)
    path = tmp_path / "report.parquet"
    path.write_bytes(repacked)
    assert same_content(path, data)
    cut = found.slice(0, found.num_rows - 1)
    changed = found.set_column(0, "row_kind", pa.array(["pair"] * found.num_rows))
    for other in (packed(cut), packed(changed), packed(found.drop_columns(["note"])), b"PAR1", b""):
        path.write_bytes(other)
        assert not same_content(path, data)
    assert not same_content(tmp_path / "missing.parquet", data)
    text = tmp_path / "report.md"
    text.write_bytes(b"# a")
    assert not same_content(text, b"# b")


def test_a_time_that_is_none_is_null() -> None:
    """A record's broken time takes no report down."""
    study = a_study(varied_score, manifest=a_manifest(tasks=["invoice-rounding"], repetitions=1))
    broken = tuple(one.model_copy(update={"started_at": "noon"}) for one in study.attempts)
    found = rows(render_parquet(build_view(replace(study, attempts=broken)))["report.parquet"])
    assert {row["started_at"] for row in found} == {None}
