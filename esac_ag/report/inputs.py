"""What a report is computed from, and the refusal of inputs that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from esac_ag.attempt import GRADED_OUTCOMES, AttemptRecord, Cell, Outcome
from esac_ag.errors import InputRefused
from esac_ag.manifest.package import TaskPackage
from esac_ag.manifest.plan import Manifest
from esac_ag.record import Record, Sha256
from esac_ag.report.gradings import DeclaredChecks, GradingFacts
from esac_ag.report.loaded_facts import LoadedFacts
from esac_ag.report.standing import Revision, StoppedArm
from esac_ag.study.quality import QualityScore
from esac_ag.study.scores import ReviewScores


class SpoiledAttempt(Record):
    """An attempt that the ledger knows to have ended without counting (`infra` or `cancelled`)."""

    attempt_id: str
    cell: Cell
    outcome: Outcome
    reason: str


class LedgerSummary(Record):
    """What the ledger tells beyond the attempts' own records."""

    spoiled: tuple[SpoiledAttempt, ...] = ()
    """Spoiled and cancelled attempts; those that have a record of their own may be repeated here."""
    retries: int = 0
    """Launches of a cell after its first."""
    pauses: int = 0
    """Times the study stopped because retries were used up."""
    stopped: tuple[StoppedArm, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """Everything a report is a function of; no clock, so that the same study gives the same bytes."""

    manifest: Manifest
    manifest_sha256: Sha256
    """As sealed: over the canonical form of the file, not of the record."""
    planned: tuple[Cell, ...]
    attempts: tuple[AttemptRecord, ...]
    gradings: Mapping[str, GradingFacts]
    """By attempt id."""
    counting: Mapping[Cell, str]
    """The attempt that counts for a cell; cells without one are missing."""
    tasks: Mapping[str, TaskPackage]
    """By task id."""
    loaded: Mapping[str, LoadedFacts] = field(default_factory=dict)
    """What was loaded, by attempt id; attempts that left no such record are missing."""
    ledger: LedgerSummary = field(default_factory=LedgerSummary)
    deviations: tuple[str, ...] = ()
    """What was done otherwise than sealed, a sentence each."""
    quality: Mapping[str, QualityScore] | None = None
    """By attempt id, once a blinded review was unblinded; none before."""
    review: ReviewScores | None = None
    """The same with who reviewed and how far they agree."""
    checks: Mapping[str, DeclaredChecks] = field(default_factory=dict)
    """The hidden checks of a task, of tasks with a grading."""
    untouched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By task: the checks that its untouched snapshot fails, of tasks whose proof is at hand."""
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By attempt id: files in its folder that the ledger names, of those that a person reads."""
    revision: Revision | None = None
    """None: the first report."""


def refuse_contradictions(inputs: ReportInputs) -> None:
    """Check that the inputs belong together; a report of mixed-up studies would be believed.

    Raises:
        InputRefused: the first contradiction.
    """
    _check_plan(inputs)
    planned = frozenset(inputs.planned)
    for attempt in inputs.attempts:
        _check_attempt(inputs, attempt, planned)
    for item in inputs.ledger.spoiled:
        if item.cell not in planned:
            _refuse("ledger.jsonl", "spoiled attempts of planned cells", str(item.cell))
    by_id = {attempt.attempt_id: attempt for attempt in inputs.attempts}
    if len(by_id) != len(inputs.attempts):
        _refuse("attempts", "each attempt id once", "one more than once")
    for cell, attempt_id in inputs.counting.items():
        if cell not in planned:
            _refuse("ledger.jsonl", "counting attempts of planned cells", str(cell))
        _check_counting(cell, attempt_id, by_id)
    if len(set(inputs.counting.values())) != len(inputs.counting):
        _refuse("ledger.jsonl", "an attempt that counts for one cell", "one that counts for two")
    for attempt_id, grading in inputs.gradings.items():
        _check_grading(attempt_id, grading, by_id)
    for attempt_id, loaded in inputs.loaded.items():
        _check_loaded(attempt_id, loaded, by_id)
    _check_later(inputs, by_id)


def _check_later(inputs: ReportInputs, by_id: Mapping[str, AttemptRecord]) -> None:
    """What the ledger and a review tell of arms and attempts."""
    arms = {arm.id for arm in inputs.manifest.arms}
    for stopped in inputs.ledger.stopped:
        if stopped.arm not in arms:
            _refuse("ledger.jsonl", "stopped arms of the manifest", stopped.arm)
    unknown = sorted(set(inputs.quality or ()) - by_id.keys())
    if unknown:
        _refuse("review", "quality scores of attempts with a record", ", ".join(unknown))


def _check_plan(inputs: ReportInputs) -> None:
    arms = {arm.id for arm in inputs.manifest.arms}
    tasks = {task.id for task in inputs.manifest.tasks}
    comparison = inputs.manifest.analysis.primary_comparison
    for pointer, arm in (("arm", comparison.arm), ("control", comparison.control)):
        if arm not in arms:
            _refuse(f"manifest.json /analysis/primary_comparison/{pointer}", "an arm of the manifest", arm)
    unknown = sorted(tasks - inputs.tasks.keys())
    if unknown:
        _refuse("tasks", "a package for each task of the manifest", f"none for {', '.join(unknown)}")
    expected = {
        (task, arm, repetition)
        for task in tasks
        for arm in arms
        for repetition in range(1, inputs.manifest.repetitions + 1)
    }
    planned = [(cell.task, cell.arm, cell.repetition) for cell in inputs.planned]
    if len(planned) != len(expected) or set(planned) != expected:
        _refuse("schedule.json", "every task, arm and repetition of the manifest once", "other cells")


def _check_attempt(inputs: ReportInputs, attempt: AttemptRecord, planned: frozenset[Cell]) -> None:
    where = f"attempts/{attempt.attempt_id}/attempt.json"
    if attempt.manifest_sha256 != inputs.manifest_sha256:
        _refuse(where, f"manifest {inputs.manifest_sha256}", attempt.manifest_sha256)
    if attempt.agent_kind is not inputs.manifest.agent.kind:
        _refuse(where, f"agent kind {inputs.manifest.agent.kind}", attempt.agent_kind)
    if attempt.cell not in planned:
        _refuse(where, "a planned cell", str(attempt.cell))


def _check_counting(cell: Cell, attempt_id: str, by_id: Mapping[str, AttemptRecord]) -> None:
    attempt = by_id.get(attempt_id)
    if attempt is not None and attempt.cell == cell and attempt.outcome in GRADED_OUTCOMES:
        return
    where = f"ledger.jsonl, cell {cell}"
    if attempt is None:
        _refuse(where, "an attempt with a record", attempt_id)
    if attempt.cell != cell:
        _refuse(where, "an attempt of this cell", f"{attempt_id} of {attempt.cell}")
    _refuse(where, "an attempt whose outcome is graded", f"{attempt_id}: {attempt.outcome}")


def _check_grading(attempt_id: str, grading: GradingFacts, by_id: Mapping[str, AttemptRecord]) -> None:
    where = f"attempts/{attempt_id}/grading/result.json"
    if grading.attempt_id != attempt_id:
        _refuse(where, attempt_id, grading.attempt_id)
    if attempt_id not in by_id:
        _refuse(where, "a grading of an attempt with a record", "no such record")
    attempt = by_id[attempt_id]
    if grading.manifest_sha256 not in (None, attempt.manifest_sha256):
        _refuse(where, f"manifest {attempt.manifest_sha256}", str(grading.manifest_sha256))
    if grading.task_id != attempt.cell.task:
        _refuse(where, f"task {attempt.cell.task}", grading.task_id)
    if attempt.submission is None or grading.submission_tree_sha256 != attempt.submission.tree_sha256:
        _refuse(where, "the submission of its attempt", grading.submission_tree_sha256)


def _check_loaded(attempt_id: str, loaded: LoadedFacts, by_id: Mapping[str, AttemptRecord]) -> None:
    where = f"attempts/{attempt_id}/loaded-instructions.json"
    if attempt_id not in by_id:
        _refuse(where, "a record of an attempt with a record", "no such record")
    attempt = by_id[attempt_id]
    if loaded.arm != attempt.cell.arm:
        _refuse(where, f"arm {attempt.cell.arm}", loaded.arm)
    if loaded.agent_kind not in (None, attempt.agent_kind):
        _refuse(where, f"agent kind {attempt.agent_kind}", str(loaded.agent_kind))


def _refuse(where: str, expected: str, found: str) -> NoReturn:
    raise InputRefused(
        "The parts of this study do not belong together.",
        where=where,
        expected=expected,
        found=found,
        remedy="run esac-ag audit on the study",
    )
