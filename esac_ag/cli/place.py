"""What most commands need first: the workspace, an engine, images, and where to print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel
    from rich.console import Console

    from esac_ag.rooms.workspace import Workspace
    from esac_ag.sandbox.docker import DockerEngine

RootOption = Annotated[
    Path | None,
    typer.Option("--root", help="Workspace folder; by default the nearest one upward.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON on standard output.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
ResultsOption = Annotated[
    Path | None,
    typer.Option("--results-dir", "-o", help="Folder of results; by default results/ of the workspace."),
]
ConcurrencyOption = Annotated[
    int, typer.Option("--n-concurrent", "-n", min=1, max=64, help="Attempts at the same time.")
]
StudyArgument = Annotated[Path, typer.Argument(help="A study's folder below results/.", show_default=False)]
ManifestArgument = Annotated[Path, typer.Argument(help="A sealed run manifest.", show_default=False)]


def workspace_at(root: Path | None) -> Workspace:
    """The workspace of a command."""
    from esac_ag.rooms.workspace import Workspace

    return Workspace.find(root)


def engine_of(workspace: Workspace) -> DockerEngine:
    """A Docker engine that labels what it makes as this workspace's."""
    from esac_ag.sandbox.docker import DockerEngine

    return DockerEngine(workspace.label)


def stdout() -> Console:
    """Standard output, for results; a reader who leaves ends the command."""
    from esac_ag.cli.consoles import ResultConsole

    return ResultConsole(highlight=False)


def stderr() -> Console:
    """Standard error, for progress and logs; work goes on when nobody reads it."""
    from esac_ag.cli.consoles import ProgressConsole

    return ProgressConsole(stderr=True, highlight=False)


def teller(*, quiet: bool) -> Callable[[str], None]:
    """Prints lines of progress on standard error, or drops them."""
    console = stderr()
    return lambda text: None if quiet else console.print(text, soft_wrap=True, markup=False)


def print_json(record: BaseModel) -> None:
    """A record as indented JSON on standard output."""
    typer.echo(record.model_dump_json(indent=2))
