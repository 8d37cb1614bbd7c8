"""What a sealed plan says to somebody who looks at a study or at a suite run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from esac_ag.canonical import loads_strict, sha256_of
from esac_ag.manifest.plan import AgentKind, Manifest, Plan
from esac_ag.rooms.manifest_file import plans_a_suite_run
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, read_bounded
from esac_ag.rooms.records import read_record
from esac_ag.suite.constitution import Pool
from esac_ag.suite.plan import SuitePlan


class PlanKind(StrEnum):
    """What a folder of results holds."""

    STUDY = "study"
    SUITE_RUN = "suite run"


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """A plan in the words of a list of studies."""

    kind: PlanKind
    study_id: str
    part: str
    """The phase of a study, the pool of a suite run."""
    model: str
    agent: str
    is_scripted: bool
    """Whether nothing of it is evidence about a model."""
    is_held_out: bool
    """Whether what its attempts hold tells items that are kept secret."""
    arms: tuple[str, ...]
    units: tuple[str, ...]
    """Ids of its tasks, or of its items."""
    cells_of_arm: int
    """Planned for each arm."""
    unit_word: str
    """`task` or `item`."""
    sha256: str
    """Digest of the manifest, as records carry it."""
    sealed: Manifest | SuitePlan


def plan_at(path: Path) -> PlanFacts:
    """The plan of a folder of results.

    Args:
        path: of `manifest.json`.

    Raises:
        InputRefused: the file is missing, or no sealed plan of format version 2.
    """
    if plans_a_suite_run(path):
        return _suite_run(read_record(path, SuitePlan), _digest(path))
    return _study(read_record(path, Manifest), _digest(path))


def _digest(path: Path) -> str:
    return sha256_of(loads_strict(read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES)))


def _study(sealed: Manifest, sha256: str) -> PlanFacts:
    return PlanFacts(
        kind=PlanKind.STUDY,
        study_id=sealed.study_id,
        part=sealed.phase.value,
        model=_model(sealed),
        agent=_agent(sealed),
        is_scripted=sealed.agent.kind is AgentKind.SCRIPTED,
        is_held_out=False,
        arms=tuple(arm.id for arm in sealed.arms),
        units=tuple(task.id for task in sealed.tasks),
        cells_of_arm=len(sealed.tasks) * sealed.repetitions,
        unit_word="task",
        sha256=sha256,
        sealed=sealed,
    )


def _suite_run(sealed: SuitePlan, sha256: str) -> PlanFacts:
    return PlanFacts(
        kind=PlanKind.SUITE_RUN,
        study_id=sealed.study_id,
        part=f"{sealed.pool.value} pool",
        model=_model(sealed),
        agent=_agent(sealed),
        is_scripted=sealed.agent.kind is AgentKind.SCRIPTED,
        is_held_out=sealed.pool is Pool.HELD_OUT,
        arms=sealed.arm_ids,
        units=sealed.item_ids,
        cells_of_arm=sum(item.runs for item in sealed.items),
        unit_word="item",
        sha256=sha256,
        sealed=sealed,
    )


def _model(sealed: Plan) -> str:
    reasoning = f", reasoning {sealed.model.reasoning}" if sealed.model.reasoning else ""
    return f"{sealed.model.name} {sealed.model.version}{reasoning}"


def _agent(sealed: Plan) -> str:
    named = sealed.agent.settings.get("agent")
    kind = f"{sealed.agent.kind.value} {sealed.agent.version}"
    return f"{named} ({kind})" if isinstance(named, str) else kind
