"""Errors of the harness, as a reviewer may see them: nothing of another person's files or names."""

from __future__ import annotations

from http import HTTPStatus

from esac_ag.errors import FormChanged, HarnessError, InputRefused, StudyBusy, SubstitutionRefused, UsageError

_NOT_YOURS = "a part of the review that is not yours; the terminal that serves this page can tell more"


def status_of(error: HarnessError) -> HTTPStatus:
    """The status that a page answers with."""
    match error:
        case FormChanged():
            return HTTPStatus.CONFLICT
        case UsageError():
            return HTTPStatus.CONFLICT
        case StudyBusy():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case SubstitutionRefused():
            return HTTPStatus.INTERNAL_SERVER_ERROR
        case InputRefused():
            return HTTPStatus.UNPROCESSABLE_ENTITY
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


def explained(error: HarnessError, reviewer: str) -> tuple[tuple[str, str], ...]:
    """The parts of an error that are known, by name, in their order.

    Args:
        error: what happened.
        reviewer: who looks; of what is in the folder of the review of somebody else, no place is told.
    """
    where = error.where
    if "/review/" in where and f"/people/{reviewer}" not in where:
        where = _NOT_YOURS
    parts = (
        ("what", error.what),
        ("where", where),
        ("expected", error.expected),
        ("found", error.found),
        ("remedy", error.remedy),
    )
    return tuple((name, text) for name, text in parts if text)
