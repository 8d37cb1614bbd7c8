"""Routes of the isolation probe over what processes share: the kernel's switches, devices, objects of IPC."""

from __future__ import annotations

import ctypes
import os
import platform
import stat

from probe_search import Found, Search, mount_lines

SWITCHES = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/release_agent",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/pids/pids.max",
    "/sys/fs/cgroup/pids.max",
    "/sys/kernel/security/apparmor/.access",
)
"""Files by which a container's user would change the machine, or its own limits."""
READ_ONLY = ("/proc/sys", "/proc/irq", "/proc/bus", "/sys")
MASKED = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware")
DEVICES = frozenset({"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"})
KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_GET_KEYRING_ID = 0
SESSION_KEYRING = -3
IPC_PRIVATE = 0
OBJECT_BYTES = 4096
OF_THE_OWNER = 0o600


def kernel(_search: Search) -> Found:
    """Switches that can be written, places that the engine did not close, and devices beyond the usual."""
    reached = [f"{path} can be written to" for path in SWITCHES if _can_be_written(path)]
    lines = mount_lines()
    options = {target: chosen for target, chosen, _, _ in lines}
    reached += [
        f"{path} is not read-only"
        for path in READ_ONLY
        if os.path.exists(path) and "ro" not in options.get(path, [])
    ]
    reached += [f"{path} is not masked" for path in MASKED if os.path.lexists(path) and path not in options]
    reached += [
        f"{target} is not read-only"
        for target, chosen, kind, _ in lines
        if kind in ("cgroup", "cgroup2") and "ro" not in chosen
    ]
    nodes = [entry for entry in os.scandir("/dev") if _is_device(entry)]
    reached += [f"device {entry.name}" for entry in nodes if entry.name not in DEVICES]
    return len(SWITCHES) + len(READ_ONLY) + len(MASKED) + len(nodes), reached


def _can_be_written(path: str) -> bool:
    """Whether it opens for writing; nothing is written."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _is_device(entry: os.DirEntry[str]) -> bool:
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def shared_objects(search: Search) -> Found:
    """Keyrings, System V objects and message queues: they belong to no container's files."""
    libc = ctypes.CDLL(None, use_errno=True)
    makers = {
        "shared memory": lambda: libc.shmget(IPC_PRIVATE, OBJECT_BYTES, OF_THE_OWNER),
        "a message queue": lambda: libc.msgget(IPC_PRIVATE, OF_THE_OWNER),
        "a set of semaphores": lambda: libc.semget(IPC_PRIVATE, 1, OF_THE_OWNER),
    }
    reached = [f"{name} of System V can be made" for name, make in makers.items() if make() >= 0]
    number = KEYCTL.get(platform.machine())
    if number is not None and libc.syscall(number, KEYCTL_GET_KEYRING_ID, SESSION_KEYRING, 0) > 0:
        reached.append("the session's keyring")
    listings = [f"/proc/sysvipc/{name}" for name in ("shm", "msg", "sem")]
    listings += ["/proc/keys", "/proc/key-users"]
    for path in listings:
        if search.file_holds_canary(path):
            reached.append(path)
        if path.startswith("/proc/sysvipc/") and not reached and _lines(path) > 1:
            reached.append(f"{path} lists objects of others")
    if os.path.isdir("/dev/mqueue") and os.listdir("/dev/mqueue"):
        reached.append("/dev/mqueue lists queues")
    return len(makers) + len(listings) + 2, reached


def _lines(path: str) -> int:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return len(file.read().splitlines())
    except OSError:
        return 0
