"""The results of a blinded review as records: quality scores by arm, and how far reviewers agree."""

from __future__ import annotations

from esac_ag.record import Record
from esac_ag.report.scores_view import (
    ArmComparison,
    ArmScores,
    CriticalCount,
    CriticalRun,
    DimensionComparison,
    TaskArm,
)
from esac_ag.report.sensitivity_view import StudySensitivity
from esac_ag.study.agreement import Agreement, GuessedArms
from esac_ag.study.scores import Participant


class ReviewResults(Record):
    """Quality scores after unblinding; check scores never stand in for one that is missing."""

    provisional: bool
    """Whether a model or a script filled in any form; every use of these scores has to say so."""
    is_rehearsal: bool = False
    """Whether a script did: no evidence at all."""
    provisional_reason: str
    submissions: int
    """Attempts with a quality score."""
    adjudicated: int | None
    """Of these, those that a third person decided; null where the forms are not at hand."""
    scores: tuple[ArmScores, ...]
    comparisons: tuple[ArmComparison, ...]
    task_arms: tuple[TaskArm, ...]
    """A run that is graded and has no quality score has the state `graded` and no score."""
    dimensions: tuple[DimensionComparison, ...]
    critical_counts: tuple[CriticalCount, ...] = ()
    """Of the failures that the review settled on: those that all reviewers named, or that the adjudicator
    named. Empty in reports of before they were told."""
    critical_runs: tuple[CriticalRun, ...] = ()
    sensitivity: StudySensitivity | None = None
    """Of the comparisons above; null in reports of before there was one."""
    participants: tuple[Participant, ...] = ()
    """Under `reviewer-1` and so on, and `adjudicator`: a report may be published, and names are for
    `review/scores.json`."""
    agreement: tuple[Agreement, ...] = ()
    """Of the reviewers, before adjudication: each dimension, then the total."""
    blinding: tuple[GuessedArms, ...] = ()
    not_asked: tuple[str, ...] = ()
    """Reviewers who never said which arms they took the packets to be of."""
