"""The commands. Each parses, calls one function and prints; what costs is imported inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.arm_commands import arm_app
from esac_ag.cli.compare_command import compare
from esac_ag.cli.doctor_command import doctor
from esac_ag.cli.export_command import export_app
from esac_ag.cli.images_commands import app as images_app
from esac_ag.cli.place import (
    ConcurrencyOption,
    JsonOption,
    ManifestArgument,
    QuietOption,
    ResultsOption,
    RootOption,
    StudyArgument,
    engine_of,
    print_json,
    stderr,
    stdout,
    workspace_at,
)
from esac_ag.cli.power_command import power
from esac_ag.cli.publish_command import publish_app
from esac_ag.cli.report_command import report_app
from esac_ag.cli.review_commands import review_app
from esac_ag.cli.schema_command import schema
from esac_ag.cli.shadow_commands import shadow_app
from esac_ag.cli.suite_commands import suite_app
from esac_ag.cli.task_commands import RepeatsOption, task_app
from esac_ag.cli.validate_command import validate
from esac_ag.cli.view_command import view

app = typer.Typer(
    name="esac-ag",
    help="Measure coding agents, and what instruction bundles do to them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would cost a third of the start-up time of every command
)
app.add_typer(task_app, name="task")
app.add_typer(arm_app, name="arm")
app.add_typer(images_app, name="images")
app.add_typer(suite_app, name="suite")
app.add_typer(export_app, name="export")
app.add_typer(shadow_app, name="shadow")
app.add_typer(review_app, name="review")
app.add_typer(report_app, name="report")
app.add_typer(publish_app, name="publish")
app.command()(compare)
app.command()(doctor)
app.command()(validate)
app.command()(schema)
app.command()(power)
app.command()(view)

DraftArgument = Annotated[Path, typer.Argument(help="A draft of a run manifest.", show_default=False)]


def _version(value: bool) -> None:
    if value:
        from esac_ag import __version__

        typer.echo(f"esac-ag {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take options that stand before any command."""


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to lay out.", show_default=False)],
) -> None:
    """Lay out a new workspace: arms, tasks, graders, manifests and runner."""
    from esac_ag.conduct.layout import lay_out

    made = lay_out(folder)
    console = stdout()
    console.print(f"{folder}: a workspace with {', '.join(made)}", soft_wrap=True, markup=False)
    console.print(
        "next: cd into it, then esac-ag doctor, esac-ag images build, esac-ag demo; "
        "docs/guide.md leads from a skill of yours to a report",
        soft_wrap=True,
    )


@app.command()
def freeze(
    draft: DraftArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The sealed manifest to write.")],
    repeats: RepeatsOption = 3,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fill in a draft, prove every task, probe the isolation, and seal the manifest."""
    from esac_ag.conduct.freeze import freeze_draft

    workspace = workspace_at(root)
    console = stderr()
    sealed = freeze_draft(
        draft,
        output,
        workspace=workspace,
        engine=engine_of(workspace),
        repeats=repeats,
        tell=lambda text: None if quiet else console.print(text, soft_wrap=True, markup=False),
    )
    if json:
        print_json(sealed)
        return
    stdout().print(
        f"sealed {sealed.path}\nstudy {sealed.study_id}, digest {sealed.manifest_sha256}", soft_wrap=True
    )


@app.command()
def probe(
    manifest: Annotated[Path, typer.Argument(help="A draft or a sealed manifest.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write the record.", show_default=False)
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Prove that an agent's container cannot reach private material; exit 1 if it can."""
    from esac_ag.cli.rendering import print_probe
    from esac_ag.conduct.freeze import probe_manifest

    workspace = workspace_at(root)
    record = probe_manifest(manifest, workspace=workspace, engine=engine_of(workspace), output=output)
    if json:
        print_json(record)
    else:
        print_probe(record, stdout())
    raise typer.Exit(0 if record.passed else 1)


@app.command()
def plan(
    manifest: ManifestArgument,
    n: ConcurrencyOption = 2,
    run_s: Annotated[
        float | None, typer.Option("--run-s", min=0, max=1e9, help="Measured seconds of one run.")
    ] = None,
    run_cost: Annotated[
        float | None, typer.Option("--run-cost", min=0, max=1e9, help="Measured cost of one run.")
    ] = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Show the schedule, the counts, and a rough cost and time."""
    from esac_ag.cli.rendering import print_if_scripted, print_plan
    from esac_ag.conduct.forecasting import forecast
    from esac_ag.conduct.opening import design_of, load_manifest
    from esac_ag.schedule import make_schedule

    workspace = workspace_at(root)
    sealed = load_manifest(manifest, workspace=workspace)
    planned = forecast(
        manifest,
        workspace=workspace,
        results=workspace.results,
        concurrency=n,
        run_s=run_s,
        run_cost=run_cost,
    )
    if json:
        print_json(planned)
        return
    print_if_scripted(sealed.agent.kind, stdout())
    print_plan(planned, make_schedule(*design_of(sealed)), stdout())


@app.command()
def run(
    manifest: ManifestArgument,
    n: ConcurrencyOption = 2,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Work on at most so many cells.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every seal, run nothing.")] = False,
    results: ResultsOption = None,
    root: RootOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a sealed study, or go on with it; grades each attempt when it ends."""
    from esac_ag.cli.running import run_command

    workspace = workspace_at(root)
    run_command(
        manifest,
        workspace=workspace,
        results=results or workspace.results,
        concurrency=n,
        limit=limit,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )


@app.command()
def grade(
    study: StudyArgument,
    again: Annotated[
        bool, typer.Option("--again", help="Grade every submission again and compare; changes nothing.")
    ] = False,
    n: ConcurrencyOption = 2,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Grade what has no grading yet, or check that gradings come out the same again."""
    from esac_ag.cli.rendering import print_grading_summary
    from esac_ag.conduct.regrade import grade_study

    workspace = workspace_at(root)
    summary = grade_study(study, workspace=workspace, engine=engine_of(workspace), again=again, concurrency=n)
    if json:
        print_json(summary)
    else:
        print_grading_summary(summary, stdout())
    raise typer.Exit(0 if summary.agrees else 1)


@app.command()
def audit(study: StudyArgument, json: JsonOption = False) -> None:
    """Derive every digest of a study again; exit 1 if anything differs."""
    from esac_ag.cli.rendering import print_audit
    from esac_ag.conduct.audit import audit as audit_study

    found = audit_study(study)
    if json:
        print_json(found)
    else:
        print_audit(found, stdout())
    raise typer.Exit(0 if found.clean else 1)


@app.command()
def clean(root: RootOption = None, json: JsonOption = False) -> None:
    """Remove containers and volumes that this workspace's studies left behind."""
    from esac_ag.conduct.cleaning import clean_workspace

    workspace = workspace_at(root)
    removed = clean_workspace(workspace, engine_of(workspace))
    if json:
        print_json(removed)
        return
    for line in (*removed.removed, *removed.kept):
        stdout().print(line, soft_wrap=True, markup=False)
    stdout().print(f"{len(removed.removed)} removed")


@app.command()
def demo(
    repetitions: Annotated[int, typer.Option("-k", "--repetitions", min=1, max=20)] = 2,
    n: ConcurrencyOption = 2,
    results: ResultsOption = None,
    root: RootOption = None,
    quiet: QuietOption = False,
) -> None:
    """Seal and run the demonstration study with scripted agents, and report on it."""
    from esac_ag.cli.running import demo_command

    workspace = workspace_at(root)
    demo_command(
        workspace,
        results=results or workspace.results,
        repetitions=repetitions,
        concurrency=n,
        quiet=quiet,
    )
