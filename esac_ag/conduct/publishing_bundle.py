"""Writes a bundle beside its name and puts it in place whole, as a folder or as an archive.

The same files give the same archive, byte for byte: members are sorted, and have no time and no owner.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

from esac_ag.canonical import sha256_of_bytes
from esac_ag.conduct.publishing_files import PublicFile
from esac_ag.errors import UsageError
from esac_ag.report.publication_view import SUMS
from esac_ag.study.disclosure import Disclosure
from esac_ag.study.disclosure_scan import DisclosureScan

_MODE: Final = 0o644
_OLDEST: Final = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can tell."""
_UNIX: Final = 3


class Form(StrEnum):
    """What a bundle is written as, by its name."""

    FOLDER = "folder"
    TAR_GZ = "tar.gz"
    ZIP = "zip"

    @classmethod
    def of(cls, path: Path) -> Form:
        """The form that a name asks for."""
        name = path.name.lower()
        if name.endswith((".tar.gz", ".tgz")):
            return cls.TAR_GZ
        return cls.ZIP if name.endswith(".zip") else cls.FOLDER


class BundleWriter:
    """Takes files, searches each, and writes it if there is where to."""

    def __init__(self, scan: DisclosureScan, folder: Path | None) -> None:
        """Begin a bundle.

        Args:
            scan: every file goes through it.
            folder: a new one to write to; none to look only.
        """
        self._scan = scan
        self._folder = folder
        self.digests: dict[str, str] = {}
        """SHA-256 by path."""
        self.sizes: dict[str, int] = {}
        """Bytes by path."""
        self.findings: list[Disclosure] = []

    def add(self, file: PublicFile) -> None:
        """Search a file, and write it while nothing was found."""
        self.findings.extend(self._scan.found_in(file.path, file.data, file.writer))
        self._write(file.path, file.data)
        self.digests[file.path] = sha256_of_bytes(file.data)

    def finish(self) -> str:
        """Write the digests of all files; the digest of that list, which stands for the whole bundle."""
        sums = "".join(f"{digest}  {path}\n" for path, digest in sorted(self.digests.items())).encode()
        self._write(SUMS, sums)
        return sha256_of_bytes(sums)

    def _write(self, path: str, data: bytes) -> None:
        self.sizes[path] = len(data)
        if self._folder is None or self.findings:
            return
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def refuse_taken(output: Path) -> None:
    """Refuse an output that is there already, or whose folder is not.

    Raises:
        UsageError: so it is.
    """
    if os.path.lexists(output):
        raise UsageError(
            "there is something at the output already; a publication never replaces anything",
            where=str(output),
            remedy="name another output, or move that one away",
        )
    if not output.parent.is_dir():
        raise UsageError(
            "the output's folder is not there", where=str(output.parent), remedy="make it, or name another"
        )


def put_in_place(folder: Path, output: Path, top: str) -> None:
    """Move a finished folder to its name, or pack it first.

    Args:
        folder: on the same file system as the output.
        output: its name tells the form.
        top: name of the folder that an archive holds.

    Raises:
        UsageError: something came to lie there meanwhile.
    """
    form = Form.of(output)
    if form is Form.FOLDER:
        made = folder
    else:
        made = folder.with_name(f"bundle.{form}")
        _packed(folder, made, top, form)
    os.sync()
    refuse_taken(output)
    made.rename(output)


def _packed(folder: Path, archive: Path, top: str, form: Form) -> None:
    if form is Form.ZIP:
        with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED) as packed:
            for path, name in _members(folder):
                info = zipfile.ZipInfo(f"{top}/{name}", _OLDEST)
                info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, _UNIX
                info.external_attr = _MODE << 16
                with path.open("rb") as source, packed.open(info, "w") as target:
                    while piece := source.read(1 << 20):
                        target.write(piece)
        return
    with (
        archive.open("xb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed_gz,
        tarfile.open(fileobj=packed_gz, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, name in _members(folder):
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mode = path.stat().st_size, _MODE
            with path.open("rb") as source:
                tar.addfile(member, source)


def _members(folder: Path) -> Iterator[tuple[Path, str]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    yield from sorted(((path, path.relative_to(folder).as_posix()) for path in files), key=lambda one: one[1])
