"""`esac-ag report`: the first report of a study, or a numbered revision of it."""

from __future__ import annotations

from typing import Annotated

import typer

from esac_ag.cli.place import JsonOption, QuietOption, StudyArgument, stdout


def report(
    study: StudyArgument,
    revise: Annotated[
        bool, typer.Option("--revise", help="Add a numbered revision; earlier reports stay as they are.")
    ] = False,
    reason: Annotated[
        str | None,
        typer.Option("--reason", help="With --revise: what is corrected, in a sentence.", show_default=False),
    ] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the report of a study or of a suite run, and show its summary."""
    from esac_ag.artifacts import StudyFolder
    from esac_ag.cli.report_rendering import print_summary
    from esac_ag.conduct.report_revisions import revise_report
    from esac_ag.conduct.reporting import write_report
    from esac_ag.errors import UsageError
    from esac_ag.rooms.manifest_file import plans_a_suite_run

    if revise != (reason is not None):
        raise UsageError(
            "A revision and its reason belong together.",
            expected="--revise --reason TEXT, or neither",
            found="--revise alone" if revise else "--reason alone",
        )
    if plans_a_suite_run(StudyFolder(study).manifest):
        if revise:
            raise UsageError("Reports of suite runs have no revisions.", remedy="leave --revise out")
        from esac_ag.cli.suite_running import show
        from esac_ag.conduct.suite_results import write_suite_reports

        show(write_suite_reports(study), json=json, quiet=quiet)
        return
    view, folder = write_report(study) if reason is None else revise_report(study, reason)
    if json:
        from esac_ag.report.machine import render_json

        typer.echo(render_json(view).decode())
        return
    if not quiet:
        print_summary(view, stdout())
    stdout().print(f"report: {folder / 'report.md'}", soft_wrap=True)
