"""The live tally of a suite run: a line after every item, and what the items so far come to.

With arms beside the control no score is told while the run goes on: whoever watches stays blind.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.plural import plural
from esac_ag.report.suite_words import points
from esac_ag.suite.bank import bank
from esac_ag.suite.efficiency import ItemEfficiency
from esac_ag.suite.plan import SuitePlan
from esac_ag.suite.records import ItemGrading
from esac_ag.suite.replication import ItemResult, item_efficiency, item_outcome
from esac_ag.suite.scoring import item_points


class SuiteTally:
    """Takes gradings as they come, and is the `Watcher` of the run; called from several threads.

    Args:
        plan: the sealed plan.
        tell: prints a line.
        before: gradings of earlier sessions.
    """

    def __init__(
        self, plan: SuitePlan, tell: Callable[[str], None], before: Sequence[ItemGrading] = ()
    ) -> None:
        self._tell = tell
        self._blind = len(plan.arms) > 1
        self._runs = {item.id: item.runs for item in plan.items}
        self._items = {item.id: item for item in bank()}
        self._points = item_points(bank())
        self._mutex = threading.Lock()
        self._gradings: dict[tuple[str, str], dict[int, ItemGrading]] = {}
        self._earned: dict[tuple[str, str], float] = {}
        self._finished: set[Cell] = set()
        self._total = self._done = 0
        for grading in before:
            self._take(grading)
            self._finished.add(grading.cell)

    def graded(self, grading: ItemGrading) -> None:
        """Take the grading of one run in."""
        with self._mutex:
            self._take(grading)

    def planned(self, total: int, done: int) -> None:
        """The number of runs in all, and of those that are finished already."""
        with self._mutex:
            self._total, self._done = total, done
        self._tell(f"{plural(total, 'run')}, {done} done" + (f"; {self._so_far()}" if done else ""))

    def launched(self, cell: Cell) -> None:
        """Nothing: a line tells when the run is done."""

    def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:  # noqa: ARG002
        """A run is graded; tells its item when that was the last of its runs."""
        with self._mutex:
            self._done += 1
            self._finished.add(cell)
            line = f"[{self._done}/{self._total}] {self._words(cell, outcome)}"
        self._tell(line)

    def spoiled(self, cell: Cell, reason: str, *, retry_in_s: float | None) -> None:
        """The infrastructure spoiled a launch or a grading."""
        then = "no retry is left" if retry_in_s is None else f"again in {retry_in_s:.1f} s"
        self._tell(f"infrastructure: {cell.task}: {reason}; {then}")

    def halted(self, cell: Cell) -> None:
        """Nothing: no rule stops an arm of a suite run."""

    def _take(self, grading: ItemGrading) -> None:
        key = grading.cell.task, grading.cell.arm
        runs = self._gradings.setdefault(key, {})
        runs[grading.cell.repetition] = grading
        if len(runs) == self._runs[key[0]]:
            self._earned[key] = self._points[key[0]] * self._outcome(key)

    def _result(self, key: tuple[str, str]) -> ItemResult:
        runs = self._gradings[key]
        return ItemResult(item_id=key[0], runs=tuple(runs[number].result for number in sorted(runs)))

    def _outcome(self, key: tuple[str, str]) -> float:
        return item_outcome(self._items[key[0]], self._result(key)).fraction

    def _words(self, cell: Cell, outcome: Outcome) -> str:
        key = cell.task, cell.arm
        if self._blind:
            return f"{cell.task}: {outcome}"
        if sum((one.task, one.arm) == key for one in self._finished) < self._runs[cell.task]:
            return f"{cell.task}: {outcome}, run {cell.repetition} of {self._runs[cell.task]}"
        worth = self._points[cell.task]
        return (
            f"{cell.task}: {points(self._earned[key])} of {points(worth)} points{self._levels(key)}; "
            f"{self._so_far()}"
        )

    def _levels(self, key: tuple[str, str]) -> str:
        result, item = self._result(key), self._items[key[0]]
        found: ItemEfficiency | None = item_efficiency(item, result, self._outcome(key))
        if found is None or not found.completed:
            return ""
        (levels,) = found.runs[:1]
        tokens = "unknown" if levels.token_level is None else f"{levels.token_level}/6"
        return f", actions {levels.action_level}/6, tokens {tokens}"

    def _so_far(self) -> str:
        if self._blind:
            return "scores are told when the run is finished"
        earned = math.fsum(self._earned.values())
        worth = math.fsum(self._points[name] for name, _ in self._earned)
        return f"so far {points(earned)} of {points(worth)}"
