"""Tar archives by our own rules: what enters a container, and what leaves it.

What leaves a container was made by a program that is not trusted. Regular files, directories and
symbolic links are kept as data; everything else is left out or changed, with a finding for each. A
stream that is not a tar archive is no agent's doing, because the engine writes it: `SandboxLost`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from esac_ag.record import Record
from esac_ag.tar import BLOCK_BYTES, Kind, Member, TarReader, header
from esac_ag.tree import Directory, FileTree, Link, Node, RegularFile

SKIP_FACTOR = 4
"""What is left out is read past, up to this many times what may be kept; then the reading stops."""

_ROOT = b"/"
"""The folder that an archive is unpacked in. The engine leaves the owner of `.` as it is, and takes this."""

MAX_FINDINGS = 1000
MAX_NAME_CHARACTERS = 200
"""Of a name within a finding."""


class TreeLimits(Record):
    """Caps on what is taken out of a container."""

    max_members: int = 20_000
    max_bytes: int = 256 * 1024 * 1024
    """Of all files together, apparent size."""
    max_file_bytes: int = 64 * 1024 * 1024
    max_depth: int = 64
    max_path_bytes: int = 1024
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class ExportedTree:
    """Files taken out of a container."""

    tree: FileTree
    findings: tuple[str, ...]
    """One sentence for each member that was left out or changed, names escaped."""
    capped: bool = False
    """Whether a cap on members, bytes or time left something out."""


def shown(name: bytes) -> str:
    """A name for a reader: printable ASCII, everything else escaped, at most `MAX_NAME_CHARACTERS`."""
    text = name.decode("ascii", "backslashreplace")
    escaped = "".join(
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )
    escaped = escaped.replace("\\\\x", "\\x")
    return escaped if len(escaped) <= MAX_NAME_CHARACTERS else escaped[:MAX_NAME_CHARACTERS] + "..."


def pack(
    tree: FileTree,
    *,
    uid: int,
    gid: int,
    root_mode: int | None = None,
    prefix: bytes = b"",
    base: tuple[int, int, int] | None = None,
    existing: Collection[bytes] = frozenset(),
) -> bytes:
    """A tar archive with the same bytes for the same arguments, whatever the machine.

    Args:
        tree: what is packed; folders that paths imply are added.
        uid: numeric owner of everything.
        gid: numeric group of everything.
        root_mode: given to the folder that the tree lies in (the archive's root, or the end of `prefix`).
        prefix: a relative folder that the tree is put below.
        base: uid, gid and mode of the archive's root where `prefix` is not empty.
        existing: folders that are there already and keep their owner and mode, unless the tree or
            `root_mode` names them.
    """
    return b"".join(
        pack_parts(tree, uid=uid, gid=gid, root_mode=root_mode, prefix=prefix, base=base, existing=existing)
    )


def pack_parts(
    tree: FileTree,
    *,
    uid: int,
    gid: int,
    root_mode: int | None = None,
    prefix: bytes = b"",
    base: tuple[int, int, int] | None = None,
    existing: Collection[bytes] = frozenset(),
) -> Iterator[bytes]:
    """The archive of `pack` in pieces, without a second copy of any file."""
    nodes: dict[bytes, Node] = dict(tree.under(prefix) if prefix else tree)
    implied = folders_of(nodes) | folders_of([prefix + b"/"] if prefix else ())
    kept = set(existing) - ({prefix} if root_mode is not None else set())
    nodes.update(dict.fromkeys(implied - nodes.keys() - kept, Directory()))
    if base is not None and prefix:
        yield header(_ROOT, Kind.DIRECTORY, mode=base[2], uid=base[0], gid=base[1])
    elif root_mode is not None and not prefix:
        yield header(_ROOT, Kind.DIRECTORY, mode=root_mode, uid=uid, gid=gid)
    for path, node in sorted(nodes.items()):
        match node:
            case RegularFile(data, executable):
                mode = 0o755 if executable else 0o644
                yield header(path, Kind.FILE, mode=mode, uid=uid, gid=gid, size=len(data))
                yield data
                yield b"\0" * (-len(data) % BLOCK_BYTES)
            case Link(target):
                yield header(path, Kind.LINK, mode=0o777, uid=uid, gid=gid, target=target)
            case Directory():
                mode = root_mode if root_mode is not None and path == prefix else 0o755
                yield header(path + b"/", Kind.DIRECTORY, mode=mode, uid=uid, gid=gid)
    yield b"\0" * (2 * BLOCK_BYTES)


def folders_of(paths: Iterable[bytes]) -> set[bytes]:
    """All folders that paths lie in."""
    return {parent for path in paths for parent in _parents(path)}


def unpack(
    chunks: Iterable[bytes],
    limits: TreeLimits,
    *,
    strip_parts: int = 0,
    out_of_time: Callable[[], bool] = lambda: False,
) -> ExportedTree:
    """Read an archive that came out of a container, keeping at most what the limits allow.

    Args:
        chunks: the bytes of an uncompressed tar archive; reading stops once a cap on the whole is reached.
        limits: the caps; what fits is kept.
        strip_parts: leading parts of each name that are dropped (the folder that was asked for).
        out_of_time: asked before each member; once true, reading stops.

    Raises:
        SandboxLost: the stream is not a tar archive, or ends in the middle of one.
    """
    reader = TarReader(chunks)
    export = _Export(limits)
    for member in reader:
        if out_of_time():
            export.cap("the time for it was used up")
            break
        path = _path_below(member.name, strip_parts)
        if isinstance(path, str):
            export.leave_out(member.name, path)
        elif path or member.kind is not Kind.DIRECTORY:
            export.take(path, member, reader, strip_parts)
        if export.has_ended(member.size):
            break
    return ExportedTree(FileTree(export.nodes), tuple(export.findings), export.capped)


def _path_below(name: bytes, strip_parts: int) -> bytes | str:
    """The clean relative path of a member, or why there is none."""
    if name.startswith(b"/"):
        return "its path is absolute"
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    if b".." in parts:
        return "its path holds `..`"
    return b"/".join(parts[strip_parts:])


def _parents(path: bytes) -> Iterator[bytes]:
    """All folders above a path, the nearest first."""
    while (cut := path.rfind(b"/")) > 0:
        path = path[:cut]
        yield path


@dataclass(slots=True)
class _Export:
    """What was taken so far, and what was found."""

    limits: TreeLimits
    nodes: dict[bytes, Node] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    capped: bool = False
    kept_bytes: int = 0
    read_bytes: int = 0
    read_members: int = 0
    ended: bool = False
    folded: dict[str, bytes] = field(default_factory=dict)
    """Kept paths by what a case-insensitive, normalising file system sees."""
    repositories: set[bytes] = field(default_factory=set)

    def note(self, sentence: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(sentence)
        elif len(self.findings) == MAX_FINDINGS:
            self.findings.append("Further findings were left out.")

    def leave_out(self, name: bytes, why: str) -> None:
        self.note(f"`{shown(name)}` was left out: {why}.")

    def cap(self, why: str) -> None:
        """Stop here: what was read so far is the export."""
        self.capped = self.ended = True
        # The cap has to be seen even where the findings are full.
        self.findings.insert(0, f"The export was capped: {why}.")

    def has_ended(self, size: int) -> bool:
        """Whether the reading stops after a member of that size."""
        self.read_bytes += size
        self.read_members += 1
        if not self.ended and self.read_bytes > SKIP_FACTOR * self.limits.max_bytes:
            self.cap("too many bytes were left out")
        if not self.ended and self.read_members > SKIP_FACTOR * self.limits.max_members:
            self.cap("too many members were left out")
        return self.ended

    def take(self, path: bytes, member: Member, reader: TarReader, strip_parts: int) -> None:
        """Keep one member, or tell why not."""
        if self._is_of_a_repository(path):
            return
        if reason := self._refusal(path):
            self.leave_out(path or member.name, reason)
            return
        if member.kind in {Kind.FILE, Kind.DIRECTORY} and member.mode & 0o6000:
            self.note(f"`{shown(path)}` lost its setuid or setgid bit.")
        match member.kind:
            case Kind.DIRECTORY:
                self._keep(path, Directory())
            case Kind.LINK:
                self._keep(path, Link(member.target))
            case Kind.FILE:
                if self._has_room(path, member.size):
                    self._keep(path, RegularFile(reader.data(), bool(member.mode & 0o100)))
            case Kind.HARD_LINK:
                self._take_hard_link(path, _path_below(member.target, strip_parts))
            case Kind.OTHER:
                self.leave_out(path, f"it is {member.describe()}")

    def _take_hard_link(self, path: bytes, target: bytes | str) -> None:
        node = self.nodes.get(target) if isinstance(target, bytes) else None
        if not isinstance(node, RegularFile):
            self.leave_out(path, "it is a hard link to a file that is not part of the export")
        elif self._has_room(path, len(node.data)):
            self.note(f"`{shown(path)}` is a hard link and became a copy.")
            self._keep(path, node)

    def _is_of_a_repository(self, path: bytes) -> bool:
        """Whether it is a `.git` or lies in one; told once for each."""
        parts = path.split(b"/")
        if b".git" not in parts:
            return False
        repository = b"/".join(parts[: parts.index(b".git") + 1])
        if repository not in self.repositories:
            self.repositories.add(repository)
            self.leave_out(repository, "repositories are not taken over")
        return True

    def _refusal(self, path: bytes) -> str:
        if not path:
            return "the path that was asked for is not a folder"
        if path.count(b"/") >= self.limits.max_depth:
            return f"its path is deeper than {self.limits.max_depth} folders"
        if len(path) > self.limits.max_path_bytes:
            return f"its path is longer than {self.limits.max_path_bytes} bytes"
        if any(not isinstance(self.nodes.get(parent, Directory()), Directory) for parent in _parents(path)):
            return "it lies below something that is not a folder"
        return ""

    def _has_room(self, path: bytes, size: int) -> bool:
        if size > self.limits.max_file_bytes:
            self.capped = True
            self.leave_out(path, f"its {size} bytes are more than {self.limits.max_file_bytes}")
            return False
        if self.kept_bytes + size > self.limits.max_bytes:
            self.cap(f"all files together hold more than {self.limits.max_bytes} bytes")
            return False
        self.kept_bytes += size
        return True

    def _keep(self, path: bytes, node: Node) -> None:
        if path not in self.nodes and len(self.nodes) >= self.limits.max_members:
            self.cap(f"there are more than {self.limits.max_members} members")
            return
        if path in self.nodes and not isinstance(self.nodes[path], Directory):
            self.note(f"`{shown(path)}` appears more than once; the last one counts.")
        folded = unicodedata.normalize("NFC", path.decode("utf-8", "surrogateescape")).casefold()
        other = self.folded.setdefault(folded, path)
        if other != path:
            self.note(f"`{shown(path)}` collides with `{shown(other)}` by case or Unicode form.")
        self.nodes[path] = node
