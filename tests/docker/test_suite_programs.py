"""Programs of code items in real containers: what hostile ones can and cannot do, and how work is graded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from esac_ag.conduct.context import Stop
from esac_ag.conduct.suite_containers import SuiteBench
from esac_ag.conduct.suite_programs import (
    GRADER_LIMITS,
    SPOILED,
    SandboxPrograms,
    code_results,
    grade_program,
)
from esac_ag.manifest.plan import GraderLimits, Limits
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import Sandbox
from esac_ag.sandbox.docker import DockerEngine
from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.own_programs import grade_own
from esac_ag.suite.pools import instance_of
from tests.builders_docker import REPOSITORY

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_mib=128, workspace_mib=16, tmp_mib=16, pids=64, files=5_000)
TIMEOUT_S = 2.0

LOOK = """\
import json, os
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
places = {place: sorted(os.listdir(place)) for place in ("/agent", "/agent/home", "/tmp", "/dev/shm", ".")}
print(json.dumps({"processes": len(pids), "places": places, "environ": dict(os.environ), "cwd": os.getcwd()}))
"""


@pytest.fixture(scope="module")
def suite_bench(docker_engine: DockerEngine, agent_image: str) -> SuiteBench:
    """The real engine with today's images."""
    return SuiteBench.of(Workspace(REPOSITORY), docker_engine, Stop())


class Counted(SandboxPrograms):
    """Programs in small containers, which are counted."""

    def __init__(self, bench: SuiteBench) -> None:
        self.made = 0
        small = replace(bench, limits=LIMITS)

        def container() -> AbstractContextManager[Sandbox]:
            self.made += 1
            return small.agent_container("programs")

        super().__init__(container, timeout_s=TIMEOUT_S)

    def source(self, source: str, stdin: str = "") -> Ran:
        """Run a program of one file."""
        return self.run({"a.py": source}, "a.py", stdin)

    def look(self) -> dict[str, object]:
        """What a fresh run sees around it."""
        ran = self.source(LOOK)
        assert ran.exit_code == 0, ran
        seen: dict[str, object] = json.loads(ran.stdout)
        return seen


@pytest.fixture
def programs(suite_bench: SuiteBench) -> Counted:
    """Programs in a small container."""
    return Counted(suite_bench)


FRESH = {
    # The first process, the runner and the program.
    "processes": 3,
    "places": {
        "/agent": ["home", "workspace"],
        "/agent/home": [],
        "/tmp": [],
        "/dev/shm": [],
        ".": ["a.py"],
    },
    "environ": {
        "HOME": "/agent/home",
        "TMPDIR": "/agent/home",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
    },
    "cwd": "/agent/workspace",
}
"""What a run sees that nothing was left for."""


def test_a_program_runs_in_a_fresh_copy_of_the_whole_workspace(programs: Counted) -> None:
    """Output, errors and exit code come apart; what is written is gone in the next run."""
    files = {
        "main.py": "import lib.part, sys\nprint(lib.part.X, input())\nprint('e', file=sys.stderr)\n"
        "open('new.txt', 'w').write('x')\nopen('lib/part.py', 'a').write('nonsense')\nsys.exit(3)\n",
        "lib/part.py": "X = '\u00e9'\n",
    }
    ran = Ran(3, "\u00e9 in\u00e9\n", "e\n")
    assert [programs.run(files, "main.py", "in\u00e9\n") for _ in range(2)] == [ran, ran]
    assert programs.look() == FRESH
    assert programs.made == 3


def test_a_traceback_is_pythons_own_without_marks_inside_lines(programs: Counted) -> None:
    """It names the workspace."""
    ran = programs.source("print(1)\n1 / 0\n")
    assert ran == Ran(
        1,
        "1\n",
        'Traceback (most recent call last):\n  File "/agent/workspace/a.py", line 2, in <module>\n'
        "    1 / 0\nZeroDivisionError: division by zero\n",
    )


DAEMON = """\
import os, time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0: time.sleep(1000)
  os._exit(0)
os.wait()
"""

STUBBORN_DAEMON = """\
import os, signal, time
if os.fork() == 0:
  os.setsid()
  for s in signal.valid_signals() - {9, 19}: signal.signal(s, signal.SIG_IGN)
  time.sleep(1000)
"""

FILLER = """\
import os
for place in ('/agent', '/tmp', '/dev/shm'):
  try:
    with open(place + '/x', 'wb') as f:
      while True: f.write(b'x' * 100000)
  except OSError: pass
"""

DIGGER = """\
import os
for place in ('/agent/home', '/tmp'):
  os.chdir(place)
  try:
    while True:
      os.mkdir('d')
      os.chdir('d')
      os.chmod('..', 0o300)
  except OSError: pass
"""

PLANTER = """\
import os, site
os.makedirs(site.getusersitepackages())
open(site.getusersitepackages() + '/usercustomize.py', 'w').write('print(1)')
os.symlink('/agent/home', '/agent/run-2')
"""

SIGNALLER = """\
import os, signal
for s in signal.valid_signals() - {9, 19}: os.kill(os.getppid(), s)
"""

VICTIM = """\
import os, signal
if os.fork() == 0: os.kill(os.getppid(), 9)
signal.pause()
"""

CLOSER = """\
import os, struct
allowed = [(1, 0, -1), (4, 0, -1), (32, 0, -1)]
os.setxattr("/agent", "system.posix_acl_default", b"".join([struct.pack("<I", 2), *(
    struct.pack("<HHi", *entry) for entry in allowed)]))
os.chmod("/agent/workspace", 0)
os.chmod("/agent", 0)
"""

SURVIVED = {
    "hangs": ("while True: pass", None),
    "floods": ("import sys\nwhile True: sys.stdout.write('x' * 65536)", None),
    "floods with what is no text": ("import os\nwhile True: os.write(2, b'\\xff' * 65536)", None),
    "leaves a daemon": (DAEMON, 0),
    "leaves a daemon that holds its output open and ignores what it can": (STUBBORN_DAEMON, 0),
    "sends its runner every signal that can be caught": (SIGNALLER, 0),
    "is killed by its child": (VICTIM, -9),
    "fills its disks": (FILLER, 0),
    "uses up its files in folders without rights, very deep": (DIGGER, 0),
    "closes its folders, and all that will be made in them": (CLOSER, 0),
    "plants what Python loads": (PLANTER, 0),
    "uses up its memory": ("x = []\nwhile True: x.append(bytearray(1 << 20))", -9),
}


@pytest.mark.parametrize("name", SURVIVED)
def test_a_hostile_program_spoils_nothing_beyond_its_run(name: str, programs: Counted) -> None:
    """The next run, in a container of its own, sees nothing of it."""
    source, exit_code = SURVIVED[name]
    ran = programs.source(source)
    assert (ran.exit_code, len(ran.stdout) <= 65_536, len(ran.stderr) <= 65_536) == (exit_code, True, True)
    assert programs.look() == FRESH


def test_a_fork_bomb_ends_with_its_time(programs: Counted) -> None:
    """No process of it is left."""
    programs.source("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n")
    assert programs.look() == FRESH


@pytest.mark.parametrize(
    "source",
    [
        "import os\nprint('{\"exit_code\": 0}', flush=True)\nos.kill(os.getppid(), 9)\n",
        "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n",
        "import os, signal\nos.fork() or os.setsid()\nos.kill(-1, signal.SIGSTOP)\n",
        "import os, signal\nos.kill(-1, 9)\n",
    ],
    ids=["kills-its-runner", "stops-its-runner", "stops-all", "kills-all"],
)
def test_a_program_that_puts_its_runner_out_of_action_has_nothing_to_show(
    source: str, programs: Counted
) -> None:
    """Its own output is all that it spoils."""
    assert programs.source(source) == Ran(137, "", SPOILED)
    assert programs.look() == FRESH


HIJACKER = """\
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0))
if os.fork() == 0:
  os.setsid()
  while True: signal.pause()
"""


def test_a_program_that_takes_over_the_first_process_reaches_no_later_run(programs: Counted) -> None:
    """The first process is the same user's and can be traced; it serves one run only."""
    assert programs.source(HIJACKER).exit_code == 0
    assert programs.look() == FRESH


def test_a_program_cannot_speak_for_its_runner(programs: Counted) -> None:
    """It can neither open what the runner has open, nor read its memory, nor trace it."""
    ran = programs.source(
        "import ctypes, os\nrunner = os.getppid()\n"
        "for name in ('fd/1', 'mem', 'environ', 'maps'):\n"
        "  try: open(f'/proc/{runner}/{name}', 'rb+', buffering=0).read(1); print('opened', name)\n"
        "  except OSError as error: print(error.errno)\n"
        "print(ctypes.CDLL(None).ptrace(16, runner, 0, 0))\n"
    )
    assert ran == Ran(0, "13\n13\n13\n13\n-1\n", "")


def test_the_end_of_much_output_is_kept(programs: Counted) -> None:
    """64 KiB of each stream, the last ones."""
    ran = programs.source("import sys\nfor i in range(100000): print(i)\nprint('last', file=sys.stderr)\n")
    assert ran.stdout.endswith("99998\n99999\n")
    assert (ran.exit_code, len(ran.stdout), ran.stderr) == (0, 65_536, "last\n")


# --- hidden tests -----------------------------------------------------------------------------------------

ITEM = item_named("recovery-statement")
INSTANCE = instance_of(ITEM, PUBLIC_SEED)
assert isinstance(ITEM, ProgramItem)
PROGRAM = ITEM.program
SHORT = GraderLimits(wall_clock_s=12.0, memory_mib=256, pids=64, workspace_mib=32)


def graded(
    bench: SuiteBench, files: Mapping[str, str], *, seed: str = "seed", limits: GraderLimits = GRADER_LIMITS
) -> list[bool]:
    """Whether each hidden test passed on a workspace."""
    grading = grade_program(
        bench.engine,
        image=bench.grader_image,
        image_digest=bench.grader_digest,
        limits=limits,
        item=ITEM,
        instance=INSTANCE,
        files=files,
        attempt_id="attempt",
        seed=seed,
        study="tests",
        log=lambda _: None,
    )
    return [result.passed for result in code_results(grading)]


@pytest.mark.parametrize("seed", ["one", "two"])
def test_the_graders_container_and_this_process_give_the_same_verdicts(
    seed: str, suite_bench: SuiteBench
) -> None:
    """The right program passes; a wrong one passes the same tests in both."""
    assert isinstance(ITEM, ProgramItem)
    for changed in (ITEM.solution(INSTANCE), *(wrong.files(INSTANCE) for wrong in ITEM.wrong)):
        files = {**INSTANCE.files, **changed}
        ours = [result.passed for result in grade_own(INSTANCE, files, seed)]
        assert graded(suite_bench, files, seed=seed) == ours
        assert all(ours) is (changed == ITEM.solution(INSTANCE))


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "import sys\nwhile True: sys.stdout.write('x' * 65536)",
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.kill(-1, 9)",
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "import sys; sys.exit(0)",
        "print('5 passed')",
        "not python",
    ],
    ids=["hangs", "floods", "dies", "kills", "forks", "hogs", "exits", "claims", "nonsense"],
)
def test_a_program_that_hangs_floods_or_dies_fails_its_tests(source: str, suite_bench: SuiteBench) -> None:
    """It is graded all the same: never infrastructure, never a pass."""
    assert graded(suite_bench, {**INSTANCE.files, PROGRAM: source}, limits=SHORT) == [False] * 5


def test_a_missing_program_fails_its_tests(suite_bench: SuiteBench) -> None:
    """Other files are no substitute."""
    files = {path: text for path, text in INSTANCE.files.items() if path != PROGRAM}
    assert graded(suite_bench, files, limits=SHORT) == [False] * 5
