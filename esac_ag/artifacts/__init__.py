"""Folders of a study on disk: what is written, where, and that it is whole.

Small files are written beside their name, synced and renamed into place, so that a reader never meets half
a file. Known secrets are redacted before a byte is written.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard
from pydantic import BaseModel

from esac_ag.archive import TreeLimits, pack_parts, unpack
from esac_ag.artifacts.redaction import Redactor
from esac_ag.canonical import canonical_json, sha256_of_bytes
from esac_ag.errors import InputRefused, SandboxLost
from esac_ag.tree import FileTree

COMPRESSION_LEVEL = 3
PRIVATE_FOLDER_MODE = 0o700
WHOLE = TreeLimits(
    max_members=10_000_000,
    max_bytes=1 << 40,
    max_file_bytes=1 << 40,
    max_depth=10_000,
    max_path_bytes=1 << 20,
)
"""Our own archives were capped when they were made."""


def write_atomic(path: Path, data: bytes) -> str:
    """Write a file so that it is there whole or not at all; its SHA-256."""
    with _whole_or_nothing(path) as file:
        file.write(data)
    return sha256_of_bytes(data)


@contextmanager
def _whole_or_nothing(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.partial")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class StudyFolder:
    """`results/<study_id>/`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "manifest.json"
        self.schedule = path / "schedule.json"
        self.tasks = path / "tasks.json"
        self.ledger = path / "ledger.jsonl"
        self.attempts = path / "attempts"
        self.report = path / "report"
        """The first report; `revision-2` and so on lie in it."""
        self.hidden_checks = path / "private" / "hidden-checks.csv"
        """What a report's labels of hidden checks stand for; never published."""

    def attempt(self, attempt_id: str) -> AttemptFolder:
        """The folder of one launch."""
        return AttemptFolder(self.attempts / attempt_id)

    def revision(self, number: int) -> Path:
        """The folder of a report: of the first one, or of a numbered revision."""
        return self.report if number == 1 else self.report / f"revision-{number}"

    def make_private(self) -> None:
        """Make the folder, for its owner alone: what a held-out run writes shows the instances."""
        self.path.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
        # One that was there already, too.
        self.path.chmod(PRIVATE_FOLDER_MODE)

    def seal(self, manifest: bytes, schedule: bytes, tasks: bytes) -> None:
        """Copy what was sealed, byte for byte, if it is not there yet.

        Raises:
            InputRefused: the folder holds another plan.
        """
        for path, data in (
            (self.manifest, manifest),
            (self.schedule, schedule),
            (self.tasks, tasks),
        ):
            if not path.exists():
                write_atomic(path, data)
            elif path.read_bytes() != data:
                raise InputRefused(
                    "the results folder belongs to another sealed plan",
                    where=str(path),
                    expected=sha256_of_bytes(data),
                    found=file_digest(path),
                    remedy="a changed plan is a new study: give it a new study_id, or another results folder",
                )


class AttemptFolder:
    """`attempts/<attempt id>/`: one launch's files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_record(self, name: str, record: BaseModel, redactor: Redactor) -> str:
        """Write a record as canonical JSON; its SHA-256."""
        return write_atomic(self.path / name, redactor.whole(canonical_json(record) + b"\n"))

    def write_bytes(self, name: str, data: bytes, redactor: Redactor) -> str:
        """Write bytes after redaction; their SHA-256."""
        return write_atomic(self.path / name, redactor.whole(data))

    def write_submission(self, tree: FileTree) -> str:
        """Archive a submission, byte for byte and deterministically; the archive's SHA-256.

        A submission is evidence and is not redacted: no secret ever enters a container.
        """
        path = self.path / "submission.tar.zst"
        compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        with _whole_or_nothing(path) as file, compressor.stream_writer(file, closefd=False) as writer:
            for part in pack_parts(tree, uid=0, gid=0):
                writer.write(part)
        return file_digest(path)

    def read_submission(self) -> FileTree:
        """The archived submission.

        Raises:
            InputRefused: the archive is missing or damaged.
        """
        path = self.path / "submission.tar.zst"
        try:
            with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
                return unpack(iter(lambda: reader.read(1 << 20), b""), WHOLE).tree
        except (OSError, zstandard.ZstdError, SandboxLost) as error:
            raise InputRefused(
                "an archived submission cannot be read",
                where=str(path),
                found=str(error),
                remedy="run `esac-ag audit` to see what else changed; restore the folder from a copy",
            ) from error

    def free_name(self, name: str) -> str:
        """The name, or with the first number from 2 on that no file has: `judge.log`, `judge-2.log`."""
        stem, dot, suffix = name.rpartition(".")
        numbered = (f"{stem}-{number}{dot}{suffix}" for number in itertools.count(2))
        return next(one for one in itertools.chain([name], numbered) if not (self.path / one).exists())

    def names(self, pattern: str) -> list[str]:
        """Names of the files that fit a pattern, such as `grading/*.log`, in order."""
        return sorted(path.relative_to(self.path).as_posix() for path in self.path.glob(pattern))

    @contextmanager
    def stream(self, name: str, redactor: Redactor, *, limit_bytes: int) -> Iterator[Stream]:
        """A file that grows while an agent acts: redacted, capped, synced at the end.

        Each piece leaves this process at once, so that SIGKILL takes nothing of it back.
        """
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:

            def write(data: bytes) -> None:
                file.write(data)
                file.flush()

            stream = Stream(write, redactor, limit_bytes)
            try:
                yield stream
            finally:
                stream.finish()
                file.flush()
                os.fsync(file.fileno())


class Stream:
    """Writes pieces through a redactor, up to a limit."""

    def __init__(self, write: Callable[[bytes], object], redactor: Redactor, limit_bytes: int) -> None:
        self._write = write
        self._pieces = redactor.incremental()
        self._left = limit_bytes
        self.truncated = False

    def __call__(self, data: bytes) -> None:
        """Append a piece."""
        self._emit(self._pieces.feed(data))

    def finish(self) -> None:
        """Write what the redactor held back."""
        self._emit(self._pieces.flush())

    def _emit(self, data: bytes) -> None:
        if len(data) > self._left:
            self.truncated = True
            data = data[: self._left]
        self._left -= len(data)
        if data:
            self._write(data)


def digests(folder: AttemptFolder, names: Sequence[str]) -> dict[str, str]:
    """SHA-256 of the named files that exist."""
    return {name: file_digest(folder.path / name) for name in names if (folder.path / name).is_file()}
