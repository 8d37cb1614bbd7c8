"""A review for people in a terminal; what reviewers and agents wrote is escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from esac_ag.cli.asking import line
from esac_ag.cli.place import stderr
from esac_ag.manifest.findings import shown_text
from esac_ag.plural import plural
from esac_ag.statistics.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from esac_ag.conduct.review_status import ReviewStatus
    from esac_ag.study.forms import FormFault
    from esac_ag.study.scores import ReviewScores


def _safe(text: str) -> str:
    return escape(shown_text(text))


def say_lacking(lacking: Mapping[str, tuple[FormFault, ...]], console: Console) -> None:
    """What each form still lacks."""
    for label, faults in lacking.items():
        for fault in faults:
            console.print(f"{_safe(label)}{_safe(fault.pointer)}: {_safe(fault.what)}", soft_wrap=True)


def print_status(status: ReviewStatus, console: Console) -> None:
    """Who is how far, and what comes next; whole at 80 columns, for names fold and nothing is cut."""
    table = Table(box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("who, and what filled in", overflow="fold")
    for name in ("role", "submitted", "begun", "locked", "guessed"):
        table.add_column(name, no_wrap=True)
    for one in status.people:
        progress = one.progress
        author = ", ".join(filter(None, (f"{one.author.kind} {one.author.label}".strip(), one.author.mark)))
        counts = (f"{progress.submitted} of {progress.packets}", str(progress.begun))
        marks = ("yes" if yes else "no" for yes in (progress.locked, one.guessed))
        table.add_row(f"{_safe(one.name)} ({_safe(author)})", one.role, *counts, *marks)
    console.print(table)
    for one in status.people:
        say_lacking(one.lacking, console)
    if status.disagreements is not None:
        console.print(f"material disagreement on {plural(status.disagreements, 'submission')}")
    console.print(f"next: {_safe(status.next)}", soft_wrap=True)


def print_scores(scores: ReviewScores, console: Console) -> None:
    """Agreement, and whether the review was blind; scores by arm are the report's."""
    if scores.provisional:
        console.print(f"[yellow]PROVISIONAL: {_safe(scores.provisional_reason)}[/yellow]", soft_wrap=True)
    adjudicated = sum(one.source == "adjudicator" for one in scores.scores)
    console.print(f"{plural(len(scores.scores), 'submission')} scored, {adjudicated} by the adjudicator")
    table = Table("agreement", "equal", "weighted kappa", "Krippendorff's alpha")
    for one in scores.agreement:
        # The total has no categories, so no kappa: that is no lack of data.
        kappa = "–" if one.what == "total" else _shown(one.kappa.estimate)  # noqa: RUF001
        shown = (kappa, _shown(one.alpha.estimate))
        table.add_row(one.what, f"{one.equal} of {one.submissions}", *shown)
    console.print(table)
    for guessed in scores.blinding:
        right = f"{guessed.right} of {guessed.guessed} guesses right, {guessed.chance:.0%} by chance"
        right = right if guessed.guessed else "no packet guessed"
        warning = "; NOT BLIND: more than chance" if guessed.above_chance else ""
        console.print(f"{_safe(guessed.reviewer)}: {right}{warning}", soft_wrap=True)
    if scores.not_asked:
        console.print(f"not asked which arms they saw: {_safe(', '.join(scores.not_asked))}", soft_wrap=True)


def _shown(value: object) -> str:
    return f"{value.value:.2f}" if isinstance(value, Estimate) else "not estimable"


def ask_guesses(study: Path, reviewer: str) -> dict[str, str | None]:
    """Ask for the arm of each packet; an empty line is no idea.

    Raises:
        UsageError: nobody has to guess, or not yet.
        typer.Abort: standard input has ended.
    """
    from esac_ag.conduct.review_desk import ReviewDesk
    from esac_ag.conduct.review_locking import arms_to_guess

    arms = arms_to_guess(study, reviewer)
    stderr().print(f"arms: {_safe(', '.join(arms))}; an empty line where you have no idea", soft_wrap=True)
    found: dict[str, str | None] = {}
    for packet in ReviewDesk.open(study, reviewer).book.packets:
        answer = line(f"{packet.label} ({packet.task.task_id}): ")
        while answer not in ("", *arms):
            answer = line(f"{packet.label}: one of {', '.join(arms)}, or nothing: ")
        found[packet.label] = answer or None
    return found
