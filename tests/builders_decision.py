"""Evidence of a study of twelve tasks in six families, and edits of it."""

from __future__ import annotations

from typing import Any

from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.package import CriticalFailure
from esac_ag.manifest.plan import IntervalMethod
from esac_ag.statistics.estimates import IntervalEstimate, NotEstimable, estimate
from esac_ag.study.clauses import EXPANSION, RESTRAINT
from esac_ag.study.decision import decide
from esac_ag.study.decision_records import ClauseName, ClauseState, Decision, DecisionOutcome
from esac_ag.study.evidence import (
    BurdenEvidence,
    BurdenKind,
    CriticalEvidence,
    Evidence,
    FamilyEvidence,
    Measure,
    TaskEvidence,
)

FAMILIES = ("ownership", "architecture", "dependencies", "front-end", "data-lifecycle", "scope")
UNKNOWN = NotEstimable(reason="nobody knows")
RUNS = 36


def an_interval(low: float, high: float) -> IntervalEstimate:
    """An interval of a mean difference."""
    return IntervalEstimate(
        low=low,
        high=high,
        confidence=0.95,
        method=IntervalMethod.STUDENTISED,
        replicates=1000,
        seed="1",
        stream=("arm", "neutral"),
        degenerate_replicates=0,
        cut=False,
    )


def a_task(family: str, contrast: str, scope: float | None) -> TaskEvidence:
    """A task whose scope differs by so much; none is not known."""
    return TaskEvidence(
        task=f"{family}-{contrast}",
        family=family,
        contrast=contrast,
        difference=estimate(10.0),
        scope_difference=UNKNOWN if scope is None else estimate(scope),
    )


def scopes(contrast: str, *differences: float | None, other: float | None = 0.0) -> tuple[TaskEvidence, ...]:
    """Six tasks of each contrast; those of one have the given differences in scope, then zeros."""
    given = [*differences, *[0.0] * (len(FAMILIES) - len(differences))]
    opposite = EXPANSION if contrast == RESTRAINT else RESTRAINT
    mine = [a_task(name, contrast, value) for name, value in zip(FAMILIES, given, strict=True)]
    return (*mine, *(a_task(name, opposite, other) for name in FAMILIES))


def families(*means: float | None, noise: float | None = 2.0) -> tuple[FamilyEvidence, ...]:
    """Families with the given means, then with ten points each."""
    given = [*means, *[10.0] * (len(FAMILIES) - len(means))]
    error = UNKNOWN if noise is None else estimate(noise)
    return tuple(
        FamilyEvidence(family=name, mean=UNKNOWN if mean is None else estimate(mean), noise=error)
        for name, mean in zip(FAMILIES, given, strict=True)
    )


def a_critical(arm: int, control: int = 0, graded: int = 3) -> CriticalEvidence:
    """Data loss on one task in so many runs."""
    return CriticalEvidence(
        task="scope-expansion",
        kind=CriticalFailure.DATA_LOSS,
        arm_attempts=tuple(f"arm-{number}" for number in range(arm)),
        control_attempts=tuple(f"control-{number}" for number in range(control)),
        control_graded=graded,
    )


def burdens(
    cost: float | None = 1.0, latency: float | None = 1.0, lines: float | None = 1.0
) -> tuple[BurdenEvidence, ...]:
    """Costs, arm to control."""
    ratios = dict(zip(BurdenKind, (cost, latency, lines), strict=True))
    return tuple(
        BurdenEvidence(
            kind=kind,
            arm=UNKNOWN if ratio is None else estimate(ratio),
            control=UNKNOWN if ratio is None else estimate(1.0),
            ratio=UNKNOWN if ratio is None else estimate(ratio),
        )
        for kind, ratio in ratios.items()
    )


def evidence(**changes: Any) -> Evidence:  # noqa: ANN401
    """Evidence of a clear benefit in quality, edited."""
    whole: dict[str, Any] = {
        "arm": "markskill",
        "control": "neutral",
        "measure": Measure.QUALITY,
        "threshold_points": 5.0,
        "mean": estimate(10.0),
        "interval": an_interval(4.0, 16.0),
        "behaviour": estimate(5.0),
        "tasks": scopes(RESTRAINT),
        "families": families(),
        "critical": (),
        "burdens": burdens(),
        "planned_runs": RUNS,
        "arm_missing": 0,
        "control_missing": 0,
        "waiting_runs": 0,
    }
    return Evidence(**whole | changes)


def decided(rules: DecisionRules | None = None, **changes: Any) -> Decision:  # noqa: ANN401
    """The decision on edited evidence."""
    return decide(rules or DecisionRules(), evidence(**changes))


def outcome_of(rules: DecisionRules | None = None, **changes: Any) -> DecisionOutcome:  # noqa: ANN401
    """The outcome on edited evidence."""
    return decided(rules, **changes).outcome


def state_of(name: ClauseName, rules: DecisionRules | None = None, **changes: Any) -> ClauseState:  # noqa: ANN401
    """The state of one clause on edited evidence."""
    return decided(rules, **changes).clause(name).state
