"""Routes of the isolation probe over processes, and the environment that it was given."""

from __future__ import annotations

import os
import re
import stat
import sys

from probe_search import Found, Search, names_in

SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
REGION = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) r.{3} \S+ \S+ (\d+) *(.*)$")
MOST_BYTES_OF_A_REGION = 16 << 20
MOST_BYTES_OF_A_MEMORY = 64 << 20


def processes(search: Search) -> Found:
    """Environment, arguments, memory, roots and open files of every visible process."""
    tried, reached = 0, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for look in (_texts, _another_root, _open_files, _memory):
            places, found = look(search, pid)
            tried += places
            reached += found
    for name in ("kcore", "kmsg", "kpagecount", "vmcore"):
        tried += 1
        if os.access(f"/proc/{name}", os.R_OK):
            reached.append(f"/proc/{name} is readable")
    return tried, reached


def _texts(search: Search, pid: str) -> Found:
    paths = [f"/proc/{pid}/{name}" for name in ("environ", "cmdline", "maps", "mountinfo", "status", "stack")]
    return len(paths), [path for path in paths if search.file_holds_canary(path)]


def _another_root(_search: Search, pid: str) -> Found:
    """The root of a process of another container, or the host's, would be a door to its files."""
    path = f"/proc/{pid}/root"
    try:
        ours, theirs = os.stat("/"), os.stat(path)
    except OSError:
        return 1, []
    same = (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    return 1, [] if same else [f"{path} is another root, of {len(names_in(path))} names"]


def _open_files(search: Search, pid: str) -> Found:
    reached = []
    handles = names_in(f"/proc/{pid}/fd")
    for handle in handles:
        path = f"/proc/{pid}/fd/{handle}"
        try:
            regular = stat.S_ISREG(os.stat(path).st_mode)
        except OSError:
            continue
        if regular and search.file_holds_canary(path):
            reached.append(path)
    return 1 + len(handles), reached


def _memory(search: Search, pid: str) -> Found:
    """The memory of the others; one's own holds whatever was read before."""
    if int(pid) == os.getpid():
        return 0, []
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            lines = file.read().splitlines()
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    except OSError:
        return 1, []
    try:
        for start, end in _own_regions(lines):
            try:
                data = os.pread(memory, min(end - start, MOST_BYTES_OF_A_REGION), start)
            except (OSError, OverflowError):
                continue
            if search.holds_canary(data):
                return 1, [f"/proc/{pid}/mem"]
    finally:
        os.close(memory)
    return 1, []


def _own_regions(lines: list[bytes]) -> list[tuple[int, int]]:
    """Regions that belong to no file: heap, stack and the like."""
    regions, total = [], 0
    for line in lines:
        found = REGION.match(line)
        if found and found.group(3) == b"0" and not found.group(4).startswith(b"[v"):
            start, end = int(found.group(1), 16), int(found.group(2), 16)
            total += end - start
            if total > MOST_BYTES_OF_A_MEMORY:
                break
            regions.append((start, end))
    return regions


def environment(search: Search) -> Found:
    """The environment and arguments that this process was given."""
    given = [f"{key}={value}".encode("utf-8", "surrogateescape") for key, value in os.environ.items()]
    given += [argument.encode("utf-8", "surrogateescape") for argument in sys.argv]
    reached = [f"variable {item.split(b'=')[0]!r}" for item in given if search.holds_canary(item)]
    reached += [f"variable {key} looks like a secret" for key in os.environ if SECRET_NAMES.search(key)]
    return len(given), reached
