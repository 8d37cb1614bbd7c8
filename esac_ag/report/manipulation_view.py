"""Records of the manipulation check: what has to hold, in how many runs it does, and what follows."""

from __future__ import annotations

from enum import StrEnum

from esac_ag.attempt import Count
from esac_ag.record import Record


class CheckState(StrEnum):
    """What the check, or a part of it, says."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKABLE = "not-checkable"
    """Something is not known; that is no pass."""


class ClauseKind(StrEnum):
    """What has to hold."""

    PRESENT = "present-at-start"
    LISTED = "listed"
    READ = "read-in-full"
    UNCHANGED = "unchanged-at-end"
    CONTROL_CLEAN = "control-clean"
    NO_FOREIGN = "no-foreign-traces"
    SAME_OFFER = "same-tools-and-skills"
    COMPLETE = "proofs-complete"


class ClauseTally(Record):
    """In how many counted runs of an arm a clause holds."""

    arm: str
    runs: Count
    held: Count
    failed: Count
    unknown: Count
    must_hold_in_all: bool
    """Else it is enough that it holds in one run."""


class Clause(Record):
    """One clause, over the arms that it concerns."""

    kind: ClauseKind
    state: CheckState
    arms: tuple[ClauseTally, ...]


class ManipulationCheck(Record):
    """Whether the arms were loaded, and nothing of them elsewhere."""

    state: CheckState
    reason: str
    """Why it is not passed, in words; empty when it is."""
    clauses: tuple[Clause, ...] = ()
    tools: tuple[str, ...] | None = None
    """Names of the tools that were offered in all runs; null when they differ or are not known."""
    bundled_skills: tuple[str, ...] | None = None
    """Skills of the agent itself that were listed in all runs; null when they differ or are not known."""
    findings: tuple[str, ...] = ()
    """Single runs that a clause failed for, in words; the first of them."""


CLAUSE_WORDS = {
    ClauseKind.PRESENT: "the arm's files lay in the container at the start",
    ClauseKind.LISTED: "the arm was listed in a request",
    ClauseKind.READ: "the arm's first file was read in full",
    ClauseKind.UNCHANGED: "the arm's files were unchanged at the end",
    ClauseKind.CONTROL_CLEAN: "the control's requests held nothing of any arm",
    ClauseKind.NO_FOREIGN: "no arm's requests held anything of another arm",
    ClauseKind.SAME_OFFER: "the agent's own tools and skills were the same",
    ClauseKind.COMPLETE: "every request was looked through",
}
