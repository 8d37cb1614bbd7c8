"""`esac-ag doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from esac_ag.cli.place import JsonOption, RootOption, print_json, stdout, workspace_at

if TYPE_CHECKING:
    from pathlib import Path

    from esac_ag.rooms.workspace import Workspace
    from esac_ag.sandbox.doctor import DoctorReport

_COLOURS = {"ok": "green", "warning": "yellow", "failure": "red"}


def doctor(root: RootOption = None, json: JsonOption = False) -> None:
    """Show what is there and which limits take effect; exit 1 on a failure, 2 without an engine."""
    from esac_ag.sandbox.doctor import examine

    workspace = _workspace_if_any(root)
    report = examine(workspace.root if workspace else None, workspace.label if workspace else "doctor")
    if json:
        print_json(report)
    else:
        _show(report)
    raise typer.Exit(report.exit_code())


def _workspace_if_any(root: Path | None) -> Workspace | None:
    """The workspace; without one the doctor still looks at engine and machine."""
    from esac_ag.errors import UsageError

    if root is not None:
        return workspace_at(root)
    try:
        return workspace_at(None)
    except UsageError:
        return None


def _show(report: DoctorReport) -> None:
    from rich.markup import escape

    console = stdout()
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        colour = _COLOURS[check.status.value]
        console.print(
            f"[{colour}]{check.status.value:<8}[/{colour}] {check.name:<{width}}  {escape(check.found)}",
            soft_wrap=True,
        )
        if check.remedy:
            console.print(f"{'':<8} {'':<{width}}  remedy: {escape(check.remedy)}", soft_wrap=True)
