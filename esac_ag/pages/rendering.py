"""Renders the pages that show results."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse

from esac_ag.pages.shown import environment
from esac_ag.pages.view_words import moment, rest_words, review_words, seconds_between, size_words
from esac_ag.report.numbers import percent, points

HOME: Final = "Results"


def root_of(request: Request) -> str:
    """What every path of this server begins with."""
    return str(request.scope["root_path"])


def study_address(request: Request, name: str, *parts: str) -> str:
    """Address of a study's page, or of a file below its folder; parts may hold `/`."""
    below = "/".join(address(part) for part in parts)
    return f"{root_of(request)}/studies/{address(name)}/{below}"


def address(path: str) -> str:
    """A path as a part of an address; bytes of file names that are no text stay as they are."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/")


def page(
    request: Request,
    template: str,
    values: Mapping[str, object],
    *,
    title: str,
    path: Sequence[tuple[str, str]] = (),
    status: int = 200,
) -> HTMLResponse:
    """A page from a template of `templates/view/`.

    Args:
        request: that is answered.
        template: name of the file.
        values: what the template shows.
        title: of the page.
        path: name and address of each page above this one and of this one, but for the list of results.
        status: of the answer.
    """

    def study_at(name: str, *parts: str) -> str:
        return study_address(request, name, *parts)

    rendered = (
        environment()
        .get_template(f"view/{template}", globals=_CALLED)
        .render(
            root=root_of(request),
            title=title,
            path=((HOME, f"{root_of(request)}/"), *path),
            study_at=study_at,
            **values,
        )
    )
    return HTMLResponse(rendered, status)


def _known(value: bool | None) -> str:  # noqa: FBT001  (a value of a record)
    return "not known" if value is None else "yes" if value else "no"


_CALLED: Final[MutableMapping[str, Any]] = {
    "address": address,
    "known": _known,
    "moment": moment,
    "percent": percent,
    "points": points,
    "rest_words": rest_words,
    "review_words": review_words,
    "seconds_between": seconds_between,
    "size_words": size_words,
}
"""What templates call."""
