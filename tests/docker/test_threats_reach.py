"""What a submission can reach from its processes: nothing of the judge's, nothing of other checks."""

from __future__ import annotations

import pytest

from esac_ag.tree import FileTree, Link, RegularFile
from tests.builders_grading import SNAPSHOT, a_package_of, a_submission, docker_judge, reasons, verdicts

pytestmark = pytest.mark.docker

SPY = r'''
import ctypes, os, socket, stat

SECRET = b"expected-value-91f3"

def spy():
    """Names of everything that should be out of reach and is not."""
    reached = []
    for path in ("/grade", "/grade/private", "/grade/private/checks.py", "/grade/judge.json", "/grade/out",
                 "/grade/submission", "/grade/snapshot"):
        try:
            os.listdir(path) if os.path.isdir(path) else open(path).read()
            reached.append(path)
        except OSError:
            pass
    for path in ("/grade/x", "/grade/out/result.json", "/esac/x", "/x", "/etc/x", "/usr/lib/python3/x"):
        try:
            open(path, "w").close()
            reached.append("written " + path)
        except OSError:
            pass
    libc = ctypes.CDLL(None, use_errno=True)
    for name in os.listdir("/proc"):
        if not name.isdecimal() or os.stat("/proc/" + name).st_uid == os.getuid():
            continue
        for item in ("mem", "environ", "maps", "fd", "cwd", "root", "exe"):
            try:
                where = f"/proc/{name}/{item}"
                os.listdir(where) if item == "fd" else (
                    os.readlink(where) if item in ("cwd", "root", "exe") else open(where, "rb").read(1))
                reached.append(where)
            except OSError:
                pass
        for number in (0, 9, 15, 19):
            try:
                os.kill(int(name), number)
                reached.append(f"signal {number} to {name}")
            except OSError:
                pass
        if libc.ptrace(16, int(name), 0, 0) == 0:
            reached.append("ptrace " + name)
        if SECRET in open(f"/proc/{name}/cmdline", "rb").read():
            reached.append("the arguments of " + name)
    for number in range(4, 300):
        try:
            os.fstat(number)
            reached.append(f"descriptor {number}")
        except OSError:
            pass
    for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setuid(10002), lambda: os.nice(-1),
                 lambda: os.setgroups([0]), lambda: os.chroot("."),
                 lambda: socket.create_connection(("10.0.0.1", 80), 0.2),
                 lambda: socket.getaddrinfo("example.com", 80)):
        try:
            call()
            reached.append("a forbidden call")
        except OSError:
            pass
    status = open("/proc/self/status").read()
    for line in ("CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"):
        if line not in status:
            reached.append("no " + line)
    if os.getgroups():
        reached.append("groups")
    interfaces = sorted(os.listdir("/sys/class/net"))
    if interfaces != ["lo"]:
        reached.append(str(interfaces))
    words = [key for key in os.environ if key not in
             ("HOME", "TMPDIR", "PATH", "LANG", "TZ", "PYTHONDONTWRITEBYTECODE")]
    return reached + words
'''

CHECKS = """
from esac_checks import check, require_equal
EXPECTED = "expected-value-91f3"

@check("spied")
def spied(subject):
    require_equal(subject.call("spy:spy", timeout_s=15), [], "what is within reach")
    done = subject.run(["python3", "-c", "import spy; print(spy.spy())"], timeout_s=15)
    require_equal(done.stdout, b"[]\\n", "what is within reach of a command")
"""


def test_a_submission_that_looks_everywhere_reaches_nothing() -> None:
    """Files, memory, descriptors, signals, ptrace, users, network and environment are all closed."""
    grading = docker_judge().grade(
        a_submission({"spy.py": SPY}), checks=CHECKS, package=a_package_of("spied", timeout_s=40)
    )
    assert grading.passed, reasons(grading)


def test_a_submission_cannot_learn_the_seed_or_read_the_expected_value() -> None:
    """The judge's memory is copied by no process that runs the submission."""
    scan = r"""
import glob
def scan():
    found = []
    for path in glob.glob("/proc/[0-9]*/mem"):
        pid = path.split("/")[2]
        try:
            for line in open(f"/proc/{pid}/maps"):
                first, last = (int(x, 16) for x in line.split()[0].split("-"))
                if "rw" not in line or last - first > 1 << 28:
                    continue
                with open(path, "rb", 0) as memory:
                    memory.seek(first)
                    data = memory.read(last - first)
                # Apart, so that this text itself is no hit.
                for word, rest in ((b"expected-value-", b"91f3"), (b"the-secret-", b"seed")):
                    if any(part.startswith(rest) for part in data.split(word)[1:]):
                        found.append(pid)
        except (OSError, ValueError):
            continue
    return found
"""
    checks = CHECKS.partition("@check")[0] + (
        '@check("scanned")\ndef scanned(subject):\n'
        '    require_equal(subject.call("scan:scan", timeout_s=15), [], "memory with a secret")\n'
    )
    grading = docker_judge().grade(
        a_submission({"scan.py": scan}),
        checks=checks,
        package=a_package_of("scanned", timeout_s=20),
        seed="the-secret-seed",
    )
    assert grading.passed, reasons(grading)


@pytest.mark.parametrize(
    ("path", "link"),
    [
        (b"README.md", b"/grade/snapshot/README.md"),
        (b"README.md", b"../../grade/snapshot/README.md"),
        (b"README.md", b"COPY.md"),
        (b"README.md", b"/proc/self/environ"),
        (b"README.md", b"README.md"),
    ],
)
def test_a_file_that_is_a_link_is_missing_for_the_judge(path: bytes, link: bytes) -> None:
    """Links are never followed, wherever they lead."""
    submission = a_submission({"COPY.md": "# prices\n"}).merged({path: Link(link)})
    grading = docker_judge().grade(submission)
    assert reasons(grading) == {"readme-kept": "the submission has no file README.md"}


@pytest.mark.parametrize("link", [b"../../grade/snapshot/prices", b"/grade/snapshot/prices", b"/esac", b"."])
def test_a_folder_that_is_a_link_runs_nothing_of_the_judges(link: bytes) -> None:
    """A package that is a link out of the tree, or round in circles, is no solution."""
    nodes = {p: n for p, n in SNAPSHOT.items() if not p.startswith(b"prices/")}
    grading = docker_judge().grade(FileTree({**nodes, b"prices": Link(link)}))
    assert set(verdicts(grading).values()) == {"fail", "pass"}
    assert "multiplies" in reasons(grading)


def test_what_a_check_writes_cannot_be_led_astray() -> None:
    """FIFOs, links and folders at a path that the judge writes neither hang it nor send it elsewhere."""
    plant = (
        "import os\n"
        "def plant(kind):\n"
        "    if kind == 'fifo':\n        os.mkfifo('target')\n"
        "    elif kind == 'link':\n        os.symlink('/subject/home/away', 'target')\n"
        "    elif kind == 'folder':\n        os.mkdir('target')\n"
        "def look():\n    return os.listdir('/subject/home')\n"
    )
    checks = """
from esac_checks import check, require_equal, require_raises, SubjectFailed, require

def planted(kind):
    def run(subject):
        subject.call("plant:plant", kind)
        subject.write("target", b"x")
        require_equal(subject.run(["cat", "target"]).stdout, b"x", "what was written")
        require_equal(subject.call("plant:look"), [], "what was written elsewhere")
    return run

for kind in ("fifo", "link", "folder"):
    check(kind)(planted(kind))

@check("reads")
def reads(subject):
    subject.call("plant:plant", "fifo")
    require(not subject.exists("target"), "what a process made is not the submission")
"""
    grading = docker_judge().grade(
        a_submission({"plant.py": plant}),
        checks=checks,
        package=a_package_of("fifo", "link", "folder", "reads"),
    )
    expected = {"fifo": "pass", "link": "pass", "folder": "fail", "reads": "pass"}
    assert verdicts(grading) == expected, reasons(grading)


def test_a_submission_with_odd_names_and_many_files_is_judged() -> None:
    """Names that are not Unicode, hold newlines or escapes, and a thousand files, change nothing."""
    odd = {b"\xff\xfe": RegularFile(b"x"), b"new\nline\x1b[31m": RegularFile(b"x"), b"-rf": RegularFile(b"x")}
    many = {b"many/%d" % n: RegularFile(b"") for n in range(1000)}
    grading = docker_judge().grade(a_submission().merged({**odd, **many}))
    assert grading.passed, reasons(grading)


def test_cached_byte_code_of_a_submission_is_left_out() -> None:
    """What no reviewer can read, and no hash covers, does not run."""
    checks = """
from esac_checks import check, require_equal
@check("listed")
def listed(subject):
    done = subject.run(["find", ".", "-name", "*.pyc", "-o", "-name", "node_modules", "-o", "-name", ".git"])
    require_equal(done.stdout, b"", "cached and installed files")
"""
    submission = a_submission(
        {"prices/__pycache__/total.cpython-311.pyc": "", "node_modules/x/index.js": "", ".git/config": ""}
    )
    grading = docker_judge().grade(submission, checks=checks, package=a_package_of("listed"))
    assert grading.passed, reasons(grading)
