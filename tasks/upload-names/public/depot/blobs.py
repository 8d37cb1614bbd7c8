"""Contents of documents, each stored once under its SHA-256."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


class BlobMissing(Exception):
    """The journal names a content that is not in the depot."""


def digest_of(data: bytes) -> str:
    """The SHA-256 of a content, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class Blobs:
    """The folder `blobs/`: two letters of the digest as a folder, the digest as the file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def write(self, data: bytes) -> str:
        """Store a content, unless it is there already, and return its digest."""
        digest = digest_of(data)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(".partial")
            partial.write_bytes(data)
            os.replace(partial, path)
        return digest

    def read(self, digest: str) -> bytes:
        """The content with this digest."""
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            raise BlobMissing(digest) from None
