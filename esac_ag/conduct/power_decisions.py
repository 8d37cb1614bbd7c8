"""How often the decision rules would decide wrongly, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from esac_ag.conduct.power_plan import DecisionPlan
from esac_ag.manifest.decision import DecisionRules
from esac_ag.record import Record
from esac_ag.statistics.power import PowerResult, Rate, rate_of
from esac_ag.statistics.simulation import PowerDesign
from esac_ag.study.decision_records import DecisionOutcome


class World(StrEnum):
    """What is true of the simulated bundle's mean effect."""

    NO_EFFECT = "no-effect"
    GAIN = "gain"
    HARM = "harm"


class Family(Record):
    """Tasks of one family by intended scope."""

    family: str
    contrasts: dict[str, int]


class DecisionRow(Record):
    """The decisions on one world's simulated studies."""

    world: World
    effect_points: float
    """As asked for."""
    true_effect_points: float
    """Of the scores."""
    outcomes: dict[DecisionOutcome, Rate]
    """All four; shares of all simulated studies."""
    right: Rate | None
    """Provisional benefit where the bundle gains, reject or revise where it harms; none without an effect."""
    false_benefit: Rate | None
    """Provisional benefit although the bundle does not gain, or fails critically more often."""
    false_reject: Rate | None
    """Reject or revise although the bundle does no harm on average and fails critically no more often."""


class DecisionTable(Record):
    """The decisions on worlds without an effect, with each stated one, and with its opposite."""

    rules: DecisionRules
    rules_from: str
    families: tuple[Family, ...]
    studies: int
    """Simulated for each row."""
    rows: tuple[DecisionRow, ...]


def worlds(effects: tuple[float, ...]) -> tuple[float, ...]:
    """No effect, then each stated effect and its opposite, gains first; each once."""
    sizes = dict.fromkeys(abs(effect) for effect in effects if effect)
    return (0.0, *sizes, *(-size for size in sizes))


def decision_table(plan: DecisionPlan, results: Mapping[float, PowerResult]) -> DecisionTable:
    """The table of results whose studies were decided by the plan's rules.

    Args:
        plan: the rules and families that decided.
        results: by effect, of all `worlds`.
    """
    found = tuple(_row(effect, result) for effect, result in results.items())
    return DecisionTable(
        rules=plan.rules,
        rules_from=plan.source,
        families=_families(plan),
        studies=next(iter(results.values())).studies,
        rows=found,
    )


def _row(effect: float, result: PowerResult) -> DecisionRow:
    outcomes = {
        outcome: result.decisions.get(outcome.value, rate_of(0, result.studies))
        for outcome in DecisionOutcome
    }
    world = World.GAIN if effect > 0 else World.HARM if effect < 0 else World.NO_EFFECT
    benefit, rejection = outcomes[DecisionOutcome.BENEFIT], outcomes[DecisionOutcome.REJECT]
    fails_more = _fails_more(result.design)
    match world:
        case World.NO_EFFECT:
            right = None
        case World.GAIN:
            right = benefit
        case World.HARM:
            right = rejection
    return DecisionRow(
        world=world,
        effect_points=effect,
        true_effect_points=result.true_effect_points,
        outcomes=outcomes,
        right=None if fails_more else right,
        false_benefit=benefit if fails_more or world is not World.GAIN else None,
        false_reject=rejection if not fails_more and world is not World.HARM else None,
    )


def _fails_more(design: PowerDesign) -> bool:
    return design.critical_chance > design.control_critical_chance


def _families(plan: DecisionPlan) -> tuple[Family, ...]:
    found: dict[str, dict[str, int]] = {}
    for place in plan.places:
        contrasts = found.setdefault(place.family, {})
        contrasts[place.contrast] = contrasts.get(place.contrast, 0) + 1
    return tuple(Family(family=name, contrasts=found[name]) for name in sorted(found))
