"""Computes a study's report from its folder and writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from esac_ag.artifacts import StudyFolder, write_atomic
from esac_ag.attempt import GRADED_OUTCOMES, Grading
from esac_ag.conduct.collect import RESULT, StudyRecords, read_study, refuse_other_plan, vouched
from esac_ag.conduct.opening import design_of
from esac_ag.report.build import build_view
from esac_ag.report.compact import many_records
from esac_ag.report.gradings import GradingFacts
from esac_ag.report.inputs import LedgerSummary, ReportInputs, SpoiledAttempt
from esac_ag.report.machine import render_csv, render_json
from esac_ag.report.markdown import render_markdown
from esac_ag.report.sensitivity_render import SENSITIVITY_CSV, render_sensitivity_csv
from esac_ag.report.view import ReportView
from esac_ag.schedule import make_schedule


def write_report(path: Path) -> tuple[ReportView, Path]:
    """Write `report/` of a study; the view and the folder.

    Raises:
        InputRefused: the folder holds no study, or a file of it is damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    with many_records():
        view = build_view(report_inputs(path))
    folder = StudyFolder(path).report
    for name, data in report_files(view).items():
        write_atomic(folder / name, data)
    return view, folder


def report_files(view: ReportView) -> dict[str, bytes]:
    """Every file of a study's report by its name."""
    files = {"report.md": render_markdown(view).encode(), "report.json": render_json(view)}
    files |= {name: text.encode() for name, text in render_csv(view).items()}
    return files | {SENSITIVITY_CSV: render_sensitivity_csv(view).encode()}


def report_inputs(path: Path) -> ReportInputs:
    """What the pure report of a folder is computed from; of gradings only the facts are ever held.

    Raises:
        InputRefused: the folder holds no study, or a file of it is damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    study = read_study(path, gradings=False)
    graded = vouched(study.folder, study.state, RESULT, Grading)
    facts = {name: GradingFacts.of(one) for name, one in graded}
    refuse_other_plan(study, facts)
    return inputs_of(study, facts)


def inputs_of(study: StudyRecords, gradings: Mapping[str, GradingFacts] | None = None) -> ReportInputs:
    """What the pure report is computed from; facts of the study's own gradings where none are given."""
    if gradings is None:
        gradings = {name: GradingFacts.of(one) for name, one in study.gradings.items()}
    planned = make_schedule(*design_of(study.manifest))
    launches = study.state.attempts.values()
    counting = {cell: state.attempt_id for cell in planned if (state := study.state.counting(cell))}
    spoiled = tuple(
        SpoiledAttempt(
            attempt_id=launch.attempt_id, cell=launch.cell, outcome=launch.outcome, reason=launch.reason
        )
        for launch in launches
        if launch.outcome is not None and launch.outcome not in GRADED_OUTCOMES
    )
    return ReportInputs(
        manifest=study.manifest,
        manifest_sha256=study.manifest_sha256,
        planned=planned,
        attempts=tuple(study.attempts.values()),
        gradings=gradings,
        loaded=study.loaded,
        counting=counting,
        tasks=study.tasks,
        deviations=tuple(_deviations(study)),
        ledger=LedgerSummary(
            spoiled=spoiled,
            retries=sum(launch.ordinal > 1 for launch in launches),
            pauses=len(study.state.pauses),
        ),
    )


def _deviations(study: StudyRecords) -> Iterator[str]:
    """What was done otherwise than one sealed plan suggests."""
    actors = sorted({record.agent_label for record in study.attempts.values()})
    if len(actors) > 1:
        yield f"the attempts were made by different agents or endpoints: {'; '.join(actors)}"
    if study.state.recovered_tails:
        yield f"the ledger lost a line that was being written, {study.state.recovered_tails} times"
