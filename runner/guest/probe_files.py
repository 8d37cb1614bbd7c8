"""Routes of the isolation probe over files: paths, private places, layers of images, volumes, mounts."""

from __future__ import annotations

import os
import re
import stat

from probe_search import Found, Search, mount_lines, names_in

PRIVATE_NAMES = re.compile(r"(^|/)(graders?|oracle\.md|checks\.py|grader\.json)(/|$)")
FOREIGN = ("/usr/", "/etc/", "/opt/agents/")
"""Where others chose the names; what is in the files is looked at there too."""
PRIVATE_PLACES = (
    "/grade",
    "/esac",
    "/private",
    "/host",
    "/work",
    "/root",
    "/mnt",
    "/media",
)
STORES = (
    "/var/lib/docker/overlay2",
    "/var/lib/docker/image",
    "/var/lib/docker/containers",
    "/var/lib/containerd",
    "/var/lib/containers/storage",
)
"""Where engines keep the layers of images, deleted files among them, and the files of containers."""
VOLUME_STORES = ("/var/lib/docker/volumes", "/var/lib/containers/storage/volumes")
LAYER_OPTIONS = re.compile(r"(?:lowerdir|upperdir|workdir)=([^,\s]+)")
ENGINE_FILES = frozenset({"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"})
OF_THE_KERNEL = frozenset({"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2"})
MODEL_SOCKET = "model.sock"


def paths(search: Search) -> Found:
    """Every name and the contents of every readable file: volumes, scratch and the image's layers."""
    tried, reached = 0, []
    for path, mode in search.tree:
        tried += 1
        regular = stat.S_ISREG(mode)
        if search.holds_canary(os.fsencode(path)) or (regular and search.file_holds_canary(path)):
            reached.append(path)
        elif PRIVATE_NAMES.search(path) and not path.startswith(FOREIGN):
            reached.append(f"a private name: {path}")
    return tried, reached


def places(search: Search) -> Found:
    """Where private material lies elsewhere: no such folder may list anything here, no such file be there."""
    counts = {place: len(names_in(place)) for place in PRIVATE_PLACES}
    reached = [f"{place} lists {count} names" for place, count in counts.items() if count]
    reached += [path for path in search.plan["host_files"] if os.path.lexists(path)]
    return len(PRIVATE_PLACES) + len(search.plan["host_files"]), reached


def layers(_search: Search) -> Found:
    """The folders that the root is laid over, and the engine's store: deleted files lie there still."""
    folders = set(STORES)
    for target, _, kind, line in mount_lines():
        if kind in ("overlay", "fuse.fuse-overlayfs") and target == "/":
            folders |= {name for found in LAYER_OPTIONS.findall(line) for name in found.split(":")}
    return len(folders), [f"{folder} can be listed" for folder in sorted(folders) if names_in(folder)]


def volumes(search: Search) -> Found:
    """The engine's store of volumes, and volumes here that are not this container's own."""
    reached = [f"{store} can be listed" for store in VOLUME_STORES if names_in(store)]
    targets = [target for target, _, kind, _ in mount_lines() if kind == "tmpfs"]
    own = {"/dev", *search.plan["volumes"]}
    reached += [
        f"{target} is a volume that was not asked for"
        for target in targets
        if target not in own and not target.startswith(("/proc/", "/sys/"))
    ]
    return len(VOLUME_STORES) + len(targets), reached


def mounts(search: Search) -> Found:
    """What is mounted: of the host only the model's socket may be, and the root must be read-only."""
    fault = "" if search.model_mount is None else model_mount_fault(search.model_mount)
    reached = [fault] if fault else []
    lines = mount_lines()
    for target, options, kind, line in lines:
        if target == "/" and "ro" not in options:
            reached.append("the root is writable")
        known = target in ENGINE_FILES or (target == search.model_mount and not fault)
        is_own_root = target == "/" and "overlay" in kind
        if kind not in OF_THE_KERNEL and kind != "tmpfs" and not known and not is_own_root:
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
