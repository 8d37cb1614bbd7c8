"""The supervisor: starts and ends processes, keeps the time, and writes the result.

It never loads the checks and never runs the submission. The grader's child asks for what it needs over
a socket: `begin` and `end` of a check, `spawn`, `stop` and `write`. A message is one JSON object; file
descriptors travel beside it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time

import judge_grader
from judge_files import Entry, read_tree, remove_shared_objects, wipe, write_file, write_tree
from judge_places import Places, Running
from judge_processes import (
    GRADER,
    KILL_PATIENCE_S,
    SUBJECT,
    JudgeBroken,
    SubjectUnruly,
    acting_as,
    kill_session,
    kill_subjects,
    run_forked,
    spawn_subject,
)

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from typing import Any

MESSAGE_BYTES = 150_000
"""Largest message on the socket; well below the kernel's limit for one packet."""
GRACE_S = 2.0
"""How long the grader may take to notice that a check's time is up, or that it is done, before it is
killed."""
FILES_S = 10.0
"""How long a file that a check writes, or the working copy, may take at most."""
SWEEPS = 3
"""How often the subject's files are tried to be removed: the kernel may kill who does it, for memory."""
REAPED_AT_ONCE = 256
"""Ended processes that are collected before the clock is looked at: orphans may come without end."""
REASON_CHARACTERS = 2_000
KILLED = "the container's memory ran out, or the judge's process was killed"


class Supervisor:
    """Grades one submission."""

    def __init__(self, config: dict[str, Any], submission: list[Entry], places: Places) -> None:
        self.config = config
        self.places = places
        self.submission = submission
        self.timeouts_s = {check["id"]: float(check["timeout_s"]) for check in config["checks"]}
        self.until_s = time.monotonic() + float(config["total_s"])
        self.records: list[dict[str, Any]] = []
        self.running: Running | None = None
        self.begun = False
        """Whether a check has begun; from then on the submission may be the cause of whatever happens."""
        self.done = False
        self.link: socket.socket | None = None
        self.grader = 0
        self.grader_status: int | None = None
        self.mains: set[int] = set()
        self.unreaped = False
        self.woken = _wake_on_child()

    # --- the course of a grading -------------------------------------------------------------

    def grade(self) -> dict[str, Any]:
        """Run every check; returns the result that is written."""
        reason = None
        try:
            self._sweep()
            while not self.done and self._remaining():
                self._start_grader()
                self._serve()
            if self._remaining():
                reason = "the grader ended before every check had its verdict"
        except SubjectUnruly as error:
            self._fail_open(str(error))
        except JudgeBroken as error:
            reason = str(error)
        except (OSError, MemoryError) as error:
            told = f"the judge has no room to go on: {type(error).__name__}: {error}"
            if self.begun:
                self._fail_open(told)
            else:
                reason = told
        return {
            "format_version": 1,
            "status": "graded" if reason is None else "invalid",
            "invalid_reason": reason,
            "checks": self.records,
        }

    def _remaining(self) -> list[str]:
        return list(self.timeouts_s)[len(self.records) :]

    def _start_grader(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.grader_status = None
        self.grader = os.fork()
        if self.grader == 0:
            ours.close()
            signal.set_wakeup_fd(-1)
            judge_grader.run(theirs, self.config, self.places, self.submission, self._remaining())
        theirs.close()
        self.link = ours

    def _serve(self) -> None:
        """Answer the grader until it ends, is replaced, or the grading's time is up."""
        assert self.link is not None  # noqa: S101  (set by _start_grader)
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        while True:
            now = time.monotonic()
            if now > self.until_s:
                self._replace_grader("the grading's time was up")
                self._fail_open("the grading's time was up")
                return
            if self.running and now > self.running.until_s + GRACE_S:
                self._replace_grader("its time was up")
                return
            ends_s = self.running.until_s + GRACE_S if self.running else self.until_s
            wait_s = 0.0 if self.unreaped else min(ends_s, self.until_s) - now
            ready = dict(poll.poll(int(wait_s * 1000) + 1))
            if self.woken in ready:
                os.read(self.woken, 4096)
            if self.woken in ready or self.unreaped:
                self._reap()
            if self.link.fileno() in ready and not self._answer():
                self._grader_ended()
                return

    def _replace_grader(self, reason: str) -> None:
        os.kill(self.grader, signal.SIGKILL)
        self._wait_for_grader()
        if self.running:
            self._end(self.running.check, "fail", reason)

    def _grader_ended(self) -> None:
        """Find out why it did; what a submission can bring about fails the check that it hits.

        By what it makes a check read or hold in memory, it can have the grader killed. The next check
        gets a new one. Checks that leave their process by themselves are broken, though.
        """
        code = os.waitstatus_to_exitcode(self._wait_for_grader())
        if self.done and code == 0:
            return
        if not self.begun or (code >= 0 and code != judge_grader.RAN_OUT):
            raise JudgeBroken(f"the grader's process ended early with status {code}")
        if self.running:
            self._end(self.running.check, "fail", KILLED)
        elif self._remaining():
            self._record(self._remaining()[0], "fail", KILLED, 0.0)

    def _wait_for_grader(self) -> int:
        assert self.link is not None  # noqa: S101
        self.link.close()
        until_s = time.monotonic() + GRACE_S
        while self.grader_status is None:
            if time.monotonic() > until_s:
                os.kill(self.grader, signal.SIGKILL)
            self._reap()
            if self.grader_status is None:
                time.sleep(0.0005)
        return self.grader_status

    def _fail_open(self, reason: str) -> None:
        """Fail the running check and all that did not run."""
        self.running = None
        while self._remaining():
            self._record(self._remaining()[0], "fail", reason, 0.0)

    # --- requests ----------------------------------------------------------------------------

    def _answer(self) -> bool:
        """Take one message; False when the grader's end is closed."""
        assert self.link is not None  # noqa: S101
        try:
            data, fds, _, _ = socket.recv_fds(self.link, MESSAGE_BYTES, 8)
        except ConnectionResetError:  # it was killed before it read what it was told
            return False
        if not data:
            return False
        try:
            message = json.loads(data)
            handler = getattr(self, "_on_" + message["op"])
            self._tell({"reply": message["number"], **handler(message, fds)})
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def _tell(self, message: dict[str, Any]) -> None:
        assert self.link is not None  # noqa: S101
        try:  # noqa: SIM105  (importing contextlib would cost as much as a check)
            self.link.send(json.dumps(message).encode())
        except OSError:
            pass  # the grader is gone, which _serve notices

    def _on_begin(self, message: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        check = message["check"]
        if self.running or self._remaining()[:1] != [check]:
            raise JudgeBroken(f"check {check} began out of turn")
        now = time.monotonic()
        self.begun = True
        self.running = Running(check, now, now + self.timeouts_s[check])
        return {}

    def _on_end(self, message: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        self._end(message["check"], message["verdict"], message["reason"])
        return {}

    def _on_broken(self, message: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        reason = _printable(message["reason"])[:REASON_CHARACTERS]
        # What could be loaded at first, and now cannot, has lost its room to the submission.
        raise (SubjectUnruly if self.begun else JudgeBroken)(reason)

    def _on_done(self, _message: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        self.done = not self._remaining()
        return {}

    def _on_spawn(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        fault = self._prepare()
        if fault:
            return {"fault": fault}
        environment = {
            "HOME": self.places.home,
            "TMPDIR": self.places.home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
            **message["environment"],
        }
        try:
            pid = spawn_subject(
                message["argv"], environment, self.places.work, fds, self.config["file_bytes"]
            )
        except OSError as error:
            return {"fault": f"no process can be made: {error.strerror}"}
        self.mains.add(pid)
        return {"pid": pid}

    def _on_stop(self, message: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        if message["pid"] in self.mains:
            kill_session(message["pid"])
        return {}

    def _on_write(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        fault = self._prepare()
        if not fault:
            patience_s = self._patience_s()
            fault = run_forked(SUBJECT, lambda: write_file(message["path"], fds[0]), patience_s)
        return {"fault": fault}

    # --- checks ------------------------------------------------------------------------------

    def _prepare(self) -> str | None:
        """Make the check's working copy and folders; returns what went wrong."""
        if self.running is None:
            raise JudgeBroken("the grader asked for a process outside of any check")
        if self.running.prepared:
            return None
        fault = run_forked(SUBJECT, self._make_copy, self._patience_s())
        self.running.prepared = True
        return fault and f"no working copy can be made: {fault}"

    def _patience_s(self) -> float:
        """How long the running check can still wait for a file."""
        assert self.running is not None  # noqa: S101  (_prepare has seen to it)
        left_s = min(self.running.until_s, self.until_s) - time.monotonic()
        return min(FILES_S, max(0.5, left_s))

    def _make_copy(self) -> None:
        write_tree(self.places.work, self.submission)
        os.mkdir(self.places.scratch, 0o755)
        os.mkdir(self.places.home, 0o700)

    def _end(self, check: str, verdict: str, reason: str) -> None:
        running = self.running
        if running is None or running.check != check or verdict not in ("pass", "fail"):
            raise JudgeBroken(f"check {check} ended out of turn")
        now = time.monotonic()
        if verdict == "pass" and now > running.until_s:
            verdict, reason = "fail", "its time was up"
        self._clear()
        self.running = None
        self._record(check, verdict, reason, now - running.since_s)

    def _record(self, check: str, verdict: str, reason: str, duration_s: float) -> None:
        reason = _printable(reason)[:REASON_CHARACTERS]
        record = {"id": check, "verdict": verdict, "reason": reason, "duration_s": round(duration_s, 4)}
        self.records.append(record)
        print(f"{check}: {verdict}", ascii(reason) if reason else "", flush=True)

    def _clear(self) -> None:
        """End whatever the check left: processes first, then files."""
        if self.running is None or not self.running.prepared:
            return
        kill_subjects(self._reap)
        self._sweep()

    def _sweep(self) -> None:
        for _ in range(SWEEPS):
            fault = run_forked(SUBJECT, self._wipe_all, KILL_PATIENCE_S / SWEEPS)
            if not fault:
                return
        reason = f"the subject's files cannot be removed: {fault}"
        raise (SubjectUnruly if self.begun else JudgeBroken)(reason)

    def _wipe_all(self) -> None:
        remove_shared_objects()
        for folder in self.places.swept:
            if os.path.isdir(folder):
                wipe(folder)

    def _reap(self) -> None:
        """Collect ended processes; the grader is told of those that it asked for."""
        self.unreaped = False
        for _ in range(REAPED_AT_ONCE):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.grader:
                self.grader_status = status
            elif pid in self.mains:
                self.mains.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                self._tell({"ended": pid, "code": code if code >= 0 else None})
        self.unreaped = True


def _printable(text: str) -> str:
    """Text that any reader can show: what a submission made of it is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def _wake_on_child() -> int:
    """A pipe that becomes readable when a child ends."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Process 1 ignores signals that it does not handle, and a container should stop at once.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    return readable


def supervise(places: Places) -> dict[str, Any]:
    """Grade what lies in the places and write the result; returns it."""
    with acting_as(GRADER):
        with open(places.grade + "/judge.json", encoding="utf-8") as file:
            config = json.load(file)
        submission = read_tree(places.grade + "/submission")
    places.swept = (*places.swept, *config.get("folders", []))
    result = Supervisor(config, submission, places).grade()
    if result["invalid_reason"]:
        print("invalid:", ascii(result["invalid_reason"]), flush=True)
    with acting_as(GRADER), open(places.grade + "/out/result.json", "x", encoding="utf-8") as file:
        json.dump(result, file, ensure_ascii=False)
    return result


def main(_arguments: list[str]) -> int:
    """Run as the container's first process; the exit code only says whether a result was written."""
    os.umask(0o022)
    supervise(Places())
    sys.stdout.flush()
    return 0
