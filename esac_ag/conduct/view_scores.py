"""Scores of attempts for tables of many: each grading is read once, and little of it is kept."""

from __future__ import annotations

import threading
from collections.abc import Iterable
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
        self._reading = threading.Lock()

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

    def unread(self, attempts: Iterable[AttemptState]) -> int:
        """How many of these are not read yet."""
        return sum(self.known(attempt) is None for attempt in attempts)

    def read_all(self, attempts: Iterable[AttemptState], *, within_s: float) -> int:
        """Read the scores of all these, and go on in the background when the time is over; how many are left."""
        waiting = [attempt for attempt in attempts if self.known(attempt) is None]
        if not waiting:
            return 0
        reader = threading.Thread(target=self._read_on, args=(waiting,), name="scores", daemon=True)
        reader.start()
        reader.join(within_s)
        return self.unread(waiting)

    def _read_on(self, waiting: list[AttemptState]) -> None:
        with self._reading:  # one at a time; the next one finds what this one read
            for attempt in waiting:
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
