"""The held-out seed on disk, and files that only their owner reads.

`.heldout/seed` is the evaluator's: one line, mode 0600, ignored by git, never printed, never overwritten.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from esac_ag.clock import secret_text
from esac_ag.errors import InputRefused, UsageError
from esac_ag.rooms.reading import CannotRead, read_bounded
from esac_ag.suite.pools import FILE_NAME

SEED_CAP_BYTES: Final = 4096
PRIVATE_MODE: Final = 0o600
OTHERS: Final = 0o077


def seed_path(root: Path) -> Path:
    """Where a workspace keeps its held-out seed."""
    return root / FILE_NAME


def read_seed(root: Path) -> str | None:
    """The content of the seed's file; none when there is no such file.

    Raises:
        UsageError: others may read it, or it cannot be read.
    """
    path = seed_path(root)
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if mode & OTHERS:
        raise UsageError(
            "Others may read the held-out seed.",
            where=str(path),
            expected="mode 0600",
            found=f"mode {mode & 0o7777:04o}",
            remedy=f"chmod 600 {path}, and make a new seed if somebody could have read it.",
        )
    try:
        return read_bounded(path, cap_bytes=SEED_CAP_BYTES, follow=False).decode("ascii")
    except (CannotRead, UnicodeDecodeError) as error:
        found = (
            str(error) if isinstance(error, CannotRead) else "something else than ASCII, which is not shown"
        )
        raise UsageError(
            "The held-out seed cannot be read.", where=str(path), expected="one line of text", found=found
        ) from error


def make_seed(root: Path) -> Path:
    """Draw a seed of 256 bits and keep it; it is not returned.

    Raises:
        InputRefused: there is one already.
    """
    path = seed_path(root)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    # The folder ignores itself, so that no repository around it takes the seed in.
    with contextlib.suppress(FileExistsError), (path.parent / ".gitignore").open("x") as file:
        file.write("*\n")
    write_private(path, (secret_text() + "\n").encode(), what="The held-out seed")
    return path


def write_private(path: Path, data: bytes, *, what: str) -> None:
    """Make a new file that its owner alone may read; one that is there, a terminal too, is left alone.

    Raises:
        InputRefused: there is something of that name, or its folder does not take it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, PRIVATE_MODE)
    except FileExistsError as error:
        raise InputRefused(
            f"{what} is written to a new file only.",
            where=str(path),
            found="something of that name is there, and was left as it is",
            remedy="Name another file, or move that one away.",
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        # An odd umask takes bits away and adds none; this makes the mode what it is said to be.
        os.fchmod(descriptor, PRIVATE_MODE)
        file.write(data)
        file.flush()
        os.fsync(descriptor)
