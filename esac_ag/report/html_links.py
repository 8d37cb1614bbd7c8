"""Where the figures of the page lead: to rows of its own tables, and to files of evidence beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import quote

from esac_ag.report.evidence import EVIDENCE
from esac_ag.report.view import AttemptRow, ReportView

MOST_ATTEMPTS: Final = 5_000
"""Attempts that the page lists; a larger study leaves that to `report.csv` and `report.parquet`."""


@dataclass(frozen=True)
class Links:
    """Addresses within one report. Ids are separated by colons, which no id holds."""

    view: ReportView
    measure: str = "checks"
    """Of which scores the rows are meant: `checks` or `quality`."""

    def of(self, measure: str) -> Links:
        """The same to the rows of other scores."""
        return Links(self.view, measure)

    @cached_property
    def lists_attempts(self) -> bool:
        """Whether the page has a row for each attempt."""
        return len(self.view.attempts) <= MOST_ATTEMPTS

    @cached_property
    def rows(self) -> dict[str, AttemptRow]:
        """Attempts by id."""
        return {row.attempt_id: row for row in self.view.attempts}

    @cached_property
    def _attempts_folder(self) -> str:
        return "../attempts" if self.view.revision is None else "../../attempts"

    def attempt(self, attempt_id: str) -> str:
        """The row of an attempt, or its record where the page has no such rows."""
        if self.lists_attempts:
            return f"#{attempt_place(attempt_id)}"
        row = self.rows[attempt_id]
        if "attempt.json" in row.files:
            return self.file(attempt_id, "attempt.json")
        return self.runs(row.task, row.arm)

    def runs(self, task: str, arm: str) -> str:
        """The row that lists the runs of a task under an arm."""
        return f"#{self.runs_place(task, arm)}"

    def arm(self, arm: str) -> str:
        """The rows that list all runs of an arm."""
        return f"#{self.arm_place(arm)}"

    def pair(self, task: str, arm: str) -> str:
        """The row of a paired difference."""
        return f"#{self.pair_place(task, arm)}"

    def runs_place(self, task: str, arm: str) -> str:
        """Id of the row of a task under an arm."""
        return f"runs:{self.measure}:{arm}:{task}"

    def arm_place(self, arm: str) -> str:
        """Id of the rows of an arm."""
        return f"arm:{self.measure}:{arm}"

    def pair_place(self, task: str, arm: str) -> str:
        """Id of the row of a paired difference."""
        return f"pair:{self.measure}:{arm}:{task}"

    def file(self, attempt_id: str, name: str) -> str:
        """A file of an attempt, relative to the report."""
        return f"{self._attempts_folder}/{quote(attempt_id)}/{quote(name)}"

    def evidence(self, row: AttemptRow) -> list[tuple[str, str]]:
        """Words and address of each file that the ledger names."""
        return [
            (words, self.file(row.attempt_id, name)) for name, words in EVIDENCE.items() if name in row.files
        ]


def attempt_place(attempt_id: str) -> str:
    """Id of an attempt's row."""
    return f"attempt-{attempt_id}"
