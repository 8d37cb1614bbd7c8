"""What a draft or a sealed manifest says of a design that is to be simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.sealing import task_path
from esac_ag.errors import InputRefused
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.decision import DecisionRules
from esac_ag.manifest.draft import Draft, DraftTask
from esac_ag.manifest.package import TaskPackage, TaskPackages
from esac_ag.manifest.plan import Interval, Manifest, Phase, ReviewPlan, TaskReference
from esac_ag.rooms.manifest_file import plans_a_suite_run, read_json
from esac_ag.rooms.records import read_record
from esac_ag.study.simulated import TaskPlace, equal_split

DEFAULT_RULES = "the default rules"
_CALIBRATION = (
    "The plan is a calibration, of which nothing is decided. It is simulated as if it were a primary study."
)


@dataclass(frozen=True, slots=True)
class DecisionPlan:
    """Rules, and the families and intended scopes of the tasks that they are applied to."""

    rules: DecisionRules
    source: str
    """Where the rules are from, in words."""
    places: tuple[TaskPlace, ...]
    """One per task."""

    @classmethod
    def usual(cls, tasks: int) -> DecisionPlan:
        """The default rules, on tasks in equal families."""
        return cls(DecisionRules(), DEFAULT_RULES, equal_split(tasks))

    def of_size(self, tasks: int) -> DecisionPlan:
        """The same with so many tasks: further ones repeat the plan's families and scopes in turn."""
        places = tuple(self.places[number % len(self.places)] for number in range(tasks))
        return DecisionPlan(self.rules, self.source, places)


@dataclass(frozen=True, slots=True)
class PlannedDesign:
    """What a plan fixes of a design."""

    decision: DecisionPlan
    repetitions: int
    threshold_points: float
    interval: Interval
    """Its seed is the plan's own, or empty in a draft without one."""
    review: ReviewPlan
    notices: tuple[str, ...]


def planned_design(path: Path) -> PlannedDesign:
    """The design of a draft, or of a sealed manifest, with its tasks' packages.

    Args:
        path: the file; of the manifest in a study's folder, the packages that were kept there are read.

    Raises:
        InputRefused: it is no plan of a study, or it or a task's package cannot be read.
    """
    if plans_a_suite_run(path):
        raise InputRefused(
            "the plan is a suite run's, which is not decided by these rules",
            where=str(path),
            expected="a draft or a manifest of a study",
            found="suite.name esac-ag",
        )
    plan = read_record(path, Draft) if _is_draft(path) else read_record(path, Manifest)
    places = tuple(TaskPlace(package.family, package.contrast) for package in _packages(path, plan.tasks))
    return PlannedDesign(
        decision=DecisionPlan(plan.decision, f"those of {plan.study_id} ({path.name})", places),
        repetitions=plan.repetitions,
        threshold_points=plan.analysis.threshold_points,
        interval=plan.analysis.interval if isinstance(plan, Manifest) else plan.analysis.interval.sealed(""),
        review=plan.review,
        notices=(_CALIBRATION,) if plan.phase is Phase.CALIBRATION else (),
    )


def _is_draft(path: Path) -> bool:
    found = read_json(path, Collector(str(path), strict=False)).value
    return isinstance(found, dict) and found.get("status") == "draft"


def _packages(path: Path, tasks: tuple[DraftTask, ...] | tuple[TaskReference, ...]) -> list[TaskPackage]:
    kept = StudyFolder(path.parent)
    if kept.ledger.is_file() and kept.tasks.is_file():
        packages = read_record(kept.tasks, TaskPackages).packages
        return [packages[task.id] for task in tasks]
    return [read_record(task_path(task, path.parent), TaskPackage) for task in tasks]
