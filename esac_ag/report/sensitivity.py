"""What every comparison of a study rests on, beside what was sealed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from esac_ag.report.escaping import visible
from esac_ag.report.runs import Facts
from esac_ag.report.sensitivity_view import ArmSensitivity, StudySensitivity
from esac_ag.report.view import ArmComparison
from esac_ag.statistics.hierarchical import TaskRuns
from esac_ag.statistics.sensitivity import Adjustment, adjustment, sensitivity_of


def study_sensitivity(facts: Facts, comparisons: Sequence[ArmComparison]) -> StudySensitivity:
    """The section for these comparisons; the primary one is adjusted for nothing."""
    secondary = sum(not item.primary for item in comparisons)
    return StudySensitivity(
        arms=tuple(_arm(facts, item, 1 if item.primary else secondary) for item in comparisons),
        adjustments=tuple(_adjustments(comparisons)),
    )


def _arm(facts: Facts, comparison: ArmComparison, together: int) -> ArmSensitivity:
    analysis = facts.inputs.manifest.analysis
    return ArmSensitivity(
        arm=comparison.arm,
        control=comparison.control,
        agent_kind=comparison.agent_kind,
        primary=comparison.primary,
        result=sensitivity_of(
            comparison.pairs,
            tuple(_runs(facts, comparison)),
            comparison.overall,
            analysis.interval,
            analysis.threshold_points,
            (comparison.arm, comparison.control),
            together,
        ),
    )


def _runs(facts: Facts, comparison: ArmComparison) -> Iterator[TaskRuns]:
    for pair in comparison.pairs:
        if pair.arm_n and pair.control_n:
            yield TaskRuns(
                task=pair.task,
                stratum=visible(facts.inputs.tasks[pair.task].family),
                arm=tuple(facts.scores(pair.task, comparison.arm)),
                control=tuple(facts.scores(pair.task, comparison.control)),
            )


def _adjustments(comparisons: Sequence[ArmComparison]) -> Iterator[Adjustment]:
    secondary = {item.arm: item.overall for item in comparisons if not item.primary}
    if secondary:
        yield adjustment("secondary comparisons", secondary)
    for item in comparisons:
        groups = {f"family {group.group}": group.result for group in item.families}
        groups |= {f"scope {group.group}": group.result for group in item.contrasts}
        yield adjustment(f"families and scopes of {item.arm}", groups)
