"""Each planned cell with the attempt that counts, its grading and its score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from esac_ag.attempt import AttemptRecord, Cell, GradingStatus
from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import AgentKind
from esac_ag.report.gradings import GradingFacts
from esac_ag.report.inputs import ReportInputs
from esac_ag.report.view import RunState
from esac_ag.statistics.estimates import rounded


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One planned cell; attempt and grading only where one counts."""

    cell: Cell
    state: RunState
    attempt: AttemptRecord | None
    grading: GradingFacts | None
    score: float | None
    """Check score 0 to 100; none unless the state is graded."""
    dimension_scores: dict[Dimension, float]
    """Weighted share of passed checks by dimension, 0 to 100; empty unless graded."""


@dataclass(frozen=True)
class Facts:
    """The inputs, and the runs in the manifest's order of tasks and arms."""

    inputs: ReportInputs

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Arm ids in the manifest's order."""
        return tuple(arm.id for arm in self.inputs.manifest.arms)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Task ids in the manifest's order."""
        return tuple(task.id for task in self.inputs.manifest.tasks)

    @property
    def agent_kind(self) -> AgentKind:
        """What acted in every run."""
        return self.inputs.manifest.agent.kind

    @property
    def control(self) -> str:
        """Id of the arm that every other is compared with."""
        return self.inputs.manifest.analysis.primary_comparison.control

    @property
    def repetitions(self) -> int:
        """Planned runs of a task under an arm."""
        return self.inputs.manifest.repetitions

    @cached_property
    def _stopped(self) -> frozenset[str]:
        """Arms that were stopped by rule."""
        return frozenset(item.arm for item in self.inputs.ledger.stopped)

    @cached_property
    def by_cell(self) -> dict[Cell, RunFacts]:
        """Every planned cell."""
        attempts = {attempt.attempt_id: attempt for attempt in self.inputs.attempts}
        return {cell: self._run(cell, attempts) for cell in self.inputs.planned}

    @cached_property
    def _by_task_and_arm(self) -> dict[tuple[str, str], tuple[RunFacts, ...]]:
        found: dict[tuple[str, str], list[RunFacts]] = {}
        for run in sorted(self.by_cell.values(), key=lambda run: run.cell.repetition):
            found.setdefault((run.cell.task, run.cell.arm), []).append(run)
        return {key: tuple(runs) for key, runs in found.items()}

    def runs(self, task: str, arm: str) -> tuple[RunFacts, ...]:
        """The runs of a task under an arm, by repetition."""
        return self._by_task_and_arm[task, arm]

    def runs_of_arm(self, arm: str) -> Iterator[RunFacts]:
        """All runs of an arm, by task and repetition."""
        for task in self.tasks:
            yield from self.runs(task, arm)

    def scores(self, task: str, arm: str) -> list[float]:
        """The scores that are known, by repetition."""
        return [run.score for run in self.runs(task, arm) if run.score is not None]

    def scores_in(self, task: str, arm: str, dimension: Dimension) -> list[float]:
        """The scores of one dimension that are known, by repetition."""
        shares = [run.dimension_scores for run in self.runs(task, arm)]
        return [share[dimension] for share in shares if dimension in share]

    def _run(self, cell: Cell, attempts: dict[str, AttemptRecord]) -> RunFacts:
        attempt = attempts.get(self.inputs.counting.get(cell, ""))
        if attempt is None:
            state = RunState.STOPPED if cell.arm in self._stopped else RunState.MISSING
            return RunFacts(cell, state, None, None, None, {})
        grading = self.inputs.gradings.get(attempt.attempt_id)
        state = _state(grading)
        if state is not RunState.GRADED or grading is None or grading.score is None:
            return RunFacts(cell, state, attempt, grading, None, {})
        return RunFacts(cell, state, attempt, grading, rounded(grading.score), grading.dimension_scores)


def _state(grading: GradingFacts | None) -> RunState:
    if grading is None:
        return RunState.UNGRADED
    if grading.status is GradingStatus.INVALID or grading.score is None:
        return RunState.INVALID
    return RunState.GRADED
