"""The decision rules on simulated studies: real evidence from drawn runs, judged by the real `decide`. Pure.

Every run has a score, is graded and reviewed, and its costs are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.statistics.estimates import Estimate, MaybeEstimate, NotEstimable, estimate
from esac_ag.statistics.power import Decide
from esac_ag.statistics.resampling import Booleans, Floats
from esac_ag.statistics.simulation import SimulatedStudy
from esac_ag.study.clauses import EXPANSION, RESTRAINT
from esac_ag.study.decision import decide
from esac_ag.study.evidence import (
    BurdenEvidence,
    BurdenKind,
    CriticalEvidence,
    Evidence,
    FamilyEvidence,
    Measure,
    TaskEvidence,
    doubts_of_size,
)

USUAL_FAMILIES = 6
"""Of the protocol's pilot."""
DRAWN_KIND = CriticalFailure.MISSING_CENTRAL_REQUIREMENT
"""What a drawn critical failure is called; all are of one kind."""
ARM, CONTROL = "arm", "control"


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """Where a task stands in the design."""

    family: str
    contrast: str
    """`restraint`, `expansion`, or a word that takes part in no rule on scope."""


def equal_split(tasks: int) -> tuple[TaskPlace, ...]:
    """Tasks dealt out to six families, fewer where that leaves one task each; scopes take turns."""
    families = max(1, min(USUAL_FAMILIES, tasks // 2))
    return tuple(
        TaskPlace(f"family-{number % families + 1}", (RESTRAINT, EXPANSION)[number // families % 2])
        for number in range(tasks)
    )


def by_rules(rules: DecisionRules, places: Sequence[TaskPlace], threshold_points: float) -> Decide:
    """The decision rule that counts the outcomes of these rules.

    Args:
        rules: of the plan.
        places: one per task of the design.
        threshold_points: of practical improvement.
    """

    def outcome(study: SimulatedStudy) -> str:
        return decide(rules, evidence_of_simulated(study, places, threshold_points)).outcome

    return outcome


def evidence_of_simulated(
    study: SimulatedStudy, places: Sequence[TaskPlace], threshold_points: float
) -> Evidence:
    """What the rules are applied to, computed from a drawn study as from a real one.

    Raises:
        ValueError: the places are not as many as the study's tasks.
    """
    tasks, repetitions = study.arm.shape
    if len(places) != tasks:
        raise ValueError(f"{len(places)} places for {tasks} tasks")
    scopes = _difference(study, Dimension.SCOPE)
    return Evidence(
        arm=ARM,
        control=CONTROL,
        measure=Measure.QUALITY,
        threshold_points=threshold_points,
        mean=estimate(math.fsum(study.differences) / tasks),
        interval=study.interval,
        behaviour=estimate(float(_difference(study, Dimension.BEHAVIOUR).mean())),
        tasks=tuple(
            TaskEvidence(
                task=_name(number),
                family=place.family,
                contrast=place.contrast,
                difference=estimate(study.differences[number]),
                scope_difference=estimate(scopes[number]),
            )
            for number, place in enumerate(places)
        ),
        families=tuple(_families(study, places)),
        critical=tuple(_critical(study)),
        burdens=tuple(
            _burden(kind, mine, other)
            for kind, mine, other in zip(
                BurdenKind, study.arm_runs.costs, study.control_runs.costs, strict=True
            )
        ),
        planned_runs=tasks * repetitions,
        arm_missing=0,
        control_missing=0,
        waiting_runs=0,
        doubts=doubts_of_size(tasks),
    )


def _name(number: int) -> str:
    return f"task-{number + 1}"


def _difference(study: SimulatedStudy, dimension: Dimension) -> Floats:
    """One per task, arm minus control."""
    mine, other = (runs.dimensions[dimension] for runs in (study.arm_runs, study.control_runs))
    found: Floats = mine.mean(axis=1) - other.mean(axis=1)
    return found


def _families(study: SimulatedStudy, places: Sequence[TaskPlace]) -> Iterator[FamilyEvidence]:
    error = _error_of_a_difference(study)
    members: dict[str, list[float]] = {}
    for place, difference in zip(places, study.differences, strict=True):
        members.setdefault(place.family, []).append(difference)
    for family in sorted(members):
        count = len(members[family])
        yield FamilyEvidence(
            family=family,
            mean=estimate(math.fsum(members[family]) / count),
            noise=estimate(error.value / math.sqrt(count)) if isinstance(error, Estimate) else error,
        )


def _error_of_a_difference(study: SimulatedStudy) -> MaybeEstimate:
    """Standard error that runs alone give a task's difference: their variance pooled over tasks and arms."""
    repetitions = study.arm.shape[1]
    if repetitions == 1:
        return NotEstimable(reason="no task has two runs with a score under one arm")
    pooled = float(np.var(np.concatenate([study.arm, study.control]), axis=1, ddof=1).mean())
    return Estimate(value=math.sqrt(2 * pooled / repetitions))


def _critical(study: SimulatedStudy) -> Iterator[CriticalEvidence]:
    mine, other = study.arm_runs.critical, study.control_runs.critical
    for number in map(int, np.flatnonzero(mine.any(axis=1))):
        yield CriticalEvidence(
            task=_name(number),
            kind=DRAWN_KIND,
            arm_attempts=_attempts(ARM, number, mine[number]),
            control_attempts=_attempts(CONTROL, number, other[number]),
            control_graded=other.shape[1],
        )


def _attempts(arm: str, number: int, shown: Booleans) -> tuple[str, ...]:
    return tuple(f"{_name(number)}-{arm}-{run + 1}" for run in np.flatnonzero(shown))


def _burden(kind: BurdenKind, mine: Floats, other: Floats) -> BurdenEvidence:
    arm, control = float(mine.mean()), float(other.mean())
    return BurdenEvidence(
        kind=kind, arm=estimate(arm), control=estimate(control), ratio=estimate(arm / control)
    )
