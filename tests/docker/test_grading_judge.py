"""The judge on a real engine: right and wrong solutions, broken checks, and what checks can do."""

from __future__ import annotations

import pytest

from esac_ag.attempt import GradingStatus
from esac_ag.manifest.package import CriticalFailure
from esac_ag.tree import Directory, FileTree, Link, RegularFile
from tests.builders_grading import (
    LIMITS,
    SNAPSHOT,
    a_package_of,
    a_submission,
    docker_judge,
    reasons,
    verdicts,
)

pytestmark = pytest.mark.docker

HEAD = "from esac_checks import Subject, SubjectFailed, check, require, require_equal, require_raises\n"


def test_a_right_solution_passes_every_check() -> None:
    """All five checks pass, the score is full, and nothing is left behind."""
    grading = docker_judge().grade(a_submission())
    assert grading.passed, reasons(grading)
    assert grading.score == 100.0
    assert docker_judge().leftovers() == []


def test_doing_nothing_fails_what_must_now_work_and_nothing_else() -> None:
    """The untouched snapshot keeps what worked, and the failure of the central check is critical."""
    grading = docker_judge().grade(SNAPSHOT)
    assert verdicts(grading) == {
        "multiplies": "fail",
        "command": "fail",
        "driven": "fail",
        "single": "pass",
        "readme-kept": "pass",
    }
    assert grading.critical_failures == (CriticalFailure.MISSING_CENTRAL_REQUIREMENT,)


def test_the_same_seed_draws_the_same_inputs_and_another_seed_others() -> None:
    """What a failed check tells of its inputs follows from the seed."""
    told = [reasons(docker_judge().grade(SNAPSHOT, seed=seed))["driven"] for seed in ("a", "a", "b")]
    assert told[0] == told[1] != told[2]


@pytest.mark.parametrize(
    ("checks", "told"),
    [
        (HEAD + "@check('other')\ndef one(subject):\n    pass\n", "declared without a function: ['one']"),
        (HEAD + "this is no Python\n", "the checks cannot be loaded: SyntaxError"),
        (HEAD + "raise SystemExit\n", "the checks cannot be loaded: SystemExit at line 2"),
        (HEAD + "import os\nos.kill(os.getpid(), 9)\n", "ended early with status -9"),
        (HEAD + "import os\n@check('one')\ndef one(subject):\n    os._exit(0)\n", "ended early"),
        (
            HEAD + "@check('one')\ndef one(subject):\n    pass\n@check('two')\ndef two(subject):\n    pass\n",
            "not declared: ['two']",
        ),
    ],
)
def test_a_grader_that_cannot_be_run_makes_the_grading_invalid(checks: str, told: str) -> None:
    """A grader that cannot judge gives no score, and says why."""
    grading = docker_judge().grade(a_submission(), checks=checks, package=a_package_of("one"))
    assert grading.status is GradingStatus.INVALID
    assert told in (grading.invalid_reason or "")
    assert grading.score is None
    assert not grading.passed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1 / 0", "could not make sense of the submission: ZeroDivisionError at line 4 of checks.py"),
        ("raise SystemExit", "could not make sense of the submission: SystemExit"),
        ("raise KeyboardInterrupt", "could not make sense of the submission: KeyboardInterrupt"),
        ("raise KeyError(10**5000)", "KeyError at line 4 of checks.py: (its text cannot be had)"),
        ("subject.write('../x', b'')", "lies neither in"),
        ("import os; os.kill(os.getpid(), 9)", "the judge's process was killed"),
        ("import os; os.abort()", "the judge's process was killed"),
    ],
)
def test_whatever_happens_in_a_check_is_its_failure(body: str, told: str) -> None:
    """The submission may have led it there; the next check is run, and its subject's processes with it."""
    checks = HEAD + (
        f"@check('one')\ndef one(subject):\n    subject.start(['sleep', '60']); {body}\n"
        "@check('two')\ndef two(subject):\n    require_equal(subject.call('math:sqrt', 4), 2.0, 'root')\n"
    )
    grading = docker_judge().grade(a_submission(), checks=checks, package=a_package_of("one", "two"))
    assert verdicts(grading) == {"one": "fail", "two": "pass"}
    assert told in reasons(grading)["one"]


def test_a_check_that_hangs_fails_and_the_next_one_still_runs() -> None:
    """Each check has its own time, even when its code never comes back."""
    checks = HEAD + (
        "import signal\n"
        "@check('stuck')\ndef stuck(subject):\n"
        "    signal.signal(signal.SIGALRM, signal.SIG_IGN)\n    while True: pass\n"
        "@check('slow')\ndef slow(subject):\n    while True: pass\n"
        "@check('next')\ndef next_(subject):\n    require_equal(subject.call('math:sqrt', 4), 2.0, 'root')\n"
    )
    package = a_package_of("stuck", "slow", "next", timeout_s=1)
    grading = docker_judge().grade(a_submission(), checks=checks, package=package)
    assert verdicts(grading) == {"stuck": "fail", "slow": "fail", "next": "pass"}
    assert set(reasons(grading).values()) == {"its time was up"}


def test_a_check_that_is_open_when_the_whole_time_is_up_fails() -> None:
    """The submission cannot turn slowness into an invalid grading."""
    checks = HEAD + "".join(
        f"@check('c{n}')\ndef c{n}(subject):\n    subject.run(['sleep', '100'], timeout_s=100)\n"
        for n in range(3)
    )
    grading = docker_judge().grade(
        a_submission(),
        checks=checks,
        package=a_package_of("c0", "c1", "c2", timeout_s=50),
        limits=LIMITS.model_copy(update={"wall_clock_s": 2.0}),
    )
    assert verdicts(grading) == {"c0": "fail", "c1": "fail", "c2": "fail"}


def test_plain_values_come_back_as_documented() -> None:
    """Every documented form of an answer, and nothing more."""
    checks = (
        HEAD
        + """
@check("values")
def values(subject):
    source = '''
import dataclasses, datetime, decimal, enum
@dataclasses.dataclass
class Point:
    x: int
    y: tuple
class Text(str): pass
class Number(enum.IntEnum): ONE = 1
def main(args):
    return [None, True, 1, 1.5, "x", (1, 2), b"\\\\x01", decimal.Decimal("1.50"), datetime.date(2024, 1, 2),
            datetime.time(3, 4), datetime.datetime(2024, 1, 2, 3, 4), {3, 1}, {1: 2}, Point(1, (2,)),
            Text("x"), Number.ONE, object(), float("nan"), {"$decimal": "1"}, 10**5000, args]
'''
    require_equal(subject.drive(source, {"a": [1]}), [
        None, True, 1, 1.5, "x", [1, 2], {"$bytes": "01"}, {"$decimal": "1.50"}, {"$date": "2024-01-02"},
        {"$time": "03:04:00"}, {"$datetime": "2024-01-02T03:04:00"}, {"$set": [1, 3]}, {"$map": [[1, 2]]},
        {"$object": "Point", "fields": {"x": 1, "y": [2]}}, {"$opaque": "driver.Text"},
        {"$opaque": "driver.Number"}, {"$opaque": "builtins.object"}, {"$float": "nan"},
        {"$map": [["$decimal", "1"]]}, {"$opaque": "builtins.int"}, {"a": [1]}], "values")

@check("raised")
def raised(subject):
    require_raises("ArithmeticError", lambda: subject.drive("def main(args):\\n    1 / 0\\n"))
    require_raises("ValueError", lambda: subject.call("math:sqrt", -1))
"""
    )
    grading = docker_judge().grade(a_submission(), checks=checks, package=a_package_of("values", "raised"))
    assert grading.passed, reasons(grading)


def test_a_check_can_run_commands_serve_and_write_files() -> None:
    """Input, environment, exit codes, time-outs, a server on loopback, scratch and working files."""
    checks = (
        HEAD
        + """
import time, urllib.request

@check("commands")
def commands(subject):
    done = subject.run(["sh", "-c", "cat; echo $A >&2; exit 3"], stdin=b"in", env={"A": "b"})
    require_equal([done.exit_code, done.stdout, done.stderr], [3, b"in", b"b\\n"], "run")
    require(not done.timed_out and not done.truncated, "in time")
    slow = subject.run(["sleep", "60"], timeout_s=0.3)
    require_equal([slow.exit_code, slow.timed_out], [None, True], "sleep")
    require_equal(subject.run(["no-such-command"]).exit_code, 127, "missing command")
    killed = subject.run(["sh", "-c", "kill -9 $$"])
    require_equal([killed.exit_code, killed.timed_out], [None, False], "killed")

@check("serves")
def serves(subject):
    subject.write("page.txt", b"hello")
    with subject.start(["python3", "-m", "http.server", "8765", "--bind", "127.0.0.1"]) as server:
        for _ in range(200):
            try:
                text = urllib.request.urlopen("http://127.0.0.1:8765/page.txt", timeout=1).read()
                break
            except OSError:
                time.sleep(0.02)
        require_equal(text, b"hello", "page")
        require(server.is_running(), "the server runs")
    time.sleep(0.05)
    require(not server.is_running(), "the server was stopped")

@check("files")
def files(subject):
    subject.write("new/deep.txt", b"x")
    subject.write(subject.scratch + "/s/y.txt", b"y")
    done = subject.run(["cat", "new/deep.txt", subject.scratch + "/s/y.txt"])
    require_equal(done.stdout, b"xy", "written files")
    require(not subject.exists("new/deep.txt"), "the submission itself is unchanged")
    require(subject.files() == sorted(subject.files()) and "README.md" in subject.files(), "files")
    require(subject.snapshot_files() == subject.files(), "the same files as the snapshot")

@check("fresh")
def fresh(subject):
    listed = subject.run(["sh", "-c", "ls new; ls -A " + subject.scratch + " $HOME"])
    require(b"deep" not in listed.stdout and b"y.txt" not in listed.stdout, "files of another check")
"""
    )
    package = a_package_of("commands", "serves", "files", "fresh")
    grading = docker_judge().grade(a_submission(), checks=checks, package=package)
    assert grading.passed, reasons(grading)


def test_restored_files_come_from_the_snapshot() -> None:
    """Whatever the submission made of a restored folder, the snapshot's files are there."""
    checks = (
        HEAD
        + """
@check("restored")
def restored(subject):
    frozen = subject.snapshot_read("tests/test_total.py")
    require_equal(subject.read("tests/test_total.py"), frozen, "the test")
    found = [path for path in subject.files() if path.startswith("tests")]
    require_equal(found, ["tests/test_total.py"], "tests")
"""
    )
    hostile = FileTree(
        {
            **{p: n for p, n in a_submission().items() if not p.startswith(b"tests/")},
            b"tests": Link(b"prices"),
        }
    )
    more = a_submission({"tests/conftest.py": "raise SystemExit(0)\n", "tests/test_total.py": ""})
    for submission in (hostile, more):
        grading = docker_judge().grade(submission, checks=checks, package=a_package_of("restored"))
        assert grading.passed, reasons(grading)


def test_an_empty_submission_is_judged() -> None:
    """A deleted product fails; it does not spoil the grading."""
    grading = docker_judge().grade(
        FileTree({b"empty": Directory(), b"run": RegularFile(b"#!/bin/sh\n", True)})
    )
    assert grading.status is GradingStatus.GRADED
    assert set(verdicts(grading).values()) == {"fail"}
