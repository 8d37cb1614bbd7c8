"""The doctor's findings."""

from __future__ import annotations

from enum import StrEnum

from esac_ag.record import Record


class Status(StrEnum):
    """How good a finding is."""

    OK = "ok"
    WARNING = "warning"
    """Work is possible; something is slower, unknown or less than it could be."""
    FAILURE = "failure"
    """A study must not run, or cannot."""


class Check(Record):
    """One line of the doctor."""

    name: str
    status: Status
    found: str
    """What is there, in words."""
    remedy: str = ""
    """What to do about it; never empty unless the status is ok."""


class DoctorReport(Record):
    """All checks, in the order in which they were made."""

    checks: tuple[Check, ...]
    engine_reachable: bool

    def exit_code(self) -> int:
        """0 without failures, 1 with some, 2 when no engine answers."""
        if not self.engine_reachable:
            return 2
        return int(any(check.status is Status.FAILURE for check in self.checks))


def ok(name: str, found: str) -> Check:
    """A check that holds."""
    return Check(name=name, status=Status.OK, found=found)


def warning(name: str, found: str, remedy: str) -> Check:
    """A check that deserves a look."""
    return Check(name=name, status=Status.WARNING, found=found, remedy=remedy)


def failure(name: str, found: str, remedy: str) -> Check:
    """A check that does not hold."""
    return Check(name=name, status=Status.FAILURE, found=found, remedy=remedy)
