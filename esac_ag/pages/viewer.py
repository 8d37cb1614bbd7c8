"""The pages that show a folder of results: a list, studies, attempts, and files as they lie on disk.

A file has the address `studies/<study>/<its path in the study's folder>`, so that the links of a report lead
to the same files here as on disk. Everything is read when it is asked for, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from esac_ag.attempt import Outcome
from esac_ag.conduct.view_files import ARCHIVE, PAGE, media_type, open_shown
from esac_ag.conduct.view_look import Launch, LaunchState, StudyLook
from esac_ag.conduct.view_results import Described, Results
from esac_ag.conduct.view_scores import ScoreBook
from esac_ag.errors import HarnessError, InputRefused, UsageError
from esac_ag.manifest.package import CriticalFailure
from esac_ag.pages.assets import assets
from esac_ag.pages.attempt_pages import AttemptPages
from esac_ag.pages.attempt_table import ANY, ROWS_PER_PAGE, AttemptQuery, paged, select
from esac_ag.pages.rendering import page, study_address
from esac_ag.pages.study_list import ListQuery, chosen
from esac_ag.pages.table_cache import TableCache
from esac_ag.pages.view_words import sealed_rows

LIST_WAIT_S: Final = 2.0
"""How long the list waits for studies that are read for the first time."""
SCORES_WAIT_S: Final = 3.0
"""How long a table waits for scores that it is put in order by."""
STUDIES_PER_PAGE: Final = 100
PIECE_BYTES: Final = 1 << 18
PLAN_FILES: Final = ("manifest.json", "schedule.json", "tasks.json", "ledger.jsonl")

REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""A report's own policy: its styles stand in it, and it needs nothing else."""


class Viewer:
    """Answers requests for pages of a folder of results.

    Args:
        results: that are shown.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._tables = TableCache()
        self._attempts = AttemptPages(self._looked)

    def application(self) -> Starlette:
        """The pages, to be served behind a `Guard`."""
        study, attempt = "/studies/{study}/", "/studies/{study}/attempts/{attempt}/"
        return Starlette(
            routes=[
                Route("/", self.list_page),
                assets(),
                Route(study, self.study_page),
                Route("/studies/{study}/attempts/", self.attempts_of_study),
                Route(attempt, self._attempts.attempt),
                Route(f"{attempt}transcript/", self._attempts.transcript),
                Route(f"{attempt}commands/", self._attempts.commands),
                Route(f"{attempt}diff/", self._attempts.diff),
                Route("/studies/{study}/{path:path}", self.file),
            ],
            exception_handlers={
                HarnessError: _refused,
                HTTPException: _not_there,
                Exception: _fault,
            },
        )

    def list_page(self, request: Request) -> Response:
        """All studies and suite runs."""
        query = ListQuery.of(request.query_params)
        listed = self._results.listed(within_s=LIST_WAIT_S)
        rows = chosen(listed, query)
        at = paged(len(rows), query.page, STUDIES_PER_PAGE)
        return page(
            request,
            "index.html",
            {
                "folder": str(self._results.path),
                "query": query,
                "all": len(listed),
                "reading": sum(one.described is None and not one.problem for one in listed),
                "at": at,
                "pages": lambda number: query.address(page=number) or "?",
                "rows": rows[at.first : at.first + STUDIES_PER_PAGE],
            },
            title="Results",
        )

    def study_page(self, request: Request) -> Response:
        """One study, with a page of its attempts."""
        name = request.path_params["study"]
        described = self._described(name)
        look = described.look
        query = AttemptQuery.of(request.query_params)
        book = self._results.scores(name, look)
        chosen_rows, unread = self._rows(name, look, query, book)
        at = paged(len(chosen_rows), query.page)
        rows = chosen_rows[at.first : at.first + ROWS_PER_PAGE]
        return page(
            request,
            "study.html",
            {
                "name": name,
                "described": described,
                "look": look,
                "query": query,
                "at": at,
                "pages": lambda number: query.address(page=number) or "?",
                "rows": [(row, book.of(look.attempts[row.attempt_id])) for row in rows],
                "unread": unread,
                "outcomes": [one.value for one in Outcome],
                "states": [one.value for one in LaunchState],
                "criticals": _criticals(look),
                "sealed": sealed_rows(look),
                "files": [path for path in PLAN_FILES if (look.folder.path / path).is_file()],
            },
            title=look.plan.study_id,
            path=((name, study_address(request, name)),),
        )

    def _rows(
        self, name: str, look: StudyLook, query: AttemptQuery, book: ScoreBook
    ) -> tuple[Sequence[Launch], int]:
        """The rows that are asked for, and how many scores were not read in time."""
        known = self._tables.known(name, look, query)
        if known is not None:
            return known, 0
        unread = 0
        if query.needs_scores:
            unread = book.read_all(tuple(look.attempts.values()), within_s=SCORES_WAIT_S)
        rows = select(look.launches, query, lambda launch: book.known(look.attempts[launch.attempt_id]))
        if not unread:
            self._tables.keep(name, look, query, rows)
        return rows, unread

    def attempts_of_study(self, request: Request) -> Response:
        """The folder of attempts: their table."""
        return RedirectResponse(study_address(request, request.path_params["study"]) + "#attempts")

    def file(self, request: Request) -> Response:
        """A file of a study's folder, as it lies there."""
        path = request.path_params["path"]
        look = self._looked(request.path_params["study"])
        try:
            file = open_shown(look, path)
        except InputRefused as error:
            raise HTTPException(404, f"{path}: {error.found}") from error
        kind = media_type(path)
        size_bytes = os.fstat(file.fileno()).st_size
        headers = {"content-length": str(size_bytes)}
        if kind == PAGE:
            headers["content-security-policy"] = REPORT_POLICY
        if kind == ARCHIVE:
            name = quote(path.rpartition("/")[2], safe="")
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{name}"
        return StreamingResponse(_pieces(file, size_bytes), headers=headers, media_type=kind)

    def _described(self, name: str) -> Described:
        described = self._results.described(name)
        if described is None:
            raise HTTPException(404, "There is no such study in this folder of results.")
        return described

    def _looked(self, name: str) -> StudyLook:
        study = self._results.study(name)
        if study is None:
            raise HTTPException(404, "There is no such study in this folder of results.")
        return study.look()


def _criticals(look: StudyLook) -> list[str]:
    """Kinds of critical failure that attempts may show; runs of the suite have none."""
    return [ANY, *(one.value for one in CriticalFailure)] if look.plan.unit_word == "task" else []


def _pieces(file: BufferedReader, size_bytes: int) -> Iterator[bytes]:
    """A file's bytes, no more than were there when it was opened: it may grow meanwhile."""
    with file:
        left = size_bytes
        while left > 0 and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece


def _refused(request: Request, error: Exception) -> Response:
    status = 400 if isinstance(error, UsageError) else 422
    return page(request, "message.html", {"message": str(error)}, title="This cannot be shown", status=status)


def _not_there(request: Request, error: Exception) -> Response:
    found = error if isinstance(error, HTTPException) else HTTPException(404)
    said = {"message": found.detail}
    return page(request, "message.html", said, title="There is no such page", status=found.status_code)


def _fault(request: Request, error: Exception) -> Response:
    said = {"message": f"A fault of the harness: {type(error).__name__}"}
    return page(request, "message.html", said, title="This page failed", status=500)
