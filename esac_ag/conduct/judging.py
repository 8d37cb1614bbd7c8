"""Grading of one attempt, in a container of its own, after the agent's is gone."""

from __future__ import annotations

from esac_ag import clock
from esac_ag.artifacts import digests
from esac_ag.attempt import Grading
from esac_ag.clock import Seeds
from esac_ag.conduct.context import Bench
from esac_ag.errors import SubstitutionRefused
from esac_ag.grading import grade
from esac_ag.manifest.plan import TaskReference
from esac_ag.rooms.graders import load_sealed_grader
from esac_ag.rooms.tasks import LoadedTask
from esac_ag.sandbox.contract import OutputSink

GRADER_LOG_BYTES = 2_000_000


def regraded(study: Bench, reference: TaskReference, task: LoadedTask, attempt_id: str) -> Grading:
    """Grade a submission again without writing anything: other inputs are drawn, verdicts should agree.

    Raises:
        InputRefused, SubstitutionRefused, InfrastructureFailure: as `judge`.
    """
    seed = f"{Seeds(study.manifest.schedule.seed).number('again', clock.opaque_id()):064x}"
    return _grade(study, reference, task, attempt_id, seed, lambda _: None)


def judge(
    study: Bench, reference: TaskReference, task: LoadedTask, attempt_id: str
) -> tuple[Grading, dict[str, str]]:
    """Grade an attempt's archived submission; the grading and the digests of its files.

    Raises:
        InputRefused: the archived submission is damaged.
        SubstitutionRefused: the grader at hand is not the sealed one.
        InfrastructureFailure: the grader's container or the engine failed; try again.
    """
    folder = study.folder.attempt(attempt_id)
    # The attempt's id is random, so no submission can know the inputs that are drawn.
    seed = f"{Seeds(study.manifest.schedule.seed).number('grading', attempt_id):064x}"
    with folder.stream("grading/grader.log", study.redactor, limit_bytes=GRADER_LOG_BYTES) as log:
        grading = _grade(study, reference, task, attempt_id, seed, log).model_copy(
            update={"agent_kind": study.manifest.agent.kind}
        )
    written = {"grading/result.json": folder.write_record("grading/result.json", grading, study.redactor)}
    return grading, written | digests(folder, ["grading/grader.log"])


def _grade(
    study: Bench, reference: TaskReference, task: LoadedTask, attempt_id: str, seed: str, log: OutputSink
) -> Grading:
    submission = study.folder.attempt(attempt_id).read_submission()
    grader = load_sealed_grader(study.workspace, reference)
    if grader.package.trust is not task.package.trust:
        # The report tells how far to trust a verdict from task.json, which no digest of the manifest covers.
        raise SubstitutionRefused(
            f"task.json of {reference.id} does not tell its grader's trust.",
            where=str(task.path),
            expected=f"trust {grader.package.trust.value}, as when it was sealed",
            found=task.package.trust.value,
            remedy="restore the sealed file",
        )
    return grade(
        study.engine,
        image=study.grader_image,
        image_digest=study.manifest.images.grader.digest,
        limits=study.manifest.limits.grader,
        package=grader.package,
        private=grader.files,
        snapshot=task.snapshot,
        submission=submission,
        attempt_id=attempt_id,
        task_id=reference.id,
        private_grader_id=grader.private_grader_id,
        submission_tree_sha256=submission.exact_sha256(),
        manifest_sha256=study.manifest_sha256,
        seed=seed,
        study=study.manifest.study_id,
        log=log,
    )
