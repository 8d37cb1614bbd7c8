"""Runs one program of a code item in the agent's container, and tells how it ended.

    python3 -I -S -B /opt/esac/run_program.py STAGED TIMEOUT_S ARGV...

`STAGED` is a folder right below the container's volume. Its `files/` become the folder `workspace` beside
it, in which `ARGV` is run, and its `stdin` is what the program reads. What is printed is one line of JSON:
`exit_code` (null when the time was up), `stdout` and `stderr`, the last 64 KiB of each.

The program runs as the same user. It may end or stop this one; then there is no line, and the caller knows
nothing of the run. A line means that this process saw the program end, or ended it: it cannot be traced, and
nobody else holds its output. Each run has a container of its own, which is gone afterwards.

It ends every process that it may, so it works only where it is the first process that it can see, as in a
container.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import struct
import sys
import time

KEPT_BYTES = 64 * 1024
"""Of each output: its end."""
SLACK_S = 3.0
"""Beyond the program's time, within which this one has ended, or is killed."""
_SET_DUMPABLE, _SET_CHILD_SUBREAPER = 4, 36
_CLOCK_MONOTONIC, _NOTIFY_BY_SIGNAL = 1, 0


def main(arguments: list[str]) -> int:
    """Run the program and print the line."""
    if os.getppid() != 0:
        print("run_program.py ends all that runs around it: it works in a container only", file=sys.stderr)
        return 2
    staged, timeout_s, *argv = arguments
    _defend(float(timeout_s) + SLACK_S)
    run = Run(argv, *_laid_out(os.path.dirname(staged), staged), float(timeout_s))
    run.watch()
    _end_all()
    run.take_rest()
    print(json.dumps(run.line()), flush=True)
    return 0


def _defend(most_s: float) -> None:
    """See to it that the program can do no more than end this process, and that nothing keeps it for ever."""
    libc = ctypes.CDLL(None)
    # What the program leaves behind becomes a child of this process, and can be waited for.
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Nobody may look into this process, trace it, or open what it has open.
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:  # noqa: SIM105  (importing contextlib takes long)
            signal.signal(number, _ignore)
        except (OSError, ValueError):
            pass
    # The kernel kills this process by a timer: that works on a stopped process too.
    event = ctypes.create_string_buffer(struct.pack("@Pii48x", 0, signal.SIGKILL, _NOTIFY_BY_SIGNAL))
    timer = ctypes.c_void_p()
    whole_s, rest_s = divmod(most_s, 1)
    times = ctypes.create_string_buffer(struct.pack("@4l", 0, 0, int(whole_s), int(rest_s * 1e9)))
    if libc.timer_create(_CLOCK_MONOTONIC, event, ctypes.byref(timer)) != 0:
        raise OSError("no timer can be made")
    libc.timer_settime(timer, 0, times, None)


def _ignore(*_: object) -> None:
    """Take a signal without an effect; unlike SIG_IGN, this is not passed on to the program."""


def _end_all() -> None:
    """Kill every other process of the container and wait until those are gone that can be waited for."""
    try:  # noqa: SIM105
        os.kill(-1, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _laid_out(root: str, staged: str) -> tuple[str, int]:
    """Move what was staged to its place; HOME of the program, and its standard input."""
    home = root + "/home"
    stdin = os.open(staged + "/stdin", os.O_RDONLY)
    os.unlink(staged + "/stdin")
    os.rename(staged + "/files", root + "/workspace")
    os.rmdir(staged)
    os.mkdir(home)
    os.chdir(root + "/workspace")
    return home, stdin


class Output:
    """One output of the program, of which the end is kept."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        self.data = bytearray()
        self.open = True

    def take(self) -> bool:
        """Take what is there, up to 64 KiB; whether there may be more."""
        try:
            chunk = os.read(self.read_fd, KEPT_BYTES)
        except BlockingIOError:
            return False
        self.open = bool(chunk)
        self.data += chunk
        del self.data[:-KEPT_BYTES]
        return self.open

    def text(self) -> str:
        """The end of it as text."""
        return self.data.decode("utf-8", "replace")


class Run:
    """The program at work."""

    def __init__(self, argv: list[str], home: str, stdin: int, timeout_s: float) -> None:
        self.stdout, self.stderr = Output(), Output()
        self.until_s = time.monotonic() + timeout_s
        self.exit_code: int | None = None
        self.ended = False
        self.woken, wake = os.pipe()
        for fd in (self.woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.pid = self._start(argv, home, stdin)
        for fd in (stdin, self.stdout.write_fd, self.stderr.write_fd):
            os.close(fd)

    def _start(self, argv: list[str], home: str, stdin: int) -> int:
        environment = {
            "HOME": home,
            "TMPDIR": home,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        ends = (stdin, self.stdout.write_fd, self.stderr.write_fd)
        moves = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends)]
        usual = [signal.SIGPIPE, signal.SIGXFSZ]
        return os.posix_spawnp(
            argv[0], argv, environment, file_actions=moves, setsid=True, setsigdef=usual, setsigmask=[]
        )

    def watch(self) -> None:
        """Take output until the program ends or its time is up; what it left in the background goes on."""
        poll = select.poll()
        outputs = {output.read_fd: output for output in (self.stdout, self.stderr)}
        for fd in (self.woken, *outputs):
            poll.register(fd, select.POLLIN)
        while not self._reap():
            left_s = self.until_s - time.monotonic()
            if left_s <= 0:
                return
            for fd, _ in poll.poll(int(left_s * 1000) + 1):
                if fd == self.woken:
                    os.read(self.woken, 4096)
                    continue
                outputs[fd].take()
                if not outputs[fd].open:
                    poll.unregister(fd)

    def _reap(self) -> bool:
        """Collect ended processes, while there is time; whether the program is among them."""
        while not self.ended and time.monotonic() < self.until_s:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return False
            if pid == self.pid:
                self.ended, self.exit_code = True, os.waitstatus_to_exitcode(status)
        return self.ended

    def take_rest(self) -> None:
        """Take what is left in the pipes; nobody writes to them any more."""
        for output in (self.stdout, self.stderr):
            while output.open and output.take():
                pass

    def line(self) -> dict[str, int | str | None]:
        """How it ended."""
        return {
            "exit_code": self.exit_code,
            "stdout": self.stdout.text(),
            "stderr": self.stderr.text(),
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
