"""What the ledger vouches for in a study's review, compared with what lies there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from esac_ag.artifacts import StudyFolder, file_digest
from esac_ag.artifacts.review_folder import ReviewFolder
from esac_ag.attempt.review_events import ReviewState
from esac_ag.canonical import loads_strict
from esac_ag.conduct.collect import refuse_no_study
from esac_ag.errors import InputRefused, SubstitutionRefused, UsageError
from esac_ag.ledger import read_state
from esac_ag.rooms.reading import CannotRead, read_bounded

Model = TypeVar("Model", bound=BaseModel)
REVIEW_CAP_BYTES = 2_000_000_000
"""All packets of one reviewer are one file."""


class Seal(NamedTuple):
    """A file of the review, and its digest by the ledger."""

    path: Path
    what: str
    sha256: str


def seals_of(folder: ReviewFolder, state: ReviewState) -> Iterator[Seal]:
    """Every file that an event of the review names."""
    if state.prepared is not None:
        yield Seal(folder.key, "the review's key", state.prepared.key_sha256)
    if state.adjudication is not None:
        yield Seal(folder.adjudication_key, "the adjudication's key", state.adjudication.key_sha256)
    everybody = (*state.reviewers, *([state.adjudicator] if state.adjudicator else []))
    for name in everybody:
        yield Seal(folder.person(name).packets, "a reviewer's packets", state.packets_sha256(name) or "")
    for name, locked in state.locked.items():
        yield Seal(folder.person(name).locked, "locked forms", locked.forms_sha256)
    for name, guessed in state.guesses.items():
        yield Seal(folder.person(name).guesses, "guesses of arms", guessed.guesses_sha256)
    if state.unblinded is not None:
        yield Seal(folder.scores, "the scores", state.unblinded.scores_sha256)


def digest_at(path: Path) -> str:
    """SHA-256 of a file, or that there is none."""
    return file_digest(path) if path.is_file() else "no such file"


def reviewed(study: Path) -> tuple[ReviewFolder, ReviewState]:
    """The review of a study, after all that the ledger names of it was found unchanged.

    Raises:
        InputRefused: the folder holds no study.
        UsageError: nobody prepared its review.
        SubstitutionRefused: a key, packets, locked forms, guesses or scores were changed.
        LedgerCorrupt: the ledger does not verify.
    """
    refuse_no_study(StudyFolder(study))
    folder, state = ReviewFolder(study), read_state(StudyFolder(study).ledger).review
    if state.prepared is None:
        raise UsageError(
            "the study's review is not prepared",
            where=str(study),
            remedy=f"esac-ag review prepare {study} --reviewers NAME,NAME",
        )
    for seal in seals_of(folder, state):
        found = digest_at(seal.path)
        # Unblinding is recorded before the scores are written: a crash in between is made good by `unblind`.
        if found != seal.sha256 and not (seal.path == folder.scores and not seal.path.exists()):
            raise SubstitutionRefused(
                f"{seal.what} are not what the ledger names",
                where=str(seal.path),
                expected=seal.sha256,
                found=found,
                remedy="restore the file from a copy; what is locked is never changed",
            )
    return folder, state


def read_part(path: Path, kind: type[Model]) -> Model:
    """A record of the review.

    Raises:
        InputRefused: it is missing, or no such record.
    """
    try:
        data = read_bounded(path, cap_bytes=REVIEW_CAP_BYTES)
        loads_strict(data)
        return kind.model_validate_json(data)
    except (CannotRead, ValidationError, ValueError, RecursionError) as error:
        raise InputRefused(
            "a file of the review cannot be read",
            where=str(path),
            expected=f"a {kind.__name__} in JSON",
            found=str(error).splitlines()[0],
            remedy="restore it from a copy",
        ) from error
