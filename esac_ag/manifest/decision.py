"""The decision rules of a study as data, sealed before anything runs. See docs/decision.md."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from esac_ag.record import Record

Points = Annotated[float, Field(gt=0, le=100)]
Share = Annotated[float, Field(gt=0, le=1)]
Ratio = Annotated[float, Field(gt=1)]


class DecisionRules(Record):
    """Numbers of the rules; what is null takes the study's threshold of practical improvement."""

    critical_runs: Annotated[int, Field(ge=2, le=1000)] = 2
    """Runs of one task, each on a fresh launch, that make a critical failure a reproduced one."""
    scope_worse_points: Points = 12.5
    """How much lower the scope of a task has to be to count as worse; 12.5 is half an anchor of five."""
    scope_worse_share: Share = 0.6
    """Share of the tasks of one intended scope that makes worse scope systematic."""
    scope_tasks: Annotated[int, Field(ge=2, le=1000)] = 2
    """Fewest tasks of one intended scope that anything can be called systematic on."""
    family_points: Points | None = None
    """A family whose mean difference is below minus this has a material loss."""
    family_noise: Annotated[float, Field(ge=0, le=10)] = 2.5
    """Standard errors of the run-to-run noise that a family's loss has to exceed; 0 asks for none."""
    improvement_points: Points | None = None
    """Least overall mean difference that is a meaningful improvement."""
    improvement_above_points: Annotated[float, Field(ge=0, le=100)] = 0.0
    """The interval of the overall mean difference has to lie above this."""
    improving_families_share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """More than this share of the families must not be negative."""
    correctness_points: Points | None = None
    """A mean difference in behaviour below minus this is a material loss of correctness."""
    most_missing_share: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Largest share of an arm's planned runs that may have no score."""
    cost_ratio: Ratio = 1.25
    """Cost in money, arm to control, that is a burden."""
    latency_ratio: Ratio = 1.25
    """Time, arm to control, that is a burden."""
    changed_lines_ratio: Ratio = 1.5
    """Changed lines, arm to control, that are a burden."""
