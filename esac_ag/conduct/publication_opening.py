"""Opens a bundle that somebody else made: a folder, or an archive that is unpacked by our own rules."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, Self

from esac_ag.artifacts import file_digest
from esac_ag.conduct.publishing_bundle import Form
from esac_ag.errors import InputRefused
from esac_ag.owner import temporary_folder
from esac_ag.report.publication_view import STUDY, SUMS
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.study.packed import UNREADABLE

MOST_FILES: Final = 2_000_000
MOST_BYTES: Final = 8 << 30
"""Of all members of an archive, unpacked."""
MOST_HEADER_BYTES: Final = 1 << 20
_PIECE: Final = 1 << 20
_SUM: Final = re.compile(r"([0-9a-f]{64})  (.+)")


class _Header(tarfile.TarInfo):
    """A member's header; of long names no more is taken than a name needs, for they are read at once."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read one block.

        Raises:
            tarfile.ReadError: it announces more than any name has.
        """
        header = super().frombuf(buf, encoding, errors)
        if not header.isreg() and not header.isdir() and header.size > MOST_HEADER_BYTES:
            raise tarfile.ReadError("a header is longer than any name")
        return header


class Bundle:
    """The files of a bundle, by path; links and special files are none of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}
        """SHA-256 of every file as it is."""
        self.strange: list[str] = []
        """What is neither a file nor a folder."""
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                self.strange.append(name)
            elif path.is_file():
                self.digests[name] = file_digest(path)

    def read(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            InputRefused: it is not there, or no regular file.
        """
        try:
            return read_bounded(self.folder / name, cap_bytes=MOST_BYTES, follow=False)
        except CannotRead as error:
            raise InputRefused(
                "a file of the bundle cannot be read",
                where=name,
                found=str(error),
                remedy="get the bundle again",
            ) from error

    def sums(self) -> dict[str, str]:
        """Digests by path, as `SHA256SUMS` lists them.

        Raises:
            InputRefused: it is no such list.
        """
        listed: dict[str, str] = {}
        text = self.read(SUMS).decode("utf-8", "surrogateescape")
        for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
            found = _SUM.fullmatch(line)
            if found is None or found[2] in listed:
                raise InputRefused(
                    "the list of digests cannot be read",
                    where=f"{SUMS}:{number}",
                    expected="64 hexadecimal digits, two spaces and a path that is listed once",
                    remedy="get the bundle again",
                )
            listed[found[2]] = found[1]
        return listed


@contextmanager
def opened(path: Path) -> Iterator[Bundle]:
    """A bundle, as long as the block lasts.

    Raises:
        InputRefused: it is none, or its archive holds what no bundle does.
    """
    if path.is_dir():
        yield Bundle(_with_study(path, path))
        return
    with temporary_folder("verify") as folder:
        try:
            for name, file in _members(path):
                target = folder / _safe(path, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as copy:
                    while piece := file.read(_PIECE):
                        copy.write(piece)
        except UNREADABLE as error:
            raise _refused(path, f"{type(error).__name__}: it cannot be unpacked") from error
        tops = [one for one in folder.iterdir() if one.is_dir()]
        yield Bundle(_with_study(path, tops[0] if len(tops) == 1 else folder))


def _with_study(path: Path, folder: Path) -> Path:
    if not (folder / STUDY).is_file() or not (folder / SUMS).is_file():
        raise _refused(path, f"no {STUDY} beside a {SUMS}")
    return folder


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Names and contents of the regular files, up to the limits."""
    left = MOST_BYTES
    if Form.of(path) is Form.ZIP:
        with zipfile.ZipFile(path) as packed:
            for number, info in enumerate(packed.infolist()):
                left -= info.file_size
                _refuse_too_much(path, number, left)
                if not info.is_dir():
                    with packed.open(info) as file:
                        yield info.filename, file
        return
    with tarfile.open(path, "r|gz", tarinfo=_Header) as packed_tar:
        for number, member in enumerate(packed_tar):
            left -= member.size
            _refuse_too_much(path, number, left)
            content = packed_tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content
            elif not member.isdir():
                raise _refused(path, "a member that is neither a file nor a folder")


def _refuse_too_much(path: Path, number: int, left: int) -> None:
    if left < 0 or number > MOST_FILES:
        raise _refused(path, "more than any bundle holds")


def _safe(path: Path, name: str) -> PurePosixPath:
    """A member's path below the folder that it is unpacked in."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or "\0" in name:
        raise _refused(path, "a member whose path leaves the archive")
    return parts


def _refused(path: Path, found: str) -> InputRefused:
    return InputRefused(
        "this is no publication bundle",
        where=str(path),
        expected="a folder, a .tar.gz or a .zip that esac-ag publish wrote",
        found=found,
        remedy="name the bundle, or get it again",
    )
