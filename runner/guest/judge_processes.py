"""Users and processes of the grader's container.

Three users: root, who supervises, `grader`, who decides, and `subject`, who runs the submission. Root
holds no capability but SETUID, SETGID and KILL, so file permissions bind it like anyone else.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import time

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GRADER = 10002
SUBJECT = 10003

KILL_PATIENCE_S = 20.0
"""How long killed processes may take to vanish before every check that is open fails."""

GRADER_OOM_SCORE, SUBJECT_OOM_SCORE = 500, 1000
"""Whom the kernel takes first when the container's memory runs out; the supervisor has 0. A subject may
lower its own, so the judge can be hit: the grader first, which costs its check, and then the supervisor."""

_ABOVE_TARGETS = 64
"""File descriptors are first moved up here, so that none is overwritten on its way to its place."""


class JudgeBroken(Exception):
    """The judge cannot go on, which no submission can cause; the grading is invalid."""


class SubjectUnruly(Exception):
    """The submission left what cannot be removed, or no room to go on; every check that is open fails."""


def become(uid: int) -> None:
    """Change to a user for good: all groups, all three ids."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class acting_as:  # noqa: N801  (reads as a statement)
    """Borrow a user's file permissions; the effective capabilities are gone meanwhile."""

    def __init__(self, uid: int) -> None:
        self.uid = uid

    def __enter__(self) -> None:
        os.seteuid(self.uid)

    def __exit__(self, *_: object) -> None:
        os.seteuid(0)


def run_forked(uid: int, action: Callable[[], None], patience_s: float) -> str | None:
    """Do something as another user in a forked child; returns what went wrong.

    The child executes none of the submission's code, and what it inherits stays unreadable to its
    user's other processes: a change of user makes a process undumpable until it executes a program.
    But they can stop it, or take its rights to processor and files, so it is killed after `patience_s`.
    """
    readable, writable = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(readable)
        os.close(writable)
        return f"no process can be made: {error.strerror}"
    if pid == 0:
        _child(uid, action, writable)
    os.close(writable)
    message, ended = _all_within(readable, patience_s)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if status == 0:
        return None
    if not ended:
        return f"its process did not end within {patience_s:.1f} s"
    return message.decode("utf-8", "replace") or "its process was killed"


def _all_within(readable: int, patience_s: float) -> tuple[bytes, bool]:
    """Read a pipe to its end and close it; False when the end did not come in time."""
    until_s = time.monotonic() + patience_s
    message = b""
    poll = select.poll()
    poll.register(readable, select.POLLIN)
    try:
        while poll.poll(max(0, int((until_s - time.monotonic()) * 1000))):
            chunk = os.read(readable, 4096)
            if not chunk:
                return message, True
            message += chunk
        return message, False
    finally:
        os.close(readable)


def _child(uid: int, action: Callable[[], None], writable: int) -> None:
    status = 1
    try:
        become(uid)
        action()
        status = 0
    except BaseException as error:  # noqa: BLE001  (the child ends here, whatever happened)
        os.write(writable, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:2000])
    finally:
        os._exit(status)


def spawn_subject(
    argv: Sequence[str], environment: Mapping[str, str], folder: str, fds: Sequence[int], file_bytes: int
) -> int:
    """Start a program as the subject, in a session of its own, with only `fds` as its 0, 1, 2, ....

    A program that cannot be started ends with exit code 127 and says why on its standard error.

    Raises:
        OSError: no process can be made.
    """
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        _give_up_rights(file_bytes)
        _place(fds)
        become(SUBJECT)
        os.chdir(folder)
        os.execvpe(argv[0], list(argv), dict(environment))  # noqa: S606  (no shell is wanted)
    except BaseException as error:  # noqa: BLE001  (the child ends here, whatever happened)
        os.write(2, f"{argv[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(127)


def _give_up_rights(file_bytes: int) -> None:
    """Limits of one subject process; memory and process count are the container's own limits."""
    offer_to_memory_killer(SUBJECT_OOM_SCORE)
    os.nice(5)  # the judge stays responsive beside a hundred busy processes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and that would be inherited
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def offer_to_memory_killer(score: int) -> None:
    """Have the kernel take this process and its children rather than those with a lower score."""
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(fd, b"%d" % score)
    os.close(fd)


def _place(fds: Sequence[int]) -> None:
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, _ABOVE_TARGETS) for fd in fds]
    for target, fd in enumerate(high):
        os.dup2(fd, target)
    os.closerange(len(fds), 1024)


def kill_session(leader: int) -> None:
    """Kill the processes of one subject process's session; those that left it die with the check."""
    for pid in subject_processes():
        try:
            if os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def kill_subjects(reap: Callable[[], None]) -> None:
    """Kill every process of the subject and wait until none is left, not even as a zombie.

    `kill(-1)` with the subject's effective user reaches all of them in one system call that no fork
    can outrun, and needs no new process, so a fork bomb changes nothing. The judge's own real user
    reaches root's processes too: there are none, and as process 1 the judge is exempt.

    Meanwhile the subject cannot change the judge's place in the scheduler either: the kernel asks for
    all the capabilities that the judge has.

    Raises:
        SubjectUnruly: some process does not die.
        JudgeBroken: this is not process 1, so that others would die too.
    """
    if os.getpid() != 1:
        raise JudgeBroken("refusing to kill: the judge is not process 1 of a namespace of its own")
    until = time.monotonic() + KILL_PATIENCE_S
    while True:
        with acting_as(SUBJECT):
            _kill_all_of_this_user()
        reap()
        if not subject_processes():
            return
        if time.monotonic() > until:
            raise SubjectUnruly("processes of the submission do not die")
        time.sleep(0.001)


def _kill_all_of_this_user() -> None:
    try:  # noqa: SIM105  (importing contextlib would cost as much as a check)
        os.kill(-1, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # none is left, or only the grader is


def subject_processes() -> list[int]:
    """Process ids of the subject, zombies included."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                owner = os.stat(f"/proc/{name}").st_uid
            except OSError:
                continue
            if owner == SUBJECT:
                found.append(int(name))
    return found
