"""Opening files below a folder that others wrote in: no way leads out of it.

Each part of a path is opened on its own and no symbolic link is followed, so that nothing that is replaced
meanwhile leads elsewhere. The folder itself may be a link: whoever named it chose it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from esac_ag.rooms.reading import CannotRead, TooLarge, kind_of, reason_of

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def parts_of(path: str) -> tuple[str, ...]:
    """The names that a relative path is made of.

    Raises:
        CannotRead: it is empty, absolute, or leads upward or nowhere.
    """
    parts = tuple(path.split("/"))
    if any(part in {"", ".", ".."} or "\0" in part for part in parts):
        raise CannotRead("it is no path below this folder")
    return parts


def open_beneath(folder: Path, path: str) -> BufferedReader:
    """A regular file below a folder, to be read; never blocks.

    Args:
        folder: that nothing leads out of.
        path: relative, with `/` between its parts.

    Raises:
        CannotRead: there is no such file, a part of its path is a link, or it is not a regular file.
    """
    *folders, name = parts_of(path)
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        try:
            for part in folders:
                below = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            opened = os.open(name, _FLAGS | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise CannotRead(reason_of(error)) from error
    mode = os.fstat(opened).st_mode
    if not stat.S_ISREG(mode):
        os.close(opened)
        raise CannotRead(f"it is {kind_of(mode)}, not a file")
    return os.fdopen(opened, "rb")


def read_beneath(folder: Path, path: str, *, cap_bytes: int) -> bytes:
    """The bytes of a regular file below a folder.

    Raises:
        CannotRead: as `open_beneath`, or it is larger than the cap.
    """
    with open_beneath(folder, path) as file:
        data = file.read(cap_bytes + 1)
    if len(data) > cap_bytes:
        raise TooLarge(f"it holds more than the {cap_bytes} bytes that are read")
    return data


def files_beneath(folder: Path, path: str, *, most: int) -> Iterator[str]:
    """Paths of the regular files below an inner folder, relative to it and in order; links are left out.

    Args:
        folder: that nothing leads out of.
        path: of the inner folder; nothing is yielded when there is none.
        most: files that are looked for.
    """
    start = folder.joinpath(*parts_of(path))
    if start.is_symlink():
        return
    left = most
    for place, folders, names in os.walk(start):
        folders[:] = sorted(one for one in folders if not Path(place, one).is_symlink())
        for name in sorted(names):
            found = Path(place, name)
            if left > 0 and not found.is_symlink() and found.is_file():
                left -= 1
                yield found.relative_to(start).as_posix()
