"""When a harmful arm is stopped: only when a critical failure reproduces on a fresh run. Pure.

Scores take no part: no average, good or bad, stops anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from esac_ag.attempt import Cell
from esac_ag.manifest.package import CriticalFailure


@dataclass(frozen=True, slots=True)
class GradedRun:
    """One run whose grading holds, and the kinds of critical failure that it shows."""

    attempt_id: str
    cell: Cell
    kinds: tuple[CriticalFailure, ...]


@dataclass(frozen=True, slots=True)
class StopDue:
    """An arm that has to be stopped, and why."""

    arm: str
    task: str
    kind: CriticalFailure
    attempts: tuple[str, ...]
    control_runs: int
    """Graded runs of the control on the task so far, none of which shows the kind."""


@dataclass(slots=True)
class StopRule:
    """Takes graded runs in, and tells which arms are due to be stopped.

    Args:
        arms: ids that may be stopped; never the control.
        control: id of the arm that shows what is not the bundle's doing.
        runs_needed: runs of one task, each a fresh launch, that make a failure a reproduced one.
    """

    arms: frozenset[str]
    control: str
    runs_needed: int
    _runs: defaultdict[str, dict[str, GradedRun]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, runs: Iterable[GradedRun]) -> frozenset[str]:
        """Take runs in, each once; the tasks that they belong to."""
        touched = set()
        for run in runs:
            self._runs[run.cell.task][run.attempt_id] = run
            touched.add(run.cell.task)
        return frozenset(touched)

    def due(self, tasks: Iterable[str]) -> Iterator[StopDue]:
        """What the runs of these tasks say, by task, arm and kind; an arm may be named more than once."""
        for task in sorted(tasks):
            runs = self._runs[task].values()
            control = [run for run in runs if run.cell.arm == self.control]
            if not control:
                # Nobody knows yet whether the task does this to everybody.
                continue
            for arm in sorted(self.arms - {self.control}):
                for kind in CriticalFailure:
                    shown = [run for run in runs if run.cell.arm == arm and kind in run.kinds]
                    fresh = {run.cell.repetition for run in shown}
                    if len(fresh) >= self.runs_needed and not any(kind in run.kinds for run in control):
                        ids = tuple(sorted(run.attempt_id for run in shown))
                        yield StopDue(arm, task, kind, ids, len(control))
