"""`esac-ag report STUDY`: the report of a study; `esac-ag report revise STUDY`: a numbered revision of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.default_group import WriteByDefault
from esac_ag.cli.place import JsonOption, QuietOption, StudyArgument, stdout

if TYPE_CHECKING:
    from esac_ag.report.view import ReportView


report_app = typer.Typer(
    cls=WriteByDefault, help="The report of a study: esac-ag report STUDY.", no_args_is_help=True
)


@report_app.command()
def write(study: StudyArgument, json: JsonOption = False, quiet: QuietOption = False) -> None:
    """Write the report of a study or of a suite run, and show its summary (`esac-ag report STUDY`)."""
    from esac_ag.artifacts import StudyFolder
    from esac_ag.conduct.reporting import write_report
    from esac_ag.rooms.manifest_file import plans_a_suite_run

    if plans_a_suite_run(StudyFolder(study).manifest):
        from esac_ag.cli.suite_running import show
        from esac_ag.conduct.suite_results import write_suite_reports

        show(write_suite_reports(study), json=json, quiet=quiet)
        return
    _show(*write_report(study), json=json, quiet=quiet)


@report_app.command()
def revise(
    study: StudyArgument,
    reason: Annotated[
        str, typer.Option("--reason", help="What is corrected, in a sentence.", show_default=False)
    ],
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add a numbered revision to the reports of a study; earlier ones stay as they are."""
    from esac_ag.artifacts import StudyFolder
    from esac_ag.conduct.report_revisions import revise_report
    from esac_ag.errors import UsageError
    from esac_ag.rooms.manifest_file import plans_a_suite_run

    if plans_a_suite_run(StudyFolder(study).manifest):
        raise UsageError("Reports of suite runs have no revisions.", remedy=f"esac-ag report {study}")
    _show(*revise_report(study, reason), json=json, quiet=quiet)


def _show(view: ReportView, folder: Path, *, json: bool, quiet: bool) -> None:
    from esac_ag.cli.report_rendering import print_summary
    from esac_ag.report.machine import render_json

    if json:
        typer.echo(render_json(view).decode())
        return
    if not quiet:
        print_summary(view, stdout())
    stdout().print(f"report: {folder / 'report.html'}", soft_wrap=True)
