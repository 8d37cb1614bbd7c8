"""The evidence of a decision, from a study's runs: on check scores, or on quality scores of a review."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from esac_ag.attempt import AttemptRecord, Cell, GradingStatus
from esac_ag.manifest.package import CriticalFailure, Dimension
from esac_ag.report.costs import VALUES
from esac_ag.report.escaping import visible
from esac_ag.report.runs import Facts, RunFacts
from esac_ag.report.view import ArmComparison, CostMeasure, RunState
from esac_ag.statistics.aggregate import mean
from esac_ag.statistics.estimates import Estimate, NotEstimable, estimate
from esac_ag.study.clauses import RESTRAINT
from esac_ag.study.evidence import (
    BurdenEvidence,
    BurdenKind,
    CriticalEvidence,
    Evidence,
    FamilyEvidence,
    Measure,
    SupportEvidence,
    TaskEvidence,
)
from esac_ag.study.quality import QualityScore, is_rehearsed

MaybeValue = Estimate | NotEstimable

_BURDENS = {
    BurdenKind.COST: CostMeasure.COST,
    BurdenKind.LATENCY: CostMeasure.LATENCY_S,
    BurdenKind.CHANGED_LINES: CostMeasure.CHANGED_LINES,
}
_WAITING = frozenset({RunState.MISSING, RunState.UNGRADED})
"""Runs that the study has still to make, or to grade."""


@dataclass(frozen=True)
class ReviewedFacts(Facts):
    """The same runs with the quality scores of a review in place of the check scores.

    A run without a quality score has none; its check score never stands in.
    """

    def _run(self, cell: Cell, attempts: dict[str, AttemptRecord]) -> RunFacts:
        run = super()._run(cell, attempts)
        given = _quality(self, run)
        if given is None:
            return replace(run, score=None, dimension_scores={})
        return replace(run, score=given.points, dimension_scores=given.dimension_points)


def evidence_of(facts: Facts, comparison: ArmComparison) -> Evidence:
    """What the rules are applied to, for one arm against its control.

    Args:
        facts: with check scores, or `ReviewedFacts`.
        comparison: of these very facts.
    """
    arm, control = comparison.arm, comparison.control
    runs, others = tuple(facts.runs_of_arm(arm)), tuple(facts.runs_of_arm(control))
    reviewed = isinstance(facts, ReviewedFacts)
    quality = (facts.inputs.quality or {}) if reviewed else {}
    both = (*runs, *others)
    return Evidence(
        arm=arm,
        control=control,
        measure=_measure(quality) if reviewed else Measure.CHECKS,
        threshold_points=facts.inputs.manifest.analysis.threshold_points,
        mean=comparison.overall.mean,
        interval=comparison.overall.interval,
        behaviour=_behaviour(facts, arm, control),
        tasks=tuple(_task(facts, comparison, task) for task in facts.tasks),
        families=_families(facts, comparison),
        critical=tuple(_critical(facts, arm, control)),
        burdens=tuple(_burden(facts, kind, arm, control) for kind in BurdenKind),
        support=tuple(_support(facts, arm, control)),
        planned_runs=len(runs),
        arm_missing=sum(run.score is None for run in runs),
        control_missing=sum(run.score is None for run in others),
        waiting_runs=sum(run.state in _WAITING for run in both),
        unreviewed_runs=sum(run.attempt is not None and run.score is None for run in both) if reviewed else 0,
        provisional=any(score.provisional for score in quality.values()),
    )


def _measure(quality: Mapping[str, QualityScore]) -> Measure:
    return Measure.REHEARSAL if is_rehearsed(quality) else Measure.QUALITY


def _quality(facts: Facts, run: RunFacts) -> QualityScore | None:
    quality = facts.inputs.quality
    return None if quality is None or run.attempt is None else quality.get(run.attempt.attempt_id)


def _difference(mine: Sequence[float], other: Sequence[float], what: str) -> MaybeValue:
    """Arm minus control of two means over repetitions."""
    nothing = NotEstimable(reason=f"{what} is not known for both")
    left, right = mean(mine, nothing), mean(other, nothing)
    if isinstance(left, Estimate) and isinstance(right, Estimate):
        return estimate(left.value - right.value)
    return nothing


def _in_dimension(facts: Facts, task: str, arm: str, control: str, dimension: Dimension) -> MaybeValue:
    mine, other = (facts.scores_in(task, one, dimension) for one in (arm, control))
    return _difference(mine, other, f"{dimension} of {task}")


def _behaviour(facts: Facts, arm: str, control: str) -> MaybeValue:
    found = [_in_dimension(facts, task, arm, control, Dimension.BEHAVIOUR) for task in facts.tasks]
    values = [item.value for item in found if isinstance(item, Estimate)]
    return mean(values, NotEstimable(reason="behaviour is known for both on no task"))


def _task(facts: Facts, comparison: ArmComparison, task: str) -> TaskEvidence:
    package = facts.inputs.tasks[task]
    return TaskEvidence(
        task=task,
        family=visible(package.family),
        contrast=visible(package.contrast),
        difference=next(pair.difference for pair in comparison.pairs if pair.task == task),
        scope_difference=_in_dimension(facts, task, comparison.arm, comparison.control, Dimension.SCOPE),
    )


def _families(facts: Facts, comparison: ArmComparison) -> tuple[FamilyEvidence, ...]:
    variance = _run_variance(facts, (comparison.arm, comparison.control))
    return tuple(
        FamilyEvidence(
            family=item.group,
            mean=item.result.mean,
            noise=_noise(facts, comparison, item.tasks, variance),
        )
        for item in comparison.families
    )


def _run_variance(facts: Facts, arms: Iterable[str]) -> MaybeValue:
    """Variance between the runs of one task under one arm, pooled over both arms and all tasks."""
    squares, freedom = [], 0
    for arm in arms:
        for task in facts.tasks:
            scores = facts.scores(task, arm)
            if scores:
                centre = math.fsum(scores) / len(scores)
                squares += [(score - centre) ** 2 for score in scores]
                freedom += len(scores) - 1
    if not freedom:
        return NotEstimable(reason="no task has two runs with a score under one arm")
    return Estimate(value=math.fsum(squares) / freedom)


def _noise(facts: Facts, comparison: ArmComparison, tasks: Sequence[str], variance: MaybeValue) -> MaybeValue:
    """Standard error of a family's mean difference, if runs alone varied."""
    if isinstance(variance, NotEstimable):
        return variance
    arms = (comparison.arm, comparison.control)
    counts = [[len(facts.scores(task, arm)) for arm in arms] for task in tasks]
    paired = [pair for pair in counts if all(pair)]
    if not paired:
        return NotEstimable(reason="no task of the family has a pair")
    total = math.fsum(variance.value / count for pair in paired for count in pair)
    return estimate(math.sqrt(total) / len(paired))


def _critical(facts: Facts, arm: str, control: str) -> Iterable[CriticalEvidence]:
    """Kinds that the arm shows at all, by task and kind."""
    for task in facts.tasks:
        mine = _shown_kinds(facts, facts.runs(task, arm))
        if not mine:
            continue
        other = facts.runs(task, control)
        others = _shown_kinds(facts, other)
        for kind in CriticalFailure:
            if kind in mine:
                yield CriticalEvidence(
                    task=task,
                    kind=kind,
                    arm_attempts=tuple(mine[kind]),
                    control_attempts=tuple(others.get(kind, ())),
                    control_graded=sum(_is_judged(facts, run) for run in other),
                )


def _shown_kinds(facts: Facts, runs: Sequence[RunFacts]) -> dict[CriticalFailure, list[str]]:
    """Attempts that show a kind, by kind."""
    found: dict[CriticalFailure, list[str]] = {}
    for run in runs:
        if run.attempt is not None:
            for kind in _kinds(facts, run):
                found.setdefault(kind, []).append(run.attempt.attempt_id)
    return found


def _kinds(facts: Facts, run: RunFacts) -> frozenset[CriticalFailure]:
    """What the hidden checks found, and what the review found: neither takes back the other's."""
    checked = run.grading.critical_failures if run.grading and _is_graded(run) else ()
    given = _quality(facts, run)
    return frozenset((*checked, *(given.critical_failures if given else ())))


def _is_graded(run: RunFacts) -> bool:
    return run.grading is not None and run.grading.status is GradingStatus.GRADED


def _is_judged(facts: Facts, run: RunFacts) -> bool:
    return _is_graded(run) or _quality(facts, run) is not None


def _burden(facts: Facts, kind: BurdenKind, arm: str, control: str) -> BurdenEvidence:
    # Money is compared whole or not at all: a mean of the runs that happen to be priced is no cost.
    mine, other = _cost_means(
        facts, _BURDENS[kind], (arm, control), facts.tasks, whole=kind is BurdenKind.COST
    )
    return BurdenEvidence(kind=kind, arm=mine, control=other, ratio=_ratio(mine, other))


def _support(facts: Facts, arm: str, control: str) -> Iterable[SupportEvidence]:
    """How much more is changed where restraint is right."""
    tasks = [task for task in facts.tasks if facts.inputs.tasks[task].contrast == RESTRAINT]
    for measure, words in (
        (CostMeasure.CHANGED_LINES, "changed lines"),
        (CostMeasure.TOUCHED_FILES, "touched files"),
    ):
        mine, other = _cost_means(facts, measure, (arm, control), tasks, whole=False)
        yield SupportEvidence(what=f"{words} on restraint tasks, arm to control", ratio=_ratio(mine, other))


def _cost_means(
    facts: Facts, measure: CostMeasure, arms: tuple[str, str], tasks: Sequence[str], *, whole: bool
) -> tuple[MaybeValue, MaybeValue]:
    """Means over the tasks where both are known, each task counting once."""
    nothing = NotEstimable(reason=f"{measure} is not known for both on any task")

    def of(task: str, arm: str) -> list[float] | None:
        costs = [run.attempt.costs for run in facts.runs(task, arm) if run.attempt and run.score is not None]
        values = [*map(VALUES[measure], costs)]
        known = [float(value) for value in values if value is not None]
        return None if whole and len(known) < len(values) else known

    found = [tuple(of(task, arm) for arm in arms) for task in tasks]
    if any(values is None for pair in found for values in pair):
        unknown = NotEstimable(reason=f"{measure} is not known for all scored runs")
        return unknown, unknown
    both = [(mine, other) for mine, other in found if mine and other]
    mine, other = zip(*both, strict=True) if both else ((), ())
    return _mean_of_means(mine, nothing), _mean_of_means(other, nothing)


def _mean_of_means(tasks: Sequence[list[float]], nothing: NotEstimable) -> MaybeValue:
    return mean([math.fsum(values) / len(values) for values in tasks], nothing)


def _ratio(mine: MaybeValue, other: MaybeValue) -> MaybeValue:
    if isinstance(mine, NotEstimable):
        return mine
    if isinstance(other, NotEstimable):
        return other
    if other.value == 0:
        return NotEstimable(reason="the control's is zero")
    return estimate(mine.value / other.value)
