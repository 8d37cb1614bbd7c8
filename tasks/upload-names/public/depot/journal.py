"""The journal: one line of JSON per upload, only ever appended to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


class JournalBroken(Exception):
    """A line of the journal that cannot be read."""


@dataclass(frozen=True)
class Entry:
    """One upload: under which name, which content, when."""

    name: str
    sha256: str
    size: int
    at: str
    tags: tuple[str, ...] = ()


class Journal:
    """The file `journal.jsonl`; it comes into being with the first entry."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, entry: Entry) -> None:
        """Add an entry and make sure that it is on disk."""
        line = json.dumps(asdict(entry), ensure_ascii=False, sort_keys=True) + "\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(line.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, start=1):
            try:
                raw = json.loads(line)
                yield Entry(
                    raw["name"], raw["sha256"], raw["size"], raw["at"], tuple(raw.get("tags", ()))
                )
            except (ValueError, KeyError, TypeError) as error:
                raise JournalBroken(f"line {number}: {error}") from error
