"""Runs a task's public tests, and reads from their output which ones failed."""

from __future__ import annotations

from esac_ag.clock import Deadline
from esac_ag.grading.container import PUBLIC_FOLDER, SUBJECT_UID, public_spec
from esac_ag.manifest.plan import GraderLimits
from esac_ag.record import Record
from esac_ag.sandbox.contract import Engine, Termination
from esac_ag.study.tallies import read_tests
from esac_ag.tree import FileTree


class PublicRun(Record):
    """How the public command ended."""

    exit_code: int | None
    """None when its time was up."""
    failed: tuple[str, ...]
    """Failed tests as pytest names them (`path::test`), or dotted ids of unittest; sorted."""
    passed: int | None
    """How many passed; None when the output does not tell."""
    output: bytes

    def failed_only(self, test: str) -> bool:
        """Whether the command failed, and the named test is the one that did."""
        return self.exit_code not in (0, None) and self.failed == (test,)

    @property
    def succeeded(self) -> bool:
        """Whether the command ended well, and named no failed test."""
        return self.exit_code == 0 and not self.failed


def run_public_command(
    engine: Engine,
    *,
    image: str,
    limits: GraderLimits,
    tree: FileTree,
    command: str,
    study: str = "public",
    attempt: str = "public",
) -> PublicRun:
    """Run the public command on a tree, as the subject in a grader container.

    Raises:
        SandboxLost, EngineUnavailable, ImageMissing: the machine's fault.
    """
    spec = public_spec(image=image, limits=limits, study=study, attempt=attempt, command=command)
    kept: list[bytes] = []
    with engine.create(spec) as sandbox:
        sandbox.put(tree, PUBLIC_FOLDER, uid=SUBJECT_UID, gid=SUBJECT_UID, mode=0o755)
        sandbox.start()
        state = sandbox.wait(Deadline.after_s(limits.wall_clock_s), sink=kept.append)
    output = b"".join(kept)
    failed, passed = read_tests(output.decode("utf-8", "replace"))
    in_time = state.termination is not Termination.TIMED_OUT
    return PublicRun(
        exit_code=state.exit_code if in_time else None, failed=failed, passed=passed, output=output
    )
