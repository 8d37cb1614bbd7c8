"""The five scales of the protocol: weights, questions, anchors, and the quality score that follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from esac_ag.manifest.package import Dimension
from esac_ag.record import Record

TOP_SCORE: Final = 4
FULL_TOTAL: Final = 100.0


class Scale(Record):
    """One dimension, as reviewers see it."""

    dimension: Dimension
    weight_percent: int
    title: str
    question: str
    """What the evidence has to show for a high score."""


SCALES: Final[tuple[Scale, ...]] = (
    Scale(
        dimension=Dimension.BEHAVIOUR,
        weight_percent=35,
        title="Complete, correct behaviour",
        question="Do the required outcomes, the existing contracts and the hidden boundaries work?",
    ),
    Scale(
        dimension=Dimension.SCOPE,
        weight_percent=25,
        title="Scope and architectural fit",
        question="Does the change reach the cause and the affected paths, without unrelated expansion?",
    ),
    Scale(
        dimension=Dimension.ROBUSTNESS,
        weight_percent=20,
        title="Robustness and compatibility",
        question="Do the constraints that matter here hold: failure, recovery, concurrency, accessibility, "
        "deployment?",
    ),
    Scale(
        dimension=Dimension.MAINTAINABILITY,
        weight_percent=10,
        title="Maintainability",
        question="Do ownership, readability, changeability, dependencies and the structure of a migration "
        "fit the need?",
    ),
    Scale(
        dimension=Dimension.VERIFICATION,
        weight_percent=10,
        title="Verification and honesty",
        question="Do the checks exercise what was changed, and do the claims match what they cover?",
    ),
)
"""In the protocol's order; the weights are percent of the quality score and add up to 100."""

ANCHORS: Final[tuple[str, ...]] = (
    "failed or harmful",
    "substantial missing work",
    "partial success with a material weakness",
    "meets the task and the relevant constraints",
    "unusually clear, complete and well supported, without unnecessary complexity",
)
"""What 0, 1, 2, 3 and 4 mean, in every dimension."""


def total_of(scores: Mapping[Dimension, float]) -> float:
    """The quality score, 0 to 100, from a score of 0 to 4 in each dimension.

    Raises:
        KeyError: a dimension has no score: nothing is filled in for it.
    """
    return sum(scale.weight_percent * scores[scale.dimension] for scale in SCALES) / TOP_SCORE
