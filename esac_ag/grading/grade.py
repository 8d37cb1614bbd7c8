"""Judges one submission in a container of its own."""

from __future__ import annotations

from esac_ag.attempt import CheckResult, Grading, GradingStatus
from esac_ag.clock import Deadline, monotonic_s
from esac_ag.grading.assembly import grader_contents, judged_tree
from esac_ag.grading.container import GRADE_FOLDER, GRADER_GID, GRADER_UID, RESULT_FOLDER, grader_spec
from esac_ag.grading.endings import submissions_doing
from esac_ag.grading.results import MAX_RESULT_BYTES, ResultRefused, all_failed, read_result
from esac_ag.manifest.package import GraderPackage
from esac_ag.manifest.plan import GraderLimits
from esac_ag.sandbox.contract import Engine, ExitState, OutputSink, Sandbox, TreeLimits
from esac_ag.tree import FileTree, RegularFile

GRACE_S = 30.0
"""Beyond the limit's wall clock, within which the judge itself fails what is still open."""

_RESULT_LIMITS = TreeLimits(
    max_members=8, max_bytes=2 * MAX_RESULT_BYTES, max_file_bytes=MAX_RESULT_BYTES + 1, max_depth=2
)


def grade(
    engine: Engine,
    *,
    image: str,
    image_digest: str,
    limits: GraderLimits,
    package: GraderPackage,
    private: FileTree,
    snapshot: FileTree,
    submission: FileTree,
    attempt_id: str,
    task_id: str,
    private_grader_id: str,
    submission_tree_sha256: str,
    manifest_sha256: str | None,
    seed: str,
    study: str,
    log: OutputSink,
) -> Grading:
    """Judge a submission: the verdict of every declared check, or an invalid grading with its reason.

    Time that the submission uses up fails the checks that are open, and an end of the judge that a
    submission can bring about (`endings.py`) fails all of them. A judge that ends otherwise, or writes
    anything but its result, makes the grading invalid.

    Args:
        engine: makes the grader's container.
        image: the grader image, by reference or engine id.
        image_digest: its content digest, for the record.
        limits: of the container; `wall_clock_s` is for all checks together.
        package: the declared checks.
        private: the private package's files, of which `checks.py` and what lies below `files/` enter the
            container.
        snapshot: the frozen snapshot.
        submission: what the agent left.
        attempt_id: for the record and the labels.
        task_id: for the record.
        private_grader_id: for the record.
        submission_tree_sha256: for the record.
        manifest_sha256: for the record; None outside of a study.
        seed: of the inputs that are drawn; the submission must not know it beforehand.
        study: label.
        log: receives the grader's log.

    Raises:
        SandboxLost, EngineUnavailable, ImageMissing: the machine's fault, worth a retry.
    """
    started_s = monotonic_s()
    judged = judged_tree(submission, snapshot, package.restore)
    contents = grader_contents(package, private, judged, snapshot, seed=seed, limits=limits)
    spec = grader_spec(image=image, limits=limits, study=study, attempt=attempt_id, folders=package.folders)
    checks: tuple[CheckResult, ...] = ()
    reason: str | None = None
    with engine.create(spec) as sandbox:
        sandbox.put(contents, GRADE_FOLDER, uid=GRADER_UID, gid=GRADER_GID, mode=0o700)
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(limits.wall_clock_s + GRACE_S), sink=log)
        try:
            doing = submissions_doing(state)
            checks = (
                read_result(_result(sandbox, state), package) if doing is None else all_failed(package, doing)
            )
        except ResultRefused as refused:
            reason = str(refused)
    return Grading(
        attempt_id=attempt_id,
        task_id=task_id,
        manifest_sha256=manifest_sha256,
        private_grader_id=private_grader_id,
        submission_tree_sha256=submission_tree_sha256,
        grader_image_digest=image_digest,
        status=GradingStatus.GRADED if reason is None else GradingStatus.INVALID,
        invalid_reason=reason,
        seed=seed,
        checks=checks,
        duration_s=round(monotonic_s() - started_s, 4),
    )


def _result(sandbox: Sandbox, state: ExitState) -> bytes | None:
    """Bytes of the result file of a judge that ended by itself.

    Raises:
        ResultRefused: it did not.
    """
    if state.exit_code != 0:
        raise ResultRefused(f"the judge ended with exit code {state.exit_code}")
    node = sandbox.get(RESULT_FOLDER, _RESULT_LIMITS).tree.get(b"result.json")
    return node.data if isinstance(node, RegularFile) else None
