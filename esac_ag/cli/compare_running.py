"""`compare`: from options to a report, with one question in between."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from esac_ag.artifacts import StudyFolder
from esac_ag.cli.asking import agreed
from esac_ag.cli.compare_rendering import forecast_lines
from esac_ag.cli.place import engine_of, print_json, stderr, stdout, teller
from esac_ag.cli.progress import LiveProgress
from esac_ag.cli.report_rendering import print_summary
from esac_ag.cli.running import run_words, stopping_on_signals
from esac_ag.conduct.comparing import CompareOptions, Prepared, prepare, seal_comparison
from esac_ag.conduct.context import Stop
from esac_ag.conduct.forecasting import Forecast, forecast
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.errors import HarnessError
from esac_ag.record import Record
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a comparison is run and told, not what it measures."""

    results: Path
    concurrency: int
    repeats: int
    yes: bool
    dry_run: bool
    json: bool
    quiet: bool


class Compared(Record):
    """What `compare --json` prints."""

    study_id: str
    manifest: str
    forecast: Forecast
    folder: str | None
    """The study's results; null when nothing was run."""
    report: str | None
    """Folder with report.html and its siblings."""
    go_on: tuple[str, ...]
    """Commands that go on with the study, and report."""


def compare_command(options: CompareOptions, workspace: Workspace, way: Way) -> None:
    """Compare bundles with the control, and report.

    Raises:
        HarnessError: something is missing, or the study stopped; how it goes on is told before.
        typer.Abort: standard input ended before a person agreed.
    """
    tell = teller(quiet=way.quiet)
    engine = engine_of(workspace)
    prepared = prepare(options, workspace=workspace, engine=engine, environ=os.environ)
    sealed = seal_comparison(
        prepared,
        workspace=workspace,
        engine=engine,
        repeats=way.repeats,
        build=lambda agents: _build(workspace, engine, agents, quiet=way.quiet),
        tell=tell,
    )
    planned = forecast(sealed, workspace=workspace, results=way.results, concurrency=way.concurrency)
    go_on = _go_on(prepared, sealed, workspace, way)
    for line in forecast_lines(prepared, planned):
        # Whoever is asked has to see what is asked, also when it is to be quiet.
        if not (way.quiet and way.yes):
            stderr().print(line, soft_wrap=True, markup=False)
    folder = None if way.dry_run or not _wanted(way, go_on) else _run(sealed, workspace, engine, way, go_on)
    if folder is None:
        _show_unrun(prepared, sealed, planned, go_on, way)
        return
    view, report = write_report(folder.path)
    if way.json:
        print_json(_compared(prepared, sealed, planned, go_on, folder=folder.path, report=report))
        return
    print_summary(view, stdout())
    stdout().print(f"report: {report / 'report.html'}", soft_wrap=True, markup=False)


def _build(workspace: Workspace, engine: DockerEngine, agents: tuple[str, ...], *, quiet: bool) -> None:
    from esac_ag.sandbox.docker import ImageStore
    from esac_ag.sandbox.images import build_images

    with closing(ImageStore()) as store:
        build_images(store, engine, workspace.runner, agents=agents, progress=teller(quiet=quiet))


def _wanted(way: Way, go_on: tuple[str, ...]) -> bool:
    if way.yes:
        return True
    try:
        return agreed("Go on?")
    except (typer.Abort, KeyboardInterrupt):
        _tell_how(go_on, "nothing was run; -y asks nothing")
        raise


def _run(
    sealed: Path, workspace: Workspace, engine: DockerEngine, way: Way, go_on: tuple[str, ...]
) -> StudyFolder:
    """Run all that is left to do, each attempt graded when it ends; the study's folder.

    Raises:
        HarnessError: it stopped; how it goes on was told.
    """
    stop = Stop()
    live = LiveProgress(stderr(), quiet=way.quiet)
    try:
        opened = open_study(
            sealed,
            workspace=workspace,
            engine=engine,
            results=way.results,
            environ=os.environ,
            stop=stop,
        )
        how = f"to go on: {go_on[0]}"
        with stopping_on_signals(stop, go_on=how), live.shown():
            # The same `compare` would begin another study unless it named this one.
            run_study(replace(opened, go_on=f"run {go_on[0]}"), concurrency=way.concurrency, watcher=live)
    except HarnessError:
        _tell_how(go_on, "the comparison is not finished, and nothing that was done is lost")
        raise
    return opened.site.folder


def _go_on(prepared: Prepared, sealed: Path, workspace: Workspace, way: Way) -> tuple[str, ...]:
    """Commands for a shell that go on with the study and report on it."""
    folder = way.results / prepared.request.study_id
    run = run_words(sealed, workspace, way.results, way.concurrency)
    return run, shlex.join(["esac-ag", "report", str(folder)])


def _tell_how(go_on: tuple[str, ...], state: str) -> None:
    told = "\n  ".join((f"{state}; to go on:", *go_on))
    stderr().print(told, soft_wrap=True, markup=False)


def _show_unrun(
    prepared: Prepared, sealed: Path, planned: Forecast, go_on: tuple[str, ...], way: Way
) -> None:
    if way.json:
        print_json(_compared(prepared, sealed, planned, go_on, folder=None, report=None))
        return
    stdout().print(f"sealed {sealed}; nothing was run", soft_wrap=True, markup=False)
    _tell_how(go_on, "it can be run as it is")


def _compared(
    prepared: Prepared,
    sealed: Path,
    planned: Forecast,
    go_on: tuple[str, ...],
    *,
    folder: Path | None,
    report: Path | None,
) -> Compared:
    return Compared(
        study_id=prepared.request.study_id,
        manifest=str(sealed),
        forecast=planned,
        folder=None if folder is None else str(folder),
        report=None if report is None else str(report),
        go_on=go_on,
    )
