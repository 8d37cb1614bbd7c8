"""Files of the grader's container: reading trees, making working copies, wiping them.

Nothing here follows a symbolic link of the submission.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Iterator


_SET_FLAGS = 0x40086602
"""FS_IOC_SETFLAGS: `chattr` of a file, which is a memory of its own."""
_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")


class Entry:
    """A file (`data`), a symbolic link (`target`) or a folder (neither)."""

    __slots__ = ("data", "executable", "path", "target")

    def __init__(
        self,
        path: bytes,
        data: bytes | None = None,
        target: bytes | None = None,
        *,
        executable: bool = False,
    ) -> None:
        self.path, self.data, self.target, self.executable = path, data, target, executable


def read_tree(root: str) -> list[Entry]:
    """Everything below a folder, parents before their children."""
    return list(_entries(os.open(root, os.O_RDONLY | os.O_DIRECTORY), b""))


def _entries(folder: int, prefix: bytes) -> Iterator[Entry]:
    try:
        for text in sorted(os.listdir(folder)):
            name = os.fsencode(text)
            path = prefix + name
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                yield Entry(path, target=os.fsencode(os.readlink(name, dir_fd=folder)))
            elif stat.S_ISDIR(mode):
                yield Entry(path)
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                yield from _entries(os.open(name, flags, dir_fd=folder), path + b"/")
            elif stat.S_ISREG(mode):
                with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
                    yield Entry(path, data=file.read(), executable=bool(mode & 0o100))
    finally:
        os.close(folder)


def write_tree(root: str, entries: list[Entry]) -> None:
    """Make a new folder that holds the entries, owned by whoever calls."""
    base = os.fsencode(root)
    os.mkdir(base, 0o755)
    for entry in entries:
        path = base + b"/" + entry.path
        if entry.data is not None:
            mode = 0o755 if entry.executable else 0o644
            _write_new(path, entry.data, mode)
        elif entry.target is not None:
            os.symlink(entry.target, path)
        else:
            os.mkdir(path, 0o755)


def write_file(path: str, source: int) -> None:
    """Put the bytes of an open file at a path in place of what is there; parent folders are made."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    os.lseek(source, 0, os.SEEK_SET)
    with os.fdopen(os.dup(source), "rb") as file:
        _write_new(os.fsencode(path), file.read(), 0o644)


def _write_new(path: bytes, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(fd, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]


def wipe(root: str) -> None:
    """Remove what one's own user left in a folder, however deep, without following anything.

    Folders are moved up to the root before they are emptied: neither depth nor path length matters.
    Only sound while no other process of that user lives.
    """
    user = os.geteuid()
    own = os.stat(root).st_uid == user
    if own:
        os.chmod(root, 0o700)  # its owner may have closed it
    if not os.access(root, os.W_OK | os.X_OK):
        return
    base = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    moved = 0
    try:
        waiting = [
            name
            for name in os.listdir(base)
            if os.stat(name, dir_fd=base, follow_symlinks=False).st_uid == user
        ]
        while waiting:
            name = waiting.pop()
            if not stat.S_ISDIR(os.stat(name, dir_fd=base, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=base)
                continue
            os.chmod(name, 0o700, dir_fd=base)
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=base)
            for child in os.listdir(folder):
                if stat.S_ISDIR(os.stat(child, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(child, 0o700, dir_fd=folder)
                    moved += 1
                    raised = f".wiped-{os.getpid()}-{moved}"
                    os.rename(child, raised, src_dir_fd=folder, dst_dir_fd=base)
                    waiting.append(raised)
                else:
                    os.unlink(child, dir_fd=folder)
            os.close(folder)
            os.rmdir(name, dir_fd=base)
        if own:
            _forget(base)
    finally:
        os.close(base)


def _forget(folder: int) -> None:
    """Put back what the owner of an open folder can write on it: attributes, access lists, flags, times."""
    for name in dict.fromkeys([*os.listxattr(folder), *_ACCESS_LISTS]):
        try:
            os.removexattr(folder, name)
        except OSError as error:
            if error.errno not in (errno.ENODATA, errno.EOPNOTSUPP):
                raise
    try:
        fcntl.ioctl(folder, _SET_FLAGS, struct.pack("l", 0))
    except OSError as error:
        if error.errno not in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL):
            raise
    os.chmod(folder, 0o755)  # noqa: S103  (as it was mounted)
    os.utime(folder, (0, 0))


def remove_shared_objects() -> None:
    """Remove one's own System V shared memory, semaphores and queues, which outlive their processes."""
    user = str(os.geteuid())
    for kind, control in (("shm", "shmctl"), ("sem", "semctl"), ("msg", "msgctl")):
        path = f"/proc/sysvipc/{kind}"
        if not os.path.exists(path):
            continue  # a kernel without them
        with open(path, encoding="ascii") as table:
            heading = table.readline().split()
            rows = [dict(zip(heading, line.split(), strict=False)) for line in table]
        name = "msqid" if kind == "msg" else kind + "id"
        # The owner of an object can give it away, but stays its creator, who may remove it.
        mine = [int(row[name]) for row in rows if user in (row["uid"], row["cuid"])]
        if mine:
            import ctypes  # noqa: PLC0415  (costs, and is hardly ever needed)

            remove = getattr(ctypes.CDLL(None), control)
            for number in mine:
                remove(number, 0, None)  # for semaphores: (id, 0, IPC_RMID), and IPC_RMID is 0 too
