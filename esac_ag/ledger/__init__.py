"""The attempt ledger: append-only, one writer, every line carrying the previous line's digest.

The ledger is the truth of a study. A line counts once it is on disk with its newline; what a crash tore is
moved aside and recorded, never counted and never lost.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from esac_ag import clock
from esac_ag.attempt.events import Body, Line, StudyState, TailRecovered
from esac_ag.canonical import canonical_json, refuse_ambiguous, sha256_of_bytes
from esac_ag.errors import InfrastructureFailure, LedgerCorrupt, StudyBusy

FIRST = "0" * 64


def read_lines(path: Path) -> tuple[tuple[Line, ...], bytes]:
    """The verified lines of a ledger, and the torn bytes after its last newline.

    Raises:
        LedgerCorrupt: a whole line is not readable, out of order, or does not carry its predecessor's digest.
    """
    lines, _, torn = _verified(path)
    return lines, torn


def _verified(path: Path) -> tuple[tuple[Line, ...], str, bytes]:
    """Lines, digest of the last one, and torn bytes."""
    data = path.read_bytes() if path.exists() else b""
    lines, head = [], FIRST
    for line, head in walk(path, io.BytesIO(data)):  # noqa: B007  (the last one's digest)
        lines.append(line)
    return tuple(lines), head, data.rpartition(b"\n")[2]


def walk(
    path: Path, file: Iterable[bytes], *, seq: int = 0, previous: str = FIRST
) -> Iterator[tuple[Line, str]]:
    """Each verified line with its own digest, one at a time: a large ledger is never held whole.

    Args:
        path: of the ledger, for messages.
        file: its lines with their line ends, from that of number `seq` on; one without an end ends it.
        seq: number of the first line, from 0.
        previous: digest of the line before it.

    Raises:
        LedgerCorrupt: as `read_lines`.
    """
    for number, ended in enumerate(file, start=seq + 1):
        if not ended.endswith(b"\n"):
            return
        raw = ended[:-1]
        line = _parse(path, number, raw)
        if line.seq != number - 1 or line.previous != previous:
            raise LedgerCorrupt(
                "a line of the ledger does not follow from the one before it",
                where=f"{path}:{number}",
                expected=f"seq {number - 1}, previous {previous}",
                found=f"seq {line.seq}, previous {line.previous}",
                remedy="restore the study's folder from a copy; the ledger is never repaired by hand",
            )
        previous = sha256_of_bytes(raw)
        yield line, previous


def _parse(path: Path, number: int, raw: bytes) -> Line:
    try:
        refuse_ambiguous(raw)
        return Line.model_validate_json(raw)
    except (ValueError, ValidationError, RecursionError) as error:
        raise LedgerCorrupt(
            "a line of the ledger cannot be read",
            where=f"{path}:{number}",
            expected="one JSON event of this format",
            found=str(error).splitlines()[0],
            remedy="restore the study's folder from a copy, or read it with the version that wrote it",
        ) from error


def read_state(path: Path) -> StudyState:
    """The state that a ledger tells, for readers that do not write.

    Raises:
        LedgerCorrupt: as `read_lines`, or an event contradicts an earlier one.
    """
    return read_headed_state(path)[0]


def read_headed_state(path: Path) -> tuple[StudyState, str]:
    """The state that a ledger tells, and the SHA-256 of its last whole line, 64 zeros where it has none.

    Each line carries the digest of the one before it. Whoever kept the last line's digest can thus tell
    whether a later copy of the ledger begins with all that was there then.

    Raises:
        LedgerCorrupt: as `read_state`.
    """
    head = FIRST

    def bodies() -> Iterator[Body]:
        nonlocal head
        if path.exists():
            with path.open("rb") as file:
                for line, head in walk(path, file):  # noqa: B007  (the last one's digest)
                    yield line.body

    return _replay(path, bodies()), head


def _replay(path: Path, bodies: Iterable[Body]) -> StudyState:
    try:
        return StudyState.of(bodies)
    except ValueError as error:
        raise contradicts_itself(path, error) from error


def contradicts_itself(path: Path, error: ValueError) -> LedgerCorrupt:
    """An event that cannot follow the ones before it, as an error of the ledger."""
    return LedgerCorrupt(
        "the ledger contradicts itself",
        where=str(path),
        found=str(error),
        remedy="restore the study's folder from a copy; the ledger is never repaired by hand",
    )


class Ledger:
    """The one writer of a ledger; use `open_ledger`. Threads may append."""

    def __init__(self, path: Path, lines: tuple[Line, ...], previous: str) -> None:
        self._path = path
        self._mutex = threading.RLock()
        self._seq = len(lines)
        self._previous = previous
        self.state = _replay(path, (line.body for line in lines))
        self._file = path.open("ab")

    def append(self, body: Body) -> None:
        """Write an event and wait until it is on disk."""
        with self._mutex:
            line = Line(seq=self._seq, at=clock.now(), previous=self._previous, body=body)
            self.state.apply(body)
            raw = canonical_json(line)
            try:
                self._file.write(raw + b"\n")
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                # What reached the disk is unknown: nothing more may follow it in this process.
                self._file.close()
                raise InfrastructureFailure(
                    "the ledger could not be written",
                    where=str(self._path),
                    found=str(error),
                    remedy="make room or repair the disk, then run the same command again",
                ) from error
            self._seq += 1
            self._previous = sha256_of_bytes(raw)

    @contextmanager
    def locked(self) -> Iterator[StudyState]:
        """The state, while no other thread appends."""
        with self._mutex:
            yield self.state

    def close(self) -> None:
        """Close the file; what was appended is on disk already."""
        self._file.close()


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """Open a ledger for writing, alone.

    Raises:
        StudyBusy: another process has it open.
        LedgerCorrupt: it does not verify; nothing was changed.
    """
    with alone(path.with_suffix(".lock"), what=str(path.parent)):
        lines, torn = read_lines(path)
        _replay(path, (line.body for line in lines))
        recovered = _set_aside(path, torn, len(lines)) if torn else None
        raws = path.read_bytes().split(b"\n") if path.exists() else [b""]
        ledger = Ledger(path, lines, sha256_of_bytes(raws[-2]) if len(raws) > 1 else FIRST)
        try:
            _sync_folder(path.parent)
            if recovered is not None:
                ledger.append(recovered)
            yield ledger
        finally:
            ledger.close()


@contextmanager
def alone(lock_path: Path, *, what: str) -> Iterator[None]:
    """Hold a lock that ends with the process.

    Raises:
        StudyBusy: another process holds it.
    """
    lock_path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(lock_path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StudyBusy(
            "another harness is working on this study",
            where=what,
            remedy="wait for it to end, or stop it; it is safe to start again afterwards",
        ) from None
    try:
        yield
    finally:
        lock.release()


def is_locked(path: Path) -> bool:
    """Whether a live process works on the ledger."""
    lock = FileLock(path.with_suffix(".lock"))
    if not path.exists():
        return False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def _set_aside(path: Path, torn: bytes, seq: int) -> TailRecovered:
    """Copy torn bytes beside the ledger, on disk, before cutting them off."""
    aside = path.with_name(f"{path.name}.torn-{seq}")
    with aside.open("wb") as file:
        file.write(torn)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - len(torn))
        os.fsync(file.fileno())
    return TailRecovered(file=aside.name, size_bytes=len(torn), sha256=sha256_of_bytes(torn))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
