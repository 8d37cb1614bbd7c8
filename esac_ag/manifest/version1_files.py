"""What judging a version 1 manifest needs to know of the files that it names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from pydantic import JsonValue

from esac_ag.canonical import IGNORED_FOLDERS, IGNORED_SUFFIXES, sha256_of_bytes
from esac_ag.manifest.findings import Finding


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something that a manifest names cannot be used."""

    code: str
    """`missing`, `escapes`, `unreadable`, `not-text` or `not-json`."""
    reason: str


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A `task.json` as it lies on disk."""

    name: str
    """Its path as findings show it."""
    data: dict[str, JsonValue]


class Version1Files(Protocol):
    """The files around a version 1 manifest; every path is one that the manifest holds, unchecked."""

    def bundle_files(self, bundle: str) -> frozenset[str] | Fault:
        """Relative POSIX paths of all files in a bundle, links to files included."""

    def bundle_file_sha256(self, bundle: str, path: str) -> str | Fault:
        """Hash of a file in a readable bundle."""

    def bundle_notes(self, bundle: str) -> Iterable[Finding]:
        """Warnings about what else lies in a readable bundle: special files, colliding names."""

    def tree_notes(self, manifest: str, public_root: str) -> Iterable[Finding]:
        """Warnings about what else lies in a readable snapshot."""

    def task(self, manifest: str) -> TaskFile | Fault:
        """The task package that a path names."""

    def public_tree_sha256(self, manifest: str, public_root: str) -> str | Fault:
        """Tree hash of a readable task's snapshot."""


def version1_file_sha256(data: bytes) -> str:
    """SHA-256 of UTF-8 text after CRLF and CR became LF; text that holds NUL is text too.

    Raises:
        UnicodeDecodeError: the file is not UTF-8, which version 1 cannot hash.
    """
    data.decode("utf-8")
    return sha256_of_bytes(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def version1_is_ignored(path: str) -> bool:
    """Whether version 1 leaves a relative path out of tree hashes.

    As `canonical.is_ignored`, but for a file whose whole name is `.pyc`: that is a name without suffix.
    """
    parts = PurePosixPath(path)
    return bool(IGNORED_FOLDERS.intersection(parts.parts)) or parts.suffix in IGNORED_SUFFIXES


def version1_tree_sha256(files: Iterable[tuple[str, str]]) -> str:
    """Tree hash over pairs of relative path and file hash, sorted by the parts of the path.

    Raises:
        UnicodeEncodeError: a name is not UTF-8, which version 1 cannot hash.
    """
    kept = sorted((path.split("/"), digest) for path, digest in files)
    records = "\n".join("/".join(parts) + "\0" + digest for parts, digest in kept)
    return hashlib.sha256(records.encode("utf-8")).hexdigest()
