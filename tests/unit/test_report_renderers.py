"""Markdown, JSON, CSV and the terminal show one view, whole and harmless."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest
from rich.console import Console

from esac_ag.attempt import AttemptRecord, Cell, Outcome
from esac_ag.canonical import canonical_json
from esac_ag.cli.report_rendering import print_summary
from esac_ag.conduct.reporting import rendered
from esac_ag.manifest.package import CriticalFailure
from esac_ag.manifest.plan import AgentKind
from esac_ag.report.build import build_view
from esac_ag.report.inputs import ReportInputs
from esac_ag.report.machine import COLUMNS, render_csv, render_json
from esac_ag.report.markdown import render_markdown
from esac_ag.report.standing import EarlierRevision, Revision
from esac_ag.report.view import ReportView
from esac_ag.report.words import SCRIPTED_NOTICE
from tests.builders_report import (
    a_manifest,
    a_package,
    a_study,
    a_submission,
    an_attempt,
    golden,
    varied_score,
)
from tests.builders_report_page import a_small_reviewed_pilot

HOSTILE = '=HYPERLINK("http://evil")|<img src=x onerror=alert(1)>`\n# owned\n\x1b[2J\u202e[x](javascript:1)'


def hostile_study() -> ReportInputs:
    """Every text that an agent or a task's author writes is an attack."""
    manifest = a_manifest()

    def change(attempt: AttemptRecord) -> AttemptRecord:
        return attempt.model_copy(
            update={"reason": HOSTILE, "agent_label": HOSTILE, "submission": a_submission((HOSTILE,))}
        )

    packages = {
        task.id: a_package(task.id, title=HOSTILE, family=HOSTILE, contrast=HOSTILE)
        for task in manifest.tasks
    }
    cell = Cell(task="invoice-rounding", arm="neutral", repetition=1)
    spoiled = an_attempt(cell, manifest, ordinal=2, outcome=Outcome.INFRA, reason=HOSTILE)
    return a_study(varied_score, change=change, packages=packages, spoiled=[spoiled], deviations=(HOSTILE,))


def missing_study() -> ReportInputs:
    """One task of the candidate has no run at all, another one run, and a grading is invalid."""

    def score(cell: Cell) -> float | None:
        if cell.arm == "markskill" and cell.task == "date-parsing":
            return None
        if cell.task == "order-workflow" and cell.repetition == 2:
            return None
        return varied_score(cell)

    manifest = a_manifest()
    cell = Cell(task="date-parsing", arm="markskill", repetition=1)
    return a_study(
        score,
        invalid=lambda cell: cell == Cell(task="invoice-rounding", arm="neutral", repetition=2),
        spoiled=[
            an_attempt(cell, manifest, ordinal=1, outcome=Outcome.INFRA, reason="the engine went away"),
            an_attempt(cell, manifest, ordinal=2, outcome=Outcome.CANCELLED, reason="stopped by a person"),
        ],
        deviations=("The study was paused for a day.",),
    )


STUDIES = {
    "normal": lambda: a_study(varied_score),
    "missing": missing_study,
    "one-task": lambda: a_study(varied_score, manifest=a_manifest(tasks=["invoice-rounding"], repetitions=1)),
    "zero-variance": lambda: a_study(lambda cell: 70.0 if cell.arm == "markskill" else 60.0),
    "all-invalid": lambda: a_study(varied_score, invalid=lambda _: True),
    "scripted": lambda: a_study(
        varied_score, manifest=a_manifest(agent=AgentKind.SCRIPTED, prices=False, repetitions=3)
    ),
    "hostile": hostile_study,
}


def view_of(name: str) -> ReportView:
    """The view of a study above."""
    return build_view(STUDIES[name]())


def shown_in_terminal(view: ReportView, width: int = 100) -> str:
    """What a terminal without colours shows."""
    stream = io.StringIO()
    print_summary(view, Console(file=stream, width=width, force_terminal=False, color_system=None))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def rows_of(view: ReportView) -> list[dict[str, str]]:
    """The rows of `report.csv`."""
    return list(csv.DictReader(io.StringIO(render_csv(view)["report.csv"])))


@pytest.mark.parametrize("name", STUDIES)
def test_markdown_equals_its_golden_file(name: str) -> None:
    """Every change of the report is seen in review."""
    found = render_markdown(view_of(name))
    assert found == golden(f"{name}.md", found)


@pytest.mark.parametrize("name", STUDIES)
def test_csv_equals_its_golden_file(name: str) -> None:
    """Columns and values are a contract with whoever reads them."""
    found = render_csv(view_of(name))["report.csv"]
    assert found == golden(f"{name}.csv", found)


@pytest.mark.parametrize("name", STUDIES)
def test_the_terminal_equals_its_golden_file(name: str) -> None:
    """The summary is read first, so its looks are fixed too."""
    found = shown_in_terminal(view_of(name))
    assert found == golden(f"{name}.txt", found)


def test_json_equals_its_golden_file() -> None:
    """The same study gives the same bytes."""
    found = json.dumps(json.loads(render_json(view_of("normal"))), indent=1, ensure_ascii=False) + "\n"
    assert found == golden("normal.json", found)


@pytest.mark.parametrize("name", STUDIES)
def test_json_is_canonical_and_reads_back_as_the_view(name: str) -> None:
    """Nothing is lost between the view and its file."""
    view = view_of(name)
    data = render_json(view)
    assert ReportView.model_validate_json(data) == view
    assert data == canonical_json(json.loads(data))


def test_a_view_that_was_read_from_its_json_gives_every_form_byte_for_byte() -> None:
    """Whoever publishes or verifies a report renders it so; JSON keeps no order of kinds or files."""
    earlier = EarlierRevision(
        number=1, at=None, reason="", files={"report/report.md": "ab" * 32, "report/a.csv": "cd" * 32}
    )
    revision = Revision(number=2, at="2026-03-02T00:00:00.000Z", reason="prices", earlier=(earlier,))
    view = build_view(a_small_reviewed_pilot()).model_copy(update={"revision": revision})
    # In the order of the kinds, which is not that of their names.
    kinds = dict.fromkeys(CriticalFailure, 1)
    assert list(kinds) != sorted(kinds)
    counts = tuple(item.model_copy(update={"by_kind": kinds}) for item in view.critical_counts)
    view = view.model_copy(update={"critical_counts": counts})
    again = ReportView.model_validate_json(render_json(view))
    assert again == view
    forms = dict(rendered(again))
    assert [name for name, data in rendered(view) if forms[name] != data] == []


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_json_obeys_the_generated_schema(name: str, mode: str) -> None:
    """The published schema describes what is written."""
    schema = ReportView.model_json_schema(mode="validation" if mode == "validation" else "serialization")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(render_json(view_of(name))), schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", STUDIES)
def test_csv_has_a_row_for_every_attempt_and_every_pair(name: str) -> None:
    """One row per attempt, spoiled ones too, and one per task and compared arm."""
    view = view_of(name)
    rows = rows_of(view)
    kinds = [row["row_kind"] for row in rows]
    assert kinds.count("attempt") == len(view.attempts)
    assert kinds.count("pair") == len(view.comparisons) * view.header.tasks
    assert tuple(rows[0]) == COLUMNS
    assert {row["agent_kind"] for row in rows} == {view.header.agent_kind.value}


def test_csv_tells_unknown_from_zero_and_from_meaningless() -> None:
    """Unknown reads unavailable, a known zero 0, and what has no meaning for a row is empty."""
    attempt, pair = (
        next(row for row in rows_of(view_of("normal")) if row["row_kind"] == kind)
        for kind in ("attempt", "pair")
    )
    assert attempt["cached_input_tokens"] == "unavailable"
    assert attempt["dependencies_added"] == "0"
    assert attempt["difference"] == ""
    assert pair["score"] == pair["attempt_id"] == ""


def test_csv_says_where_a_difference_is_not_estimable() -> None:
    """A task without a pair has words, bounds and no number."""
    row = next(
        row
        for row in rows_of(view_of("missing"))
        if row["row_kind"] == "pair" and (row["task"], row["arm"]) == ("date-parsing", "markskill")
    )
    assert row["difference"] == row["arm_mean"] == "not estimable"
    assert row["note"] == "the arm has no run with a score"
    assert float(row["difference_worst"]) < float(row["difference_best"])


def test_csv_keeps_negative_numbers_as_numbers() -> None:
    """Only text is guarded against being a formula."""
    differences = [row["difference"] for row in rows_of(view_of("normal")) if row["row_kind"] == "pair"]
    assert any(float(value) < 0 for value in differences)


def test_hostile_text_is_dead_in_every_format() -> None:
    """No HTML, no new table cell or heading, no formula, no terminal escape, no reversed text."""
    view = view_of("hostile")
    texts = [render_markdown(view), render_csv(view)["report.csv"], shown_in_terminal(view)]
    for text in (*texts, render_json(view).decode()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<img" not in texts[0]
    assert "\n# owned" not in texts[0]
    for row in rows_of(view):
        assert not any(cell.startswith("=") for cell in row.values())


@pytest.mark.parametrize("name", STUDIES)
def test_every_table_of_the_markdown_is_rectangular(name: str) -> None:
    """Each table's lines have as many cells as its head, whatever the text in them."""
    width = None
    for line in render_markdown(view_of(name)).splitlines():
        cells = line.replace("\\|", "").count("|") if line.startswith("|") else None
        if cells is not None and width is not None:
            assert cells == width
        width = cells


@pytest.mark.parametrize("name", ["normal", "scripted"])
def test_the_answer_stands_above_all_tables(name: str) -> None:
    """A reader meets notices, then the answer, then numbers."""
    view = view_of(name)
    text = render_markdown(view)
    answer = text.index("On hidden checks")
    assert answer < text.index("\n| Arm")
    assert text[:answer].count(SCRIPTED_NOTICE) == (2 if name == "scripted" else 0)


def test_no_output_names_a_significance_value() -> None:
    """Intervals and differences, never one p-value."""
    for name in STUDIES:
        text = render_markdown(view_of(name)).lower()
        assert "p-value" not in text
        assert "statistically significant" not in text


@pytest.mark.parametrize("all_invalid", [False, True])
def test_the_terminal_shows_at_most_forty_lines_even_for_many_arms(all_invalid: bool) -> None:  # noqa: FBT001
    """Thirty arms with long names: eight are shown and the rest is counted."""
    arms = ["neutral", *(f"arm-{number}-{'x' * 80}" for number in range(29))]
    manifest = a_manifest(arms=arms, agent=AgentKind.SCRIPTED, repetitions=1)
    study = a_study(varied_score, manifest=manifest, invalid=lambda _: all_invalid)
    text = shown_in_terminal(build_view(study), width=80)
    assert len(text.splitlines()) <= 40
    assert "and 22 more arms in the report" in text
    assert SCRIPTED_NOTICE in text


def test_unavailable_costs_read_so_in_every_format() -> None:
    """Without a price table there is no money, and no zero in its place."""
    view = view_of("scripted")
    assert "unavailable" in shown_in_terminal(view)
    assert "| cost | unavailable | unavailable | unavailable |" in render_markdown(view)
    assert {row["cost"] for row in rows_of(view) if row["row_kind"] == "attempt"} == {"unavailable"}
