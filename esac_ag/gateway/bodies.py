"""What a lane keeps on disk: bodies of calls, compressed, and a line for each call; secrets are redacted."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import BinaryIO

import zstandard

from esac_ag.artifacts.redaction import Redactor
from esac_ag.canonical import canonical_json
from esac_ag.gateway.calls import CallRecord

MOST_KEPT_BYTES = 1024 * 1024 * 1024
"""Cap on all bodies of one lane, before compression."""
CALLS = "calls.jsonl"
PACKED = "bodies.tar"
"""All bodies, by the names that `calls.jsonl` tells."""
SUFFIX = ".zst"
# A small window: every reply under way has a compressor of its own.
_COMPRESSION = zstandard.ZstdCompressionParameters.from_level(1, window_log=17)


def read_body(path: Path) -> bytes:
    """A kept body."""
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        return reader.read()


def pack_bodies(folder: Path) -> None:
    """Put the kept bodies of a lane that was closed into one archive, and remove their files.

    Attempts of studies have some hundred bodies, and each file of an attempt has a digest in the ledger.
    """
    names = sorted(path.name for path in folder.glob(f"*{SUFFIX}"))
    partial = folder / f".{PACKED}.partial"
    folder.mkdir(parents=True, exist_ok=True)
    with partial.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = (folder / name).stat().st_size
                with (folder / name).open("rb") as body:
                    archive.addfile(member, body)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / PACKED)
    for name in names:
        (folder / name).unlink()


class KeptBody:
    """One body that is being written."""

    def __init__(self, bodies: Bodies, path: Path, redactor: Redactor) -> None:
        self.name = path.name
        self._bodies = bodies
        self._file: BinaryIO = path.open("wb")
        self._pieces = redactor.incremental()
        self._compressor = zstandard.ZstdCompressor(compression_params=_COMPRESSION).compressobj()

    def feed(self, data: bytes) -> None:
        """Append a piece."""
        clean = self._pieces.feed(data)
        if self._bodies.room_for(len(clean)):
            self._file.write(self._compressor.compress(clean))

    def close(self) -> None:
        """Write the rest. Idempotent."""
        if not self._file.closed:
            self._file.write(self._compressor.compress(self._pieces.flush()))
            self._file.write(self._compressor.flush())
            self._file.close()


class Bodies:
    """The folder of one lane.

    Args:
        folder: where to write; made if it is not there. None keeps nothing.
        redactor: what is taken out of everything.
        limit_bytes: cap on all bodies, before compression.
    """

    def __init__(
        self, folder: Path | None, redactor: Redactor, *, limit_bytes: int = MOST_KEPT_BYTES
    ) -> None:
        self._folder = folder
        self._redactor = redactor
        self._left_bytes = limit_bytes
        self.complete = folder is not None
        self._calls: BinaryIO | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._calls = (folder / CALLS).open("wb")

    def begin(self, name: str) -> KeptBody | None:
        """Begin to keep a body; none when nothing is kept."""
        if self._folder is None or self._left_bytes <= 0:
            return None
        return KeptBody(self, self._folder / f"{name}{SUFFIX}", self._redactor)

    def room_for(self, size_bytes: int) -> bool:
        """Whether so many more bytes may be kept; they are counted."""
        if size_bytes > self._left_bytes:
            self._left_bytes = 0
            self.complete = False
            return False
        self._left_bytes -= size_bytes
        return True

    def record(self, call: CallRecord) -> None:
        """Append a call's line."""
        if self._calls is not None:
            self._calls.write(self._redactor.whole(canonical_json(call)) + b"\n")
            self._calls.flush()

    def close(self) -> None:
        """No more calls. Idempotent."""
        if self._calls is not None:
            self._calls.close()
