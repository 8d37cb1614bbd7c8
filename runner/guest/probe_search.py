"""What the isolation probe looks for, and how it tells it from other bytes."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PREFIX = b"esac-ag-canary-"
"""Looked for first, which is faster by far."""
PATTERN = re.compile(rb"esac-ag-canary-[0-9a-f]{32}")
OVERLAP_BYTES = 64
PIECE_BYTES = 1 << 20
MOST_BYTES_OF_A_FILE = 64 << 20
MOST_HASHED_BYTES = 4 << 20
"""Private files are small; the programs of an image are large, and hashing them takes its time."""

Found = tuple[int, list[str]]
"""How many places were tried, and what was reached."""


class Search:
    """What the controller told, and whether the control was found.

    Args:
        plan: as `probe.py` describes it.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.canaries = frozenset(plan["canaries"])
        self.private = frozenset(plan["private"])
        self.model_mount: str | None = plan["model_mount"]
        self.control = b""
        """The control, once it was found: what is sent out on the ways to listeners."""
        self.commands: list[tuple[str, subprocess.Popen[bytes]]] = []
        """Programs that might run as somebody else, under way."""
        peer = plan["peer"]
        self.peer: tuple[str, int] | None = None if peer is None else (peer[0], peer[1])
        """Address and port of the relay, where this container has a network with it."""
        self.answers: dict[tuple[str, int, int], bytes] | None = None
        """What listeners answered, once they were asked."""
        self.names: dict[str, str] = {}
        """What is wrong with names and name servers that were asked for; empty text where nothing is."""
        self.threads: list[threading.Thread] = []
        """Look-ups under way."""
        self._buffer = bytearray(OVERLAP_BYTES + PIECE_BYTES)
        """One for all files: there are tens of thousands."""
        self._piece = memoryview(self._buffer)[OVERLAP_BYTES:]
        self.tree = tuple(_walked("/"))
        """Every path and the mode of what is there."""

    def holds_canary(self, data: bytes) -> bool:
        """Whether a canary is among the bytes; notes the control as well."""
        found = False
        for match in PATTERN.findall(data) if PREFIX in data else ():
            digest = hashlib.sha256(match).hexdigest()
            if digest == self.plan["control"]:
                self.control = match
            found = found or digest in self.canaries
        return found

    def file_holds_canary(self, path: str) -> bool | None:
        """Whether a file holds a canary or is a private one; None when it cannot be read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        found = False
        digest = hashlib.sha256()
        total = 0
        try:
            # Behind the end of the piece before; a canary may lie across both.
            while total < MOST_BYTES_OF_A_FILE and (size := os.readv(descriptor, [self._piece])):
                total += size
                if total <= MOST_HASHED_BYTES:
                    digest.update(self._piece[:size])
                end = OVERLAP_BYTES + size
                if self._buffer.find(PREFIX, 0, end) >= 0:
                    found = self.holds_canary(bytes(self._buffer[:end])) or found
                self._buffer[:OVERLAP_BYTES] = self._buffer[size:end]
        except OSError:
            return found or None
        finally:
            os.close(descriptor)
            self._buffer[:OVERLAP_BYTES] = bytes(OVERLAP_BYTES)
        return found or (total <= MOST_HASHED_BYTES and digest.hexdigest() in self.private)


def _walked(top: str) -> Iterator[tuple[str, int]]:
    """Every path below `top` and its mode; the kernel's own file systems are left out."""
    for folder, folders, files in os.walk(top, followlinks=False):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys")]
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            try:
                yield path, os.lstat(path).st_mode
            except OSError:
                yield path, 0


def table(path: str, *, header: int = 1) -> list[list[str]]:
    """The fields of each line of a kernel's table; none where there is no table.

    Args:
        path: of the table.
        header: how many lines are left out.
    """
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [line.split() for line in file.read().splitlines()[header:]]
    except OSError:
        return []


def is_up(interface: str) -> bool:
    """Whether a network interface is up."""
    try:
        with open(f"/sys/class/net/{interface}/flags", encoding="ascii") as file:
            return bool(int(file.read(), 16) & 1)
    except OSError:
        return False


def mount_lines() -> list[tuple[str, list[str], str, str]]:
    """Target, options, kind and the whole line of every mount."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().splitlines()
    found = []
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        found.append((fields[4], fields[5].split(","), right.split()[0], line))
    return found


def names_in(folder: str) -> list[str]:
    """What a folder lists; nothing where it lists nothing to us."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
