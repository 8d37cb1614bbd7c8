"""Live progress on stderr: a bar in a terminal, plain lines elsewhere. Arms stay hidden."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from esac_ag import clock
from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.plural import plural


class LiveProgress:
    """A `Watcher` that shows cells done of planned, what runs (arms hidden), failures and time left."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._mutex = threading.Lock()
        self._running: list[str] = []
        self._failures = 0
        self._total = 0
        self._done = 0
        self._done_before = 0
        self._started_s = clock.monotonic_s()
        self._bar = Progress(
            TextColumn("[bold]runs[/bold]"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[notes]}"),
            console=console,
            transient=False,
        )
        self._task = self._bar.add_task("runs", total=None, left="", notes="")

    @contextmanager
    def shown(self) -> Iterator[LiveProgress]:
        """Show progress inside the block."""
        if self._quiet or not self._console.is_terminal:
            yield self
            return
        with self._bar:
            yield self

    def planned(self, total: int, done: int) -> None:
        """Take in the size of the study."""
        with self._mutex:
            self._total, self._done, self._done_before = total, done, done
            self._started_s = clock.monotonic_s()
            self._show()
        self._line(f"{done} of {plural(total, 'cell')} done; {total - done} to go")

    def launched(self, cell: Cell) -> None:
        """A cell is being worked on."""
        with self._mutex:
            self._running.append(cell.task)
            self._show()

    def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
        """A cell is done."""
        with self._mutex:
            self._stop_showing(cell)
            self._done += 1
            self._failures += grading is GradingStatus.INVALID
            self._show()
            line = (
                f"{self._done}/{self._total} {cell.task} repetition {cell.repetition}: {outcome}, {grading}"
            )
            left = self._left()
        self._line(f"{line}{', ' + left if left else ''}")

    def spoiled(self, cell: Cell, reason: str, *, retry_in_s: float | None) -> None:
        """The infrastructure failed."""
        with self._mutex:
            self._failures += 1
            self._show()
        then = "no retry is left" if retry_in_s is None else f"again in {retry_in_s:.1f} s"
        self._line(f"infrastructure: {cell.task} repetition {cell.repetition}: {reason}; {then}")

    def halted(self, cell: Cell) -> None:
        """A cell falls away; which arm was stopped stays hidden."""
        with self._mutex:
            self._stop_showing(cell)
            self._total -= 1
            self._show()
        self._line(f"{cell.task} repetition {cell.repetition}: not launched, its arm was stopped by rule")

    def _stop_showing(self, cell: Cell) -> None:
        if cell.task in self._running:
            self._running.remove(cell.task)

    def _left(self) -> str:
        done_now = self._done - self._done_before
        if not done_now or self._done >= self._total:
            return ""
        left_s = (clock.monotonic_s() - self._started_s) / done_now * (self._total - self._done)
        return f"about {_duration(left_s)} left"

    def _show(self) -> None:
        notes = ", ".join(sorted(self._running)[:4])
        if self._failures:
            notes += f"  [red]{self._failures} failures[/red]"
        self._bar.update(
            self._task, total=self._total or None, completed=self._done, left=self._left(), notes=notes
        )

    def _line(self, text: str) -> None:
        if not self._quiet and not self._console.is_terminal:
            self._console.print(escape(text), soft_wrap=True)


def _duration(duration_s: float) -> str:
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
