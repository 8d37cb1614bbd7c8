"""Predeclared rules applied to evidence: one of four outcomes, and why. Pure; see docs/decision.md."""

from __future__ import annotations

from esac_ag.manifest.decision import DecisionRules
from esac_ag.plural import plural
from esac_ag.study.clauses import (
    EXPANSION,
    RESTRAINT,
    at_least,
    family_regression,
    new_critical,
    reproduced_critical,
    scoping,
)
from esac_ag.study.clauses_gain import burden, correctness_loss, improvement
from esac_ag.study.decision_records import (
    Clause,
    ClauseName,
    ClauseState,
    Decision,
    DecisionOutcome,
)
from esac_ag.study.evidence import Evidence, Measure

REJECTING = (
    ClauseName.REPRODUCED_CRITICAL,
    ClauseName.UNDER_SCOPING,
    ClauseName.RESTRUCTURING,
    ClauseName.FAMILY_REGRESSION,
)
"""Clauses each of which rejects on its own."""
FORBIDDING = (*REJECTING, ClauseName.NEW_CRITICAL, ClauseName.CORRECTNESS_LOSS)
"""Clauses each of which forbids a benefit unless it is known not to hold."""

Said = tuple[DecisionOutcome, tuple[str, ...]]


def decide(rules: DecisionRules, evidence: Evidence) -> Decision:
    """Apply the rules; the first step that says something decides.

    1. Nothing is admissible: inconclusive. 2. A reproduced new critical failure: reject or revise. 3. The
    study is not finished, or too much is missing: inconclusive. 4. Another rejecting clause: reject or
    revise. 5. Improvement, and nothing that forbids it: provisional benefit. 6. Burden without quality:
    prefer neutral. 7. Inconclusive.
    """
    clauses = {clause.name: clause for clause in _clauses(rules, evidence)}
    outcome, reasons = (
        _inadmissible(evidence)
        or _rejected(clauses, (ClauseName.REPRODUCED_CRITICAL,))
        or _incomplete(rules, evidence)
        or _rejected(clauses, REJECTING)
        or _benefit(clauses, evidence)
        or _neutral(clauses)
        or _undecided(clauses, evidence)
    )
    return Decision(
        arm=evidence.arm,
        control=evidence.control,
        outcome=outcome,
        measure=evidence.measure,
        preliminary=evidence.measure is not Measure.QUALITY or evidence.provisional,
        clauses=tuple(clauses.values()),
        reasons=reasons,
    )


def _clauses(rules: DecisionRules, evidence: Evidence) -> tuple[Clause, ...]:
    return (
        reproduced_critical(rules, evidence),
        scoping(ClauseName.UNDER_SCOPING, EXPANSION, rules, evidence),
        scoping(ClauseName.RESTRUCTURING, RESTRAINT, rules, evidence),
        family_regression(rules, evidence),
        improvement(rules, evidence),
        new_critical(evidence),
        correctness_loss(rules, evidence),
        burden(rules, evidence),
    )


def _inadmissible(evidence: Evidence) -> Said | None:
    return (DecisionOutcome.INCONCLUSIVE, evidence.inadmissible) if evidence.inadmissible else None


def _rejected(clauses: dict[ClauseName, Clause], names: tuple[ClauseName, ...]) -> Said | None:
    held = [name for name in names if clauses[name].state is ClauseState.HELD]
    reasons = tuple(f"{name}: {clauses[name].words}" for name in held)
    return (DecisionOutcome.REJECT, reasons) if held else None


def _incomplete(rules: DecisionRules, evidence: Evidence) -> Said | None:
    reasons = []
    if evidence.waiting_runs:
        reasons.append(
            f"the study is not finished: {plural(evidence.waiting_runs, 'run')} to be made or graded"
        )
    if evidence.unreviewed_runs:
        reasons.append(f"no quality score for {plural(evidence.unreviewed_runs, 'submission')}")
    most = rules.most_missing_share * evidence.planned_runs
    for arm, missing in ((evidence.arm, evidence.arm_missing), (evidence.control, evidence.control_missing)):
        if not at_least(most, missing):
            share = f"more than a share of {rules.most_missing_share:g}"
            reasons.append(f"{missing} of {evidence.planned_runs} runs of {arm} have no score, {share}")
    return (DecisionOutcome.INCONCLUSIVE, tuple(reasons)) if reasons else None


def _benefit(clauses: dict[ClauseName, Clause], evidence: Evidence) -> Said | None:
    if clauses[ClauseName.IMPROVEMENT].state is not ClauseState.HELD or _forbids(clauses, evidence):
        return None
    reason = f"{ClauseName.IMPROVEMENT}: {clauses[ClauseName.IMPROVEMENT].words}"
    return DecisionOutcome.BENEFIT, (reason, "no clause that forbids a benefit holds")


def _forbids(clauses: dict[ClauseName, Clause], evidence: Evidence) -> tuple[str, ...]:
    """What stands in the way of a benefit; what cannot be told does, too."""
    found = (clauses[name] for name in FORBIDDING)
    bad = tuple(f"{item.name}: {item.words}" for item in found if item.state is not ClauseState.NOT_HELD)
    return bad + evidence.doubts


def _neutral(clauses: dict[ClauseName, Clause]) -> Said | None:
    item = clauses[ClauseName.BURDEN]
    if item.state is not ClauseState.HELD:
        return None
    return DecisionOutcome.NEUTRAL, (f"{item.name}: {item.words}",)


def _undecided(clauses: dict[ClauseName, Clause], evidence: Evidence) -> Said:
    item = clauses[ClauseName.IMPROVEMENT]
    if item.state is ClauseState.HELD:
        return DecisionOutcome.INCONCLUSIVE, _forbids(clauses, evidence)
    reasons = (f"{item.name}: {item.words}", f"{ClauseName.BURDEN}: {clauses[ClauseName.BURDEN].words}")
    return DecisionOutcome.INCONCLUSIVE, reasons + evidence.doubts
