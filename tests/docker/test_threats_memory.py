"""What a submission can write down in one check and read in another: nothing that it owns stays."""

from __future__ import annotations

import pytest

from tests.builders_grading import a_package_of, a_submission, docker_judge, reasons

pytestmark = pytest.mark.docker

LOOK = r'''
import ctypes, fcntl, os, stat, struct

MADE = ("/subject/work", "/subject/scratch", "/subject/home")

def places():
    """Folders and files that the submission may write to, and are not made for the check alone."""
    found = []
    for top in os.listdir("/"):
        if top in ("proc", "sys"):
            continue
        for folder, folders, files in os.walk("/" + top):
            for path in [folder, *(os.path.join(folder, name) for name in files)]:
                if os.path.islink(path) or path.startswith(MADE):
                    continue
                kind = os.stat(path).st_mode
                if os.access(path, os.W_OK) or os.stat(path).st_uid == os.getuid():
                    if not stat.S_ISCHR(kind):
                        found.append(path)
    return sorted(found)

def look():
    """All that can be read off these places."""
    seen = {}
    for path in places():
        data = struct.pack("l", 0)
        fd = os.open(path, os.O_RDONLY)
        try:
            flags = struct.unpack("l", fcntl.ioctl(fd, 0x80086601, data))[0]
        except OSError:
            flags = 0
        os.close(fd)
        status = os.stat(path)
        seen[path] = [status.st_mode, status.st_uid, status.st_gid, status.st_size, flags,
                      sorted(os.listxattr(path)), sorted(os.listdir(path))]
    seen["times"] = [os.stat("/subject").st_mtime_ns, os.stat("/subject").st_atime_ns] if mine() else []
    return seen

def mine():
    return os.stat("/subject").st_uid == os.getuid()

def note():
    """Leave a note wherever one can be left; returns in how many ways."""
    ways = 0
    entry = lambda tag, rights, who: struct.pack("<HHI", tag, rights, who)
    rights = struct.pack("<I", 2) + entry(1, 7, 2**32 - 1) + entry(2, 5, 4711) + entry(4, 5, 2**32 - 1)
    rights += entry(16, 7, 2**32 - 1) + entry(32, 5, 2**32 - 1)
    def attribute(name, value):
        return lambda path: os.setxattr(path, name, value)
    def flags(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, 0x40086602, struct.pack("l", 0x40 | 0x80))
        finally:
            os.close(fd)
    for path in places():
        for way in (
            attribute("system.posix_acl_access", rights),
            attribute("system.posix_acl_default", rights),
            attribute("user.note", b"x"),
            flags,
            lambda path: os.chmod(path, 0o2700),
            lambda path: os.utime(path, (1234, 5678)),
            lambda path: os.mkdir(path + "/note"),
            lambda path: os.mkfifo(path + "/pipe"),
            lambda path: os.symlink("x", path + "/link"),
        ):
            try:
                way(path)
                ways += 1
            except OSError:
                pass
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (lambda: libc.shmget(7, 4096, 0o1777), lambda: libc.semget(7, 1, 0o1777),
                 lambda: libc.msgget(7, 0o1777), lambda: libc.syscall(248, b"user", b"note", b"x", 1, -4)):
        ways += call() >= 0
    return ways
'''

CHECKS = """
from esac_checks import check, require, require_equal

PLACES = ["/dev/mqueue", "/dev/shm", "/subject", "/tmp"]

def clean(subject):
    seen = subject.call("look:look")
    times = seen.pop("times")
    require_equal(sorted(seen), PLACES, "places that can be written to")
    for path, (mode, uid, gid, size, flags, attributes, names) in seen.items():
        made = ["home", "scratch", "work"] if path == "/subject" else []
        require_equal([flags, attributes, names], [0, [], made], path)
    return {path: [mode, uid, gid, size] for path, (mode, uid, gid, size, *_) in seen.items()}

BEFORE = {}

@check("before")
def before(subject):
    BEFORE.update(clean(subject))

@check("notes")
def notes(subject):
    require(subject.call("look:note") > 5, "there are ways to leave a note")

@check("after")
def after(subject):
    require_equal(clean(subject), BEFORE, "what stands there before and after")
"""


def test_a_note_that_one_check_leaves_cannot_be_read_in_the_next() -> None:
    """Files, attributes, access lists, flags, modes, queues and keys go with the check that made them."""
    grading = docker_judge().grade(
        a_submission({"look.py": LOOK}), checks=CHECKS, package=a_package_of("before", "notes", "after")
    )
    assert grading.passed, reasons(grading)
