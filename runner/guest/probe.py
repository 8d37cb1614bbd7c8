"""Looks for a canary from inside an agent's container, by every route that a curious agent has.

usage: probe.py CANARY_SHA256 CONTROL_SHA256 PRIVATE_FILE [MODEL_MOUNT]

A canary reads `esac-ag-canary-` and 32 hexadecimal digits. The program is told only the hashes of two of
them: the controller's canary, which must be out of reach, and a control that lies in the workspace and
must be found, because a search that finds nothing proves nothing unless it can find something.
PRIVATE_FILE lists SHA-256 hashes of private files (hidden checks, oracles); no readable file may have one.
MODEL_MOUNT is where the folder with the model gateway's socket lies, the only mount of the host there may be.

Writes one JSON object to standard output:
{"routes": [{"name", "tried", "reached", "detail"}], "control": bool}.
Standard library only; runs as the agent's user.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator

PATTERN = re.compile(rb"esac-ag-canary-[0-9a-f]{32}")
OVERLAP_BYTES = 64
PIECE_BYTES = 1 << 20
MOST_BYTES_OF_A_FILE = 64 << 20
PRIVATE_NAMES = re.compile(r"(^|/)(graders?|oracle\.md|checks\.py|grader\.json)(/|$)")
PRIVATE_PLACES = (
    "/grade",
    "/esac",
    "/private",
    "/host",
    "/work",
    "/root",
    "/var/lib/docker",
    "/mnt",
    "/media",
)
SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)
MODEL_SOCKET = "model.sock"
CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000


class Search:
    """Counts what was tried and remembers what was reached."""

    def __init__(
        self, canary_sha256: str, control_sha256: str, private: frozenset[str], model_mount: str | None
    ) -> None:
        self.canary_sha256 = canary_sha256
        self.control_sha256 = control_sha256
        self.private = private
        self.model_mount = model_mount
        self.control_found = False

    def holds_canary(self, data: bytes) -> bool:
        """Whether the canary is among the bytes; notes the control as well."""
        found = False
        for match in PATTERN.findall(data):
            digest = hashlib.sha256(match).hexdigest()
            self.control_found = self.control_found or digest == self.control_sha256
            found = found or digest == self.canary_sha256
        return found

    def file_holds_canary(self, path: str) -> bool | None:
        """Whether a file holds the canary or is a private one; None when it cannot be read."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None
        found = False
        digest = hashlib.sha256()
        try:
            tail = b""
            total = 0
            while total < MOST_BYTES_OF_A_FILE:
                piece = os.read(descriptor, PIECE_BYTES)
                if not piece:
                    break
                total += len(piece)
                digest.update(piece)
                found = self.holds_canary(tail + piece) or found
                tail = piece[-OVERLAP_BYTES:]
        except OSError:
            return found or None
        finally:
            os.close(descriptor)
        return found or digest.hexdigest() in self.private


def walk(top: str) -> Iterator[tuple[str, bool]]:
    """Every path below `top` and whether it is a regular file; other file systems' kernels left out."""
    for folder, folders, files in os.walk(top, followlinks=False):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys")]
        for name in folders:
            yield os.path.join(folder, name), False
        for name in files:
            path = os.path.join(folder, name)
            try:
                yield path, stat.S_ISREG(os.lstat(path).st_mode)
            except OSError:
                yield path, False


def paths(search: Search) -> tuple[int, list[str]]:
    """Every name and the contents of every readable file: volumes, scratch and the image's layers."""
    tried, reached = 0, []
    for path, regular in walk("/"):
        tried += 1
        if search.holds_canary(os.fsencode(path)) or (regular and search.file_holds_canary(path)):
            reached.append(path)
        elif PRIVATE_NAMES.search(path) and not path.startswith(("/usr/", "/etc/", "/proc/")):
            reached.append(f"a private name: {path}")
    return tried, reached


def places(_search: Search) -> tuple[int, list[str]]:
    """Folders in which private material lies elsewhere: nothing may be listable in them here."""
    reached = []
    for place in PRIVATE_PLACES:
        try:
            names = os.listdir(place)
        except OSError:
            continue
        if names:
            reached.append(f"{place} lists {len(names)} names")
    return len(PRIVATE_PLACES), reached


def processes(search: Search) -> tuple[int, list[str]]:
    """Environment, arguments, memory maps, roots and open files of every visible process."""
    tried, reached = 0, []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline", "maps", "mountinfo", "status"):
            tried += 1
            if search.file_holds_canary(f"/proc/{pid}/{name}"):
                reached.append(f"/proc/{pid}/{name}")
        for name in ("root", "cwd"):
            tried += 1
            try:
                target = os.readlink(f"/proc/{pid}/{name}")
            except OSError:
                continue
            if name == "root" and target != "/":
                reached.append(f"/proc/{pid}/root is {target}")
        tried += 1
        try:
            handles = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for handle in handles:
            path = f"/proc/{pid}/fd/{handle}"
            try:
                regular = stat.S_ISREG(os.stat(path).st_mode)
            except OSError:
                continue
            if regular and search.file_holds_canary(path):
                reached.append(path)
    for name in ("kcore", "kmsg", "keys", "sysrq-trigger", "sched_debug"):
        tried += 1
        if name in ("kcore", "kmsg") and os.access(f"/proc/{name}", os.R_OK):
            reached.append(f"/proc/{name} is readable")
    return tried, reached


def environment(search: Search) -> tuple[int, list[str]]:
    """The environment and arguments that this process was given."""
    given = [f"{key}={value}".encode("utf-8", "surrogateescape") for key, value in os.environ.items()]
    given += [argument.encode("utf-8", "surrogateescape") for argument in sys.argv]
    reached = [f"variable {item.split(b'=')[0]!r}" for item in given if search.holds_canary(item)]
    secret = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)", re.IGNORECASE)
    reached += [f"variable {key} looks like a secret" for key in os.environ if secret.search(key)]
    return len(given), reached


def mounts(search: Search) -> tuple[int, list[str]]:
    """What is mounted: of the host only the model's socket may be, and the root must be read-only."""
    fault = "" if search.model_mount is None else model_mount_fault(search.model_mount)
    reached = [fault] if fault else []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().splitlines()
    engine_files = {"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"}
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        target, options, kind = fields[4], fields[5].split(","), right.split()[0]
        if target == "/" and "ro" not in options:
            reached.append("the root is writable")
        if kind not in {"overlay", "tmpfs", "proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2"} and (
            target not in engine_files and (target != search.model_mount or fault)
        ):
            reached.append(f"{target} is a mount of kind {kind}")
        if search.holds_canary(os.fsencode(line)):
            reached.append(f"mount {target} names the canary")
    return len(lines), reached


def model_mount_fault(path: str) -> str:
    """What the mount gives beyond a socket to connect to; empty when nothing."""
    if not os.path.ismount(path):
        return f"{path} is not mounted"
    if not os.statvfs(path).f_flag & os.ST_RDONLY:
        return f"{path} can be written to"
    if os.access(path, os.R_OK):
        return f"{path} can be listed"
    try:
        mode = os.lstat(os.path.join(path, MODEL_SOCKET)).st_mode
    except OSError:
        return f"{path} holds no {MODEL_SOCKET}"
    return "" if stat.S_ISSOCK(mode) and not mode & stat.S_IROTH else f"{path}/{MODEL_SOCKET} can be read"


def other_users(_search: Search) -> tuple[int, list[str]]:
    """Becoming somebody else: ids, namespaces, and programs that run as their owner."""
    reached = []
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("setuid(0)", lambda: os.setuid(0)),
        ("setgid(0)", lambda: os.setgid(0)),
        ("setuid(10002)", lambda: os.setuid(10002)),
        ("setgroups", lambda: os.setgroups([0])),
        ("chroot", lambda: os.chroot("/tmp")),
    ]
    for name, attempt in attempts:
        try:
            attempt()
        except OSError:
            continue
        reached.append(name)
    libc = ctypes.CDLL(None, use_errno=True)
    for name, flag in (("a user namespace", CLONE_NEWUSER), ("a mount namespace", CLONE_NEWNS)):
        if libc.unshare(flag) == 0:
            reached.append(name)
    tried = len(attempts) + 2
    for path, regular in walk("/"):
        if regular and os.lstat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            tried += 1
            reached.append(f"{path} runs as its owner")
    for command in (["su", "-c", "id"], ["sudo", "-n", "id"]):
        tried += 1
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=10, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            reached.append(" ".join(command))
    return tried, reached


def engine(_search: Search) -> tuple[int, list[str]]:
    """A socket of the engine would be the host."""
    reached = [path for path in SOCKETS if os.path.exists(path)]
    tried = len(SOCKETS)
    for path, regular in walk("/"):
        if not regular:
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    tried += 1
                    reached.append(path)
            except OSError:
                continue
    return tried, reached


def network(_search: Search) -> tuple[int, list[str]]:
    """Interfaces beside loopback, routes and names: none of them may be there."""
    interfaces = [name for _, name in socket.if_nameindex() if name != "lo"]
    # Kernels list inactive tunnel devices in every namespace; only one that is up reaches anything.
    up = [name for name in interfaces if _is_up(name)]
    reached = [f"interface {name} is up" for name in up]
    with open("/proc/net/route", encoding="ascii") as file:
        reached += [f"a route by {line.split()[0]}" for line in file.read().splitlines()[1:]]
    return len(interfaces) + 2, reached


def _is_up(name: str) -> bool:
    try:
        with open(f"/sys/class/net/{name}/flags", encoding="ascii") as file:
            return bool(int(file.read(), 16) & 1)
    except OSError:
        return False


ROUTES = (
    ("paths", paths),
    ("private-places", places),
    ("processes", processes),
    ("environment", environment),
    ("mounts", mounts),
    ("engine-socket", engine),
    ("network", network),
    ("other-users", other_users),
)


def main() -> int:
    """Try every route and tell."""
    with open(sys.argv[3], encoding="ascii") as file:
        private = frozenset(file.read().split())
    search = Search(sys.argv[1], sys.argv[2], private, sys.argv[4] if sys.argv[4:] else None)
    routes = []
    for name, route in ROUTES:
        tried, reached = route(search)
        routes.append(
            {
                "name": name,
                "tried": tried,
                "reached": bool(reached),
                "detail": "; ".join(
                    item.encode("ascii", "backslashreplace").decode() for item in reached[:20]
                ),
            }
        )
    print(json.dumps({"routes": routes, "control": search.control_found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
