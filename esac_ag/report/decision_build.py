"""Decides on every arm of a study by its sealed rules."""

from __future__ import annotations

from collections.abc import Sequence

from esac_ag.manifest.plan import AgentKind, ArmKind, Phase
from esac_ag.report.comparisons import arm_comparison
from esac_ag.report.decision_evidence import ReviewedFacts, evidence_of
from esac_ag.report.decision_view import ArmDecision
from esac_ag.report.manipulation_view import CheckState, ManipulationCheck
from esac_ag.report.runs import Facts
from esac_ag.report.view import ArmComparison
from esac_ag.study.conclusion import Boundary, conclusion
from esac_ag.study.decision import decide
from esac_ag.study.evidence import doubts_of_size


def arm_decisions(
    facts: Facts, comparisons: Sequence[ArmComparison], check: ManipulationCheck
) -> tuple[ArmDecision, ...]:
    """A decision on each arm with a bundle that is compared with the control, the primary one first.

    Args:
        facts: the study; with quality scores, once its review was unblinded.
        comparisons: on check scores; made anew on quality scores where there are any.
        check: whether the arms were loaded, and nothing of them elsewhere.
    """
    kinds = {arm.id: arm.kind for arm in facts.inputs.manifest.arms}
    compared = [item for item in comparisons if kinds[item.arm] is not ArmKind.NONE]
    quality = facts.inputs.quality
    decided = facts if quality is None else ReviewedFacts(facts.inputs)
    made = (
        _decided(decided, item if quality is None else arm_comparison(decided, item.arm), check)
        for item in compared
    )
    return tuple(sorted(made, key=lambda item: not item.primary))


def _decided(facts: Facts, comparison: ArmComparison, check: ManipulationCheck) -> ArmDecision:
    manifest = facts.inputs.manifest
    evidence = evidence_of(facts, comparison).model_copy(
        update={"inadmissible": _inadmissible(facts, check), "doubts": _doubts(facts, check)}
    )
    decision = decide(manifest.decision, evidence)
    boundary = Boundary(
        phase=manifest.phase,
        agent_kind=facts.agent_kind,
        model=f"{manifest.model.name} {manifest.model.version}",
        harness=f"{manifest.harness.version} {manifest.harness.revision}",
    )
    return ArmDecision(
        arm=comparison.arm,
        agent_kind=facts.agent_kind,
        primary=comparison.primary,
        decision=decision,
        conclusion=conclusion(decision, evidence, boundary),
        evidence=evidence,
    )


def _inadmissible(facts: Facts, check: ManipulationCheck) -> tuple[str, ...]:
    """Why nothing can be decided at all."""
    reasons = []
    if facts.inputs.manifest.phase is Phase.CALIBRATION:
        reasons.append("calibration runs are excluded from results")
    if check.state is CheckState.FAILED:
        reasons.append("the manipulation check failed, so the difference is not the bundle's")
    return tuple(reasons)


def _doubts(facts: Facts, check: ManipulationCheck) -> tuple[str, ...]:
    """Why no benefit can be found."""
    reasons = list(doubts_of_size(len(facts.tasks)))
    if check.state is CheckState.NOT_CHECKABLE and facts.agent_kind is not AgentKind.SCRIPTED:
        reasons.append("whether the arms were loaded is not known")
    return tuple(reasons)
