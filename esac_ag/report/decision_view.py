"""The record of a decision as a report shows it."""

from __future__ import annotations

from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Record
from esac_ag.study.decision_records import Decision
from esac_ag.study.evidence import Evidence


class ArmDecision(Record):
    """What the sealed rules say of one arm."""

    arm: str
    agent_kind: AgentKind
    primary: bool
    """Whether the manifest names it as the primary comparison."""
    decision: Decision
    conclusion: str
    """One sentence, which cannot exceed the boundary of the claim."""
    evidence: Evidence
    """What the rules were applied to, so that anybody can apply them again."""
