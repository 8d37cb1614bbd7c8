"""Submissions that would rather have no grade than a bad one: every trick is a failure, never `invalid`."""

from __future__ import annotations

import pytest

from esac_ag.attempt import GradingStatus
from tests.builders_grading import (
    LIMITS,
    a_package_of,
    a_submission,
    docker_judge,
    reasons,
    verdicts,
)

pytestmark = pytest.mark.docker

NOT_UNDERSTOOD = "the check could not make sense of the submission: "

AFTER = """

@check("after")
def after(subject):
    source = '''
def main(args):
    import os
    pids = [p for p in os.listdir("/proc") if p.isdecimal()]
    return len([p for p in pids if os.stat("/proc/" + p).st_uid == os.getuid()])
'''
    require_equal(subject.drive(source), 1, "processes of the submission")
"""

READING = (
    """
import ast, configparser, json, re, tomllib
from esac_checks import check, require_equal

def total(subject):
    return subject.call("prices.total:total", 3, 5)

@check("settings")
def settings(subject):
    tomllib.loads(subject.read_text("pyproject.toml"))
    configparser.ConfigParser().read_string(subject.read_text("setup.cfg"))
    json.loads(subject.read_text("package.json"))

@check("source")
def source(subject):
    ast.parse(subject.read_text("prices/total.py"))
    compile(subject.read_text("prices/total.py"), "x", "exec")

@check("answer")
def answer(subject):
    answer = total(subject)
    require_equal(sum(line["price"].bit_length() for line in answer["lines"]) // answer["share"], 15, "x")
    {"known": 1}[answer["share"] ** 2]
"""
    + AFTER
)

FILES = {"pyproject.toml": "", "setup.cfg": "", "package.json": "{}"}
ANSWER = "def total(quantity, price):\n    return {}\n"

UNREADABLE: dict[str, tuple[str, dict[str, str], str]] = {
    "deep-toml": ("settings", {"pyproject.toml": "a = " + "[" * 3000 + "]" * 3000}, "RecursionError"),
    "no-toml": ("settings", {"pyproject.toml": "]"}, "TOMLDecodeError"),
    "no-ini": ("settings", {"setup.cfg": "x"}, "MissingSectionHeaderError"),
    "deep-json": ("settings", {"package.json": "[" * 200_000}, "RecursionError"),
    "no-json": (
        "settings",
        {"package.json": "\udcff".encode("utf-8", "replace").decode()},
        "JSONDecodeError",
    ),
    "no-source": ("source", {"prices/total.py": "def"}, "SyntaxError"),
    "source-with-zeros": ("source", {"prices/total.py": "x = 1\0"}, "Error"),
    "deep-source": ("source", {"prices/total.py": "x = " + "-" * 9000 + "1"}, "Error"),
    "deep-brackets": ("source", {"prices/total.py": "x = " + "(" * 9000 + ")" * 9000}, "Error"),
    "nothing": ("answer", {"prices/total.py": ANSWER.format("None")}, "TypeError"),
    "a-number": ("answer", {"prices/total.py": ANSWER.format("3")}, "TypeError"),
    "a-list": ("answer", {"prices/total.py": ANSWER.format("[]")}, "TypeError"),
    "no-key": ("answer", {"prices/total.py": ANSWER.format("{}")}, "KeyError"),
    "text-in-it": (
        "answer",
        {"prices/total.py": ANSWER.format("{'lines': [{'price': 'x'}], 'share': 1}")},
        "AttributeError",
    ),
    "zero": ("answer", {"prices/total.py": ANSWER.format("{'lines': [], 'share': 0}")}, "ZeroDivisionError"),
    "a-number-too-long-to-tell": (
        "answer",
        {"prices/total.py": ANSWER.format("{'lines': [{'price': 2 ** 44999}] * 1, 'share': 10 ** 3000}")},
        "",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_a_check_cannot_make_sense_of_fails_that_check(case: str) -> None:
    """Any exception within a check is its failure, says so, and the check after it runs."""
    check, files, told = UNREADABLE[case]
    submission = a_submission({**FILES, "prices/total.py": ANSWER.format("{}"), **files})
    grading = docker_judge().grade(
        submission, checks=READING, package=a_package_of(check, "after", *rest(check))
    )
    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    assert (verdicts(grading)[check], verdicts(grading)["after"]) == ("fail", "pass"), reasons(grading)
    assert told in reasons(grading)[check]


def rest(check: str) -> list[str]:
    """The checks that are declared besides."""
    return [name for name in ("settings", "source", "answer") if name != check]


HEAVY = (
    """
import ast, time
from esac_checks import check, require_equal

@check("first")
def first(subject):
    require_equal(subject.call("prices.total:total", 1, 5), 5, "the total")

@check("source")
def source(subject):
    ast.parse(subject.read_text("big.py"))

@check("attacked")
def attacked(subject):
    require_equal(subject.call("prices.total:total", 3, 5), 15, "the total")

@check("writes")
def writes(subject):
    require_equal(subject.call("prices.total:total", 3, 5), 15, "the total")
    until_s, n = time.monotonic() + 1.5, 0
    while time.monotonic() < until_s:
        subject.write(f"file{n % 50}", b"x")
        n += 1
"""
    + AFTER
)


def test_a_source_that_costs_the_judge_its_memory_fails_the_check_that_reads_it() -> None:
    """The grader is killed for memory by what it reads alone; the next check gets another."""
    big = "x = [" + "a+-a," * 400_000 + "]"
    grading = docker_judge().grade(
        a_submission({"big.py": big}),
        checks=HEAVY,
        package=a_package_of("first", "source", "attacked", "writes", "after"),
    )
    expected = {"first": "pass", "source": "fail", "attacked": "pass", "writes": "pass", "after": "pass"}
    assert verdicts(grading) == expected, reasons(grading)
    assert "memory ran out" in reasons(grading)["source"]


LOWERED = """
import os, time
def total(quantity, price):
    if quantity == 1:
        return price
    open("/proc/self/oom_score_adj", "w").write("0")
    {}
    time.sleep(60)
"""

MEMORY = {
    "many-that-grow": (
        "children = 0\n    for _ in range(55):\n        if os.fork() == 0:\n            hog = []\n"
        "            while True:\n                hog.append(bytes(65536))\n"
        "                time.sleep(0.001)\n"
    ),
    "small-ones-that-hold-pipes": (
        "for _ in range(50):\n        if os.fork() == 0:\n            for _ in range(200):\n"
        "                _, end = os.pipe()\n                os.set_inheritable(end, True)\n"
        "                os.set_inheritable(_, True)\n                os.set_blocking(end, False)\n"
        "                try:\n                    os.write(end, bytes(65536))\n"
        "                except OSError:\n                    pass\n"
        "            os.execvp('sleep', ['sleep', '60'])\n"
    ),
    "files-and-small-ones": (
        "for place in ('.', '/tmp', '/dev/shm'):\n        try:\n"
        "            with open(place + '/fill', 'wb') as file:\n                while True:\n"
        "                    file.write(bytes(1 << 16))\n        except OSError:\n            pass\n"
        "    for _ in range(55):\n        if os.fork() == 0:\n            hog = []\n"
        "            while True:\n                hog.append(bytes(65536))\n"
    ),
}


@pytest.mark.parametrize("attack", MEMORY)
def test_memory_that_the_kernel_takes_from_the_judge_is_a_failure(attack: str) -> None:
    """Whoever of the judge is killed, the attacked check fails and none of those that fail is excused."""
    grading = docker_judge().grade(
        a_submission({"prices/total.py": LOWERED.format(MEMORY[attack])}),
        checks=HEAVY,
        package=a_package_of("attacked", "first", "source", "writes", "after", timeout_s=10),
        limits=LIMITS.model_copy(update={"memory_mib": 192}),
    )
    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    assert verdicts(grading)["attacked"] == "fail"
    assert verdicts(grading)["source"] == "fail"
    assert docker_judge().leftovers() == []


DAEMON = """
import os, signal, time
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            {}
        os._exit(0)
def total(quantity, price):
    for _ in range({}):
        daemon()
    return quantity * price
"""


@pytest.mark.parametrize("number", ["SIGSTOP", "SIGKILL", "SIGTERM"])
def test_a_daemon_that_signals_all_its_user_owns_holds_no_write_of_the_judge(number: str) -> None:
    """What writes a file for a check runs as the subject, and may be stopped for ever: the check fails."""
    loop = (
        "time.sleep(0.4)\n            while True:\n"
        f"                try: os.kill(-1, signal.{number})\n                except OSError: pass"
    )
    grading = docker_judge().grade(
        a_submission({"prices/total.py": DAEMON.format(loop, 1), "big.py": ""}),
        checks=HEAVY,
        package=a_package_of("writes", "source", "first", "attacked", "after", timeout_s=4),
    )
    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    assert (verdicts(grading)["source"], verdicts(grading)["after"]) == ("pass", "pass"), reasons(grading)
    assert verdicts(grading)["writes"] == "fail"
    assert "cannot be written: its process" in reasons(grading)["writes"] or number == "SIGSTOP"


def test_a_daemon_that_takes_the_rights_of_what_writes_fails_the_check() -> None:
    """Limits set on the judge's writing process end the write, not the grading."""
    loop = (
        "import resource\n            time.sleep(0.4)\n            while True:\n"
        "                for n in os.listdir('/proc'):\n"
        "                    try: resource.prlimit(int(n), resource.RLIMIT_FSIZE, (0, 0))\n"
        "                    except (OSError, ValueError): pass"
    )
    grading = docker_judge().grade(
        a_submission({"prices/total.py": DAEMON.format(loop, 1), "big.py": ""}),
        checks=HEAVY,
        package=a_package_of("writes", "source", "first", "attacked", "after", timeout_s=6),
    )
    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    assert verdicts(grading)["after"] == "pass", reasons(grading)
    assert verdicts(grading)["writes"] == "fail"


def test_orphans_without_end_do_not_keep_the_judge_from_its_clock() -> None:
    """Processes that are handed to process 1 faster than it can collect them still end with their check."""
    loop = (
        "while True:\n                try:\n                    if os.fork() == 0:\n"
        "                        if os.fork() == 0: os._exit(0)\n"
        "                        os._exit(0)\n                except OSError: pass"
    )
    code = DAEMON.format(loop, 12).replace("return quantity", "time.sleep(60); return quantity")
    checks = HEAVY.replace('prices.total:total", 3, 5)', 'prices.total:total", 3, 5, timeout_s=2)')
    grading = docker_judge().grade(
        a_submission({"prices/total.py": code, "big.py": ""}),
        checks=checks,
        package=a_package_of("attacked", "source", "after", "first", "writes", timeout_s=4),
    )
    expected = {"attacked": "fail", "source": "pass", "after": "pass", "first": "fail", "writes": "fail"}
    assert verdicts(grading) == expected, reasons(grading)


def test_a_submission_cannot_push_the_judge_back_in_the_schedulers_queue() -> None:
    """Not even while the judge takes the subject's user to kill its processes."""
    loop = (
        "while True:\n                try:\n"
        "                    os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))\n"
        "                    os.setpriority(os.PRIO_PROCESS, 1, 19)\n"
        "                except OSError: pass"
    )
    checks = (
        HEAVY
        + """
@check("queue")
def queue(subject):
    source = '''
def main(args):
    import os
    return [os.sched_getscheduler(1), os.getpriority(os.PRIO_PROCESS, 1)]
'''
    require_equal(subject.drive(source), [0, 0], "the judge's place")
"""
    )
    grading = docker_judge().grade(
        a_submission({"prices/total.py": DAEMON.format(loop, 8), "big.py": ""}),
        checks=checks,
        package=a_package_of("attacked", "first", "queue", "after", "source", "writes"),
    )
    assert grading.passed, reasons(grading)
