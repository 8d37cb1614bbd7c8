"""What an audit reads of a folder, whatever was measured in it, and what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Protocol

from pydantic import AfterValidator

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import AttemptRecord
from esac_ag.attempt.events import AttemptState, StudyState
from esac_ag.manifest.plan import Plan
from esac_ag.record import Record

Row = tuple[str, str, object, object]
"""Where, what, expected, found."""


class GradingRecord(Protocol):
    """What every grading tells, whatever was graded."""

    @property
    def attempt_id(self) -> str:
        """Whose it is."""

    @property
    def manifest_sha256(self) -> str | None:
        """The plan that it was made by."""

    @property
    def submission_tree_sha256(self) -> str:
        """What was judged."""


class Records(Protocol):
    """What the folder of any plan tells."""

    @property
    def folder(self) -> StudyFolder:
        """Where it lies."""

    @property
    def manifest(self) -> Plan:
        """The sealed plan."""

    @property
    def manifest_sha256(self) -> str:
        """Its digest."""

    @property
    def state(self) -> StudyState:
        """What the ledger says."""

    @property
    def attempts(self) -> Mapping[str, AttemptRecord]:
        """Ended launches by id."""

    @property
    def gradings(self) -> Mapping[str, GradingRecord]:
        """By attempt."""

    def grading_rows(self, attempt: AttemptState, where: str) -> Iterable[Row]:
        """What an attempt's grading has to agree on with the plan and the ledger, beyond every grading."""


def _told(text: str) -> str:
    """Text as it can be written: a file's name may be no text, and its bytes are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


_Told = Annotated[str, AfterValidator(_told)]


class AuditFinding(Record):
    """One thing that does not hold, or that is worth a note."""

    where: _Told
    what: _Told
    expected: _Told = ""
    found: _Told = ""


def differing(rows: Iterable[Row]) -> Iterator[AuditFinding]:
    """Findings of the rows (where, what, expected, found) whose values differ."""
    for where, what, expected, found in rows:
        if expected != found:
            yield AuditFinding(where=where, what=what, expected=str(expected), found=str(found))
