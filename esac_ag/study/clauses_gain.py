"""The clauses on quality gained, correctness lost and burden added. Pure; see docs/decision.md."""

from __future__ import annotations

from esac_ag.manifest.decision import DecisionRules
from esac_ag.statistics.estimates import Estimate, IntervalEstimate, NotEstimable, estimate
from esac_ag.study.clauses import (
    LEAST_FAMILIES,
    Truth,
    above,
    all_of,
    any_of,
    at_least,
    below,
    state_of,
)
from esac_ag.study.decision_records import Clause, ClauseName, Figure
from esac_ag.study.evidence import BurdenKind, Evidence

_BURDEN_NAMES = {
    BurdenKind.COST: "cost",
    BurdenKind.LATENCY: "time",
    BurdenKind.CHANGED_LINES: "changed lines",
}


def improvement(rules: DecisionRules, evidence: Evidence) -> Clause:
    """Overall mean at the threshold, interval above the bound, and most families not negative."""
    threshold = rules.improvement_points or evidence.threshold_points
    mean, interval = evidence.mean, evidence.interval
    reached = at_least(mean.value, threshold) if isinstance(mean, Estimate) else None
    low = estimate(interval.low) if isinstance(interval, IntervalEstimate) else interval
    clear = above(low.value, rules.improvement_above_points) if isinstance(low, Estimate) else None
    spread, share = _families(rules, evidence)
    truth = all_of(reached, clear, spread)
    return Clause(
        name=ClauseName.IMPROVEMENT,
        state=state_of(truth),
        words=_improvement_words(reached, clear, spread),
        figures=(
            Figure(
                what="mean difference over all tasks",
                value=mean,
                test="at least",
                threshold=threshold,
                met=reached,
            ),
            Figure(
                what="lower end of its interval",
                value=low,
                test="above",
                threshold=rules.improvement_above_points,
                met=clear,
            ),
            Figure(
                what="share of families that are not negative",
                value=share,
                test="above",
                threshold=rules.improving_families_share,
                met=spread,
            ),
        ),
    )


def _families(rules: DecisionRules, evidence: Evidence) -> tuple[Truth, Estimate | NotEstimable]:
    count = len(evidence.families)
    known = [item.mean.value for item in evidence.families if isinstance(item.mean, Estimate)]
    if count < LEAST_FAMILIES:
        return None, NotEstimable(reason=f"there are fewer than {LEAST_FAMILIES} families")
    good, unknown = sum(at_least(value, 0.0) for value in known), count - len(known)
    if above(good / count, rules.improving_families_share):
        truth: Truth = True
    else:
        truth = None if above((good + unknown) / count, rules.improving_families_share) else False
    if unknown:
        return truth, NotEstimable(reason=f"{unknown} of {count} families have no paired task")
    return truth, estimate(good / count)


def _improvement_words(reached: Truth, clear: Truth, spread: Truth) -> str:
    parts = {
        "the mean reaches the threshold": reached,
        "the interval lies above the bound": clear,
        "most families are not negative": spread,
    }
    said = [name for name, truth in parts.items() if truth]
    denied = [name for name, truth in parts.items() if truth is False]
    unknown = [name for name, truth in parts.items() if truth is None]
    sentences = [
        "; ".join(said),
        "not: " + "; ".join(denied) if denied else "",
        "not estimable: " + "; ".join(unknown) if unknown else "",
    ]
    return ". ".join(sentence for sentence in sentences if sentence)


def correctness_loss(rules: DecisionRules, evidence: Evidence) -> Clause:
    """The behaviour dimension lower than the control's by more than the threshold."""
    lowest = -(rules.correctness_points or evidence.threshold_points)
    value = evidence.behaviour
    truth = below(value.value, lowest) if isinstance(value, Estimate) else None
    words = {
        True: f"behaviour is below {lowest:g} points",
        False: f"behaviour is not below {lowest:g} points",
        None: "behaviour cannot be compared",
    }[truth]
    return Clause(
        name=ClauseName.CORRECTNESS_LOSS,
        state=state_of(truth),
        words=words,
        figures=(
            Figure(
                what="mean difference in behaviour", value=value, test="below", threshold=lowest, met=truth
            ),
        ),
    )


def burden(rules: DecisionRules, evidence: Evidence) -> Clause:
    """No gain of the threshold within the interval, and a cost at or above its ratio."""
    threshold = rules.improvement_points or evidence.threshold_points
    interval = evidence.interval
    high = estimate(interval.high) if isinstance(interval, IntervalEstimate) else interval
    flat = below(high.value, threshold) if isinstance(high, Estimate) else None
    ratios = {
        BurdenKind.COST: rules.cost_ratio,
        BurdenKind.LATENCY: rules.latency_ratio,
        BurdenKind.CHANGED_LINES: rules.changed_lines_ratio,
    }
    met: dict[BurdenKind, Truth] = {
        item.kind: at_least(item.ratio.value, ratios[item.kind]) if isinstance(item.ratio, Estimate) else None
        for item in evidence.burdens
    }
    heavy = any_of(*met.values()) if met else None
    return Clause(
        name=ClauseName.BURDEN,
        state=state_of(all_of(flat, heavy)),
        words=_burden_words(flat, met, heavy),
        figures=(
            Figure(what="upper end of the interval", value=high, test="below", threshold=threshold, met=flat),
            *(
                Figure(
                    what=f"{_BURDEN_NAMES[item.kind]}, arm to control",
                    value=item.ratio,
                    test="at least",
                    threshold=ratios[item.kind],
                    met=met[item.kind],
                )
                for item in evidence.burdens
            ),
        ),
    )


def _burden_words(flat: Truth, met: dict[BurdenKind, Truth], heavy: Truth) -> str:
    quality = {
        True: "the interval excludes a gain of the threshold",
        False: "the interval admits a gain of the threshold",
        None: "whether there is a gain is not estimable",
    }[flat]
    named = ", ".join(_BURDEN_NAMES[kind] for kind, truth in met.items() if truth)
    cost = {
        True: f"at or above its ratio: {named}",
        False: "no cost is at its ratio",
        None: "no known cost is at its ratio, and not all are known",
    }[heavy]
    return f"{quality}; {cost}"
