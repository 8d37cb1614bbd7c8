"""A tree of files held in memory as plain data: task snapshots, bundles, submissions.

Paths are bytes, relative, with `/` between the parts, because what an agent leaves need not be Unicode.
Symbolic links are data and never followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from esac_ag.canonical import file_sha256, is_ignored, sha256_of_bytes, tree_sha256


@dataclass(frozen=True, slots=True)
class RegularFile:
    """A regular file: its bytes and whether its owner may execute it."""

    data: bytes = field(repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, kept as data."""

    target: bytes


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory, listed so that empty ones survive."""


Node = RegularFile | Link | Directory


_SLASH = ord("/")


class FileTree(Mapping[bytes, Node]):
    """An immutable mapping from path to node, iterated in byte order of the paths."""

    def __init__(self, nodes: Mapping[bytes, Node] | None = None) -> None:
        self._nodes = dict(sorted((nodes or {}).items()))

    @classmethod
    def of_text(cls, files: Mapping[str, str]) -> FileTree:
        """A tree of UTF-8 text files, for small fixtures and generated files."""
        return cls({path.encode(): RegularFile(text.encode()) for path, text in files.items()})

    def __getitem__(self, path: bytes) -> Node:
        return self._nodes[path]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        return f"FileTree({len(self)} paths, {self.size_bytes()} bytes)"

    def files(self) -> dict[bytes, RegularFile]:
        """The regular files only."""
        return {path: node for path, node in self._nodes.items() if isinstance(node, RegularFile)}

    def size_bytes(self) -> int:
        """Bytes of all regular files."""
        return sum(len(node.data) for node in self.files().values())

    def merged(self, other: Mapping[bytes, Node]) -> FileTree:
        """This tree with the other's nodes laid over it."""
        return FileTree({**self._nodes, **other})

    def under(self, prefix: bytes) -> FileTree:
        """This tree moved below a folder."""
        return FileTree({prefix + b"/" + path: node for path, node in self._nodes.items()})

    def without_ignored(self) -> FileTree:
        """This tree without what tree hashes leave out: caches, version control, byte code."""
        kept = {p: n for p, n in self._nodes.items() if not is_ignored(p.decode("utf-8", "surrogateescape"))}
        return FileTree(kept)

    def with_folders(self) -> FileTree:
        """This tree with every folder that a path runs through, as an archive of it has them."""
        folders = {
            path[:end]: Directory()
            for path in self._nodes
            for end, character in enumerate(path)
            if character == _SLASH
        }
        return FileTree({**folders, **self._nodes})

    def sha256(self) -> str:
        """The tree hash of manifest version 1: regular files, caches left out, LF-normalised."""
        return tree_sha256(
            (name, file_sha256(node.data))
            for path, node in self.files().items()
            if not is_ignored(name := path.decode("utf-8", "surrogateescape"))
        )

    def exact_sha256(self) -> str:
        """A digest over everything: every path, kind, bytes, execute bit and link target."""
        lines = []
        for path, node in self._nodes.items():
            match node:
                case RegularFile(data, executable):
                    kind = b"x" if executable else b"f"
                    lines.append(b"\0".join((path, kind, sha256_of_bytes(data).encode())))
                case Link(target):
                    lines.append(b"\0".join((path, b"l", target)))
                case Directory():
                    lines.append(b"\0".join((path, b"d", b"")))
        return sha256_of_bytes(b"\n\0".join(lines))
