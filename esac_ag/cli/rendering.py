"""Tables for people; everything that was written by somebody else is escaped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from esac_ag.cli.forecast_rendering import cost_line, runs_line, time_line
from esac_ag.manifest.findings import shown_text
from esac_ag.manifest.package import SHARED_TRUST, Trust
from esac_ag.plural import plural
from esac_ag.rooms.harbor_report import Fate
from esac_ag.schedule import CostBasis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from esac_ag.attempt import Cell
    from esac_ag.conduct.audit import AuditReport
    from esac_ag.conduct.audit_records import AuditFinding
    from esac_ag.conduct.forecasting import Forecast
    from esac_ag.conduct.harbor import HarborImports
    from esac_ag.conduct.regrade import GradingSummary
    from esac_ag.conduct.scaffold import NewTask
    from esac_ag.conduct.tasks import Proofs, TaskList
    from esac_ag.grading.proof_record import ProofRecord
    from esac_ag.manifest.probe import ProbeRecord

SHOWN_CELLS = 12


def _safe(text: str) -> str:
    return escape(shown_text(text))


def print_if_scripted(kind: str, console: Console) -> None:
    """Say so wherever results of a scripted agent are shown."""
    if kind == "scripted":
        console.print("[yellow]scripted agent: no evidence about any model[/yellow]")


def print_probe(record: ProbeRecord, console: Console) -> None:
    """What the probe tried and reached."""
    table = Table("route", "tried", "reached", "what")
    for route in record.routes:
        reached = "[red]reached[/red]" if route.reached else "[green]nothing[/green]"
        table.add_row(_safe(route.name), str(route.tried), reached, _safe(route.detail))
    console.print(table)
    console.print("isolation holds" if record.passed else "[red]isolation does not hold[/red]")


def print_plan(planned: Forecast, cells: tuple[Cell, ...], console: Console) -> None:
    """Counts, estimates, and the first cells of the schedule; arms are left out on purpose."""
    limited = planned.bound.cost_basis is CostBasis.COST_LIMIT
    for line in (runs_line(planned.bound), time_line(planned), cost_line(planned, limited=limited)):
        console.print(_safe(line), soft_wrap=True)
    console.print(f"order: {plural(planned.bound.blocks, 'randomised block')}")
    table = Table("first", "task", "repetition")
    for number, cell in enumerate(cells[:SHOWN_CELLS], start=1):
        table.add_row(str(number), _safe(cell.task), str(cell.repetition))
    console.print(table)
    if len(cells) > SHOWN_CELLS:
        console.print(f"and {len(cells) - SHOWN_CELLS} more in the sealed order; arms are hidden here")


def print_grading_summary(summary: GradingSummary, console: Console) -> None:
    """What was graded, and where gradings differ."""
    print_if_scripted(summary.agent_kind, console)
    same = summary.compared - len(summary.disagreements)
    console.print(f"{summary.graded} graded now, {summary.compared} graded again: {same} came out the same")
    for item in summary.disagreements:
        console.print(
            f"[red]differs[/red] {item.attempt_id} ({_safe(item.task)})\n"
            f"  recorded: {_safe(item.recorded)}\n  now:      {_safe(item.now)}"
        )


def print_audit(report: AuditReport, console: Console) -> None:
    """What was checked, and what does not hold."""
    counts = ", ".join(
        (
            plural(report.ledger_lines, "ledger line"),
            plural(report.attempts, "attempt"),
            plural(report.files_checked, "file"),
        )
    )
    stopped = f", {report.cells_stopped} of stopped arms" if report.cells_stopped else ""
    cells = f"{report.cells_done} of {plural(report.cells_planned, 'cell')} done{stopped}"
    console.print(f"{_safe(report.study)}: {counts}; {cells}")
    for finding in report.findings:
        console.print(f"[red]{_safe(finding.where)}[/red]: {_safe(finding.what)}")
        for name, value in (("expected", finding.expected), ("found", finding.found)):
            if value:
                console.print(f"  {name + ':':<10}{_safe(value)}", soft_wrap=True)
    for line in _notes(report.notes):
        console.print(f"note: {_safe(line)}", soft_wrap=True)
    console.print(
        "everything holds" if report.clean else f"[red]{plural(len(report.findings), 'finding')}[/red]"
    )


def _notes(notes: Sequence[AuditFinding]) -> Iterator[str]:
    """Notes of one kind on files of one attempt are one line: its folder, and how many they are."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        folder, _, name = note.where.partition("/")
        attempt, _, inside = name.partition("/")
        place = f"{folder}/{attempt}" if inside else note.where
        grouped.setdefault((place, note.what), []).append(note.where)
    for (place, what), where in grouped.items():
        yield f"{where[0]}: {what}" if len(where) == 1 else f"{place}: {plural(len(where), 'file')} {what}"


def print_tasks(tasks: TaskList, console: Console) -> None:
    """The workspace's tasks."""
    for task in tasks.tasks:
        if task.fault:
            console.print(f"[bold]{_safe(task.id)}[/bold]: [red]{_safe(task.fault)}[/red]", soft_wrap=True)
            continue
        sealed = "sealed" if task.sealed else "[yellow]not sealed[/yellow]"
        console.print(f"[bold]{_safe(task.id)}[/bold]: {_safe(task.title)}", soft_wrap=True)
        held = ((task.checks, "check"), (task.references, "reference"), (task.decoys, "decoy"))
        counts = ", ".join(plural(count, noun) for count, noun in held if count is not None)
        console.print(f"  {_safe(task.family)}, {_safe(task.contrast)}; {counts}; {sealed}", soft_wrap=True)
        if task.trust is not None:
            _print_trust(task.trust, console)


def _print_trust(trust: Trust, console: Console) -> None:
    if trust is Trust.SHARED_PROCESS:
        console.print(f"  [yellow]trust: {trust.value}[/yellow]: {SHARED_TRUST}", soft_wrap=True)


def print_proofs(proofs: Proofs, console: Console) -> None:
    """Which proofs hold, and what is wrong where they do not."""
    _print_proofs(proofs.proofs, console)


def _print_proofs(proofs: tuple[ProofRecord, ...], console: Console) -> None:
    for proof in proofs:
        verdict = "[green]proved[/green]" if proof.holds else "[red]does not hold[/red]"
        kinds = Counter(variant.kind for variant in proof.variants)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        counts += f"; {plural(proof.repeats, 'time')} each"
        console.print(f"{_safe(proof.task_id)}: {verdict} ({counts})")
        _print_trust(proof.trust, console)
        for fault in proof.faults:
            console.print(f"  {_safe(fault)}", soft_wrap=True)


def print_new_task(begun: NewTask, console: Console) -> None:
    """What lies where, and what comes next."""
    for line in begun.next_steps:
        console.print(_safe(line), soft_wrap=True)


def print_imports(done: HarborImports, console: Console) -> None:
    """What became of each thing of each task, and whether the proofs hold."""
    colours = {Fate.NOT_KEPT: "red", Fate.CHANGED: "yellow", Fate.KEPT: "green"}
    for record in done.imports:
        console.print(
            f"[bold]{_safe(record.id)}[/bold]: {_safe(record.name)}; {_safe(record.oracle)}", soft_wrap=True
        )
        for fate, colour in colours.items():
            for item in record.of(fate):
                told = f"[{colour}]{fate.value}[/{colour}] {_safe(item.what)}: {_safe(item.why)}"
                console.print(f"  {told}", soft_wrap=True)
    _print_proofs(done.proofs, console)
