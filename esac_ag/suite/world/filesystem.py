"""The filesystem: a mapping of absolute paths to nodes, with modes and sizes.

A node is `{"kind": "directory", "mode"}` or `{"kind": "file", "mode", "text" or "base64"}`; modes are four
octal digits, of which the owner's bits count. All functions work on the mapping in place.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from .refusal import Refused

Node = dict[str, Any]
Nodes = dict[str, Node]

MAX_FILE_BYTES: Final = 262_144
MAX_TOTAL_BYTES: Final = 8 * 1024 * 1024
MAX_NODES: Final = 4096
MAX_PATH: Final = 1000
MAX_COMPONENT: Final = 255
READ: Final = 0o400
WRITE: Final = 0o200
EXECUTE: Final = 0o100

MESSAGES: Final = {
    "not-found": "No such file or directory",
    "not-a-directory": "Not a directory",
    "is-a-directory": "Is a directory",
    "already-exists": "File exists",
    "not-empty": "Directory not empty",
    "permission-denied": "Permission denied",
    "invalid-path": "Invalid path",
    "no-space": "No space left on device",
    "binary-file": "Not a text file",
}


class PathRefused(Refused):
    """The filesystem refuses: a code of `MESSAGES` and the path."""

    def __init__(self, code: str, path: str, hint: str = "") -> None:
        super().__init__(code, f"{path}: {MESSAGES[code]}{hint and f' ({hint})'}")
        self.reason = MESSAGES[code]


def absolute(path: str, base: str = "/") -> str:
    """A path with `.`, `..` and repeated slashes resolved, relative to `base`.

    Raises:
        PathRefused: `invalid-path` for NUL and for what is too long.
    """
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{base}/{path}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    result = "/" + "/".join(parts)
    if "\0" in path or len(result) > MAX_PATH or any(len(part) > MAX_COMPONENT for part in parts):
        raise PathRefused("invalid-path", path[:MAX_PATH].replace("\0", "?"))
    return result


def parent_of(path: str) -> str:
    """The directory of a path; the root's is the root."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    """Last component of a path."""
    return path.rpartition("/")[2]


def joined(folder: str, name: str) -> str:
    """The path of a name in a directory."""
    return f"/{name}" if folder == "/" else f"{folder}/{name}"


def lineage(path: str) -> list[str]:
    """A directory with all its parents, from the root down."""
    parts = [part for part in path.split("/") if part]
    return ["/", *("/" + "/".join(parts[: count + 1]) for count in range(len(parts)))]


def file_node(data: bytes, mode: str) -> Node:
    """A file; text where the bytes are UTF-8 without NUL."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return {"kind": "file", "mode": mode, "base64": base64.b64encode(data).decode()}
    return {"kind": "file", "mode": mode, "text": text}


def bytes_of(node: Node) -> bytes:
    """Content of a file."""
    return node["text"].encode() if "text" in node else base64.b64decode(node["base64"])


def size_of(node: Node) -> int:
    """Bytes of a file; 0 of a directory."""
    if is_directory(node):
        return 0
    text = node.get("text")
    return len(text) if text is not None and text.isascii() else len(bytes_of(node))


def is_directory(node: Node) -> bool:
    """Whether a node is a directory."""
    return bool(node["kind"] == "directory")


def allows(node: Node, bit: int) -> bool:
    """Whether the owner's bit is set."""
    return bool(int(node["mode"], 8) & bit)


def children(nodes: Nodes, folder: str) -> list[str]:
    """Names in a directory, in the order of their bytes."""
    prefix = folder.rstrip("/") + "/"
    names = [path[len(prefix) :] for path in nodes if path.startswith(prefix)]
    return sorted((name for name in names if name and "/" not in name), key=str.encode)


def node_at(nodes: Nodes, path: str, shown: str | None = None) -> Node:
    """The node of a path.

    Raises:
        PathRefused: `not-found`, or `not-a-directory` if a parent is a file.
    """
    for folder in lineage(parent_of(path)):
        if folder in nodes and not is_directory(nodes[folder]):
            raise PathRefused("not-a-directory", shown or path)
    if path not in nodes:
        raise PathRefused("not-found", shown or path)
    return nodes[path]


def read(nodes: Nodes, path: str, shown: str | None = None) -> bytes:
    """Content of a readable file.

    Raises:
        PathRefused: `not-found`, `not-a-directory`, `is-a-directory`, `permission-denied`.
    """
    node = node_at(nodes, path, shown)
    if is_directory(node):
        raise PathRefused("is-a-directory", shown or path)
    if not allows(node, READ):
        raise PathRefused("permission-denied", shown or path, f"mode {node['mode']}")
    return bytes_of(node)


def entries(nodes: Nodes, path: str, shown: str | None = None) -> list[str]:
    """Names in a readable directory.

    Raises:
        PathRefused: `not-found`, `not-a-directory`, `permission-denied`.
    """
    node = node_at(nodes, path, shown)
    if not is_directory(node):
        raise PathRefused("not-a-directory", shown or path)
    if not allows(node, READ):
        raise PathRefused("permission-denied", shown or path, f"mode {node['mode']}")
    return children(nodes, path)


def write(nodes: Nodes, path: str, data: bytes, *, mode: str = "0644", shown: str | None = None) -> None:
    """Create a file with a mode, or replace a writable one's content and keep its mode.

    Raises:
        PathRefused: whatever stands against it.
    """
    if path in nodes:
        node = node_at(nodes, path, shown)
        if is_directory(node):
            raise PathRefused("is-a-directory", shown or path)
        if not allows(node, WRITE):
            raise PathRefused("permission-denied", shown or path, f"read-only, mode {node['mode']}")
        mode = node["mode"]
    else:
        writable_parent(nodes, path, shown)
    _refuse_full(nodes, path, len(data), shown)
    nodes[path] = file_node(data, mode)


def make_directory(nodes: Nodes, path: str, *, mode: str = "0755", shown: str | None = None) -> None:
    """Make a directory.

    Raises:
        PathRefused: `already-exists`, or whatever is wrong with the parent.
    """
    if path in nodes:
        raise PathRefused("already-exists", shown or path)
    writable_parent(nodes, path, shown)
    _refuse_full(nodes, path, 0, shown)
    nodes[path] = {"kind": "directory", "mode": mode}


def writable_parent(nodes: Nodes, path: str, shown: str | None = None) -> None:
    """Check that entries can be made and removed where a path is.

    Raises:
        PathRefused: `not-found`, `not-a-directory`, `permission-denied`.
    """
    folder = parent_of(path)
    node = node_at(nodes, folder, shown)
    if not is_directory(node):
        raise PathRefused("not-a-directory", shown or path)
    if not allows(node, WRITE):
        raise PathRefused("permission-denied", shown or path, f"{folder} has mode {node['mode']}")


def move(nodes: Nodes, source: str, target: str) -> None:
    """Rename a path with all below it; the target is replaced if it is there.

    Raises:
        PathRefused: if a directory that changes must not be written.
    """
    for path in (source, target):
        writable_parent(nodes, path)
    for path in [path for path in nodes if path == source or path.startswith(source + "/")]:
        nodes[target + path[len(source) :]] = nodes.pop(path)


def remove_tree(nodes: Nodes, path: str) -> None:
    """Remove a path with all below it, unchecked."""
    for there in [there for there in nodes if there == path or there.startswith(path + "/")]:
        del nodes[there]


def hexadecimal(data: bytes) -> str:
    """Bytes as pairs of hexadecimal digits with spaces between."""
    return binascii.hexlify(data, " ").decode() if data else ""


def _refuse_full(nodes: Nodes, path: str, size: int, shown: str | None) -> None:
    others = sum(size_of(node) for there, node in nodes.items() if there != path)
    too_many = path not in nodes and len(nodes) >= MAX_NODES
    if size > MAX_FILE_BYTES or others + size > MAX_TOTAL_BYTES or too_many:
        raise PathRefused("no-space", shown or path)
