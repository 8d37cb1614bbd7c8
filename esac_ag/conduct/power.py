"""Power of a design before it is sealed, with the spreads of an earlier study if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from esac_ag.conduct.reporting import report_inputs
from esac_ag.errors import InputRefused
from esac_ag.manifest.plan import AgentKind, Interval
from esac_ag.record import Record
from esac_ag.report.inputs import refuse_contradictions
from esac_ag.report.runs import Facts
from esac_ag.report.words import SCRIPTED_NOTICE
from esac_ag.statistics.calibration import Calibration, calibrate
from esac_ag.statistics.estimates import Estimate, NotEstimable
from esac_ag.statistics.power import Decide, PowerResult, by_interval, power_of
from esac_ag.statistics.simulation import PowerDesign


class StudyCalibration(Record):
    """Spreads, and the study that they are from."""

    study_id: str
    agent_kind: AgentKind
    spreads: Calibration


class PowerReport(Record):
    """Results of a design for several effects."""

    format_version: Literal[1]
    notices: tuple[str, ...]
    """What a reader must know before any number."""
    calibration: StudyCalibration | None
    results: tuple[PowerResult, ...]


def calibrated_from(path: Path) -> StudyCalibration:
    """The spreads of a study's check scores.

    Raises:
        InputRefused: the folder holds no study, or a file of it is damaged.
        LedgerCorrupt: the ledger does not verify.
    """
    _, inputs = report_inputs(path)
    refuse_contradictions(inputs)
    facts = Facts(inputs)
    scores = {arm: {task: facts.scores(task, arm) for task in facts.tasks} for arm in facts.arms}
    return StudyCalibration(
        study_id=inputs.manifest.study_id,
        agent_kind=facts.agent_kind,
        spreads=calibrate(scores.pop(facts.control), list(scores.values())),
    )


def spread(found: Estimate | NotEstimable, given: float | None, option: str) -> float:
    """A spread as given, else as calibrated.

    Raises:
        InputRefused: neither is there.
    """
    if given is not None:
        return given
    if isinstance(found, Estimate):
        return found.value
    raise InputRefused(
        f"The study does not tell a spread: {found.reason}.",
        where=option,
        expected="two runs or more of a task under an arm, and two paired tasks or more",
        remedy=f"give {option}, or calibrate from a study with repetitions",
    )


def power_report(
    design: PowerDesign,
    effects: tuple[float, ...],
    interval: Interval,
    studies: int,
    calibration: StudyCalibration | None = None,
    decide: Decide = by_interval,
) -> PowerReport:
    """Simulate the design once for each effect.

    Args:
        design: everything but the effect.
        effects: true mean effects, in points.
        interval: method, confidence, replicates and seed.
        studies: simulated for each effect.
        calibration: where spreads are from, to be shown.
        decide: the decision rule whose verdicts are counted.
    """
    return PowerReport(
        format_version=1,
        notices=tuple(_notices(calibration)),
        calibration=calibration,
        results=tuple(
            power_of(design.model_copy(update={"effect_points": effect}), interval, studies, decide)
            for effect in effects
        ),
    )


def _notices(calibration: StudyCalibration | None) -> Iterator[str]:
    if calibration is None:
        yield "The spreads are assumptions: calibrate them from an earlier study."
        return
    if calibration.agent_kind is AgentKind.SCRIPTED:
        yield f"{SCRIPTED_NOTICE}. The spreads are those of the scripts."
    if calibration.spreads.floored:
        yield (
            "Runs alone explain the spread of the study's differences, so the spread between tasks was set "
            "to 0. It is not known to be 0: try larger ones with --task-sd."
        )
