"""Files within files: archives and compressed data, read in memory and up to a limit. Pure."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

import zstandard

from esac_ag.archive import TreeLimits, unpack
from esac_ag.errors import SandboxLost
from esac_ag.tree import Directory, Link, RegularFile

MOST_BYTES: Final = 256 * 1024 * 1024
"""Of all that one file holds, unpacked."""
MOST_DEPTH: Final = 3
"""Archives within archives."""
_LIMITS: Final = TreeLimits(
    max_members=100_000, max_bytes=MOST_BYTES, max_file_bytes=MOST_BYTES, max_depth=128, max_path_bytes=4096
)
_TAR_MAGIC: Final = (257, b"ustar")
_ZIP_END: Final = b"PK\x05\x06"
_ZIP_TAIL_BYTES: Final = 22 + 65535
"""Where the end of a zip file begins: its record and its comment."""
_BZ2: Final = b"BZh"
_BZ2_BLOCK: Final = b"1AY&SY"
_XZ: Final = b"\xfd7zXZ\x00"
_OTHERS: Final = (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
_PARQUET: Final = b"PAR1"
_PIECE: Final = 1 << 20
_ZSTD_PIECE: Final = 1 << 10
"""No more than some megabytes come out of so few bytes."""
UNREADABLE: Final = (
    *(OSError, EOFError, RuntimeError, ValueError, LookupError, struct.error),
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, zstandard.ZstdError),
)
"""What reading an archive that somebody made up may raise."""

Member = tuple[bytes, bytes]
"""Name and content."""


class TooMuchPacked(Exception):
    """An archive holds more, or deeper, than is looked into; the message says so."""


def members_of(data: bytes) -> Iterator[Member]:
    """All that is packed in a file, and in what is packed there; nothing where it is no archive we know.

    Names and targets of links are members of their own, so that they are searched, too.

    Raises:
        TooMuchPacked: a limit was reached, or an archive cannot be read to its end.
    """
    yield from _members(data, b"", MOST_DEPTH, [MOST_BYTES])


def _members(data: bytes, above: bytes, depth: int, left: list[int]) -> Iterator[Member]:
    for name, inner in _opened(data, left):
        path = above + name
        yield path, inner
        yield path + b" (name)", name
        if _is_packed(inner):
            if depth == 1:
                raise TooMuchPacked("archives are nested deeper than is searched")
            yield from _members(inner, path + b"!", depth - 1, left)


def _is_packed(data: bytes) -> bool:
    at, magic = _TAR_MAGIC
    known = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", _BZ2, _XZ)
    return data.startswith(known) or _is_zip(data) or data[at : at + len(magic)] == magic


def _is_zip(data: bytes) -> bool:
    """Whether it ends as a zip file does: programs may stand before one, as in a zipapp."""
    at = data.rfind(_ZIP_END, -_ZIP_TAIL_BYTES)
    return at >= 0 and b"PK\x01\x02" in data[:at]


def _opened(data: bytes, left: list[int]) -> Iterator[Member]:
    try:
        for name, inner in _unpacked(data, left[0]):
            left[0] -= len(inner)
            if left[0] < 0:
                raise TooMuchPacked(
                    f"what is packed holds more than the {MOST_BYTES} bytes that are searched"
                )
            yield name, inner
    except (SandboxLost, *UNREADABLE) as error:
        raise TooMuchPacked("an archive in it cannot be read to its end") from error


def _unpacked(data: bytes, most: int) -> Iterator[Member]:
    at, magic = _TAR_MAGIC
    if data.startswith(b"\x1f\x8b"):
        yield b"gzip", _of_gzip(data, most)
    elif data.startswith(b"\x28\xb5\x2f\xfd"):
        yield b"zstd", _of_zstd(data, most)
    elif data[4:10] == _BZ2_BLOCK and data.startswith(_BZ2):
        with bz2.BZ2File(io.BytesIO(data)) as file:
            yield b"bzip2", file.read(most + 1)
    elif data.startswith(_XZ):
        with lzma.LZMAFile(io.BytesIO(data)) as file_xz:
            yield b"xz", file_xz.read(most + 1)
    elif data.startswith(_OTHERS):
        raise TooMuchPacked("an archive of a kind that is not looked into")
    elif data.startswith(b"PK\x03\x04") or _is_zip(data):
        yield from _of_zip(data, most)
    elif data.startswith(_PARQUET):
        yield b"parquet", _rows_of_parquet(data, most)
    elif data[at : at + len(magic)] == magic:
        yield from _of_tar(data)


def _of_gzip(data: bytes, most: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return file.read(most + 1)


def _of_zstd(data: bytes, most: int) -> bytes:
    """All frames, one after the other; the library takes a frame that was cut off for a whole one."""
    parts, rest = bytearray(), data
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        at = 0
        while not frame.eof:
            if at >= len(rest):
                raise EOFError("a frame was cut off")
            parts += frame.decompress(rest[at : at + _ZSTD_PIECE])
            at += _ZSTD_PIECE
            if len(parts) > most:
                return bytes(parts)
        rest = frame.unused_data + rest[at:]
    return bytes(parts)


def _rows_of_parquet(data: bytes, most: int) -> bytes:
    """The table's rows as text, one a line; metadata of the file stand in it as they are."""
    # It costs a tenth of a second, and few bundles have such a table.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows: list[str] = []
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        for batch in file.iter_batches():
            if batch.nbytes > most:
                raise TooMuchPacked("a table holds more than is searched")
            rows += [repr(row) for row in batch.to_pylist()]
    except pa.ArrowException as error:
        raise TooMuchPacked("a table in it cannot be read to its end") from error
    return "\n".join(rows).encode("utf-8", "surrogatepass")


def _of_zip(data: bytes, most: int) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if len(archive.infolist()) > _LIMITS.max_members:
            raise TooMuchPacked("an archive holds more members than are searched")
        for info in archive.infolist():
            if not info.is_dir():
                with archive.open(info) as member:
                    yield info.filename.encode("utf-8", "surrogateescape"), member.read(most + 1)


def _of_tar(data: bytes) -> Iterator[Member]:
    exported = unpack((data[at : at + _PIECE] for at in range(0, len(data), _PIECE)), _LIMITS)
    if exported.capped or exported.findings:
        raise TooMuchPacked("an archive holds more, or stranger things, than is searched")
    for path, node in exported.tree.items():
        match node:
            case RegularFile(content):
                yield path, content
            case Link(target):
                yield path, target
            case Directory():
                yield path, b""
