"""Plays policies against code items, and runs hidden tests: in this process, or by the real judge."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from esac_ag.suite.contract import CodeResult, Instance, Policy, Trace
from esac_ag.suite.items.code_checks import checks_source
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.items.code_tools import run_argv
from esac_ag.suite.own_programs import grade_own, run_own
from esac_ag.suite.play import Programs, play
from tests.builders_grading import GUEST_FOLDER

Grade = Callable[[Instance, Mapping[str, str], str], tuple[CodeResult, ...]]
"""`grade(instance, files, seed)`: results of the hidden tests."""


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


def grade_really(instance: Instance, files: Mapping[str, str], seed: str = "test") -> tuple[CodeResult, ...]:
    """By the real judge where it can make namespaces, and else by real processes of one's own."""
    return (grade_by_judge if os.getuid() == 0 else grade_by_processes)(instance, files, seed)


def grade_by_processes(
    instance: Instance, files: Mapping[str, str], seed: str = "test"
) -> tuple[CodeResult, ...]:
    """Run all hidden tests here, and every program in a process of its own."""
    return grade_own(instance, files, seed, run_by_python)


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
    run: Callable[..., Ran] = run_own,
    grade: Grade = grade_own,
) -> Trace:
    """Let a policy play a code item and grade what it handed in."""
    programs = Programs(run, lambda drawn, files: grade(drawn, files, "test"))
    return play(item, instance, policy, programs)
