"""Programs of the items of code and recovery, run for real.

A model's programs run in the agent's container, and its work under the hidden tests in the grader's. Whatever
a program does is the model's doing and is scored; only what the machine does is an `InfrastructureFailure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, assert_never

from pydantic import ValidationError

from esac_ag.agents.contract import AGENT_ROOT, AGENT_UID
from esac_ag.attempt import CheckVerdict, Grading, GradingStatus
from esac_ag.canonical import sha256_of_bytes
from esac_ag.clock import Deadline
from esac_ag.errors import InfrastructureFailure
from esac_ag.grading import grade
from esac_ag.manifest.package import (
    CheckDeclaration,
    CheckKind,
    Decoy,
    Dimension,
    GraderPackage,
    Reference,
)
from esac_ag.manifest.plan import GraderLimits
from esac_ag.record import Record
from esac_ag.sandbox.contract import CommandResult, Engine, OutputSink, Sandbox, Termination
from esac_ag.suite.contract import CodeResult, Instance, Item
from esac_ag.suite.items.code_checks import checks_source, file_bytes
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_tools import RUN_TIMEOUT_S, run_argv
from esac_ag.tree import FileTree, RegularFile

RUNNER: Final = ("python3", "-I", "-S", "-B", "/opt/esac/run_program.py")
"""`runner/guest/agent/run_program.py`, where the agent image holds it."""

HOST_GRACE_S: Final = 20.0
"""Beyond the program's time; the runner in the container has long ended, or was killed, by then."""

RUN_OUTPUT_BYTES: Final = 1_000_000
"""Above what the runner's line can have: twice 64 KiB, each byte at most six characters of JSON."""

CHECK_TIMEOUT_S: Final = 40.0
"""Of one hidden test: some inputs of at most 5 s each, and what starting processes takes."""

GRADER_LIMITS: Final = GraderLimits(wall_clock_s=300.0)
"""Of a grading: enough for a slow program that is right."""

KILLED: Final = 137
"""Exit code of what SIGKILL ended."""

_NO_RUNNER: Final = frozenset({2, 126, 127})
"""Exit codes without any run: Python's own for a missing file, and the engine's for a missing Python."""

STAGED: Final = f"{AGENT_ROOT}/run"
"""Where a program's files and its input are put."""

SPOILED: Final = "(The program ended or stopped what ran it. Nothing is known of its output.)\n"


class RunnerLine(Record):
    """What the runner prints of a run."""

    exit_code: int | None
    """Null when the program's time was up."""
    stdout: str
    stderr: str


class SandboxPrograms:
    """Runs programs in agent's containers, a fresh one for each run: `run` has the form of `Programs.run`.

    A program runs as the same user as the container's first process, and could make that one work for it. In
    a container of its own nothing of a run reaches the next, and none can put a later runner out of action.

    Args:
        containers: makes a container by `agent_spec`, not yet started (`engine.create(spec)`, for example).
        timeout_s: of each run.
    """

    def __init__(
        self,
        containers: Callable[[], AbstractContextManager[Sandbox]],
        *,
        timeout_s: float = RUN_TIMEOUT_S,
    ) -> None:
        self._containers = containers
        self._timeout_s = timeout_s

    def run(self, files: Mapping[str, str], path: str, stdin: str) -> Ran:
        """Run a file in a fresh copy of a workspace; what it writes there is dropped.

        Args:
            files: the whole workspace.
            path: the file of it that is run.
            stdin: what it reads from standard input.

        Raises:
            InfrastructureFailure: the container or the engine failed, and no program can have caused it.
        """
        tree = tree_of(files).under(b"files").merged({b"stdin": RegularFile(file_bytes(stdin))})
        with self._containers() as sandbox:
            sandbox.start()
            sandbox.put(tree, STAGED, uid=AGENT_UID, gid=AGENT_UID, mode=0o755)
            done = sandbox.execute(
                [*RUNNER, STAGED, f"{self._timeout_s:g}", *run_argv(path)],
                deadline=Deadline.after_s(self._timeout_s + HOST_GRACE_S),
                output_bytes=RUN_OUTPUT_BYTES,
                working_dir="/",
            )
        line = read_line(done)
        if line is None:
            return Ran(None if done.termination is Termination.TIMED_OUT else KILLED, "", SPOILED)
        return Ran(line.exit_code, line.stdout, line.stderr)


def read_line(done: CommandResult) -> RunnerLine | None:
    """The runner's line; none when the program kept it from writing one.

    Raises:
        InfrastructureFailure: the image has no runner, or one that does not run there.
    """
    match done.termination:
        case Termination.TIMED_OUT | Termination.CONTAINER_ENDED:
            return None
        case Termination.EXITED if done.exit_code in _NO_RUNNER:
            raise InfrastructureFailure(
                "The agent's container cannot run programs.",
                where=RUNNER[-1],
                expected="the runner of programs",
                found=done.output[-300:].decode("utf-8", "replace"),
                remedy="esac-ag images build",
            )
        # When memory ran out, it was the program that was killed for it, if the runner has its say.
        case Termination.EXITED | Termination.OUT_OF_MEMORY:
            return _parsed(done.output) if done.exit_code == 0 else None
        case _:
            assert_never(done.termination)


def _parsed(output: bytes) -> RunnerLine | None:
    try:
        return RunnerLine.model_validate_json(output)
    except ValidationError:
        return None


def tree_of(files: Mapping[str, str]) -> FileTree:
    """A workspace as files."""
    return FileTree({path.encode(): RegularFile(file_bytes(text)) for path, text in files.items()})


def grade_program(
    engine: Engine,
    *,
    image: str,
    image_digest: str,
    limits: GraderLimits,
    item: Item,
    instance: Instance,
    files: Mapping[str, str],
    attempt_id: str,
    seed: str,
    study: str,
    log: OutputSink,
) -> Grading:
    """Run the hidden tests on a workspace that was handed in, in a grader's container of its own.

    A program that hangs, floods or dies fails its tests, and so does one that takes the judge down with it
    (`grading/endings.py`). An invalid grading is the judge's own failure: see `code_results`.

    Args:
        engine: makes the container.
        image: the grader image, by reference or engine id.
        image_digest: its content digest, for the record.
        limits: of the container; `wall_clock_s` is for all tests together.
        item: the item.
        instance: the instance that was worked on; its hidden tests enter the container, its secret does not.
        files: the workspace as it was handed in.
        attempt_id: for the record and the labels.
        seed: of the inputs that the tests draw; nobody may know it beforehand.
        study: label.
        log: receives the grader's log.

    Raises:
        InfrastructureFailure: the machine's fault, worth a retry.
    """
    package = package_of(item, instance)
    checks = checks_source(instance.hidden_tests).encode()
    submission = tree_of(files)
    return grade(
        engine,
        image=image,
        image_digest=image_digest,
        limits=limits,
        package=package,
        private=FileTree({b"checks.py": RegularFile(checks)}),
        snapshot=tree_of(instance.files),
        submission=submission,
        attempt_id=attempt_id,
        task_id=item.id,
        private_grader_id=f"{item.id}@{sha256_of_bytes(checks)}",
        submission_tree_sha256=submission.exact_sha256(),
        manifest_sha256=None,
        seed=seed,
        study=study,
        log=log,
    )


def package_of(item: Item, instance: Instance) -> GraderPackage:
    """The hidden tests of an instance as declared checks of a grader.

    The format wants a reference and a decoy with names; the item's own policies are those (`suite selftest`).
    """
    tests = instance.hidden_tests
    return GraderPackage(
        format_version=1,
        task_id=item.id,
        checks=tuple(
            CheckDeclaration(
                id=test.id,
                title=test.id,
                kind=CheckKind.MUST_NOW_WORK,
                dimension=Dimension.BEHAVIOUR,
                weight=test.weight,
                timeout_s=CHECK_TIMEOUT_S,
            )
            for test in tests
        ),
        references=(Reference(id="reference", patch="reference", why="the item's reference policy"),),
        decoys=(
            Decoy(
                id="null",
                patch="null",
                fails=tuple(test.id for test in tests),
                why="the item's policy that does nothing",
            ),
        ),
    )


def code_results(grading: Grading) -> tuple[CodeResult, ...]:
    """The verdicts of a grading, for the trace.

    Raises:
        InfrastructureFailure: the grading is invalid, which no program can bring about: worth a retry.
    """
    if grading.status is not GradingStatus.GRADED:
        raise InfrastructureFailure(
            "The hidden tests could not be run.",
            where=grading.task_id,
            expected="a verdict for every hidden test",
            found=grading.invalid_reason or "no reason was given",
            remedy="try again; if it persists, `esac-ag task check` tells whether the grader works",
        )
    return tuple(
        CodeResult(test_id=check.id, passed=check.verdict is CheckVerdict.PASS, detail=check.reason)
        for check in grading.checks
    )
