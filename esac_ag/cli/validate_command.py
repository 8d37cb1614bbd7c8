"""`esac-ag validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, RootOption, print_json, stdout, workspace_at
from esac_ag.plural import plural

if TYPE_CHECKING:
    from rich.console import Console

    from esac_ag.manifest.findings import Finding, ValidationReport


def validate(
    manifest: Annotated[Path, typer.Argument(help="A run manifest, version 1 or 2.", show_default=False)],
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse what is not ready for a scored run.")
    ] = False,
    json: JsonOption = False,
    root: RootOption = None,
) -> None:
    """Check a manifest and every file that it names; exit 1 if there is an error."""
    from esac_ag.rooms.validation import validate_manifest

    report = validate_manifest(manifest, strict=strict, workspace=workspace_at(root) if root else None)
    if json:
        print_json(report)
    else:
        print_report(report, stdout())
    raise typer.Exit(0 if report.valid else 1)


def print_report(report: ValidationReport, console: Console) -> None:
    """All findings, each with its place, expectation and remedy, then the verdict."""
    for finding in report.findings:
        _print_finding(finding, console)
    verdict = "valid" if report.valid else "not valid"
    counts = f"{plural(report.errors, 'error')}, {plural(report.warnings, 'warning')}"
    style = "green" if report.valid else "red"
    manner = " under --strict" if report.strict else ""
    _line(console, f"{report.manifest}: {verdict}{manner} ({counts})", style)


def _print_finding(finding: Finding, console: Console) -> None:
    place = f"{finding.file}#{finding.pointer}" if finding.pointer else finding.file
    style = "bold red" if finding.severity == "error" else "bold yellow"
    _line(console, f"{finding.severity}: {place} [{finding.code}]", style)
    _line(console, f"  {finding.what}")
    for name in ("expected", "found", "remedy"):
        if value := getattr(finding, name):
            _line(console, f"  {name + ':':<10}{value}")
    _line(console, "")


def _line(console: Console, text: str, style: str | None = None) -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
