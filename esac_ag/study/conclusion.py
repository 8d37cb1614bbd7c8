"""The strongest sentence that a decision allows; it cannot exceed the boundary of the claim.

Every word but the names between the quotation marks is written here, and names lose whatever could end the
quotation. So whatever a study holds, the sentence says these things and no others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from esac_ag.manifest.plan import AgentKind, Phase
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.study.decision_records import ClauseName, ClauseState, Decision, DecisionOutcome
from esac_ag.study.evidence import Evidence, Measure
from esac_ag.study.forms import REHEARSAL

MOST_NAME: Final = 80
_OUTSIDE_NAMES: Final = re.compile(r"[^A-Za-z0-9 ._:/@+-]+")
_HARMS: Final = {
    ClauseName.REPRODUCED_CRITICAL: "a reproduced new critical failure",
    ClauseName.UNDER_SCOPING: "systematic under-scoping",
    ClauseName.RESTRUCTURING: "systematic needless restructuring",
    ClauseName.FAMILY_REGRESSION: "a material regression",
}
_SOURCES: Final = {
    Measure.QUALITY: "a review in which a model filled in forms",
    Measure.CHECKS: "hidden checks",
    Measure.REHEARSAL: REHEARSAL,
}
"""What a preliminary decision rests on."""
_SCORES: Final = {
    Measure.QUALITY: "the quality score",
    Measure.CHECKS: "the check score",
    Measure.REHEARSAL: "the score of a rehearsal",
}


@dataclass(frozen=True, slots=True)
class Boundary:
    """What bounds the claim."""

    phase: Phase
    agent_kind: AgentKind
    model: str
    """Name and version."""
    harness: str
    """Version and revision."""


def named(text: str) -> str:
    """A name in quotation marks that nothing in it can end."""
    shown = _OUTSIDE_NAMES.sub("_", text)
    return f"“{shown[:MOST_NAME] if shown else '_'}”"


def conclusion(decision: Decision, evidence: Evidence, boundary: Boundary) -> str:
    """One sentence: the outcome, where it was observed, and what it does not reach.

    Args:
        decision: what the rules said.
        evidence: what they were applied to.
        boundary: phase, agent, model and harness of the study.
    """
    under = f"under the model {named(boundary.model)} and the harness {named(boundary.harness)}"
    parts = [_body(decision, evidence, under), *_reservations(decision, boundary)]
    return f"{_prefix(decision, boundary)}{'; '.join(parts)}."


def _prefix(decision: Decision, boundary: Boundary) -> str:
    scripted = "Scripted replay, no evidence about any model: " if _is_scripted(boundary) else ""
    if not decision.preliminary:
        return scripted
    return f"{scripted}Preliminary, from {_SOURCES[decision.measure]}: "


def _is_scripted(boundary: Boundary) -> bool:
    return boundary.agent_kind is AgentKind.SCRIPTED


def _body(decision: Decision, evidence: Evidence, under: str) -> str:
    arm, control = named(decision.arm), named(decision.control)
    match decision.outcome:
        case DecisionOutcome.REJECT:
            held = [
                words for name, words in _HARMS.items() if decision.clause(name).state is ClauseState.HELD
            ]
            return (
                f"this version of {arm} is to be rejected or revised, for on these tasks it showed "
                f"{_listed(held)} against {control} {under}"
            )
        case DecisionOutcome.BENEFIT:
            return _benefit(arm, control, evidence, under)
        case DecisionOutcome.INCONCLUSIVE:
            return f"whether this version of {arm} differs from {control} on these tasks is left open {under}"
        case DecisionOutcome.NEUTRAL:
            return (
                f"{control} is preferred to this version of {arm}, which on these tasks added a burden and "
                f"no meaningful gain {under}"
            )
        case _:
            assert_never(decision.outcome)


def _benefit(arm: str, control: str, evidence: Evidence, under: str) -> str:
    score = _SCORES[evidence.measure]
    gained = [item.family for item in evidence.families if _mean(item.mean) > 0]
    lower = [item.family for item in evidence.families if _mean(item.mean) < 0]
    weakness = (
        f"with lower scores in the families {_listed([named(name) for name in lower])}"
        if lower
        else "with no family scoring lower"
    )
    families = _listed([named(name) for name in gained]) or "observed"
    return (
        f"this version of {arm} raised {score} over {control} by {_mean(evidence.mean):.1f} points on "
        f"average, in the task families {families} {under}, {weakness}"
    )


def _mean(value: Estimate | NotEstimable) -> float:
    """Of a family without pairs, none: it is neither raised nor lowered."""
    return value.value if isinstance(value, Estimate) else 0.0


def _reservations(decision: Decision, boundary: Boundary) -> list[str]:
    other = "other tasks, models and harnesses need evidence of their own"
    if decision.outcome is not DecisionOutcome.BENEFIT:
        return [other]
    match boundary.phase:
        case Phase.HOLDOUT:
            return ["shadow mode on real tasks has yet to follow", other]
        case Phase.PRIMARY:
            return ["a fresh holdout has yet to confirm it", other]
        case Phase.CALIBRATION | Phase.SHADOW:
            return ["a scored pilot has yet to be made", other]
        case _:
            assert_never(boundary.phase)


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
