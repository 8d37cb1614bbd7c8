"""A ledger as it stands, for whoever looks on: it is read on from where it was read to, and never locked.

A study may be at work meanwhile. Its last line may be half written; it is read when it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from esac_ag.attempt.events import Line
from esac_ag.errors import LedgerCorrupt
from esac_ag.ledger import FIRST, contradicts_itself, walk

LOCKS: Final = Path("/proc/locks")


class Follower(Protocol):
    """Takes in the lines of a ledger."""

    def begin(self) -> None:
        """Forget all lines: they come again from the first one on."""

    def take(self, line: Line) -> None:
        """Take in the next line.

        Raises:
            ValueError: it contradicts an earlier one.
        """


class _Seen(NamedTuple):
    """What the file was when it was read last."""

    inode: int
    size_bytes: int
    changed_ns: int


class FollowedLedger:
    """Hands every line of a ledger to a follower once, verified, as the ledger grows.

    A file that became shorter, was replaced, or was changed without growing is read again from its beginning.
    One that was edited and grew at the same time is found by an audit, not here, unless its last line was
    edited.
    """

    def __init__(self, path: Path, follower: Follower) -> None:
        self._path = path
        self._follower = follower
        self._seen: _Seen | None = None
        self._failed: LedgerCorrupt | None = None
        self._line_bytes = self._offset = self._seq = 0
        self._previous = FIRST
        follower.begin()

    def follow(self) -> bool:
        """Read what is new; whether anything was.

        Raises:
            LedgerCorrupt: a whole line does not verify, or contradicts an earlier one; raised again until
                the file changes.
            OSError: there is no such file, or it cannot be read.
        """
        with self._path.open("rb") as file:
            facts = os.fstat(file.fileno())
            seen = _Seen(facts.st_ino, facts.st_size, facts.st_mtime_ns)
            if seen == self._seen:
                if self._failed is not None:
                    raise self._failed
                return False
            if self._failed is not None or (self._seen is not None and self._is_another(self._seen, seen)):
                self._begin()
            self._seen = seen
            file.seek(self._offset)
            try:
                return self._read(file)
            except LedgerCorrupt as error:
                self._failed = error
                raise

    def _read(self, file: Iterable[bytes]) -> bool:
        before = self._offset
        for line, digest in walk(self._path, self._counted(file), seq=self._seq, previous=self._previous):
            try:
                self._follower.take(line)
            except ValueError as error:
                raise contradicts_itself(self._path, error) from error
            self._seq, self._previous = line.seq + 1, digest
            self._offset += self._line_bytes
        return self._offset != before

    def _counted(self, file: Iterable[bytes]) -> Iterator[bytes]:
        for ended in file:
            self._line_bytes = len(ended)
            yield ended

    def _is_another(self, before: _Seen, now: _Seen) -> bool:
        edited = now.size_bytes == before.size_bytes and now.changed_ns != before.changed_ns
        return now.inode != before.inode or now.size_bytes < self._offset or edited

    def _begin(self) -> None:
        self._offset, self._seq, self._previous = 0, 0, FIRST
        self._failed = None
        self._follower.begin()


def is_worked_on(path: Path) -> bool | None:
    """Whether a process holds the ledger's lock, without touching it; None where the system does not tell.

    Linux lists the locks of all processes by device and inode of their files.
    """
    try:
        facts = path.with_suffix(".lock").stat()
        listed = LOCKS.read_text()
    except FileNotFoundError:
        return False if LOCKS.exists() else None
    except OSError:
        return None
    name = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}:{facts.st_ino}"
    return any(name in line.split() for line in listed.splitlines())
