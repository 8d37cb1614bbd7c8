"""The files around a version 1 manifest, read the way `pathlib` reads them.

Version 1 says "every regular file", by `Path.rglob` and `Path.is_file`: folders behind links are not
entered, links to files count as the files. That is kept for the verdict's sake, links that leave included;
it only hashes, and nothing of version 1's trees enters a container from here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from esac_ag.canonical import IGNORED_FOLDERS
from esac_ag.errors import InputRefused
from esac_ag.manifest.findings import Finding, Severity, shown_text
from esac_ag.manifest.version1_files import (
    Fault,
    TaskFile,
    version1_file_sha256,
    version1_is_ignored,
    version1_tree_sha256,
)
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead, read_bounded
from esac_ag.rooms.trees import MAX_BYTES, MAX_FILES, read_tree


class Version1Disk:
    """Reads what lies around a manifest, and keeps it for the duration of one validation."""

    def __init__(self, root: Path) -> None:
        """The manifest's own folder, resolved."""
        self._root = root
        self._bundles: dict[str, frozenset[str] | Fault] = {}

    def bundle_files(self, bundle: str) -> frozenset[str] | Fault:
        """Relative POSIX paths of all files in a bundle, links to files included."""
        if bundle not in self._bundles:
            folder = self._folder(self._root, bundle)
            self._bundles[bundle] = folder if isinstance(folder, Fault) else _files_below(folder)
        return self._bundles[bundle]

    def bundle_file_sha256(self, bundle: str, path: str) -> str | Fault:
        """Hash of a file in a readable bundle."""
        folder = _resolved(self._root, bundle)
        if isinstance(folder, Fault):
            return folder
        file = _resolved(folder, path)
        if isinstance(file, Fault):
            return file
        if not file.is_relative_to(folder):
            return Fault("escapes", "it lies outside the bundle")
        return _file_sha256(file) if _is_file(file) else Fault("missing", "there is no such file")

    def bundle_notes(self, bundle: str) -> Iterable[Finding]:
        """Warnings about what else lies in a readable bundle."""
        folder = _resolved(self._root, bundle)
        return [] if isinstance(folder, Fault) else _warnings(folder, bundle, skip_ignored=False)

    def task(self, manifest: str) -> TaskFile | Fault:
        """The task package that a path names; JSON as leniently as Python reads it."""
        path = _resolved(self._root, manifest)
        if isinstance(path, Fault):
            return path
        if not path.is_relative_to(self._root):
            return Fault("escapes", "it lies outside the manifest's folder")
        if not _is_file(path):
            return Fault("missing", "there is no such file")
        try:
            data: JsonValue = json.loads(read_bounded(path, cap_bytes=MANIFEST_CAP_BYTES).decode("utf-8"))
        except CannotRead as error:
            return Fault("unreadable", str(error))
        except (ValueError, RecursionError) as error:
            return Fault("not-json", f"it is not JSON ({error})")
        if not isinstance(data, dict):
            return Fault("not-json", "it holds no JSON object")
        return TaskFile(manifest, data)

    def public_tree_sha256(self, manifest: str, public_root: str) -> str | Fault:
        """Tree hash of a readable task's snapshot."""
        package = _resolved(self._root, manifest)
        folder = package if isinstance(package, Fault) else self._folder(package.parent, public_root)
        if isinstance(folder, Fault) or isinstance(package, Fault):
            return folder if isinstance(folder, Fault) else Fault("missing", "there is no task package")
        if not folder.is_relative_to(package.parent):
            return Fault("escapes", "it lies outside the task's folder")
        names = _files_below(folder, skip_ignored=True)
        return names if isinstance(names, Fault) else _tree_sha256(folder, names)

    def tree_notes(self, manifest: str, public_root: str) -> Iterable[Finding]:
        """Warnings about what else lies in a readable snapshot."""
        package = _resolved(self._root, manifest)
        folder = package if isinstance(package, Fault) else _resolved(package.parent, public_root)
        return [] if isinstance(folder, Fault) else _warnings(folder, public_root, skip_ignored=True)

    @staticmethod
    def _folder(base: Path, path: str) -> Path | Fault:
        folder = _resolved(base, path)
        if isinstance(folder, Fault):
            return folder
        return folder if os.path.isdir(folder) else Fault("missing", "there is no such folder")  # noqa: PTH112


def _resolved(base: Path, path: str) -> Path | Fault:
    try:
        return (base / path).resolve()
    except (OSError, ValueError, RuntimeError):  # too long, NUL or a lone surrogate in it, a loop of links
        return Fault("unreadable", "its path cannot be resolved")


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  (never raises)


def _file_sha256(path: Path) -> str | Fault:
    try:
        return version1_file_sha256(read_bounded(path, cap_bytes=MAX_BYTES))
    except CannotRead as error:
        return Fault("unreadable", str(error))
    except UnicodeDecodeError:
        return Fault("not-text", "it is not text in UTF-8, which format version 1 cannot hash")


def _tree_sha256(folder: Path, names: Iterable[str]) -> str | Fault:
    pairs: list[tuple[str, str]] = []
    for name in sorted(names):
        digest = _file_sha256(folder / name)
        if isinstance(digest, Fault):
            return Fault(digest.code, f"{name!a}: {digest.reason}")
        pairs.append((name, digest))
    try:
        return version1_tree_sha256(pairs)
    except UnicodeEncodeError:
        return Fault("not-text", "a file's name is not UTF-8")


def _files_below(folder: Path, *, skip_ignored: bool = False) -> frozenset[str] | Fault:
    found: set[str] = set()
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            entries = list(os.scandir(folder / inside))
        except OSError:
            continue  # a folder that cannot be listed holds no files that anybody could see
        for entry in entries:
            path = inside + entry.name
            if entry.is_dir(follow_symlinks=False):
                if not (skip_ignored and entry.name in IGNORED_FOLDERS):
                    waiting.append(path + "/")
            elif os.path.isfile(entry.path) and not (skip_ignored and version1_is_ignored(path)):  # noqa: PTH113
                found.add(path)
        if len(found) > MAX_FILES:
            return Fault("unreadable", f"it holds more than {MAX_FILES} files")
    return frozenset(found)


def _warnings(folder: Path, shown: str, *, skip_ignored: bool) -> list[Finding]:
    try:
        findings = read_tree(folder, skip_ignored=skip_ignored).findings
    except InputRefused:
        return []
    here = shown_text(str(folder))
    return [
        finding.model_copy(
            update={"severity": Severity.WARNING, "file": finding.file.replace(here, shown_text(shown), 1)}
        )
        for finding in findings
    ]
