"""Programs of code items in a sandbox: what is put there, what is believed, and whose fault an end is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from esac_ag.attempt import Grading, GradingStatus
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.suite_programs import (
    GRADER_LIMITS,
    RUNNER,
    SPOILED,
    SandboxPrograms,
    code_results,
    grade_program,
    package_of,
    read_line,
)
from esac_ag.errors import InfrastructureFailure, SandboxLost
from esac_ag.manifest.plan import Limits
from esac_ag.sandbox.contract import CommandResult, Role, Termination
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from esac_ag.suite.bank import bank, item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.pools import instance_of
from tests.builders_world_server import AGENT_GUESTS

FILES = {"a.py": "print(1)\n", "lib/b.py": "x = '\u00e9\ud800'\n"}
ITEM = item_named("code-log-report")


def told(exit_code: int | None = 0, stdout: str = "1\n", stderr: str = "") -> bytes:
    """A runner's line."""
    return json.dumps({"exit_code": exit_code, "stdout": stdout, "stderr": stderr}).encode() + b"\n"


class Runner:
    """Stands for the runner in the container: answers from a list, and keeps what it was given."""

    def __init__(self, *answers: bytes, exit_code: int = 0) -> None:
        self.answers = list(answers)
        self.exit_code = exit_code
        self.given: list[dict[str, bytes]] = []
        self.argv: list[tuple[str, ...]] = []

    def __call__(self, process: FakeProcess) -> int:
        """Run as a program of the in-memory sandbox."""
        staged = process.argv[len(RUNNER)]
        tree = process.files.tree(staged)
        assert tree is not None
        self.given.append({path.decode(): node.data for path, node in tree.files().items()})
        self.argv.append(process.argv[len(RUNNER) :])
        process.files.remove(staged)
        process.write(self.answers.pop(0))
        return self.exit_code


def engine_with(runner: Callable[[FakeProcess], int]) -> InMemoryEngine:
    """An engine whose containers have this runner."""
    return InMemoryEngine({" ".join(RUNNER): runner})


def programs_on(engine: InMemoryEngine) -> SandboxPrograms:
    """Programs in containers of an engine."""
    spec = agent_spec(image="agent", limits=Limits(), study="s", attempt="a", role=Role.AGENT, environment=())
    return SandboxPrograms(lambda: engine.create(spec))


def test_a_run_gets_the_whole_workspace_and_its_input() -> None:
    """Text that UTF-8 cannot hold is no crash; the command line is the desk's."""
    runner = Runner(told())
    programs = programs_on(engine_with(runner))
    assert programs.run(FILES, "lib/b.py", "in\u00e9\ud800") == Ran(0, "1\n", "")
    assert runner.given == [
        {
            "files/a.py": b"print(1)\n",
            "files/lib/b.py": "x = '\u00e9?'\n".encode(),
            "stdin": "in\u00e9?".encode(),
        }
    ]
    assert runner.argv[0][1:] == ("10", "python3", "-B", "-X", "no_debug_ranges", "lib/b.py")


def test_each_run_has_a_container_of_its_own_that_is_gone_afterwards() -> None:
    """What one program does to its container's first process reaches no other run."""
    engine = engine_with(Runner(told(), told(exit_code=None)))
    programs = programs_on(engine)
    assert engine.specs == []
    programs.run(FILES, "a.py", "")
    assert list(engine.leftovers("memory")) == []
    assert programs.run(FILES, "a.py", "") == Ran(None, "1\n", "")
    assert len(engine.specs) == 2
    assert list(engine.leftovers("memory")) == []


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}",
        b"not JSON",
        told() + told(),
        told().replace(b"0", b"true"),
        told().replace(b"}", b', "more": 1}'),
        b"\xff",
    ],
)
def test_a_run_whose_runner_said_nothing_of_use_spoils_only_itself(answer: bytes) -> None:
    """The model is told, and the next run is as good as the first."""
    engine = engine_with(Runner(answer, told()))
    programs = programs_on(engine)
    assert programs.run(FILES, "a.py", "") == Ran(137, "", SPOILED)
    assert len(list(engine.leftovers("memory"))) == 0
    assert programs.run(FILES, "a.py", "") == Ran(0, "1\n", "")
    assert len(engine.specs) == 2


def test_a_program_that_ends_the_container_ends_only_its_run() -> None:
    """Memory used up, or the first process gone, is the program's doing."""

    def deadly(process: FakeProcess) -> int:
        process.switches.end()
        process.check()
        return 0

    engine = engine_with(deadly)
    programs = programs_on(engine)
    assert programs.run(FILES, "a.py", "") == Ran(137, "", SPOILED)
    assert list(engine.leftovers("memory")) == []


@pytest.mark.parametrize("exit_code", [2, 126, 127])
def test_an_image_without_a_runner_is_infrastructure(exit_code: int) -> None:
    """It is no fault of the program."""
    engine = engine_with(Runner(b"no such file", exit_code=exit_code))
    with pytest.raises(InfrastructureFailure) as failure:
        programs_on(engine).run(FILES, "a.py", "")
    assert "esac-ag images build" in failure.value.remedy
    assert list(engine.leftovers("memory")) == []


def test_a_lost_container_is_infrastructure() -> None:
    """What the engine fails at is not scored."""
    engine = engine_with(Runner(told()))
    engine.fail_next("put", SandboxLost("gone"))
    with pytest.raises(SandboxLost):
        programs_on(engine).run(FILES, "a.py", "")


@pytest.mark.parametrize("termination", list(Termination))
@pytest.mark.parametrize("exit_code", [None, 0, 1, 137])
def test_a_line_counts_only_after_the_runners_orderly_end(
    termination: Termination, exit_code: int | None
) -> None:
    """Whatever was printed before: a runner that did not end well vouches for nothing.

    A program of its that was killed for memory is no such end.
    """
    done = CommandResult(
        termination=termination, exit_code=exit_code, output=told(), truncated=False, duration_s=1.0
    )
    orderly = exit_code == 0 and termination in (Termination.EXITED, Termination.OUT_OF_MEMORY)
    assert (read_line(done) is not None) is orderly


def test_the_runner_works_nowhere_but_in_a_container(tmp_path: Path) -> None:
    """Elsewhere it would end whatever runs beside it: it touches nothing and says so."""
    (tmp_path / "run-1" / "files").mkdir(parents=True)
    program = AGENT_GUESTS / "run_program.py"
    argv = [sys.executable, "-I", "-S", "-B", str(program), str(tmp_path / "run-1"), "1", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "in a container only" in done.stderr
    assert (tmp_path / "run-1" / "files").is_dir()


def programs_of_the_bank() -> Iterator[tuple[str, Instance]]:
    """Public instances of the items that are solved by programs."""
    for item in bank():
        instance = instance_of(item, PUBLIC_SEED)
        if instance.hidden_tests:
            yield item.id, instance


def test_every_hidden_test_is_a_check_with_its_weight_and_time() -> None:
    """Ids and weights are the item's, and there is time for all tests."""
    for item_id, instance in programs_of_the_bank():
        package = package_of(item_named(item_id), instance)
        assert [(check.id, check.weight) for check in package.checks] == [
            (test.id, test.weight) for test in instance.hidden_tests
        ]


def graded(result: dict[str, object] | None, exit_code: int = 0) -> Grading:
    """A grading by a judge that writes this result."""

    def judge(process: FakeProcess) -> int:
        if result is not None:
            process.files.write("/grade/out/result.json", json.dumps(result).encode())
        return exit_code

    return grade_program(
        InMemoryEngine({"python3 -I -S -B /esac/judge.py": judge}),
        image="grader",
        image_digest="sha256:" + "0" * 64,
        limits=GRADER_LIMITS,
        item=ITEM,
        instance=instance_of(ITEM, PUBLIC_SEED),
        files=FILES,
        attempt_id="a",
        seed="seed",
        study="s",
        log=lambda _: None,
    )


def a_result(verdict: str) -> dict[str, object]:
    """A judge's result with one verdict for all tests."""
    ids = [test.id for test in instance_of(ITEM, PUBLIC_SEED).hidden_tests]
    return {
        "format_version": 1,
        "status": "graded",
        "invalid_reason": None,
        "checks": [{"id": id_, "verdict": verdict, "reason": "why", "duration_s": 0.1} for id_ in ids],
    }


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_verdicts_become_results_in_the_order_of_the_tests(verdict: str) -> None:
    """One result a test."""
    results = code_results(graded(a_result(verdict)))
    assert [result.test_id for result in results] == [
        test.id for test in instance_of(ITEM, PUBLIC_SEED).hidden_tests
    ]
    assert {(result.passed, result.detail) for result in results} == {(verdict == "pass", "why")}


def test_a_judge_that_a_program_took_down_fails_every_test() -> None:
    """A killed judge is the program's doing, and no free retry."""
    assert {result.passed for result in code_results(graded(None, exit_code=137))} == {False}


@pytest.mark.parametrize(("result", "exit_code"), [(None, 0), (a_result("pass"), 1), ({}, 0)])
def test_an_invalid_grading_is_infrastructure(result: dict[str, object] | None, exit_code: int) -> None:
    """No verdict is made up."""
    grading = graded(result, exit_code)
    assert grading.status is GradingStatus.INVALID
    with pytest.raises(InfrastructureFailure, match="could not be run"):
        code_results(grading)
