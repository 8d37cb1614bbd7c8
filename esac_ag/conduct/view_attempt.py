"""One attempt's records and files, as somebody sees them who follows a figure to what is behind it.

Each file is compared with the digest that the ledger names, and whatever cannot be read is said in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from esac_ag.attempt import AttemptRecord, Grading
from esac_ag.attempt.events import AttemptState
from esac_ag.attempt.loaded import LoadedInstructions
from esac_ag.conduct.collect import ATTEMPT, LOADED, RESULT
from esac_ag.conduct.view_look import Launch, StudyLook
from esac_ag.conduct.view_plan import PlanKind
from esac_ag.record import Record
from esac_ag.rooms.beneath import files_beneath, open_beneath, read_beneath
from esac_ag.rooms.reading import MANIFEST_CAP_BYTES, CannotRead
from esac_ag.suite.records import ItemGrading

MOST_FILES: Final = 1_000
MOST_DIGESTED_BYTES: Final = 64_000_000
"""Larger files are left to an audit."""
PATCH: Final = "patch.diff"
PATCH_CAP_BYTES: Final = 4_000_000
"""A larger one is left to the raw file."""

Model = TypeVar("Model", bound=BaseModel)


class FileStanding(StrEnum):
    """What the ledger says of a file's bytes."""

    AS_NAMED = "as the ledger names it"
    CHANGED = "not the file that the ledger names"
    MISSING = "missing"
    NOT_NAMED = "not named by the ledger"
    TOO_LARGE = "not compared here, because it is large: esac-ag audit does"


class FileLook(NamedTuple):
    """One file of an attempt."""

    path: str
    """Below the attempt's folder."""
    size_bytes: int | None
    """Null where it is missing."""
    standing: FileStanding


class Part(NamedTuple, Generic[Model]):
    """A record of an attempt, or why there is none."""

    record: Model | None
    problem: str
    """Empty where there is a record, and where none is to be expected."""


class CommandLine(Record):
    """A line of `commands.jsonl`, as far as it is shown."""

    model_config = ConfigDict(extra="ignore")

    tool: str = ""
    argv: tuple[str, ...]
    exit_code: int | None = None
    duration_s: float | None = None
    timed_out: bool = False
    termination: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class AttemptLook:
    """An attempt with all that is small of it; transcript, commands and patch are read page by page."""

    launch: Launch
    state: AttemptState
    files: tuple[FileLook, ...]
    record: Part[AttemptRecord]
    grading: Part[Grading]
    """Of a study's attempt."""
    item_grading: Part[ItemGrading]
    """Of a suite run's attempt."""
    loaded: Part[LoadedInstructions]
    lineage: tuple[Launch, ...]
    """All launches of its cell, itself too."""

    @property
    def changed(self) -> tuple[FileLook, ...]:
        """Files that are not as the ledger names them."""
        return tuple(
            one for one in self.files if one.standing in {FileStanding.CHANGED, FileStanding.MISSING}
        )

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return any(one.path == path and one.size_bytes is not None for one in self.files)


def attempt_look(look: StudyLook, launch: Launch) -> AttemptLook:
    """An attempt of a study.

    Args:
        look: at the study.
        launch: one of its launches.
    """
    state = look.attempts[launch.attempt_id]
    is_study = look.plan.kind is PlanKind.STUDY
    return AttemptLook(
        launch=launch,
        state=state,
        files=tuple(_files(look, state)),
        record=_part(look, state, ATTEMPT, AttemptRecord),
        grading=_part(look, state, RESULT, Grading) if is_study else Part(None, ""),
        item_grading=Part(None, "") if is_study else _part(look, state, RESULT, ItemGrading),
        loaded=_part(look, state, LOADED, LoadedInstructions),
        lineage=look.launches_of_cell(launch.attempt_id),
    )


def patch_of(look: StudyLook, attempt_id: str) -> Part[PatchText]:
    """The patch of an attempt as text; bytes that are no text are shown as escapes."""
    try:
        data = read_beneath(look.folder.path, place_of(attempt_id, PATCH), cap_bytes=PATCH_CAP_BYTES)
    except CannotRead as error:
        return Part(None, str(error))
    return Part(PatchText(text=data.decode("utf-8", "backslashreplace")), "")


class PatchText(Record):
    """A patch as it is shown."""

    text: str


def place_of(attempt_id: str, path: str) -> str:
    """Path of an attempt's file below the study's folder."""
    return f"attempts/{attempt_id}/{path}"


def _part(look: StudyLook, state: AttemptState, name: str, kind: type[Model]) -> Part[Model]:
    try:
        data = read_beneath(look.folder.path, place_of(state.attempt_id, name), cap_bytes=MANIFEST_CAP_BYTES)
        return Part(kind.model_validate_json(data), "")
    except CannotRead as error:
        return Part(None, f"{name}: {error}" if name in state.artifacts else "")
    except ValidationError as error:
        return Part(None, f"{name} is no {kind.__name__}: {error.errors()[0]['msg']}")


def _files(look: StudyLook, state: AttemptState) -> Iterator[FileLook]:
    folder = f"attempts/{state.attempt_id}"
    found = files_beneath(look.folder.path, folder, most=MOST_FILES)
    names = [name for name in found if not name.rpartition("/")[2].startswith(".")]
    for name in sorted({*names, *state.artifacts}):
        yield _file(look, state, name)


def _file(look: StudyLook, state: AttemptState, name: str) -> FileLook:
    expected = state.artifacts.get(name)
    try:
        with open_beneath(look.folder.path, place_of(state.attempt_id, name)) as file:
            size_bytes = file.seek(0, 2)
            if expected is None:
                return FileLook(name, size_bytes, FileStanding.NOT_NAMED)
            if size_bytes > MOST_DIGESTED_BYTES:
                return FileLook(name, size_bytes, FileStanding.TOO_LARGE)
            file.seek(0)
            same = hashlib.file_digest(file, "sha256").hexdigest() == expected
    except CannotRead:
        return FileLook(name, None, FileStanding.MISSING)
    return FileLook(name, size_bytes, FileStanding.AS_NAMED if same else FileStanding.CHANGED)
