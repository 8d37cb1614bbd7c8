"""`esac-ag export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from esac_ag.cli.place import JsonOption, print_json, stderr, stdout

export_app = typer.Typer(help="A study's attempts in formats that other tools read.", no_args_is_help=True)


@export_app.callback()
def _formats() -> None:
    """Keep the format a word of the command, although there is one only."""


@export_app.command()
def atif(
    study: Annotated[
        Path, typer.Argument(help="A folder of a study or a suite run below results/.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Folder to write to; by default atif/ in STUDY.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write each attempt's transcript as an ATIF 1.8 trajectory, one file an attempt; it names the arm."""
    from esac_ag.conduct.exporting import export_atif

    exported = export_atif(study, output)
    if json:
        print_json(exported)
        return
    for attempt_id, reason in exported.left_out.items():
        stderr().print(f"{attempt_id} is left out: {reason}", soft_wrap=True, markup=False)
    stdout().print(
        f"{exported.folder}: {len(exported.written)} trajectories, {len(exported.left_out)} left out",
        soft_wrap=True,
        markup=False,
    )
