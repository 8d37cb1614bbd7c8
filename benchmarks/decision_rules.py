"""How often the default decision rules are wrong, by simulation of pilots without critical failures.

Twelve tasks in six families, three runs per arm, scores and scopes with noise between runs, and an effect
that may vary between tasks. Fails when harmless bundles are rejected, or found to benefit, too often, or when
a clear effect is hardly ever seen.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.plan import Interval
from esac_ag.statistics.comparison import compare
from esac_ag.statistics.estimates import estimate
from esac_ag.statistics.pairs import pair
from esac_ag.study.clauses import EXPANSION, RESTRAINT
from esac_ag.study.decision import decide
from esac_ag.study.decision_records import DecisionOutcome
from esac_ag.study.evidence import (
    BurdenEvidence,
    BurdenKind,
    Evidence,
    FamilyEvidence,
    Measure,
    TaskEvidence,
)

TASKS, RUNS, STUDIES, REPLICATES = 12, 3, 1000, 500
RUN_SD, SCOPE_SD, ANCHOR = 10.0, 15.0, 25.0
PLAIN = DecisionRules(family_noise=0.0, scope_worse_share=0.5)
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """What is true of the bundle."""

    effect: float
    task_sd: float
    scope_shift: float = 0.0


WORLDS = {
    "no effect": World(0.0, 0.0),
    "no effect on average": World(0.0, 5.0),
    "gain of 5": World(5.0, 5.0),
    "gain of 10": World(10.0, 5.0),
    "loss of 10": World(-10.0, 5.0),
    "worse scope": World(0.0, 5.0, -15.0),
}


def simulated(world: World, draw: np.random.Generator) -> Evidence:
    """The evidence of one pilot."""
    level = draw.normal(70, 10, (TASKS, 1))
    shift = draw.normal(world.effect, world.task_sd, (TASKS, 1))
    arm, control = (
        np.clip(level + moved + draw.normal(0, RUN_SD, (TASKS, RUNS)), 0, 100) for moved in (shift, 0.0)
    )
    scope, other = (
        _anchored(draw.normal(70 + moved, SCOPE_SD, (TASKS, RUNS))) for moved in (world.scope_shift, 0.0)
    )
    pairs = [pair(f"t{n}", list(arm[n]), list(control[n]), RUNS) for n in range(TASKS)]
    overall = compare(pairs, Interval(replicates=REPLICATES, seed=str(draw.integers(2**60))), ("simulated",))
    pooled = float(np.mean([*np.var(arm, axis=1, ddof=1), *np.var(control, axis=1, ddof=1)]))
    gaps = arm.mean(axis=1) - control.mean(axis=1)
    return Evidence(
        arm="bundle",
        control="neutral",
        measure=Measure.QUALITY,
        threshold_points=5.0,
        mean=overall.mean,
        interval=overall.interval,
        behaviour=overall.mean,
        tasks=tuple(
            TaskEvidence(
                task=f"t{n}",
                family=f"f{n // 2}",
                contrast=(RESTRAINT, EXPANSION)[n % 2],
                difference=pairs[n].difference,
                scope_difference=estimate(float(scope[n].mean() - other[n].mean())),
            )
            for n in range(TASKS)
        ),
        families=tuple(
            FamilyEvidence(
                family=f"f{n}",
                mean=estimate(float(gaps[2 * n : 2 * n + 2].mean())),
                noise=estimate(math.sqrt(4 * pooled / RUNS) / 2),
            )
            for n in range(TASKS // 2)
        ),
        critical=(),
        burdens=tuple(
            BurdenEvidence(kind=kind, arm=estimate(1.0), control=estimate(1.0), ratio=estimate(1.0))
            for kind in BurdenKind
        ),
        planned_runs=TASKS * RUNS,
        arm_missing=0,
        control_missing=0,
        waiting_runs=0,
    )


def _anchored(points: Scores) -> Scores:
    return np.round(np.clip(points, 0, 100) / ANCHOR) * ANCHOR


def rates(world: World) -> tuple[Counter[DecisionOutcome], Counter[DecisionOutcome]]:
    """Outcomes by the default rules, and by the protocol's plain words."""
    draw = np.random.default_rng(2026)
    studies = [simulated(world, draw) for _ in range(STUDIES)]
    by_default, plainly = (
        Counter(decide(rules, known).outcome for known in studies) for rules in (DecisionRules(), PLAIN)
    )
    return by_default, plainly


def main() -> None:
    """Print a line for every world, then hold the rates to their limits."""
    found = {name: rates(world) for name, world in WORLDS.items()}
    for name, (by_default, plainly) in found.items():
        shares = ", ".join(
            f"{outcome} {by_default[outcome] / STUDIES:.0%} ({plainly[outcome] / STUDIES:.0%})"
            for outcome in DecisionOutcome
        )
        print(f"{name}: {shares}")
    nothing, gain, loss = (found[name][0] for name in ("no effect", "gain of 10", "loss of 10"))
    assert nothing[DecisionOutcome.REJECT] <= 0.12 * STUDIES
    assert nothing[DecisionOutcome.BENEFIT] <= 0.05 * STUDIES
    assert gain[DecisionOutcome.BENEFIT] >= 0.7 * STUDIES
    assert loss[DecisionOutcome.REJECT] >= 0.85 * STUDIES


if __name__ == "__main__":
    main()
