"""Submissions that use up time, processes, memory, disk or output, and those that will not die."""

from __future__ import annotations

import resource

import pytest

from esac_ag.attempt import GradingStatus
from tests.builders_grading import a_package_of, a_submission, docker_judge, reasons, verdicts

pytestmark = pytest.mark.docker

CHECKS = """
from esac_checks import check, require, require_equal

@check("attacked")
def attacked(subject):
    require_equal(subject.call("prices.total:total", 3, 5, timeout_s=3), 15, "the total")

@check("attacked-command")
def attacked_command(subject):
    done = subject.run(["python3", "-c", "from prices.total import total; print(total(3, 5))"], timeout_s=3)
    require_equal([done.exit_code, done.stdout], [0, b"15\\n"], "what is printed")

@check("after")
def after(subject):
    source = '''
def main(args):
    import glob, os, subprocess
    pids = [p for p in os.listdir("/proc") if p.isdecimal()]
    mine = [p for p in pids if os.stat("/proc/" + p).st_uid == os.getuid()]
    shared = [f for d in ("/tmp", "/dev/shm", "/var/tmp", os.environ["HOME"], args) for f in os.listdir(d)]
    with open("big", "wb") as file:
        file.write(bytes(8_000_000))
    return [len(mine), shared, subprocess.run(["true"]).returncode]
'''
    require_equal(subject.drive(source, subject.scratch), [1, [], 0], "a clean and roomy place")
"""

CALL = "\n\ndef total(quantity, price):\n    {}\n    return quantity * price\n"

ATTACKS = {
    "fork-bomb": "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n",
    "fork-bomb-of-sessions": (
        "import os\nwhile True:\n    try:\n        if os.fork() == 0:\n            os.setsid()\n"
        "    except OSError:\n        pass\n"
    ),
    "threads": (
        "import threading, time\nwhile True:\n    try:\n"
        "        threading.Thread(target=time.sleep, args=(99,)).start()\n"
        "    except RuntimeError:\n        pass\n"
    ),
    "two-gigabytes-of-output": (
        "import os\nline = b'x' * 65536\nfor _ in range(32768):\n    os.write(1, line)\n"
    ),
    "one-endless-answer": "import os\nwhile True:\n    os.write(3, b'[' * 65536)\n",
    "hang": "import time\nwhile True:\n    time.sleep(1)\n",
    "busy-loop": "while True:\n    pass\n",
    "memory-hog": "hog = []\nwhile True:\n    hog.append(bytearray(1 << 20))\n",
    "memory-hog-of-many": (
        "import os\nfor _ in range(20):\n    if os.fork() == 0:\n        break\nhog = []\n"
        "while True:\n    hog.append(bytearray(1 << 20))\n"
    ),
    "memory-that-outlives-its-process": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
        "for _ in range(100):\n    handle = libc.shmget(0, 1 << 23, 0o1600)\n"
        "    if handle < 0:\n        break\n"
        "    address = libc.shmat(handle, None, 0)\n    ctypes.memset(address, 1, 1 << 23)\n"
        "    libc.shmdt(ctypes.c_void_p(address))\nraise SystemExit\n"
    ),
    "disk-fill": (
        "import os\nfor place in ('.', '/tmp', '/dev/shm', os.environ['HOME']):\n    try:\n"
        "        with open(place + '/fill', 'wb') as file:\n            while True:\n"
        "                file.write(bytes(1 << 20))\n    except OSError:\n        pass\nraise SystemExit\n"
    ),
    "inode-fill": (
        "import os\nfor place in ('.', '/tmp'):\n    try:\n        for n in range(10**6):\n"
        "            os.mkdir(f'{place}/d{n}')\n    except OSError:\n        pass\nraise SystemExit\n"
    ),
    "deep-folders": (
        "import os\ntry:\n    for n in range(15_000):\n        os.mkdir('d')\n        os.chdir('d')\n"
        "except OSError:\n    pass\nos.chmod('.', 0)\nraise SystemExit\n"
    ),
    "closed-folders": (
        "import os\nfor place in ('.', '../scratch', os.environ['HOME'], '/subject'):\n"
        "    os.chmod(place, 0)\n"
        "raise SystemExit\n"
    ),
    "ignores-every-signal": (
        "import signal, time\nfor number in range(1, 65):\n    try:\n"
        "        signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\n"
        "while True:\n    time.sleep(1)\n"
    ),
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
    "kills-everything": "import os, signal\nos.kill(-1, signal.SIGKILL)\nos._exit(0)\n",
    "crash": "import ctypes\nctypes.string_at(0)\n",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_exhausting_submission_fails_its_check_and_the_next_one_finds_a_clean_place(attack: str) -> None:
    """The attacked checks fail, the judge survives, no process or file is left, and memory stays flat."""
    judge = docker_judge()
    package = a_package_of("attacked", "attacked-command", "after", timeout_s=6)
    submission = a_submission({"prices/total.py": ATTACKS[attack]})
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    grading = judge.grade(submission, checks=CHECKS, package=package)

    assert grading.status is GradingStatus.GRADED, grading.invalid_reason
    expected = {"attacked": "fail", "attacked-command": "fail", "after": "pass"}
    assert verdicts(grading) == expected, reasons(grading)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_kib < 32 * 1024
    assert judge.leftovers() == []


def test_a_daemon_that_outlives_its_call_is_gone_before_the_next_check() -> None:
    """A right answer counts, but what stays behind and holds the output open dies with the check."""
    daemon = (
        "import os, signal, time\n"
        "def linger():\n"
        "    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        "            signal.signal(signal.SIGTERM, signal.SIG_IGN)\n            while True:\n"
        "                time.sleep(0.01)\n                open('/tmp/alive', 'a').write('x')\n"
        "        os._exit(0)\n" + CALL.format("linger()")
    )
    package = a_package_of("attacked", "attacked-command", "after", timeout_s=6)
    submission = a_submission({"prices/total.py": daemon})
    grading = docker_judge().grade(submission, checks=CHECKS, package=package)
    assert grading.passed, reasons(grading)
