"""The file system of an in-memory sandbox: a read-only root, volumes with caps, and scratch mounts."""

from __future__ import annotations

import errno
import os
import posixpath
import threading

from esac_ag.sandbox.contract import SandboxSpec, ScratchMount, Volume
from esac_ag.sandbox.model_socket import MOUNT_POINT
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile

_MAX_LINKS = 8


class FakeFiles:
    """Files by absolute path; safe to use from several threads.

    Permissions are not modelled: whatever lies in a volume can be read and written by every process.
    """

    def __init__(self, spec: SandboxSpec) -> None:
        self._mounts: tuple[Volume | ScratchMount, ...] = (*spec.volumes, *spec.scratch)
        self._nodes: dict[str, Node] = {"/": Directory()}
        self._used: dict[str, tuple[int, int]] = {mount.path: (0, 0) for mount in self._mounts}
        """Nodes and bytes by path of the mount."""
        self._lock = threading.RLock()
        for mount in self._mounts:
            self._add_folders(mount.path)
        if spec.model_socket is not None:
            # Its socket is no file of a tree: see `FakeProcess.model_socket`.
            self._add_folders(MOUNT_POINT)

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: there is none, or it is a folder.
        """
        with self._lock:
            node = self._node(path)
        match node:
            case RegularFile(data, _):
                return data
            case Directory():
                raise _error(errno.EISDIR, path)
            case Link() | None:
                raise _error(errno.ENOENT, path)

    def write(self, path: str, data: bytes, *, executable: bool = False, append: bool = False) -> None:
        """Write a file in a folder that exists.

        Raises:
            OSError: the place is read-only or full, or its folder does not exist.
        """
        with self._lock:
            target = self._resolved(path)
            before = self._nodes.get(target)
            if isinstance(before, Directory):
                raise _error(errno.EISDIR, path)
            if append and isinstance(before, RegularFile):
                data = before.data + data
            self._set(target, RegularFile(data, executable))

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        with self._lock:
            self._set(posixpath.normpath(path), Link(os.fsencode(target)))

    def make_folders(self, path: str) -> None:
        """Make a folder and those above it that are missing."""
        with self._lock:
            clean = posixpath.normpath(path)
            if clean != "/" and clean not in self._nodes:
                self.make_folders(posixpath.dirname(clean))
                self._set(clean, Directory())

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that it holds.

        Raises:
            OSError: there is none, or the place is read-only.
        """
        with self._lock:
            clean = posixpath.normpath(path)
            if clean not in self._nodes:
                raise _error(errno.ENOENT, path)
            mount = self._mount_of(clean)
            for name in [clean, *self._below(clean)]:
                self._count(mount, self._nodes.pop(name), -1)

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder; links are followed."""
        with self._lock:
            return self._node(path) is not None

    def tree(self, path: str) -> FileTree | None:
        """What lies below a folder; None when there is no such folder."""
        clean = posixpath.normpath(path).rstrip("/")
        with self._lock:
            if not isinstance(self._nodes.get(clean or "/"), Directory):
                return None
            start = clean + "/"
            inside = {
                name: node for name, node in self._nodes.items() if name.startswith(start) and name != "/"
            }
        return FileTree({os.fsencode(name[len(start) :]): node for name, node in inside.items()})

    def put(self, tree: FileTree, path: str) -> None:
        """Lay a tree over a folder, which is made if it is missing."""
        with self._lock:
            self.make_folders(path)
            for name, node in tree.items():
                full = posixpath.join(posixpath.normpath(path), os.fsdecode(name))
                self.make_folders(posixpath.dirname(full))
                if not (isinstance(node, Directory) and isinstance(self._nodes.get(full), Directory)):
                    self._set(full, node)

    def stop(self) -> None:
        """What memory held is gone once the container stops."""
        with self._lock:
            for mount in self._mounts:
                if mount.size_bytes is not None:
                    for name in self._below(mount.path):
                        self._count(mount, self._nodes.pop(name), -1)

    def _add_folders(self, path: str) -> None:
        parts = posixpath.normpath(path).strip("/").split("/")
        self._nodes.update({"/" + "/".join(parts[: n + 1]): Directory() for n in range(len(parts))})

    def _set(self, path: str, node: Node) -> None:
        mount = self._mount_of(path)
        if not isinstance(self._nodes.get(posixpath.dirname(path)), Directory):
            raise _error(errno.ENOENT, path)
        before = self._nodes.get(path)
        count, size_bytes = self._used[mount.path]
        count += before is None
        size_bytes += _bytes_of(node) - _bytes_of(before)
        # The mount's own folder counts as one.
        too_many = mount.max_files is not None and count + 1 > mount.max_files
        too_big = mount.size_bytes is not None and size_bytes > mount.size_bytes
        if too_many or too_big:
            raise _error(errno.ENOSPC, path)
        self._nodes[path] = node
        self._used[mount.path] = (count, size_bytes)

    def _count(self, mount: Volume | ScratchMount, node: Node, sign: int) -> None:
        count, size_bytes = self._used[mount.path]
        self._used[mount.path] = (count + sign, size_bytes + sign * _bytes_of(node))

    def _below(self, path: str) -> list[str]:
        return [name for name in self._nodes if name.startswith(path.rstrip("/") + "/")]

    def _mount_of(self, path: str) -> Volume | ScratchMount:
        holding = [m for m in self._mounts if path.startswith(m.path.rstrip("/") + "/")]
        if not holding:
            raise _error(errno.EROFS, path)
        return max(holding, key=lambda mount: len(mount.path))

    def _node(self, path: str) -> Node | None:
        return self._nodes.get(self._resolved(path))

    def _resolved(self, path: str) -> str:
        """The path that a last part which is a link leads to."""
        for _ in range(_MAX_LINKS):
            path = posixpath.normpath(path)
            node = self._nodes.get(path)
            if not isinstance(node, Link):
                return path
            path = posixpath.join(posixpath.dirname(path), os.fsdecode(node.target))
        raise _error(errno.ELOOP, path)


def _bytes_of(node: Node | None) -> int:
    return len(node.data) if isinstance(node, RegularFile) else 0


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
