"""What a decision is made from: numbers of one arm against its control, whatever they were measured by."""

from __future__ import annotations

from enum import StrEnum

from esac_ag.attempt import Count
from esac_ag.manifest.package import CriticalFailure
from esac_ag.manifest.plan import MINIMUM_TASKS, Phase
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.statistics.estimates import MaybeEstimate, MaybeInterval


class Measure(StrEnum):
    """What the scores are."""

    QUALITY = "quality-scores"
    """Of a blinded review that was unblinded; the protocol decides on these."""
    CHECKS = "check-scores"
    """Shares of hidden checks: every decision on these is preliminary."""
    REHEARSAL = "rehearsal-scores"
    """Of a review in which a script filled in forms: no evidence, and every decision is preliminary."""


class BurdenKind(StrEnum):
    """A cost that can be a burden."""

    COST = "cost"
    LATENCY = "latency_s"
    CHANGED_LINES = "changed_lines"


class TaskEvidence(Record):
    """One task, arm minus control; scores are 0 to 100, differences -100 to 100."""

    task: str
    family: str
    contrast: str
    """`restraint` or `expansion`; other words take part in no rule on scope."""
    difference: MaybeEstimate
    scope_difference: MaybeEstimate
    """In the scope dimension."""


class CriticalEvidence(Record):
    """Runs of one task that show one kind of critical failure."""

    task: str
    kind: CriticalFailure
    arm_attempts: tuple[str, ...]
    """Attempts of the arm that show it, each a fresh launch of its own."""
    control_attempts: tuple[str, ...]
    control_graded: Count
    """Runs of the control on the task that were graded: without one, nothing is known to be new."""


class FamilyEvidence(Record):
    """One task family."""

    family: str
    mean: MaybeEstimate
    """Mean difference over its paired tasks."""
    noise: MaybeEstimate
    """Standard error that run-to-run noise alone gives this mean; the tasks themselves are taken as fixed."""


class BurdenEvidence(Record):
    """One cost, arm to control."""

    kind: BurdenKind
    arm: MaybeEstimate
    """Mean over the tasks where both are known."""
    control: MaybeEstimate
    ratio: MaybeEstimate


class SupportEvidence(Record):
    """What stands beside the rule on restructuring and decides nothing."""

    what: str
    ratio: MaybeEstimate
    """Arm to control, over the restraint tasks."""


class Evidence(Record):
    """Everything that the rules are applied to."""

    arm: str
    control: str
    measure: Measure
    threshold_points: float
    """The study's threshold of practical improvement."""
    mean: MaybeEstimate
    """Mean paired difference over all tasks."""
    interval: MaybeInterval
    behaviour: MaybeEstimate
    """Mean paired difference in the behaviour dimension."""
    tasks: tuple[TaskEvidence, ...]
    families: tuple[FamilyEvidence, ...]
    critical: tuple[CriticalEvidence, ...]
    burdens: tuple[BurdenEvidence, ...]
    support: tuple[SupportEvidence, ...] = ()
    planned_runs: Count
    """Of the arm; the control has as many."""
    arm_missing: Count
    """Planned runs without a score, those not launched by rule included."""
    control_missing: Count
    waiting_runs: Count
    """Runs of both that the study has still to make or to grade."""
    unreviewed_runs: Count = 0
    """Runs of both that have a submission and no quality score though a review is the measure."""
    inadmissible: tuple[str, ...] = ()
    """Why nothing can be decided at all, a clause each."""
    doubts: tuple[str, ...] = ()
    """Why no benefit can be found, a clause each."""
    provisional: bool = False
    """Whether a model or a script filled in a form of the review."""


def doubts_of_size(tasks: int) -> tuple[str, ...]:
    """Why a study of so many tasks can find no benefit; nothing where there are enough."""
    needed = MINIMUM_TASKS[Phase.PRIMARY]
    if tasks >= needed:
        return ()
    return (f"{plural(tasks, 'task')}, fewer than the {needed} of a scored pilot",)
