"""Plays policies against code items, and runs hidden tests: in this process, or by the real judge."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from esac_ag.clock import Seeds
from esac_ag.suite.contract import CodeResult, HiddenTest, Instance, Policy, Trace
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.items.code_tools import run_argv
from esac_ag.suite.play import Programs, play
from tests.builders_grading import GUEST_FOLDER, guest_module

checks = guest_module("esac_checks")

Grade = Callable[[Instance, Mapping[str, str], str], tuple[CodeResult, ...]]
"""`grade(instance, files, seed)`: results of the hidden tests."""


@dataclass(frozen=True)
class _Done:
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


class InProcessSubject:
    """A stand-in for the judge's subject: runs our own programs in this process, which is fast."""

    def __init__(self, files: Mapping[str, str], seed: str, test_id: str) -> None:
        self.files = files
        self.random = Seeds(seed).stream(test_id)

    def run(self, argv: Sequence[str], stdin: bytes = b"", timeout_s: float = 10.0) -> _Done:
        """Run `python3 FILE`; no such file is exit code 2."""
        del timeout_s
        if argv[1] not in self.files:
            return _Done(2, b"", b"no such file")
        ran = run_in_process(self.files, argv[1], stdin.decode())
        return _Done(ran.exit_code, ran.stdout.encode(), ran.stderr.encode())


class ProcessSubject(InProcessSubject):
    """The same, with a real process for every run."""

    def run(self, argv: Sequence[str], stdin: bytes = b"", timeout_s: float = 10.0) -> _Done:
        """Run `python3 FILE`."""
        del timeout_s
        ran = run_by_python(self.files, argv[1], stdin.decode())
        return _Done(ran.exit_code, ran.stdout.encode(), ran.stderr.encode())


def run_in_process(files: Mapping[str, str], path: str, stdin: str) -> Ran:
    """Run a program's text as `__main__`."""
    out, code, error = io.StringIO(), 0, ""
    before = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out):
            exec(_compiled(files[path], path), {"__name__": "__main__"})  # noqa: S102
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception as raised:  # noqa: BLE001 whatever the program raises
        code, error = 1, f"{type(raised).__name__}: {raised}"
    finally:
        sys.stdin = before
    return Ran(code, out.getvalue(), error)


@lru_cache(maxsize=256)
def _compiled(source: str, path: str) -> CodeType:
    return compile(source, path, "exec")


MARK = "\nrules: dict[str, Any] = "
"""Where the oracle's functions end and a test's own lines begin."""


@lru_cache(maxsize=8)
def _oracle(source: str) -> dict[str, Any]:
    """The names that an oracle's source defines, with the grader's own helpers around it."""
    names: dict[str, Any] = {name: getattr(checks, name) for name in checks.__all__}
    exec(compile(source, "oracle", "exec"), names)  # noqa: S102
    return names


def run_test(source: str, subject: InProcessSubject) -> None:
    """Run a hidden test's body; the oracle, the same for all instances of an item, is compiled once."""
    oracle, _, rest = source.partition(MARK)
    names = {**_oracle(oracle), "subject": subject}
    exec(compile(MARK + rest, "hidden test", "exec"), names)  # noqa: S102


def _indented(source: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in source.split("\n"))


def grade_in_process(
    instance: Instance, files: Mapping[str, str], seed: str = "test"
) -> tuple[CodeResult, ...]:
    """Run all hidden tests in this process."""
    return _graded(instance, lambda test_id: InProcessSubject(files, seed, test_id))


def _graded(instance: Instance, subject_of: Callable[[str], InProcessSubject]) -> tuple[CodeResult, ...]:
    results = []
    for test in instance.hidden_tests:
        try:
            run_test(test.source, subject_of(test.id))
            results.append(CodeResult(test_id=test.id, passed=True))
        except checks.CheckFailed as failure:
            results.append(CodeResult(test_id=test.id, passed=False, detail=str(failure)))
    return tuple(results)


def grade_by_judge(
    instance: Instance, files: Mapping[str, str], seed: str = "test"
) -> tuple[CodeResult, ...]:
    """Run all hidden tests by the real judge in its namespaces (needs root)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        grader, submission = folder / "grader", folder / "submission"
        grader.mkdir()
        _lay_out(submission, files)
        declared = [{"id": test.id, "timeout_s": 60.0} for test in instance.hidden_tests]
        (grader / "grader.json").write_text(json.dumps({"checks": declared}))
        (grader / "checks.py").write_text(checks_source(instance.hidden_tests))
        argv = [sys.executable, "-I", "-B", str(GUEST_FOLDER / "judge.py"), "--dev", "--seed", seed]
        argv += ["--grader", str(grader), "--snapshot", str(submission)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stdout + done.stderr)
    told = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    return tuple(CodeResult(test_id=words[3], passed=words[2] == "pass") for words in told)


def checks_source(tests: Sequence[HiddenTest]) -> str:
    """The grader's `checks.py` of hidden tests."""
    parts = ["from esac_checks import check, require, require_equal, require_raises\n"]
    for number, test in enumerate(tests):
        parts.append(f"\n\n@check({test.id!r})\ndef test_{number}(subject):\n{_indented(test.source)}")
    return "".join(parts)


def grade_really(instance: Instance, files: Mapping[str, str], seed: str = "test") -> tuple[CodeResult, ...]:
    """By the real judge where it can make namespaces, and else by real processes of one's own."""
    return (grade_by_judge if os.getuid() == 0 else grade_by_processes)(instance, files, seed)


def grade_by_processes(
    instance: Instance, files: Mapping[str, str], seed: str = "test"
) -> tuple[CodeResult, ...]:
    """Run all hidden tests here, and every program in a process of its own."""
    return _graded(instance, lambda test_id: ProcessSubject(files, seed, test_id))


def run_by_python(files: Mapping[str, str], path: str, stdin: str) -> Ran:
    """Run a file of a workspace with this Python, really."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _lay_out(folder, files)
        argv = [sys.executable, *run_argv(path)[1:]]
        done = subprocess.run(
            argv, cwd=folder, input=stdin, capture_output=True, text=True, check=False, timeout=30
        )
        return Ran(done.returncode, done.stdout, done.stderr.replace(name, "/agent/workspace"))


def _lay_out(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def play_code(
    item: ProgramItem,
    instance: Instance,
    policy: Policy,
    *,
    run: Callable[..., Ran] = run_in_process,
    grade: Grade = grade_in_process,
) -> Trace:
    """Let a policy play a code item and grade what it handed in."""
    programs = Programs(run, lambda drawn, files: grade(drawn, files, "test"))
    return play(item, instance, policy, programs)
