"""Builders for archives as an engine, or somebody hostile, could write them, made with Python's `tarfile`."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable

from esac_ag.archive import ExportedTree, TreeLimits, unpack


def a_member(
    name: str,
    *,
    kind: bytes = tarfile.REGTYPE,
    data: bytes = b"",
    mode: int = 0o644,
    target: str = "",
) -> tuple[tarfile.TarInfo, bytes]:
    """One member and its content."""
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname, info.size = kind, mode, target, len(data)
    return info, data


def a_folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    """A directory."""
    return a_member(name, kind=tarfile.DIRTYPE, mode=0o755)


def an_archive(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """An uncompressed archive of members in that order."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form, errors="surrogateescape") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def unpacked(archive: bytes, limits: TreeLimits | None = None, *, chunk_bytes: int = 700) -> ExportedTree:
    """An archive read in small chunks."""
    return unpack(chunks_of(archive, chunk_bytes), limits or TreeLimits())


def chunks_of(data: bytes, chunk_bytes: int) -> Iterable[bytes]:
    """The data in pieces of a size."""
    return (data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))
