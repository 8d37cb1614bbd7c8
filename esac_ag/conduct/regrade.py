"""Grading apart from running: what has no grading yet, or all of it again to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from esac_ag.attempt import CheckVerdict, Grading
from esac_ag.attempt.events import AttemptGraded, AttemptState
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.context import Bench
from esac_ag.conduct.judging import judge, regraded
from esac_ag.errors import SubstitutionRefused
from esac_ag.ledger import open_ledger
from esac_ag.manifest.plan import AgentKind, TaskReference
from esac_ag.record import Record
from esac_ag.rooms.tasks import LoadedTask, load_sealed_task
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.docker import DockerEngine

T = TypeVar("T")


class Disagreement(Record):
    """A grading that came out otherwise."""

    attempt_id: str
    task: str
    recorded: str
    now: str


class GradingSummary(Record):
    """What `esac-ag grade` did."""

    study: str
    agent_kind: AgentKind
    graded: int
    """Gradings that were made now and are recorded."""
    compared: int
    """Gradings that were made again, and only compared."""
    disagreements: tuple[Disagreement, ...]

    @property
    def agrees(self) -> bool:
        """Whether every repeated grading came out the same."""
        return not self.disagreements


def grade_study(
    path: Path, *, workspace: Workspace, engine: DockerEngine, again: bool, concurrency: int
) -> GradingSummary:
    """Grade attempts that count and have no grading; with `again`, grade all others once more and compare.

    Raises:
        InputRefused: the folder holds no study, or a submission is damaged.
        SubstitutionRefused: tasks, graders or the grader image are not the sealed ones.
        StudyBusy: a harness works on the study.
        InfrastructureFailure: a grader's container failed.
    """
    study = read_study(path)
    sealed = study.manifest.images.grader
    found = engine.image_digest(sealed.reference)
    if found != sealed.digest:
        raise SubstitutionRefused(
            "the grader image is not the sealed one",
            where=sealed.reference,
            expected=sealed.digest,
            found=found,
            remedy="build or pull the sealed image, or freeze a new study",
        )
    bench = Bench(
        manifest=study.manifest,
        manifest_sha256=study.manifest_sha256,
        manifest_folder=workspace.manifests,
        workspace=workspace,
        folder=study.folder,
        engine=engine,
        grader_image=engine.image_id(sealed.reference),
    )
    jobs = _Jobs(study, bench, workspace)
    todo = study.state.ungraded()
    if todo:
        jobs.record(todo, concurrency)
    compared = [attempt for attempt in study.state.attempts.values() if attempt.grading] if again else []
    differing = jobs.compare(compared, concurrency)
    return GradingSummary(
        study=study.manifest.study_id,
        agent_kind=study.manifest.agent.kind,
        graded=len(todo),
        compared=len(compared),
        disagreements=differing,
    )


class _Jobs:
    """Gradings, several at a time."""

    def __init__(self, study: StudyRecords, bench: Bench, workspace: Workspace) -> None:
        self._study = study
        self._bench = bench
        self._references = {reference.id: reference for reference in study.manifest.tasks}
        self._tasks = {
            reference.id: load_sealed_task(
                workspace.manifests,
                reference.model_copy(update={"manifest": str(workspace.tasks / reference.id / "task.json")}),
            )
            for reference in study.manifest.tasks
        }

    def record(self, attempts: Sequence[AttemptState], concurrency: int) -> None:
        """Grade and write to the ledger."""
        with open_ledger(self._study.folder.ledger) as ledger:

            def one(attempt: AttemptState) -> None:
                reference, task = self._of(attempt)
                grading, artifacts = judge(self._bench, reference, task, attempt.attempt_id)
                ledger.append(
                    AttemptGraded(attempt_id=attempt.attempt_id, status=grading.status, artifacts=artifacts)
                )

            self._each(one, attempts, concurrency)

    def compare(self, attempts: Sequence[AttemptState], concurrency: int) -> tuple[Disagreement, ...]:
        """Grade again, and tell where verdicts differ from the recorded ones."""

        def one(attempt: AttemptState) -> Disagreement | None:
            reference, task = self._of(attempt)
            now = verdicts(regraded(self._bench, reference, task, attempt.attempt_id))
            recorded = verdicts(self._study.gradings[attempt.attempt_id])
            if now == recorded:
                return None
            return Disagreement(attempt_id=attempt.attempt_id, task=reference.id, recorded=recorded, now=now)

        results = self._each(one, attempts, concurrency)
        return tuple(result for result in results if result is not None)

    def _of(self, attempt: AttemptState) -> tuple[TaskReference, LoadedTask]:
        return self._references[attempt.cell.task], self._tasks[attempt.cell.task]

    @staticmethod
    def _each(
        one: Callable[[AttemptState], T], attempts: Sequence[AttemptState], concurrency: int
    ) -> list[T]:
        with ThreadPoolExecutor(concurrency, thread_name_prefix="grade") as pool:
            return list(pool.map(one, attempts))


def verdicts(grading: Grading) -> str:
    """Status and failed checks in one line: what has to be the same each time."""
    failed = ", ".join(check.id for check in grading.checks if check.verdict is CheckVerdict.FAIL)
    return f"{grading.status}; failed: {failed or 'none'}"
