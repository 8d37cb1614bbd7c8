"""What a report needs of a grading: a large study holds some hundred bytes of each, and not every check."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sys import intern
from typing import Final, TypeAlias

from esac_ag.attempt import CheckVerdict, Grading, GradingStatus
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.statistics.estimates import rounded

DimensionScores: TypeAlias = dict[Dimension, float]
_MOST_SHARED: Final = 1 << 14
"""Results that are remembered to be shared: many submissions fail the same checks."""


@dataclass(frozen=True, slots=True)
class DeclaredCheck:
    """A hidden check as a task's grader declares it."""

    id: str
    label: str
    """Its name in a report, such as `behaviour-2`: its id tells what it checks, and reports are published."""
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
    dimension_scores: DimensionScores
    """The same by dimension; those without checks are left out. Gradings share it: it is never changed."""
    critical_failures: tuple[CriticalFailure, ...]
    failed_checks: tuple[str, ...]
    """Ids, in order of declaration."""

    @classmethod
    def of(cls, grading: Grading) -> GradingFacts:
        """The facts of a grading."""
        manifest = grading.manifest_sha256
        found = _found_by(grading)
        return cls(
            attempt_id=grading.attempt_id,
            task_id=intern(grading.task_id),
            manifest_sha256=manifest and intern(manifest),
            submission_tree_sha256=intern(grading.submission_tree_sha256),
            status=grading.status,
            invalid_reason=grading.invalid_reason,
            score=found.score,
            dimension_scores=found.dimension_scores,
            critical_failures=found.critical_failures,
            failed_checks=found.failed_checks,
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
            checks[grading.task_id] = tuple(_declared(grading))
    return facts, checks


def _declared(grading: Grading) -> Iterator[DeclaredCheck]:
    numbers: Counter[Dimension] = Counter()
    for check in grading.checks:
        numbers[check.dimension] += 1
        label = f"{check.dimension}-{numbers[check.dimension]}"
        yield DeclaredCheck(check.id, label, check.dimension, check.weight, check.critical)


@dataclass(frozen=True, slots=True)
class _Found:
    """What follows from the status and the checks' declarations and verdicts alone."""

    score: float | None
    dimension_scores: DimensionScores
    critical_failures: tuple[CriticalFailure, ...]
    failed_checks: tuple[str, ...]


_known: dict[tuple[object, ...], _Found] = {}


def _found_by(grading: Grading) -> _Found:
    """Computed once for all gradings of the same checks with the same verdicts."""
    key = (
        grading.status is GradingStatus.GRADED,
        *[
            (one.id, one.dimension, one.weight, one.critical, one.verdict is CheckVerdict.PASS)
            for one in grading.checks
        ],
    )
    found = _known.get(key)
    if found is None:
        if len(_known) >= _MOST_SHARED:
            _known.clear()
        found = _known[key] = _Found(
            score=grading.score,
            dimension_scores=_dimension_scores(grading),
            critical_failures=grading.critical_failures,
            failed_checks=tuple(one.id for one in grading.checks if one.verdict is CheckVerdict.FAIL),
        )
    return found


def _dimension_scores(grading: Grading) -> DimensionScores:
    weights: dict[Dimension, list[float]] = {}
    passed: dict[Dimension, list[float]] = {}
    for check in grading.checks:
        weights.setdefault(check.dimension, []).append(check.weight)
        if check.verdict is CheckVerdict.PASS:
            passed.setdefault(check.dimension, []).append(check.weight)
    return {
        name: rounded(100.0 * math.fsum(passed.get(name, ())) / math.fsum(weights[name]))
        for name in Dimension
        if name in weights
    }
