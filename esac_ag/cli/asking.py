"""Asking a person: questions go to standard error, for standard output is the report's."""

from __future__ import annotations

import sys

import typer

from esac_ag.cli.place import stderr


def agreed(question: str) -> bool:
    """Whether a person says yes; an empty line is a yes.

    Raises:
        typer.Abort: standard input has ended.
    """
    while True:
        match line(f"{question} [Y/n]: ").lower():
            case "" | "y" | "yes":
                return True
            case "n" | "no":
                return False
            case _:
                stderr().print("y or n", markup=False)


def line(question: str) -> str:
    """A line of standard input.

    Raises:
        typer.Abort: it has ended.
    """
    # `input` and what is built on it write to standard output.
    typer.echo(question, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        typer.echo(err=True)
        raise typer.Abort
    return line.strip()
