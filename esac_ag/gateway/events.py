"""Server-sent events, read piece by piece as they pass."""

from __future__ import annotations

from collections.abc import Iterator

MOST_EVENT_BYTES = 16 * 1024 * 1024
"""Longer lines, and longer data of one event, are passed on like any other, but not read."""


class EventReader:
    """Gives the data of each event, wherever the stream is cut.

    Lines end in LF or CRLF, as all three providers write them; data in several lines is joined by LF.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take in a piece; the data of every event that it ends."""
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._keep(line)
            yield from self._take(b"".join(self._line).removesuffix(b"\r"))
            self._line, self._line_bytes = [], 0
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._line_bytes += len(part)
        if self._line_bytes > MOST_EVENT_BYTES:
            self._line = []
        elif part:
            self._line.append(part)

    def _take(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data_bytes += len(line)
            if self._data_bytes <= MOST_EVENT_BYTES:
                self._data.append(line.removeprefix(b"data:").removeprefix(b" "))
        elif not line:
            if self._data and self._data_bytes <= MOST_EVENT_BYTES:
                yield b"\n".join(self._data)
            self._data, self._data_bytes = [], 0
