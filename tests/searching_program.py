"""Looks for bytes in everything that a container holds at run time; run in it as root with all capabilities.

The needles come as hexadecimal text in the variable NEEDLES, so that looking for them puts them nowhere but
into this process, which is left out. Prints JSON: the arguments of the processes that were searched, and the
places of each needle in environment, arguments, memory and files.
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

PAGE = os.sysconf("SC_PAGESIZE")
PIECE_PAGES = 512
ENTRY_BYTES = 8
"""Of a page map; two bits of the last byte tell whether the page is in memory or swapped out."""
HERE = 0xC0
KERNEL = ("[vvar]", "[vvar_vclock]", "[vsyscall]")
IMAGE = tuple(map(Path, ("/proc", "/sys", "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64")))
"""The kernel's, and what the image held before there was a run."""
LONGEST_NEEDLE = 200


def memory(process: Path) -> Iterator[bytes]:
    """Pieces of a process's memory that were ever touched; each begins with the end of the last one."""
    with (
        (process / "maps").open() as maps,
        (process / "pagemap").open("rb", 0) as pages,
        (process / "mem").open("rb", 0) as mem,
    ):
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(bound, 16) for bound in span.split("-"))
            if rights[0] != "r" or line.rstrip().endswith(KERNEL):
                continue
            tail = b""
            for at in range(begin, end, PIECE_PAGES * PAGE):
                size = min(PIECE_PAGES * PAGE, end - at)
                pages.seek(at // PAGE * ENTRY_BYTES)
                flags = pages.read(size // PAGE * ENTRY_BYTES)[ENTRY_BYTES - 1 :: ENTRY_BYTES]
                if not any(flag & HERE for flag in flags):
                    tail = b""
                    continue
                mem.seek(at)
                try:
                    data = mem.read(size)
                except OSError:
                    continue  # mapped beyond the end of its file
                yield tail + data
                tail = data[-LONGEST_NEEDLE:]


def files() -> Iterator[Path]:
    """Everything that is not the image's own."""
    for folder, names, found in os.walk("/"):
        names[:] = [name for name in names if Path(folder, name) not in IMAGE]
        yield from (Path(folder, name) for name in found)


def main() -> None:
    """Look everywhere, and tell."""
    needles = [bytes.fromhex(needle) for needle in os.environ["NEEDLES"].split(",")]
    places: dict[str, set[str]] = {needle.hex(): set() for needle in needles}
    searched = []

    def look(data: bytes, place: str) -> None:
        for needle in needles:
            if needle in data:
                places[needle.hex()].add(place)

    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        arguments = (process / "cmdline").read_bytes()
        name = arguments.replace(b"\0", b" ").decode(errors="replace").strip()
        look(arguments, f"arguments of {name}")
        look((process / "environ").read_bytes(), f"environment of {name}")
        for piece in memory(process):
            look(piece, f"memory of {name}")
        searched.append(name)
    for path in files():
        if path.is_file() and not path.is_symlink():
            look(path.read_bytes(), f"file {path}")
    print(json.dumps({"searched": searched, "places": {key: sorted(at) for key, at in places.items()}}))


main()
