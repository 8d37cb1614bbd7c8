"""Records of a decision: its outcome, and every clause with its numbers."""

from __future__ import annotations

from enum import StrEnum

from esac_ag.record import Record
from esac_ag.statistics.estimates import MaybeEstimate
from esac_ag.study.evidence import Measure


class DecisionOutcome(StrEnum):
    """What the protocol can decide."""

    REJECT = "reject-or-revise"
    BENEFIT = "provisional-benefit"
    INCONCLUSIVE = "inconclusive"
    NEUTRAL = "prefer-neutral"


class ClauseName(StrEnum):
    """The clauses of the rules."""

    REPRODUCED_CRITICAL = "reproduced-new-critical-failure"
    UNDER_SCOPING = "systematic-under-scoping"
    RESTRUCTURING = "systematic-needless-restructuring"
    FAMILY_REGRESSION = "regression-in-a-family"
    IMPROVEMENT = "improvement-across-families"
    NEW_CRITICAL = "observed-new-critical-failure"
    CORRECTNESS_LOSS = "material-correctness-loss"
    BURDEN = "burden-without-quality"


class ClauseState(StrEnum):
    """Whether a clause held."""

    HELD = "held"
    NOT_HELD = "not-held"
    NOT_ESTIMABLE = "not-estimable"
    """The data cannot tell; it is neither."""


class Figure(Record):
    """One number of a clause beside what it is measured against."""

    what: str
    value: MaybeEstimate
    test: str = ""
    """`at least`, `above`, `below`; empty when the number decides nothing."""
    threshold: float | None = None
    met: bool | None = None
    """Null when it is not known, or decides nothing."""


class Clause(Record):
    """One clause of the rules."""

    name: ClauseName
    state: ClauseState
    words: str
    """What was found, in a sentence."""
    figures: tuple[Figure, ...]
    attempts: tuple[str, ...] = ()
    """Attempts that show it."""


class Decision(Record):
    """What the rules say of one arm."""

    arm: str
    control: str
    outcome: DecisionOutcome
    measure: Measure
    preliminary: bool
    """True on check scores, and where a model or a script filled in forms of the review."""
    clauses: tuple[Clause, ...]
    reasons: tuple[str, ...]
    """Why it came out so, a clause each; at least one."""

    def clause(self, name: ClauseName) -> Clause:
        """The clause of that name."""
        return next(clause for clause in self.clauses if clause.name is name)
