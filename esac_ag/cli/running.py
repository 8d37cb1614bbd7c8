"""`run` and `demo`: signals, progress and the summary around a study's work."""

from __future__ import annotations

import json as jsonlib
import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import typer

from esac_ag.cli.errors import INTERRUPTED
from esac_ag.cli.place import engine_of, stderr, stdout, teller
from esac_ag.cli.progress import LiveProgress
from esac_ag.cli.rendering import print_if_scripted
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.study import Progress, run_study
from esac_ag.conduct.work import OpenPlan
from esac_ag.plural import plural
from esac_ag.rooms.workspace import Workspace

STOPPING = "stopping: running attempts are cancelled and done again later; again to leave at once"


@contextmanager
def stopping_on_signals(stop: Stop, told: str = STOPPING, *, go_on: str = "") -> Iterator[None]:
    """The first Ctrl-C or SIGTERM ends the work in order and says so, the second ends it at once.

    Args:
        stop: where the wish is told.
        told: what the first says.
        go_on: how the work goes on; the second says it, for nobody else will.
    """

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if stop.wished:
            if go_on:
                stderr().print(f"left at once; {go_on}", soft_wrap=True, markup=False)
            os._exit(INTERRUPTED)
        stderr().print(told, soft_wrap=True)
        stop.wish()

    previous = {name: signal.signal(name, handle) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in previous.items():
            signal.signal(name, handler)


def run_words(manifest: Path, workspace: Workspace, results: Path, concurrency: int) -> str:
    """The command for a shell that goes on with a study, from the folder that this one was given in."""
    words = ["esac-ag", "run", str(manifest), "-n", str(concurrency)]
    if results != workspace.results:
        words += ["-o", str(results)]
    if Path.cwd() != workspace.root and workspace.root not in Path.cwd().parents:
        words += ["--root", str(workspace.root)]
    return shlex.join(words)


def run_command(
    manifest: Path,
    *,
    workspace: Workspace,
    results: Path,
    concurrency: int,
    limit: int | None,
    dry_run: bool,
    json: bool,
    quiet: bool,
) -> Path:
    """Open, run, and tell where it stands; the study's folder."""
    engine = engine_of(workspace)
    stop = Stop()
    opened = open_study(
        manifest,
        workspace=workspace,
        engine=engine,
        results=results,
        environ=os.environ,
        stop=stop,
        dry_run=dry_run,
    )
    opened = replace(opened, go_on=f"go on with: {run_words(manifest, workspace, results, concurrency)}")
    folder = opened.site.folder.path
    if dry_run:
        tell = f"every seal holds; planned: {plural(len(opened.cells), 'cell')}; nothing was run"
        typer.echo(jsonlib.dumps({"cells": len(opened.cells), "dry_run": True}) if json else tell)
        return folder
    live = LiveProgress(stderr(), quiet=quiet)
    with stopping_on_signals(stop, go_on=opened.go_on), live.shown():
        progress = run_study(opened, concurrency=concurrency, watcher=live, limit=limit)
    print_if_scripted(opened.site.manifest.agent.kind, stderr())
    _tell(progress, opened, json=json)
    return folder


def _tell(progress: Progress, opened: OpenPlan, *, json: bool) -> None:
    folder = opened.site.folder.path
    if json:
        facts = {
            "planned": progress.planned,
            "done": progress.done,
            "launched": progress.launched,
            "stopped": progress.stopped,
            "finished": progress.finished,
            "agent_kind": opened.site.manifest.agent.kind,
            "folder": str(folder),
        }
        typer.echo(jsonlib.dumps(facts))
        return
    state = "finished" if progress.finished else opened.go_on
    if progress.stopped:
        state = f"{progress.stopped} not launched, their arm was stopped by rule; {state}"
    stdout().print(
        f"{progress.done} of {plural(progress.planned, 'cell')} done; {state}\nstudy: {folder}",
        soft_wrap=True,
    )


def demo_command(
    workspace: Workspace, *, results: Path, repetitions: int, concurrency: int, quiet: bool
) -> None:
    """Seal a fresh demonstration study, run it, and report on it."""
    # Reports are built with libraries that take long to import, and a run alone needs none of them.
    from esac_ag.cli.report_rendering import print_summary
    from esac_ag.conduct.demo import seal_demo
    from esac_ag.conduct.reporting import write_report

    sealed = seal_demo(workspace, engine_of(workspace), repetitions=repetitions, tell=teller(quiet=quiet))
    folder = run_command(
        sealed,
        workspace=workspace,
        results=results,
        concurrency=concurrency,
        limit=None,
        dry_run=False,
        json=False,
        quiet=quiet,
    )
    view, report = write_report(folder)
    print_summary(view, stdout())
    stdout().print(f"report: {report / 'report.html'}", soft_wrap=True)
