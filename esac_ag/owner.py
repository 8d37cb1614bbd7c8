"""Who made something that outlives a crash: which process, told apart from a later one with the same number.

Containers, volumes and temporary folders carry their owner's mark, so that cleaning up can tell what a live
process is using from what a dead one left behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PREFIX = "esac-ag-"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_START_FIELD = 19
"""Index of the start time in `/proc/PID/stat`, counted after the command's closing parenthesis."""


@cache
def _boot() -> str:
    try:
        return _BOOT.read_text().strip().replace("-", "")[:12]
    except OSError:
        return "unknownboot"


def _start_of(pid: int) -> str | None:
    """The start time of a process in clock ticks since boot; none when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    # A zombie works on nothing any more.
    return None if fields[0] == "Z" else fields[_START_FIELD]


def this_process() -> str:
    """The mark of this process: boot, process id and start time, joined by `.`."""
    pid = os.getpid()
    return f"{_boot()}.{pid}.{_start_of(pid) or 0}"


def is_alive(mark: str) -> bool:
    """Whether the process of a mark still runs on this machine; what cannot be read has no live owner."""
    boot, _, rest = mark.partition(".")
    pid, _, start = rest.partition(".")
    return boot == _boot() and pid.isdecimal() and _start_of(int(pid)) == start


def is_of_another(mark: str) -> bool:
    """Whether a live process that is not this one owns what carries the mark."""
    return mark != this_process() and is_alive(mark)


@contextmanager
def temporary_folder(purpose: str, *, inside: Path | None = None) -> Iterator[Path]:
    """A temporary folder that carries this process's mark; gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{this_process()}-{purpose}-", dir=inside) as folder:
        yield Path(folder)


def remove_abandoned_folders(*places: Path) -> tuple[str, ...]:
    """Remove the temporary folders of dead processes, in the system's place and others; their names."""
    removed = []
    folders = [
        path for place in (Path(tempfile.gettempdir()), *places) for path in place.glob(f"{PREFIX}*.*.*-*")
    ]
    for path in sorted(folders):
        mark = path.name.removeprefix(PREFIX).partition("-")[0]
        if path.is_dir() and not path.is_symlink() and not is_alive(mark):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path.name)
    return tuple(removed)
