"""Build contexts of command-line agents: archives in which nothing depends on the machine that fetched.

Contents and paths are the packages'; owners are root, modes 0755 and 0644, times the definition's epoch.
They are written to files, because an agent may be half a gigabyte.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from esac_ag.errors import InputRefused
from esac_ag.manifest.agent_file import AgentFile, PypiPackages

SITE = "site"
"""Folder of unpacked wheels below the agent's."""
_DATA = ".data"
_INTO_SITE = {"purelib", "platlib"}


class Layer:
    """An archive that is written member by member; folders come before what lies in them."""

    def __init__(self, archive: tarfile.TarFile, root: str, epoch_s: int) -> None:
        self._archive = archive
        self._root = root.strip("/")
        self._epoch_s = epoch_s
        self._folders: set[str] = set()
        self._files: set[str] = set()

    def add(self, path: str, size: int, stream: IO[bytes], *, executable: bool) -> None:
        """Add a file below the root.

        Raises:
            InputRefused: the path leads out of the root, or is there already.
        """
        parts = path.split("/")
        if {"", ".", ".."}.intersection(parts) or path in self._files:
            raise InputRefused(
                "A package holds a path that cannot be installed.",
                where=self._root,
                expected="relative paths, each once",
                found=repr(path),
            )
        self._files.add(path)
        full = f"{self._root}/{path}".split("/")
        for depth in range(1, len(full)):
            self._add_folder("/".join(full[:depth]))
        member = self._member("/".join(full))
        member.size, member.mode = size, 0o755 if executable else 0o644
        self._archive.addfile(member, stream)

    def _add_folder(self, name: str) -> None:
        if name not in self._folders:
            self._folders.add(name)
            member = self._member(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            self._archive.addfile(member)

    def _member(self, name: str) -> tarfile.TarInfo:
        member = tarfile.TarInfo(name)
        member.mtime = self._epoch_s
        return member


@contextmanager
def written_layer(target: Path, root: str, epoch_s: int) -> Iterator[Layer]:
    """A layer that is written to a file; complete when the block ends.

    Args:
        target: the archive to write.
        root: absolute folder in the image that all members lie below.
        epoch_s: modification time of every member, Unix seconds.
    """
    with tarfile.open(target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        yield Layer(archive, root, epoch_s)


def add_npm(layer: Layer, archive: Path) -> None:
    """Add the files of an npm package, without the folder that all of them lie in.

    Raises:
        InputRefused: the package holds something else than files and folders.
    """
    with tarfile.open(archive, mode="r:gz") as package:
        for member in package:
            if member.isdir():
                continue
            stream = package.extractfile(member) if member.isreg() else None
            if stream is None:
                raise InputRefused(
                    "A package holds something else than files.", where=archive.name, found=member.name
                )
            path = member.name.partition("/")[2]
            layer.add(path, member.size, stream, executable=bool(member.mode & 0o111))


def add_wheels(layer: Layer, wheels: Iterable[Path], file: AgentFile, install: PypiPackages) -> None:
    """Add unpacked wheels, and the program that calls the entry point.

    Scripts, headers and data of the wheels are left out: the one program is ours.

    Raises:
        InputRefused: two wheels hold the same file.
    """
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            for info in sorted(wheel.infolist(), key=lambda info: info.filename):
                place = _place_in_site(info.filename)
                if place is not None and not info.is_dir():
                    executable = bool(info.external_attr >> 16 & 0o111)
                    with wheel.open(info) as stream:
                        layer.add(f"{SITE}/{place}", info.file_size, stream, executable=executable)
    program = starter(f"{file.folder}/{SITE}", install.entry_point)
    layer.add(file.program, len(program), io.BytesIO(program), executable=True)


def add_own(layer: Layer, files: Mapping[str, bytes]) -> None:
    """Add the files of an agent's own folder; those that begin with `#!` are programs."""
    for path, data in sorted(files.items()):
        layer.add(path, len(data), io.BytesIO(data), executable=data.startswith(b"#!"))


def starter(site: str, entry_point: str) -> bytes:
    """A program that calls a function of the unpacked wheels.

    It is isolated (`-I`): neither the working folder nor a variable brings other modules in.
    """
    module, _, function = entry_point.partition(":")
    lines = (
        "#!/usr/bin/python3 -I",
        "import sys",
        f'sys.path.insert(0, "{site}")',
        f"from {module} import {function}",
        f"sys.exit({function}())",
    )
    return "".join(line + "\n" for line in lines).encode()


def write_context(layer: Path, dockerfile: bytes, epoch_s: int, target: Path) -> None:
    """A build context with a Dockerfile and the layer, as `package.tar`; the layer's own file is used up."""
    with tarfile.open(target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("Dockerfile")
        member.size, member.mtime = len(dockerfile), epoch_s
        archive.addfile(member, io.BytesIO(dockerfile))
        member = tarfile.TarInfo("package.tar")
        member.size, member.mtime = layer.stat().st_size, epoch_s
        with layer.open("rb") as stream:
            archive.addfile(member, stream)
    layer.unlink()


def _place_in_site(name: str) -> str | None:
    """Where a wheel's file goes below the site; None when it goes nowhere."""
    first, _, rest = name.partition("/")
    if not first.endswith(_DATA):
        return name
    kind, _, inner = rest.partition("/")
    return inner if kind in _INTO_SITE else None
