"""The depot itself: upload, read back, look around."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from depot.blobs import Blobs
from depot.journal import Entry, Journal
from depot.names import check_name, key
from depot.text import fold


class NoSuchDocument(LookupError):
    """No document of that name, or no such version of it."""


@dataclass(frozen=True)
class Version:
    """One version of a document, numbered from 1 in the order of upload."""

    number: int
    name: str
    sha256: str
    size: int
    at: str
    tags: tuple[str, ...]


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Depot:
    """A folder with a journal and the contents that it names. Nothing is created until an upload."""

    def __init__(self, root: str | Path, now: Callable[[], str] = _utc_now) -> None:
        self._journal = Journal(Path(root) / "journal.jsonl")
        self._blobs = Blobs(Path(root) / "blobs")
        self._now = now

    def _documents(self) -> dict[str, list[Version]]:
        documents: dict[str, list[Version]] = {}
        for entry in self._journal.entries():
            versions = documents.setdefault(key(entry.name), [])
            versions.append(
                Version(
                    len(versions) + 1, entry.name, entry.sha256, entry.size, entry.at, entry.tags
                )
            )
        return documents

    def put(self, name: str, data: bytes, tags: Iterable[str] = ()) -> Version:
        """Upload a content; the current version is returned when it has it already."""
        name = check_name(name)
        current = self.current(name)
        digest = self._blobs.write(data)
        if current is not None and current.sha256 == digest:
            return current
        self._journal.append(Entry(name, digest, len(data), self._now(), tuple(tags)))
        return self.history(name)[-1]

    def history(self, name: str) -> list[Version]:
        """All versions of a document, oldest first."""
        try:
            return self._documents()[key(name)]
        except KeyError:
            raise NoSuchDocument(name) from None

    def current(self, name: str) -> Version | None:
        """The newest version of a document, or None when there is no such document."""
        versions = self._documents().get(key(name))
        return versions[-1] if versions else None

    def get(self, name: str, version: int | None = None) -> bytes:
        """The content of a document, the newest version's unless another is asked for."""
        versions = self.history(name)
        if version is None:
            version = len(versions)
        if not 1 <= version <= len(versions):
            raise NoSuchDocument(f"{name} has no version {version}")
        return self._blobs.read(versions[version - 1].sha256)

    def names(self) -> list[str]:
        """The names of all documents, each as it was given last, in order."""
        documents = self._documents()
        return [documents[found_by][-1].name for found_by in sorted(documents)]

    def find(self, tag: str) -> list[str]:
        """The names of the documents whose newest version has this tag."""
        wanted = fold(tag)
        return [
            versions[-1].name
            for _, versions in sorted(self._documents().items())
            if wanted in {fold(own) for own in versions[-1].tags}
        ]
