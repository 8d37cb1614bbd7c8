"""Power of a design before it is sealed, with the spreads of an earlier study if there is one.

Spreads that an earlier study cannot tell are assumed, and whatever is assumed is said in a notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from esac_ag.conduct.power_decisions import DecisionTable, decision_table, worlds
from esac_ag.conduct.power_plan import DecisionPlan
from esac_ag.conduct.reporting import report_inputs
from esac_ag.manifest.plan import AgentKind, Interval
from esac_ag.plural import plural
from esac_ag.record import Record
from esac_ag.report.inputs import refuse_contradictions
from esac_ag.report.runs import Facts
from esac_ag.report.words import SCRIPTED_NOTICE
from esac_ag.statistics.calibration import Calibration, calibrate
from esac_ag.statistics.estimates import NotEstimable
from esac_ag.statistics.power import PowerResult, power_of
from esac_ag.statistics.simulation import PowerDesign
from esac_ag.study.clauses import LEAST_FAMILIES
from esac_ag.study.evidence import doubts_of_size
from esac_ag.study.simulated import by_rules

USUAL_SD_POINTS = 10.0
"""Assumed where nothing tells a spread."""
FEW_DEGREES = 5
"""With fewer degrees of freedom a spread is hardly known: with 4 it may be 0.6 to 2.9 times as large."""
_ASSUMED = "The spreads are assumptions: calibrate them from an earlier study."


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
    """What the interval shows, by stated effect."""
    decisions: DecisionTable


class Spreads(Record):
    """The spreads that a design takes, in points, and what of them was assumed."""

    task_sd_points: float
    run_sd_points: float
    notices: tuple[str, ...]


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


def spreads_of(
    calibration: StudyCalibration | None, task_sd_points: float | None, run_sd_points: float | None
) -> Spreads:
    """The spreads as given, else as calibrated, else as assumed.

    Args:
        calibration: of an earlier study.
        task_sd_points: given by a person; goes before the study's.
        run_sd_points: the same.
    """
    if calibration is None:
        return Spreads(
            task_sd_points=USUAL_SD_POINTS if task_sd_points is None else task_sd_points,
            run_sd_points=USUAL_SD_POINTS if run_sd_points is None else run_sd_points,
            notices=(_ASSUMED,),
        )
    found = calibration.spreads
    scripted = calibration.agent_kind is AgentKind.SCRIPTED
    notices = [f"{SCRIPTED_NOTICE}. The spreads are those of the scripts."] if scripted else []
    task_sd = _task_sd(found, task_sd_points, notices)
    run_sd = _run_sd(found, run_sd_points, notices)
    if task_sd == run_sd == 0:
        notices.append(
            "With both spreads 0 every simulated difference is the same: no interval can be estimated, and "
            "nothing below is evidence about a real study. Give --task-sd and --run-sd."
        )
    return Spreads(task_sd_points=task_sd, run_sd_points=run_sd, notices=tuple(notices))


def _task_sd(found: Calibration, given: float | None, notices: list[str]) -> float:
    if given is not None:
        return given
    if isinstance(found.task_sd_points, NotEstimable):
        notices.append(_unknown("tasks", found.task_sd_points, "--task-sd"))
        return USUAL_SD_POINTS
    value = found.task_sd_points.value
    if found.floored:
        notices.append(
            "Runs alone explain the spread of the study's differences, so the spread between tasks was set "
            "to 0. It is not known to be 0: try larger ones with --task-sd."
        )
    elif value == 0:
        notices.append(
            "Every task of the study gained or lost alike, so the spread between tasks is taken as 0. Tasks "
            "of another study hardly ever do: try larger ones with --task-sd."
        )
    if value and found.task_degrees < FEW_DEGREES:
        notices.append(_few("tasks", found.task_degrees, "--task-sd"))
    return value


def _run_sd(found: Calibration, given: float | None, notices: list[str]) -> float:
    if given is not None:
        return given
    if isinstance(found.run_sd_points, NotEstimable):
        notices.append(_unknown("runs", found.run_sd_points, "--run-sd"))
        return USUAL_SD_POINTS
    value = found.run_sd_points.value
    if value == 0:
        notices.append(
            "No run of the study differed from another of its task and arm, so the spread between runs is "
            "taken as 0. A model's runs hardly ever do that: try larger ones with --run-sd."
        )
    elif found.run_degrees < FEW_DEGREES:
        notices.append(_few("runs", found.run_degrees, "--run-sd"))
    return value


def _unknown(what: str, reason: NotEstimable, option: str) -> str:
    return (
        f"The study does not tell the spread between {what} ({reason.reason}). It is ASSUMED to be "
        f"{USUAL_SD_POINTS:g} points; {option} gives another."
    )


def _few(what: str, degrees: int, option: str) -> str:
    return (
        f"The study's spread between {what} rests on {plural(degrees, 'degree')} of freedom: the "
        f"true one may be several times as large or small. Try others with {option}."
    )


def power_report(
    design: PowerDesign,
    effects: tuple[float, ...],
    interval: Interval,
    studies: int,
    *,
    plan: DecisionPlan | None = None,
    calibration: StudyCalibration | None = None,
    notices: tuple[str, ...] = (),
) -> PowerReport:
    """Simulate the design for each effect, for none, and for the opposite of each; decide on every study.

    Args:
        design: everything but the effect.
        effects: true mean effects, in points.
        interval: method, confidence, replicates and seed.
        studies: simulated for each effect.
        plan: decision rules, and families of as many tasks as the design has; the default rules without it.
        calibration: where spreads are from, to be shown.
        notices: what was assumed.
    """
    plan = plan or DecisionPlan.usual(design.tasks)
    decide = by_rules(plan.rules, plan.places, design.threshold_points)
    worked = {
        effect: power_of(design.model_copy(update={"effect_points": effect}), interval, studies, decide)
        for effect in worlds(effects)
    }
    return PowerReport(
        format_version=1,
        notices=(*notices, *_hopeless(plan)),
        calibration=calibration,
        results=tuple(worked[effect] for effect in effects),
        decisions=decision_table(plan, worked),
    )


def _hopeless(plan: DecisionPlan) -> Iterator[str]:
    """Why the rules can find no benefit whatever the arm does."""
    yield from (f"No benefit can be found: {doubt}." for doubt in doubts_of_size(len(plan.places)))
    families = len({place.family for place in plan.places})
    if families < LEAST_FAMILIES:
        yield f"No benefit can be found: all tasks are of one family, and {LEAST_FAMILIES} are needed."
