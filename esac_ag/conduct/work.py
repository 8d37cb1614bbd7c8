"""What running a sealed plan needs, whatever the plan measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from esac_ag.attempt import AttemptRecord, Cell, GradingStatus
from esac_ag.conduct.context import Site
from esac_ag.manifest.package import CriticalFailure


@dataclass(frozen=True, slots=True)
class Launched:
    """A finished launch: its record, and the digests of its files."""

    record: AttemptRecord
    artifacts: dict[str, str]
    is_lasting: bool = False
    """Of a spoiled launch: whether another one would end the same until a person changes something."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the ledger holds of a grading before it is done: parts that count and are never made again."""

    digests: Mapping[str, str]
    """Of the attempt's files that the ledger names, by name."""
    keep: Callable[[str, str], None]
    """Tells the ledger of one more part: its file and its digest."""


class CellWork(Protocol):
    """The work on one cell: launches until one counts, then gradings until one holds."""

    def launch(self, attempt_id: str, ordinal: int) -> Launched:
        """Run one attempt to its end; every end but a refused substitution is a record.

        Raises:
            InputRefused: what is at hand is not what was sealed.
        """

    def grade(self, attempt_id: str, kept: Kept) -> tuple[GradingStatus, dict[str, str]]:
        """Grade an attempt; its status and the digests of the grading's files.

        Args:
            attempt_id: of an attempt that counts.
            kept: what an earlier grading that was cut off left, and where this one leaves more.

        Raises:
            InputRefused: the attempt's files are damaged, or the grader is not the sealed one.
            InfrastructureFailure: try again.
        """


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """What stopping a harmful arm needs to know."""

    arms: frozenset[str]
    """Those that may be stopped; never the control."""
    control: str
    runs_needed: int
    kinds_of: Callable[[str, str], tuple[CriticalFailure, ...]]
    """Critical failures of an attempt, by its id and the digest of its grading in the ledger."""


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """A plan whose seals hold, ready to run."""

    site: Site
    cells: tuple[Cell, ...]
    schedule_sha256: str
    tasks_sha256: str
    """Of the file that tells what the cells' tasks are."""
    go_on: str
    """How the work goes on after it stopped; a remedy."""
    prepare: Callable[[Cell], CellWork]
    """The work on a cell. Raises InputRefused when what it needs is not the sealed one."""
    early_stop: EarlyStop | None = None
    """None: no arm is ever stopped."""
