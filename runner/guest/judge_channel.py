"""The grader's side of the supervisor's socket, and the pipes to subject processes."""

from __future__ import annotations

import json
import os
import select
import socket
import time

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Field = Any

DRAIN_FACTOR = 64
"""A process that writes this many times what is kept is killed."""


class Spool:
    """The reading end of a pipe: keeps at most `limit` bytes, and drains the rest."""

    def __init__(self, limit: int) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        self.limit = limit
        self.data = bytearray()
        self.total = 0
        self.open = True

    @property
    def truncated(self) -> bool:
        """Whether more came than was kept."""
        return self.total > self.limit

    def pump(self, rounds: int = 1) -> None:
        """Take what is there, up to `rounds` times 64 KiB."""
        for _ in range(rounds):
            try:
                chunk = os.read(self.read_fd, 65536)
            except BlockingIOError:
                return
            if not chunk:
                self.open = False
                return
            self.total += len(chunk)
            if len(self.data) < self.limit:
                self.data += chunk[: self.limit - len(self.data)]

    def close_writer(self) -> None:
        """Forget our copy of the writing end, once the process has it."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    def close(self) -> None:
        """Give back both ends."""
        self.close_writer()
        if self.read_fd >= 0:
            os.close(self.read_fd)
            self.read_fd = -1


class Channel:
    """Requests to the supervisor, one at a time, and news of ended processes."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.number = 0
        self.ended: dict[int, int | None] = {}
        """Exit codes of ended subject processes; None for those that were killed."""

    def request(self, op: str, fds: Sequence[int] = (), **fields: Field) -> dict[str, Any]:
        """Ask for something and wait for the answer.

        Raises:
            ValueError: the request is larger than a message may be.
        """
        self.number += 1
        data = json.dumps({"op": op, "number": self.number, **fields}).encode()
        if len(data) > 140_000:  # noqa: PLR2004  (below the supervisor's MESSAGE_BYTES)
            raise ValueError(f"arguments of {op} are larger than 140 kB; use a file or standard input")
        if fds:
            socket.send_fds(self.link, [data], list(fds))
        else:
            self.link.send(data)
        while True:
            message = self._receive()
            if message.get("reply") == self.number:
                return message

    def _receive(self) -> dict[str, Any]:
        data = self.link.recv(150_000)
        if not data:
            os._exit(1)  # the supervisor is gone, and nobody is left to report to
        message: dict[str, Any] = json.loads(data)
        if "ended" in message:
            self.ended[message["ended"]] = message["code"]
        return message

    def spawn(self, argv: Sequence[str], environment: Mapping[str, str], fds: Sequence[int]) -> int | str:
        """Start a subject process; returns its process id, or why there is none."""
        answer = self.request("spawn", fds, argv=list(argv), environment=dict(environment))
        return answer["fault"] if answer.get("fault") else int(answer["pid"])

    def poll_ended(self, pid: int) -> bool:
        """Whether a process has ended, without waiting."""
        while pid not in self.ended and select.select([self.link], [], [], 0)[0]:
            self._receive()
        return pid in self.ended

    def attend(
        self, pid: int, stdin_fd: int, stdin: bytes, spools: Sequence[Spool], timeout_s: float
    ) -> bool:
        """Feed and drain a process until it ends; True when it had to be stopped for its time.

        What it wrote before it ended is all taken; what its descendants write later is not waited for.
        A process that floods its output is stopped too, which shows as truncated output.
        """
        until_s = time.monotonic() + timeout_s
        stopped = timed_out = False
        pending = memoryview(stdin)
        os.set_blocking(stdin_fd, False)
        while pid not in self.ended:
            left_s = until_s - time.monotonic()
            if not stopped and (left_s <= 0 or any(s.total > DRAIN_FACTOR * s.limit for s in spools)):
                timed_out = left_s <= 0
                stopped = True
                self.request("stop", pid=pid)
                continue
            pending, stdin_fd = self._once(pending, stdin_fd, spools, 0.2 if stopped else left_s)
        if stdin_fd >= 0:
            os.close(stdin_fd)
        for spool in spools:
            spool.pump(rounds=DRAIN_FACTOR)
        return timed_out

    def _once(
        self, pending: memoryview, stdin_fd: int, spools: Sequence[Spool], wait_s: float
    ) -> tuple[memoryview, int]:
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        by_fd = {spool.read_fd: spool for spool in spools if spool.open}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        if stdin_fd >= 0 and pending:
            poll.register(stdin_fd, select.POLLOUT)
        elif stdin_fd >= 0:
            os.close(stdin_fd)
            stdin_fd = -1
        for fd, _ in poll.poll(int(wait_s * 1000) + 1):
            if fd == self.link.fileno():
                self._receive()
            elif fd in by_fd:
                by_fd[fd].pump(rounds=16)
            else:
                try:
                    pending = pending[os.write(stdin_fd, pending[:65536]) :]
                except BlockingIOError:
                    pass
                except OSError:  # nobody reads
                    pending = pending[:0]
        return pending, stdin_fd
