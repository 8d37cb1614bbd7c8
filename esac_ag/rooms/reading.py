"""Reading one file that somebody else made: regular, bounded, and never one that blocks."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MANIFEST_CAP_BYTES = 8_000_000
"""Largest JSON file that is read: an inventory of thousands of files takes one megabyte or two."""

_PIECE_BYTES = 1 << 16
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class CannotRead(Exception):
    """The file cannot be read; the message tells why in a few words."""

    remedy = "Check the path and its permissions."


class TooLarge(CannotRead):
    """The file is larger than any that would be read."""

    remedy = "Name the right file: what is read here takes a few megabytes at most."


def read_bounded(
    path: str | Path, *, cap_bytes: int, dir_fd: int | None = None, follow: bool = True
) -> bytes:
    """The bytes of a regular file.

    Never blocks (a FIFO without a writer is opened and refused), never reads a device, and reads no
    more than the cap. With `follow=False` a symbolic link is refused too.

    Raises:
        CannotRead: the file is missing, unreadable, too large or not a regular file.
    """
    return _read(path, cap_bytes, dir_fd, follow)[0]


def read_with_mode(
    path: str | Path, *, cap_bytes: int, dir_fd: int | None = None, follow: bool = True
) -> tuple[bytes, bool]:
    """As `read_bounded`, with whether the file's owner may execute it.

    Raises:
        CannotRead: as `read_bounded`.
    """
    return _read(path, cap_bytes, dir_fd, follow)


def _read(path: str | Path, cap_bytes: int, dir_fd: int | None, follow: bool) -> tuple[bytes, bool]:  # noqa: FBT001
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW, dir_fd=dir_fd)
    except (OSError, ValueError) as error:
        raise CannotRead(reason_of(error)) from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise CannotRead(f"it is {kind_of(facts.st_mode)}, not a file")
        if facts.st_size > cap_bytes:
            raise TooLarge(f"it holds {facts.st_size} bytes, more than the {cap_bytes} that are read")
        # A file that gives its size and not one byte more is whole; any other is read on, up to the cap.
        data = os.read(descriptor, facts.st_size + 1)
        if len(data) != facts.st_size or not data:
            while len(data) <= cap_bytes and (more := os.read(descriptor, _PIECE_BYTES)):
                data += more
    except OSError as error:
        raise CannotRead(reason_of(error)) from error
    finally:
        os.close(descriptor)
    if len(data) > cap_bytes:
        raise TooLarge(f"it holds more than the {cap_bytes} bytes that are read")
    return data, bool(facts.st_mode & stat.S_IXUSR)


_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "it is a symbolic link, or a loop of them",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENXIO: "it is a socket or a device, not a file",
    errno.EISDIR: "it is a folder, not a file",
}


def reason_of(error: OSError | ValueError) -> str:
    """Why the operating system refused, in a few words and independent of the locale."""
    if isinstance(error, OSError):
        return _REASONS.get(error.errno or 0, error.strerror or "it cannot be read")
    return "its name holds a character that no file name can hold"


def kind_of(mode: int) -> str:
    """What a file mode describes, in words."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in kinds if test(mode)), "a special file")
