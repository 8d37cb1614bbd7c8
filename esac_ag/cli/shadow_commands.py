"""`esac-ag shadow add`, `shadow list` and `shadow report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from esac_ag.cli.place import JsonOption, StudyArgument, print_json, stdout
from esac_ag.plural import plural

if TYPE_CHECKING:
    from esac_ag.attempt.events import ShadowNoted

shadow_app = typer.Typer(
    help="Shadow mode: note rework and missed requirements of real tasks.", no_args_is_help=True
)


@shadow_app.command("add")
def shadow_add(
    study: StudyArgument,
    *,
    task: Annotated[str, typer.Option("--task", help="Reference of the real task.", show_default=False)],
    arm: Annotated[str, typer.Option("--arm", help="The bundle in use.", show_default=False)],
    by: Annotated[str, typer.Option("--by", help="Who says so.", show_default=False)],
    date: Annotated[
        str, typer.Option("--date", help="Day that the rework was known, YYYY-MM-DD.", show_default=False)
    ],
    rework_minutes: Annotated[
        float | None, typer.Option("--rework-minutes", min=0, help="0 if none.", show_default=False)
    ] = None,
    rework_lines: Annotated[
        int | None, typer.Option("--rework-lines", min=0, help="0 if none.", show_default=False)
    ] = None,
    missed: Annotated[
        list[str] | None,
        typer.Option("--missed", help="A missed requirement; may be repeated.", show_default=False),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Add a note of a real task to a study's ledger; it is never changed."""
    from pydantic import ValidationError

    from esac_ag.attempt.events import ShadowNoted
    from esac_ag.conduct.shadow import add_shadow, day_of
    from esac_ag.errors import UsageError

    try:
        note = ShadowNoted(
            date=day_of(date),
            task=task.strip(),
            arm=arm,
            rework_minutes=rework_minutes,
            rework_lines=rework_lines,
            missed=tuple(text.strip() for text in missed or ()),
            by=by.strip(),
        )
    except ValidationError as error:
        fault = error.errors()[0]
        where = "--" + str(fault["loc"][0]).replace("_", "-")
        raise UsageError("The note cannot be taken.", where=where, expected=str(fault["msg"])) from error
    log = add_shadow(study, note)
    if json:
        print_json(log)
        return
    stdout().print(f"noted; {len(log.notes)} in all", soft_wrap=True)


@shadow_app.command("list")
def shadow_list(study: StudyArgument, json: JsonOption = False) -> None:
    """List the notes of a study in the order that they were made."""
    from esac_ag.conduct.shadow import shadow_log

    log = shadow_log(study)
    if json:
        print_json(log)
        return
    for line in map(_line, log.notes):
        stdout().print(line, markup=False, soft_wrap=True)
    if not log.notes:
        stdout().print("no notes")


@shadow_app.command("report")
def shadow_report(study: StudyArgument, json: JsonOption = False) -> None:
    """Sum up the notes by bundle."""
    from esac_ag.conduct.shadow import shadow_report as reported
    from esac_ag.report.numbers import maybe_points

    report = reported(study)
    if json:
        print_json(report)
        return
    for arm in report.arms:
        minutes = f"rework {maybe_points(arm.rework_minutes)} min (known {arm.minutes_known})"
        lines = f"{maybe_points(arm.rework_lines)} lines (known {arm.lines_known})"
        missed = f"{plural(arm.missed, 'missed requirement')} in {plural(arm.with_missed, 'note')}"
        noted = f"{plural(arm.notes, 'note')} on {plural(arm.tasks, 'task')}"
        line = f"{arm.arm}: {noted}; {minutes}, {lines}; {missed}"
        stdout().print(line, markup=False, soft_wrap=True)
    stdout().print(report.boundary, soft_wrap=True)


def _line(note: ShadowNoted) -> str:
    from esac_ag.report.escaping import visible

    known = [
        "" if note.rework_minutes is None else f"rework {note.rework_minutes:g} min",
        "" if note.rework_lines is None else f"rework {note.rework_lines} lines",
        *(f"missed: {text}" for text in note.missed),
    ]
    told = "; ".join(text for text in known if text)
    return visible(f"{note.date} {note.task} ({note.arm}, by {note.by}): {told}")
