"""The tar format, as little of it as the engine speaks: ustar with PAX and GNU long names.

Python's `tarfile` ends silently at a damaged header, which would make half an export look whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NoReturn

from esac_ag.errors import SandboxLost

BLOCK_BYTES = 512
_NAME_BYTES = 100
_MAX_EXTENSION_BYTES = 1024 * 1024
"""Of an extended header: names and attributes, which the kernel keeps far below."""


class Kind(StrEnum):
    """What a member is."""

    FILE = "0"
    HARD_LINK = "1"
    LINK = "2"
    DIRECTORY = "5"
    OTHER = "?"


_OTHERS = {
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"S": "a sparse file in a format of its own",
}
_KINDS = {b"0": Kind.FILE, b"\0": Kind.FILE, b"7": Kind.FILE, b"1": Kind.HARD_LINK}
_KINDS |= {b"2": Kind.LINK, b"5": Kind.DIRECTORY}


@dataclass(frozen=True, slots=True)
class Member:
    """The header of one member."""

    name: bytes
    type_flag: bytes
    mode: int
    size: int
    """Bytes of content that follow in the archive."""
    target: bytes

    @property
    def kind(self) -> Kind:
        """What the member is; unknown type flags are `OTHER`."""
        return _KINDS.get(self.type_flag, Kind.OTHER)

    def describe(self) -> str:
        """A member of kind `OTHER` in words."""
        return _OTHERS.get(self.type_flag, f"of the unknown type {self.type_flag!r}")


def header(
    name: bytes, kind: Kind, *, mode: int, uid: int, gid: int, size: int = 0, target: bytes = b""
) -> bytes:
    """The header of a member, preceded by a PAX header where a field is too long; all times are zero."""
    long = {
        b"path": name if len(name) > _NAME_BYTES else b"",
        b"linkpath": target if len(target) > _NAME_BYTES else b"",
    }
    records = b"".join(_pax_record(key, value) for key, value in long.items() if value)
    plain = _ustar(name, kind.value.encode(), mode, uid, gid, size, target)
    if not records:
        return plain
    padding = b"\0" * (-len(records) % BLOCK_BYTES)
    return _ustar(b"././@PaxHeader", b"x", 0o644, 0, 0, len(records), b"") + records + padding + plain


def _pax_record(key: bytes, value: bytes) -> bytes:
    """`length SP key=value LF`, where the length counts its own digits."""
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def _ustar(name: bytes, flag: bytes, mode: int, uid: int, gid: int, size: int, target: bytes) -> bytes:
    fields = (
        name[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
        b"%07o\0%07o\0%07o\0%011o\0%011o\0" % (mode, uid, gid, size, 0),
        b" " * 8,
        flag,
        target[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0"),
        b"ustar\x0000",
    )
    block = b"".join(fields).ljust(BLOCK_BYTES, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


class TarReader:
    """Reads members from chunks of an archive; content that nobody asked for is read past."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = bytearray()
        self._left = 0
        """Content of the current member that was not read yet."""
        self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        """The members.

        Raises:
            SandboxLost: the stream is not a tar archive, or ends before its end.
        """
        changes: dict[str, bytes] = {}
        while True:
            self._skip(self._left + self._padding)
            self._left = self._padding = 0
            block = self._take(BLOCK_BYTES)
            if not any(block):
                return
            member = _parsed(block)
            self._left, self._padding = member.size, -member.size % BLOCK_BYTES
            match member.type_flag:
                case b"x":
                    changes |= _pax_changes(self._extension())
                case b"L":
                    changes["name"] = self._extension().rstrip(b"\0")
                case b"K":
                    changes["target"] = self._extension().rstrip(b"\0")
                case b"g":
                    continue
                case _:
                    member = self._changed(member, changes)
                    changes = {}
                    yield member

    def data(self) -> bytes:
        """The content of the current member."""
        size, self._left = self._left, 0
        return self._take(size)

    def _changed(self, member: Member, changes: dict[str, bytes]) -> Member:
        if not changes:
            return member
        if "size" in changes:
            size = _number(changes["size"], base=10)
            self._left, self._padding = size, -size % BLOCK_BYTES
            member = replace(member, size=size)
        name, target = changes.get("name", member.name), changes.get("target", member.target)
        return replace(member, name=name, target=target)

    def _extension(self) -> bytes:
        if self._left > _MAX_EXTENSION_BYTES:
            _broken(f"an extended header of {self._left} bytes")
        return self.data()

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += self._next_chunk()
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    def _skip(self, size: int) -> None:
        while size > len(self._buffer):
            size -= len(self._buffer)
            self._buffer[:] = self._next_chunk()
        del self._buffer[:size]

    def _next_chunk(self) -> bytes:
        chunk = next((chunk for chunk in self._chunks if chunk), None)
        if chunk is None:
            _broken("the stream ends in the middle")
        return chunk


def _parsed(block: bytes) -> Member:
    """The header in a block of 512 bytes, checked by its sum."""
    expected = _number(block[148:156])
    if expected != sum(block[:148]) + sum(block[156:]) + 8 * 0x20:
        _broken("a header's checksum is wrong")
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345]:
        name = _text(block[345:500]) + b"/" + name
    return Member(
        name=name,
        type_flag=block[156:157],
        mode=_number(block[100:108]),
        size=_number(block[124:136]),
        target=_text(block[157:257]),
    )


def _text(field: bytes) -> bytes:
    return field.split(b"\0", 1)[0]


def _number(field: bytes, base: int = 8) -> int:
    """An octal field, or GNU's binary form of large numbers."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    try:
        number = int(digits, base) if digits else 0
    except ValueError:
        _broken(f"{digits!r} is not a number")
    if number < 0:
        _broken(f"{number} is negative")
    return number


def _pax_changes(data: bytes) -> dict[str, bytes]:
    """The records of a PAX header that change what is read here."""
    fields = {b"path": "name", b"linkpath": "target", b"size": "size"}
    changes: dict[str, bytes] = {}
    while data.strip(b"\0"):
        digits, _, _ = data.partition(b" ")
        length = _number(digits, base=10)
        record = data[len(digits) + 1 : length]
        key, equals, value = record.partition(b"=")
        if length > len(data) or not equals or not value.endswith(b"\n"):
            _broken("a PAX record does not hold what its length says")
        if key in fields:
            changes[fields[key]] = value[:-1]
        data = data[length:]
    return changes


def _broken(what: str) -> NoReturn:
    raise SandboxLost(
        "The engine sent an archive that cannot be read.", expected="a whole tar archive", found=what
    )
