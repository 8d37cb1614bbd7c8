"""The filesystem's tools; absolute paths alone."""

from __future__ import annotations

from typing import Final

from . import filesystem
from .filesystem import Node, Nodes, PathRefused
from .snapshot import State
from .tables import Arguments, Operation, Row, listing

MAX_READ: Final = 20_000
"""Characters of a file that a reply shows."""
FIRST_BYTES: Final = 64


def list_directory(state: State, arguments: Arguments) -> Row:
    """Entries of a directory."""
    nodes, path = _at(state, arguments)
    names = filesystem.entries(nodes, path)
    found = [{"name": name, **_facts(nodes[filesystem.joined(path, name)])} for name in names]
    return {"path": path, **listing(arguments, "entries", found)}


def read(state: State, arguments: Arguments) -> Row:
    """Text, or a summary of a binary file."""
    nodes, path = _at(state, arguments)
    data = filesystem.read(nodes, path)
    node = nodes[path]
    if "text" not in node:
        first = filesystem.hexadecimal(data[:FIRST_BYTES])
        return {"path": path, "binary": True, "size_bytes": len(data), "first_bytes_hex": first}
    text = node["text"]
    reply = {"path": path, "size_bytes": len(data), "text": text[:MAX_READ]}
    return reply | ({"truncated": True} if len(text) > MAX_READ else {})


def stat(state: State, arguments: Arguments) -> Row:
    """Facts about a path."""
    nodes, path = _at(state, arguments)
    node = filesystem.node_at(nodes, path)
    return {"path": path, **_facts(node), "binary": "base64" in node}


def write(state: State, arguments: Arguments) -> Row:
    """Create or replace a text file."""
    nodes, path = _at(state, arguments)
    filesystem.write(nodes, path, arguments["content"].encode())
    return {"path": path, "size_bytes": filesystem.size_of(nodes[path])}


def append(state: State, arguments: Arguments) -> Row:
    """Add to an existing text file."""
    nodes, path = _at(state, arguments)
    node = filesystem.node_at(nodes, path)
    if "base64" in node:
        raise PathRefused("binary-file", path)
    old = b"" if filesystem.is_directory(node) else filesystem.bytes_of(node)
    filesystem.write(nodes, path, old + arguments["content"].encode())
    return {"path": path, "size_bytes": filesystem.size_of(nodes[path])}


def make_directory(state: State, arguments: Arguments) -> Row:
    """Make one directory."""
    nodes, path = _at(state, arguments)
    filesystem.make_directory(nodes, path)
    return {"path": path, "kind": "directory"}


def move(state: State, arguments: Arguments) -> Row:
    """Rename a file or a directory to a path that is free."""
    nodes, source = _at(state, arguments, "source")
    target = _at(state, arguments, "destination")[1]
    filesystem.node_at(nodes, source)
    _refuse_taken(nodes, target)
    if target.startswith(source.rstrip("/") + "/"):
        raise PathRefused("invalid-path", target, f"inside of {source}")
    filesystem.move(nodes, source, target)
    return {"source": source, "destination": target}


def copy(state: State, arguments: Arguments) -> Row:
    """Copy a file to a path that is free."""
    nodes, source = _at(state, arguments, "source")
    target = _at(state, arguments, "destination")[1]
    data = filesystem.read(nodes, source)
    _refuse_taken(nodes, target)
    filesystem.write(nodes, target, data, mode=nodes[source]["mode"])
    return {"source": source, "destination": target, "size_bytes": len(data)}


def delete(state: State, arguments: Arguments) -> Row:
    """Delete a writable file or an empty directory."""
    nodes, path = _at(state, arguments)
    node = filesystem.node_at(nodes, path)
    if path == "/":
        raise PathRefused("invalid-path", path, "the root stays")
    if filesystem.children(nodes, path):
        raise PathRefused("not-empty", path)
    filesystem.writable_parent(nodes, path)
    if not filesystem.allows(node, filesystem.WRITE):
        raise PathRefused("permission-denied", path, f"read-only, mode {node['mode']}")
    del nodes[path]
    return {"path": path, "deleted": True}


def _at(state: State, arguments: Arguments, name: str = "path") -> tuple[Nodes, str]:
    path = arguments[name]
    if not path.startswith("/"):
        raise PathRefused("invalid-path", path.replace("\0", "?"), "paths are absolute")
    return state["fs"], filesystem.absolute(path)


def _facts(node: Node) -> Row:
    return {"kind": node["kind"], "size_bytes": filesystem.size_of(node), "mode": node["mode"]}


def _refuse_taken(nodes: Nodes, target: str) -> None:
    if target in nodes:
        raise PathRefused("already-exists", target)


OPERATIONS: dict[str, Operation] = {
    "fs_list": list_directory,
    "fs_read": read,
    "fs_stat": stat,
    "fs_write": write,
    "fs_append": append,
    "fs_mkdir": make_directory,
    "fs_move": move,
    "fs_copy": copy,
    "fs_delete": delete,
}
