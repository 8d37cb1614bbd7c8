"""Which files of a study may be looked at, and as what a browser is to take them."""

from __future__ import annotations

from io import BufferedReader
from pathlib import PurePosixPath
from typing import Final

from esac_ag.conduct.view_look import StudyLook
from esac_ag.errors import InputRefused
from esac_ag.rooms.beneath import open_beneath, parts_of
from esac_ag.rooms.reading import CannotRead

TEXT: Final = "text/plain; charset=utf-8"
PAGE: Final = "text/html; charset=utf-8"
ARCHIVE: Final = "application/octet-stream"

_TEXTS: Final = frozenset({".json", ".jsonl", ".csv", ".md", ".txt", ".log", ".diff"})
_REVIEW: Final = "review"
_KEY: Final = "key"


def withheld(look: StudyLook, path: str) -> str:
    """Why a file is not shown; empty where it is.

    Keys of a blinded review never are. Before the review is unblinded nothing of it is: whoever looks at
    results may be one of its reviewers.

    Args:
        look: at the study.
        path: below its folder.
    """
    # Some file systems take upper and lower case for the same.
    parts = tuple(part.casefold() for part in path.split("/"))
    if any(part.startswith(".") for part in parts):
        return "files whose names begin with a dot are not shown"
    if parts[0] != _REVIEW:
        return ""
    if any(part.startswith(_KEY) for part in parts[1:2]):
        return "the key of a blinded review is not shown"
    if look.review.unblinded is None:
        return "nothing of a review is shown before it is unblinded"
    return ""


def media_type(path: str) -> str:
    """How a browser is to take a file: text, a page of a report, or bytes to keep."""
    place = PurePosixPath(path)
    if place.suffix == ".html" and place.parts[0] == "report":
        return PAGE
    return TEXT if place.suffix in _TEXTS else ARCHIVE


def open_shown(look: StudyLook, path: str) -> BufferedReader:
    """A file of a study's folder, to be read.

    Raises:
        InputRefused: it is not shown, or there is no such file.
    """
    try:
        parts_of(path)
        why = withheld(look, path)
        if not why:
            return open_beneath(look.folder.path, path)
    except CannotRead as error:
        why = str(error)
    raise InputRefused("the file is not shown", where=path, found=why)
