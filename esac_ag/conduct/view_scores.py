"""Scores of attempts for tables of many: each grading is read once, and little of it is kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Grading
from esac_ag.attempt.events import AttemptState
from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.collect import RESULT
from esac_ag.conduct.view_plan import PlanKind
from esac_ag.errors import HarnessError
from esac_ag.rooms.beneath import read_beneath
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead
from esac_ag.suite.bank import item_named
from esac_ag.suite.records import ItemGrading
from esac_ag.suite.replication import run_fraction

CHANGED: Final = "its grading is not the one that the ledger names"


class Scored(NamedTuple):
    """What a table shows of a grading."""

    score: float | None
    """0 to 100; null without a grading that can be read."""
    critical: tuple[str, ...] = ()
    """Kinds of critical failure."""
    problem: str = ""
    """Why nothing can be told."""


NOT_GRADED: Final = Scored(None)


class ScoreBook:
    """The scores of one study, read when they are asked for, and all of them in a thread of its own.

    Args:
        folder: of the study.
        kind: whose gradings these are.
    """

    def __init__(self, folder: StudyFolder, kind: PlanKind) -> None:
        self._folder = folder
        self._kind = kind
        self._known: dict[str, tuple[str, Scored]] = {}
        """By attempt id: the digest of what was read, and what it said."""
        self._mutex = threading.Lock()
        self._reader: threading.Thread | None = None

    def of(self, attempt: AttemptState) -> Scored:
        """The score of an attempt, read now if it was not."""
        digest = attempt.artifacts.get(RESULT)
        if digest is None:
            return NOT_GRADED
        known = self._known.get(attempt.attempt_id)
        if known is None or known[0] != digest:
            known = (digest, self._read(attempt.attempt_id, digest))
            self._known[attempt.attempt_id] = known
        return known[1]

    def known(self, attempt: AttemptState) -> Scored | None:
        """The score of an attempt as far as it was read; none where it was not."""
        digest = attempt.artifacts.get(RESULT)
        if digest is None:
            return NOT_GRADED
        known = self._known.get(attempt.attempt_id)
        return known[1] if known is not None and known[0] == digest else None

    def read_all(self, attempts: Sequence[AttemptState], *, within_s: float) -> int:
        """Read the scores of all these, on in the background when the time is over; how many are left."""
        if any(self.known(attempt) is None for attempt in attempts):
            self._reader_of(attempts).join(within_s)
        return sum(self.known(attempt) is None for attempt in attempts)

    def _reader_of(self, attempts: Sequence[AttemptState]) -> threading.Thread:
        """The thread that reads, or a new one: one at a time is enough."""
        with self._mutex:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(
                    target=self._read_on, args=(attempts,), name="scores", daemon=True
                )
                self._reader.start()
            return self._reader

    def _read_on(self, attempts: Sequence[AttemptState]) -> None:
        for attempt in attempts:
            self.of(attempt)

    def _read(self, attempt_id: str, digest: str) -> Scored:
        try:
            data = read_beneath(
                self._folder.path, f"attempts/{attempt_id}/{RESULT}", cap_bytes=MANIFEST_CAP_BYTES
            )
            if sha256_of_bytes(data) != digest:
                return Scored(None, problem=CHANGED)
            return _scored(data, self._kind)
        except (CannotRead, ValueError, HarnessError) as error:
            return Scored(None, problem=f"its grading cannot be read: {str(error).splitlines()[0]}")


def _scored(data: bytes, kind: PlanKind) -> Scored:
    if kind is PlanKind.STUDY:
        grading = Grading.model_validate_json(data)
        return Scored(grading.score, tuple(one.value for one in grading.critical_failures))
    graded = ItemGrading.model_validate_json(data)
    return Scored(100.0 * run_fraction(item_named(graded.cell.task), graded.result))
