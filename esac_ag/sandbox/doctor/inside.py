"""Runs inside a container and tells on standard output, as JSON, which limits it meets.

Standard library only: the source is handed to the container's own interpreter. Nothing is concluded here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys

BLOCK = b"x" * 65536
MOST_BYTES = 64 * 1024 * 1024
MOST_CHILDREN = 200
SLICE_S = 0.1
MOST_SLICES = 20


def process_status() -> dict[str, str]:
    """Capabilities, no-new-privileges and the seccomp mode of this process."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    return {name: fields.get(name, "") for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")}


def written_roots() -> list[str]:
    """Folders of the root file system in which a file could be made."""
    made = []
    for folder in ("/", "/etc", "/usr", "/var", "/home"):
        path = os.path.join(folder, "esac-ag-doctor")  # noqa: PTH118
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        except OSError:
            continue
        made.append(folder)
    return made


def bytes_that_fit(folder: str) -> int | None:
    """Bytes written below a folder before it was full; None when it took all that we tried."""
    path = os.path.join(folder, "fill")  # noqa: PTH118
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    total = 0
    try:
        while total < MOST_BYTES:
            total += os.write(descriptor, BLOCK)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return total
        raise
    finally:
        os.close(descriptor)
        os.unlink(path)  # noqa: PTH108
    return None


def children_that_start() -> int | None:
    """Processes that could be started beside this one; None when all that we tried could."""
    children: list[int] = []
    try:
        while len(children) < MOST_CHILDREN:
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
    except OSError:
        return len(children)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return None


def first_text(*paths: str) -> str | None:
    """The text of the first of the files that can be read."""
    for path in paths:
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.read().strip()
    return None


def throttled() -> int | None:
    """How often the kernel held this container back for its processor quota, so far."""
    text = first_text("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat") or ""
    counts = [line.split()[1] for line in text.splitlines() if line.startswith("nr_throttled ")]
    return int(counts[0]) if counts else None


def burn() -> tuple[float, float]:
    """Elapsed seconds and processor seconds of a busy loop that ends when the kernel held it back.

    On a busy machine a container may long get less than its quota.
    """
    start = end = os.times()
    for number in range(1, MOST_SLICES + 1):
        while end.elapsed - start.elapsed < number * SLICE_S:
            sum(range(10_000))
            end = os.times()
        if throttled():
            break
    return end.elapsed - start.elapsed, (end.user - start.user) + (end.system - start.system)


def look() -> dict[str, object]:
    """Everything, as plain data."""
    elapsed_s, processor_s = burn()
    return {
        "status": process_status(),
        "uid": os.getuid(),
        "written_roots": written_roots(),
        "interfaces": sorted(os.listdir("/sys/class/net")),  # noqa: PTH208
        "tmp_bytes": bytes_that_fit("/tmp"),  # noqa: S108
        "workspace_bytes": bytes_that_fit("/agent"),
        "children": children_that_start(),
        "elapsed_s": elapsed_s,
        "processor_s": processor_s,
        "throttled": throttled(),
        "swap": {
            "memory_and_swap": first_text("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"),
            "memory": first_text("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
            "swap_max": first_text("/sys/fs/cgroup/memory.swap.max"),
        },
    }


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
