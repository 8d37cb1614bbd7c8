"""Scores per task, per arm and per dimension, and every arm against the control."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from esac_ag.manifest.package import Dimension, TaskPackage
from esac_ag.report.compact import constructed
from esac_ag.report.escaping import visible
from esac_ag.report.runs import Facts
from esac_ag.report.view import (
    ArmComparison,
    ArmScores,
    DimensionComparison,
    DimensionSummary,
    GroupComparison,
    Run,
    TaskArm,
)
from esac_ag.report.words import comparison_words
from esac_ag.statistics.aggregate import mean, summarise
from esac_ag.statistics.bootstrap import mean_interval
from esac_ag.statistics.comparison import compare
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.statistics.pairs import HIGHEST_SCORE, LOWEST_SCORE, TaskPair, pair

_NO_SCORE = NotEstimable(reason="no run has a score")


def task_arm(facts: Facts, task: str, arm: str) -> TaskArm:
    """The runs of a task under an arm, every one listed, and their summary."""
    package = facts.inputs.tasks[task]
    return TaskArm(
        task=task,
        title=visible(package.title),
        family=visible(package.family),
        contrast=visible(package.contrast),
        arm=arm,
        agent_kind=facts.agent_kind,
        runs=tuple(
            constructed(
                Run,
                {
                    "repetition": run.cell.repetition,
                    "state": run.state,
                    "attempt_id": run.attempt.attempt_id if run.attempt else None,
                    "outcome": run.attempt.outcome if run.attempt else None,
                    "score": run.score,
                },
            )
            for run in facts.runs(task, arm)
        ),
        summary=summarise(facts.scores(task, arm), facts.repetitions),
        dimensions=tuple(
            DimensionSummary(
                dimension=dimension,
                summary=summarise(facts.scores_in(task, arm, dimension), facts.repetitions),
            )
            for dimension in Dimension
            if facts.scores_in(task, arm, dimension)
        ),
    )


def arm_scores(facts: Facts, arm: str, measure: str = "checks") -> ArmScores:
    """The score of an arm: each task counts once, whatever its runs.

    Args:
        facts: with check scores or quality scores.
        arm: its id.
        measure: names the random stream of the interval.
    """
    means = _task_means(facts, lambda task: facts.scores(task, arm))
    plan = facts.inputs.manifest.analysis.interval
    possible = (LOWEST_SCORE, HIGHEST_SCORE)
    return ArmScores(
        arm=arm,
        agent_kind=facts.agent_kind,
        tasks_planned=len(facts.tasks),
        tasks_scored=len(means),
        mean=mean(list(means.values()), _NO_SCORE),
        interval=mean_interval(list(means.values()), plan, ("arm-mean", measure, arm), possible),
    )


def dimension_comparison(facts: Facts, arm: str, dimension: Dimension) -> DimensionComparison:
    """One dimension of an arm, and its mean paired difference to the control."""
    mine = _task_means(facts, lambda task: facts.scores_in(task, arm, dimension))
    control = _task_means(facts, lambda task: facts.scores_in(task, facts.control, dimension))
    both = [task for task in mine if task in control]
    is_control = arm == facts.control
    nothing = NotEstimable(reason="this is the control" if is_control else "no task has a pair")
    return DimensionComparison(
        arm=arm,
        agent_kind=facts.agent_kind,
        dimension=dimension,
        tasks_scored=len(mine),
        mean=mean(list(mine.values()), _NO_SCORE),
        tasks_paired=len(both),
        difference=mean([] if is_control else [mine[task] - control[task] for task in both], nothing),
    )


def arm_comparison(facts: Facts, arm: str) -> ArmComparison:
    """An arm against the control: per task, over all tasks, per family and per contrast."""
    plan = facts.inputs.manifest.analysis
    pairs = tuple(
        pair(task, facts.scores(task, arm), facts.scores(task, facts.control), facts.repetitions)
        for task in facts.tasks
    )
    overall = compare(pairs, plan.interval, (arm, facts.control))
    return ArmComparison(
        arm=arm,
        control=facts.control,
        agent_kind=facts.agent_kind,
        primary=arm == plan.primary_comparison.arm,
        pairs=pairs,
        overall=overall,
        families=_groups(facts, arm, pairs, "family", lambda package: package.family),
        contrasts=_groups(facts, arm, pairs, "contrast", lambda package: package.contrast),
        words=comparison_words(arm, facts.control, overall),
    )


def _groups(
    facts: Facts,
    arm: str,
    pairs: Sequence[TaskPair],
    kind: str,
    group_of: Callable[[TaskPackage], str],
) -> tuple[GroupComparison, ...]:
    members: dict[str, list[TaskPair]] = {}
    for item in pairs:
        members.setdefault(visible(group_of(facts.inputs.tasks[item.task])), []).append(item)
    interval = facts.inputs.manifest.analysis.interval
    return tuple(
        GroupComparison(
            group=name,
            tasks=tuple(item.task for item in members[name]),
            result=compare(members[name], interval, (arm, facts.control, kind, name)),
        )
        for name in sorted(members)
    )


def _task_means(facts: Facts, scores_of: Callable[[str], list[float]]) -> dict[str, float]:
    means = {task: mean(scores_of(task), _NO_SCORE) for task in facts.tasks}
    return {task: item.value for task, item in means.items() if isinstance(item, Estimate)}
