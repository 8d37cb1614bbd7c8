"""`results/<study_id>/review/`: where the parts of a blinded review lie, and how they are written.

review/
  key/key.json  key/adjudication.json      whose packet a label is; the owner's alone (0700, 0600)
  people/<name>/packets.json               what a reviewer sees
  people/<name>/forms/<label>.json         drafts, saved as they are filled in
  people/<name>/earlier/<label>-<n>.json   drafts that an import replaced
  people/<name>/locked.json                all forms, read-only
  people/<name>/guesses.json               which arms were guessed, after locking
  scores.json                              after unblinding
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from pydantic import BaseModel

from esac_ag.artifacts import PRIVATE_FOLDER_MODE, write_atomic
from esac_ag.canonical import canonical_json
from esac_ag.errors import StudyBusy

PRIVATE_FILE_MODE: Final = 0o600
LOCKED_FILE_MODE: Final = 0o444
MOST_WAIT_S: Final = 20.0
"""For another process that is writing a form at this moment."""


def record_bytes(record: BaseModel) -> bytes:
    """A record as it is written: canonical JSON and a line end."""
    return canonical_json(record) + b"\n"


class PersonFolder:
    """What belongs to one reviewer or to the adjudicator."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packets = path / "packets.json"
        self.author = path / "author.json"
        self.locked = path / "locked.json"
        self.guesses = path / "guesses.json"

    def form(self, label: str) -> Path:
        """A form's draft."""
        return self.path / "forms" / f"{label}.json"

    def keep_earlier(self, label: str) -> None:
        """Move a draft aside under a name that no file has, so that nothing of it is lost."""
        draft = self.form(label)
        folder = self.path / "earlier"
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while (folder / f"{label}-{number}.json").exists():
            number += 1
        os.link(draft, folder / f"{label}-{number}.json")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from writing here meanwhile.

        Raises:
            StudyBusy: another one has been writing for `MOST_WAIT_S`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock", timeout=MOST_WAIT_S)
        try:
            lock.acquire()
        except Timeout as error:
            raise StudyBusy(
                "another process is writing this reviewer's forms",
                where=str(self.path),
                remedy="close the other page or command, then try again",
            ) from error
        try:
            yield
        finally:
            lock.release()


class ReviewFolder:
    """The folder of a study's review."""

    def __init__(self, study: Path) -> None:
        self.path = study / "review"
        self.key = self.path / "key" / "key.json"
        self.adjudication_key = self.path / "key" / "adjudication.json"
        self.people = self.path / "people"
        self.scores = self.path / "scores.json"

    def person(self, name: str) -> PersonFolder:
        """The folder of one reviewer, or of the adjudicator."""
        return PersonFolder(self.people / name)

    def write_private(self, path: Path, record: BaseModel) -> str:
        """Write a key so that nobody but the owner can read it, at no moment; its SHA-256."""
        path.parent.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
        path.parent.chmod(PRIVATE_FOLDER_MODE)
        digest = write_atomic(path, record_bytes(record))
        path.chmod(PRIVATE_FILE_MODE)
        return digest


def write_locked(path: Path, data: bytes) -> str:
    """Write a file that is not to change any more, read-only; its SHA-256."""
    digest = write_atomic(path, data)
    path.chmod(LOCKED_FILE_MODE)
    return digest
