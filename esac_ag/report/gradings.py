"""What a report needs of a grading: a large study holds some hundred bytes of each, and not every check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from sys import intern

from esac_ag.attempt import CheckVerdict, Grading, GradingStatus
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.statistics.estimates import rounded


@dataclass(frozen=True, slots=True)
class DeclaredCheck:
    """A hidden check as a task's grader declares it."""

    id: str
    dimension: Dimension
    weight: float
    critical: CriticalFailure | None


DeclaredChecks = tuple[DeclaredCheck, ...]


@dataclass(frozen=True, slots=True)
class GradingFacts:
    """One grading without its checks."""

    attempt_id: str
    task_id: str
    manifest_sha256: str | None
    submission_tree_sha256: str
    status: GradingStatus
    invalid_reason: str | None
    score: float | None
    """Weighted share of passed checks, 0 to 100; none when the grading is invalid."""
    dimension_scores: tuple[tuple[Dimension, float], ...]
    """The same by dimension; those without checks are left out."""
    critical_failures: tuple[CriticalFailure, ...]
    failed_checks: tuple[str, ...]
    """Ids, in order of declaration."""

    @classmethod
    def of(cls, grading: Grading) -> GradingFacts:
        """The facts of a grading."""
        manifest = grading.manifest_sha256
        return cls(
            attempt_id=grading.attempt_id,
            task_id=intern(grading.task_id),
            manifest_sha256=manifest and intern(manifest),
            submission_tree_sha256=grading.submission_tree_sha256,
            status=grading.status,
            invalid_reason=grading.invalid_reason,
            score=grading.score,
            dimension_scores=_dimension_scores(grading),
            critical_failures=grading.critical_failures,
            failed_checks=tuple(
                intern(check.id) for check in grading.checks if check.verdict is CheckVerdict.FAIL
            ),
        )


def facts_of(
    gradings: Iterable[tuple[str, Grading]],
) -> tuple[dict[str, GradingFacts], dict[str, DeclaredChecks]]:
    """The facts of gradings, and the checks of every task, which the sealed grader makes the same for all.

    Args:
        gradings: by attempt id; each may be forgotten once it was seen.

    Returns:
        Facts by attempt id, and checks by task, of tasks with a grading that is not invalid.
    """
    facts: dict[str, GradingFacts] = {}
    checks: dict[str, DeclaredChecks] = {}
    for name, grading in gradings:
        facts[name] = GradingFacts.of(grading)
        if grading.checks and grading.task_id not in checks:
            checks[grading.task_id] = tuple(
                DeclaredCheck(intern(check.id), check.dimension, check.weight, check.critical)
                for check in grading.checks
            )
    return facts, checks


def _dimension_scores(grading: Grading) -> tuple[tuple[Dimension, float], ...]:
    weights: dict[Dimension, list[float]] = {}
    passed: dict[Dimension, list[float]] = {}
    for check in grading.checks:
        weights.setdefault(check.dimension, []).append(check.weight)
        if check.verdict is CheckVerdict.PASS:
            passed.setdefault(check.dimension, []).append(check.weight)
    return tuple(
        (name, rounded(100.0 * math.fsum(passed.get(name, ())) / math.fsum(weights[name])))
        for name in Dimension
        if name in weights
    )
