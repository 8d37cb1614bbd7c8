"""`suite run` and `suite auto`: seal a plan unless there is one, run it with a live tally, report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer

from esac_ag.artifacts import StudyFolder
from esac_ag.cli.place import engine_of, print_json, stderr, stdout, teller
from esac_ag.cli.running import stopping_on_signals
from esac_ag.cli.suite_request import SuiteOptions, suite_request
from esac_ag.conduct.context import Stop
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite import dataset_of
from esac_ag.conduct.suite_opening import load_suite_plan, open_suite
from esac_ag.conduct.suite_results import SuiteReports, read_suite, write_suite_reports
from esac_ag.conduct.suite_sealing import seal_suite
from esac_ag.conduct.suite_tally import SuiteTally
from esac_ag.errors import UsageError
from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Record
from esac_ag.report.suite_arms import render_suite_arms_text
from esac_ag.report.suite_machine import render_suite_json
from esac_ag.report.suite_text import render_suite_text
from esac_ag.rooms.workspace import Workspace
from esac_ag.suite.constitution import Pool
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.pools import ENVIRONMENT_NAME, FILE_NAME, DatasetSeed
from esac_ag.suite.records import ItemGrading

BESIDE_A_PLAN: Final = frozenset({"manifest", "resume", "seed", "n", "root", "json", "quiet"})
"""Options that say how a sealed plan is run, not what it measures."""


def sealed_plan(manifest: Path | None, resume: Path | None, *, given: Sequence[str]) -> Path | None:
    """The sealed plan that the command line names; none when a new one is wanted.

    Args:
        manifest: value of `--manifest`.
        resume: value of `--resume`.
        given: names of all options on the command line.

    Raises:
        UsageError: it names two, a folder without one, or options that a sealed plan has settled.
    """
    settled = sorted(set(given) - BESIDE_A_PLAN - ({"output"} if manifest else set()))
    if settled and (manifest or resume):
        raise UsageError(
            "The plan is sealed, and options of the command line would change it.",
            where=", ".join(f"--{name.replace('_', '-')}" for name in settled),
            remedy="leave them out, or start a new run without --manifest and --resume",
        )
    if manifest is not None and resume is not None:
        raise UsageError(
            "Two plans are named.", where="--manifest and --resume", expected="one of them, or neither"
        )
    if resume is None:
        return manifest
    path = StudyFolder(resume).manifest
    if not path.is_file():
        raise UsageError(
            "There is no run to go on with.",
            where=str(resume),
            expected="the folder of a suite run, with manifest.json",
            remedy="name a folder such as results/esac-ag-...",
        )
    return path


def new_run(
    options: SuiteOptions, output: Path | None, *, workspace: Workspace, root: Path | None, quiet: bool
) -> Path:
    """Seal the plan of a new run; its manifest's path.

    Raises:
        UsageError: something is missing, or the judge is not the pinned one.
        InputRefused: as `seal_suite`.
    """
    dataset = dataset_of(options.pool, options.seed, root)
    request = suite_request(options, dataset, workspace=workspace, environ=os.environ)
    tell = teller(quiet=quiet)
    if request.judge is not None and request.judge.base_url == request.agent.settings.get("base_url"):
        tell("the judge is asked at the model's own endpoint; --judge-base-url names another")
    plan = seal_suite(
        request,
        output or workspace.results / request.study_id,
        workspace=workspace,
        engine=engine_of(workspace),
        tell=tell,
    )
    tell(f"run folder: {plan.parent}")
    return plan


class Sealed(Record):
    """A plan that was sealed, and the folder that its run goes to."""

    manifest: str
    folder: str


def show_sealed(plan: Path, *, json: bool) -> None:
    """Tell that a plan is sealed: in words on standard error, or as JSON on standard output."""
    if json:
        print_json(Sealed(manifest=str(plan), folder=str(plan.parent)))
    else:
        stderr().print(f"sealed {plan}", soft_wrap=True, markup=False)


def _dataset_again(plan: SuitePlan, seed: str | None, root: Path | None) -> DatasetSeed:
    """The dataset seed of a sealed plan.

    Raises:
        UsageError: there is no usable seed. A new one would not help: the plan has its own.
    """
    try:
        return dataset_of(plan.pool, seed, root)
    except UsageError as error:
        if plan.pool is Pool.PUBLIC:
            raise
        raise UsageError(
            error.what,
            where=error.where,
            expected=error.expected,
            found=error.found,
            remedy=f"bring back the seed of fingerprint {plan.seed_fingerprint}, "
            f"with --seed, {ENVIRONMENT_NAME} or {FILE_NAME}; another one is refused",
        ) from error


def run_sealed(
    manifest: Path,
    *,
    workspace: Workspace,
    output: Path | None,
    root: Path | None,
    seed: str | None,
    concurrency: int,
    json: bool,
    quiet: bool,
) -> int:
    """Run a sealed plan, or go on with it, and report; the exit code of its verdict.

    Raises:
        UsageError: the plan lies among its results, and another folder is named for them.
        HarnessError: as `open_suite` and `run_study`.
    """
    plan = load_suite_plan(manifest, workspace=workspace)
    stop = Stop()
    folder = _folder_of(manifest, output, workspace.results / plan.study_id)
    tally = _tally(plan, folder, quiet=quiet)
    opened = open_suite(
        manifest,
        workspace=workspace,
        engine=engine_of(workspace),
        folder=folder,
        environ=os.environ,
        stop=stop,
        dataset_of_pool=lambda _: _dataset_again(plan, seed, root),
        graded=tally.graded,
    )
    if plan.agent.kind is AgentKind.SCRIPTED:
        stderr().print("scripted: policies act, no model; the result is evidence about no model")
    with stopping_on_signals(stop, go_on=opened.go_on):
        run_study(opened, concurrency=concurrency, watcher=tally)
    reports = write_suite_reports(folder.path)
    show(reports, json=json)
    return reports.exit_code


def _folder_of(manifest: Path, output: Path | None, otherwise: Path) -> StudyFolder:
    """Where the results go: beside a plan that lies as in a run's folder, else where they are wanted."""
    beside = StudyFolder(manifest.parent)
    if manifest.name != beside.manifest.name:
        return StudyFolder(output or otherwise)
    if output is not None and output.resolve() != manifest.parent.resolve():
        raise UsageError(
            "The plan lies in its run's folder, and another one is named for the results.",
            where="-o/--output",
            expected=f"{manifest.parent}, or nothing",
            found=str(output),
            remedy="leave -o out, or give a new run a new plan",
        )
    return beside


def show(reports: SuiteReports, *, json: bool, quiet: bool = False) -> None:
    """Print the reports of a run; quietly, only where they are."""
    if reports.arms is not None:
        text = reports.arms.model_dump_json(indent=2) if json else render_suite_arms_text(reports.arms)
    else:
        (view,) = reports.views.values()
        text = render_suite_json(view).decode() if json else render_suite_text(view)
    if json or not quiet:
        typer.echo(text, nl=not text.endswith("\n"))
    if not json:
        stdout().print(f"report: {reports.folder}", soft_wrap=True, markup=False)


def _tally(plan: SuitePlan, folder: StudyFolder, *, quiet: bool) -> SuiteTally:
    before: tuple[ItemGrading, ...] = ()
    if folder.ledger.is_file():
        records = read_suite(folder.path)
        before = tuple(grading for cell in plan.cells() if (grading := records.graded(cell)) is not None)
    return SuiteTally(plan, teller(quiet=quiet), before)
