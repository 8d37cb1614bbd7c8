"""Computes a study's report from its folder and writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from esac_ag.artifacts import write_atomic
from esac_ag.attempt import GRADED_OUTCOMES, Grading
from esac_ag.attempt.events import StudyState
from esac_ag.conduct.audit_reports import same_content
from esac_ag.conduct.collect import RESULT, StudyRecords, read_study, refuse_other_plan, vouched
from esac_ag.conduct.kept_proofs import untouched_failures
from esac_ag.conduct.opening import design_of
from esac_ag.conduct.report_standing import newest, revision_of
from esac_ag.conduct.review_quality import quality_of, review_scores
from esac_ag.errors import InputRefused
from esac_ag.plural import plural
from esac_ag.report.build import build_view
from esac_ag.report.compact import many_records
from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.gradings import DeclaredChecks, GradingFacts, facts_of
from esac_ag.report.hidden_checks import render_labels
from esac_ag.report.html_page import render_html
from esac_ag.report.inputs import LedgerSummary, ReportInputs, SpoiledAttempt
from esac_ag.report.machine import render_csv, render_json
from esac_ag.report.markdown import render_markdown
from esac_ag.report.sensitivity_render import SENSITIVITY_CSV, render_sensitivity_csv
from esac_ag.report.standing import Revision, StoppedArm
from esac_ag.report.view import ReportView
from esac_ag.schedule import make_schedule


def write_report(path: Path) -> tuple[ReportView, Path]:
    """Write `report/` of a study; the view and the folder.

    The first report is written as often as one likes. Once it was revised, reports are only added
    (`revise_report`): the newest one is shown, if it is what the records give.

    Raises:
        InputRefused: the folder holds no study, a file of it is damaged, or a revised report would change.
        LedgerCorrupt: the ledger does not verify.
    """
    with many_records():
        study, inputs = report_inputs(path)
        view = build_view(inputs)
        write_atomic(study.folder.hidden_checks, render_labels(inputs.checks).encode())
        number = newest(study.state)
        folder, revised = study.folder.revision(number), bool(study.state.revisions)
        # The view is all that is rendered: a large study's records make room for its files.
        del study, inputs
        files = report_files(view)
    for name, data in files.items():
        if not revised:
            write_atomic(folder / name, data)
        elif not same_content(folder / name, data):
            raise InputRefused(
                "the newest report is not what the records give; a report that was revised is not rewritten",
                where=str(folder / name),
                expected=f"revision {number} as it was written",
                remedy=f"esac-ag report revise {path} --reason TEXT adds another revision",
            )
    return view, folder


def report_files(view: ReportView) -> dict[str, bytes]:
    """Every file of a study's report by its name."""
    return dict(rendered(view))


def rendered(view: ReportView) -> Iterator[tuple[str, bytes]]:
    """The same one by one, each made when it is asked for: those of a large study are large."""
    from esac_ag.report.parquet import render_parquet  # noqa: PLC0415  (pyarrow costs 150 ms to import)

    yield "report.html", render_html(view).encode()
    yield "report.md", render_markdown(view).encode()
    yield "report.json", render_json(view)
    for name, text in render_csv(view).items():
        yield name, text.encode()
    yield SENSITIVITY_CSV, render_sensitivity_csv(view).encode()
    yield from render_parquet(view).items()


def report_inputs(path: Path) -> tuple[StudyRecords, ReportInputs]:
    """A study's records without its gradings, and what its report is computed from: facts of gradings alone.

    Raises:
        InputRefused: the folder holds no study, or a file of it is damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    study = read_study(path, gradings=False)
    graded = vouched(study.folder, study.state, RESULT, Grading)
    facts = facts_of(graded)
    refuse_other_plan(study, facts[0])
    return study, inputs_of(study, facts)


def inputs_of(
    study: StudyRecords,
    facts: tuple[Mapping[str, GradingFacts], Mapping[str, DeclaredChecks]] | None = None,
    *,
    revision: Revision | None = None,
) -> ReportInputs:
    """What the pure report is computed from.

    Args:
        study: its records.
        facts: those of its gradings, and its tasks' checks; by default of the gradings in the records.
        revision: of a report that is about to be added; by default the newest one that the ledger tells.
    """
    gradings, checks = facts or facts_of(study.gradings.items())
    review = review_scores(study.folder, study.state)
    launches = study.state.attempts.values()
    # The ledger's cells in place of equal ones: a large study then has each of them once.
    known = {launch.cell: launch.cell for launch in launches}
    planned = tuple(known.get(cell, cell) for cell in make_schedule(*design_of(study.manifest)))
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
        quality=quality_of(review),
        review=review,
        checks=checks,
        untouched=untouched_failures(study.folder, study.manifest),
        evidence=_evidence(study.state),
        revision=revision or revision_of(study.state.revisions),
        ledger=LedgerSummary(
            spoiled=spoiled,
            retries=sum(launch.ordinal > 1 for launch in launches),
            pauses=len(study.state.pauses),
            stopped=tuple(
                StoppedArm(arm=stop.arm, task=stop.task, kind=stop.kind, attempts=stop.attempts)
                for stop in study.state.stopped.values()
            ),
        ),
    )


def _evidence(state: StudyState) -> dict[str, tuple[str, ...]]:
    """Files that a person reads, of every attempt whose files the ledger names; few different tuples."""
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = {}
    for attempt in state.attempts.values():
        names = tuple(name for name in EVIDENCE if name in attempt.artifacts)
        found[attempt.attempt_id] = shared.setdefault(names, names)
    return found


def _deviations(study: StudyRecords) -> Iterator[str]:
    """What was done otherwise than one sealed plan suggests."""
    actors = sorted({record.agent_label for record in study.attempts.values()})
    if len(actors) > 1:
        yield f"the attempts were made by different agents or endpoints: {'; '.join(actors)}"
    if study.state.recovered_tails:
        yield f"the ledger lost a line that was being written, {plural(study.state.recovered_tails, 'time')}"
