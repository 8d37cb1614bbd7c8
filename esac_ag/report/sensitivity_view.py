"""The records of the report's section on sensitivity."""

from __future__ import annotations

from esac_ag.manifest.plan import AgentKind
from esac_ag.record import Record
from esac_ag.statistics.sensitivity import Adjustment, Sensitivity


class ArmSensitivity(Record):
    """What the comparison of an arm with the control rests on."""

    arm: str
    control: str
    agent_kind: AgentKind
    primary: bool
    result: Sensitivity


class StudySensitivity(Record):
    """Beside every comparison; it explains what was sealed and replaces none of it."""

    arms: tuple[ArmSensitivity, ...]
    adjustments: tuple[Adjustment, ...]
    """Holm's, over the secondary comparisons and over each arm's families and scopes."""
