"""The pages of one reviewer, as an application: addresses, what is sent to them, what they answer.

/                           progress and all packets
/packets/LABEL              a packet and its form; POST saves or submits it, and leads to a page
/packets/LABEL/draft        POST by the page's script: the same, answered in JSON
/packets/LABEL/files/N      one file of the diff, for what the packet's page leaves out
/lock  /guesses             what ends a review
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from esac_ag.errors import FormChanged, HarnessError
from esac_ag.pages.assets import assets
from esac_ag.pages.guard import MOST_FIELDS
from esac_ag.pages.query_numbers import whole_number
from esac_ag.pages.review_errors import explained, status_of
from esac_ag.pages.review_fields import read_fields
from esac_ag.pages.review_site import ReviewSite, revision
from esac_ag.pages.review_views import ReviewViews
from esac_ag.study.packets import Packet

Values = Mapping[str, str]
Reading = Callable[["ReviewPages", Request], Response]
Writing = Callable[["ReviewPages", Request, Values], Response]


def review_application(site: ReviewSite, csrf: str) -> Starlette:
    """The application, to be put behind a `Guard`.

    Args:
        site: of one reviewer.
        csrf: what the guard wants to see in whatever changes something.
    """
    pages = ReviewPages(site, ReviewViews(csrf))
    return Starlette(
        routes=[
            Route("/", _get(pages, ReviewPages.index)),
            Route("/packets/{label}", _get(pages, ReviewPages.packet)),
            Route("/packets/{label}", _post(pages, ReviewPages.save), methods=["POST"]),
            Route("/packets/{label}/draft", _post(pages, ReviewPages.draft), methods=["POST"]),
            Route("/packets/{label}/files/{number:int}", _get(pages, ReviewPages.file)),
            Route("/lock", _get(pages, ReviewPages.lock_page)),
            Route("/lock", _post(pages, ReviewPages.lock), methods=["POST"]),
            Route("/guesses", _get(pages, ReviewPages.guesses_page)),
            Route("/guesses", _post(pages, ReviewPages.guess), methods=["POST"]),
            assets(),
        ],
        exception_handlers={
            HarnessError: _handler(pages, ReviewPages.refused),
            HTTPException: _handler(pages, ReviewPages.not_found),
        },
    )


class ReviewPages:
    """What each address does, in a thread of its own."""

    def __init__(self, site: ReviewSite, views: ReviewViews) -> None:
        self._site = site
        self._views = views

    def index(self, request: Request) -> Response:
        """Progress, and all packets."""
        submitted = request.query_params.get("submitted", "")
        return self._page(request, "index.html", self._views.index(self._site, submitted))

    def packet(self, request: Request) -> Response:
        """A packet and its form; with `check`, what keeps the form from being submitted."""
        packet = self._packet(request)
        form = self._site.desk().form(packet.label)
        view = self._views.packet(self._site, packet, form, root=_root(request))
        view |= self._views.faults(self._site, form, packet, request.query_params.get("check", ""))
        return self._page(request, "packet.html", view | {"saved": "saved" in request.query_params})

    def file(self, request: Request) -> Response:
        """One file of a packet's diff, or a part of it."""
        packet = self._packet(request)
        number, start = request.path_params["number"], whole_number(request.query_params.get("from", "0"))
        if number >= len(packet.diff) or start is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return self._page(request, "file.html", self._views.file(packet, number, start))

    def save(self, request: Request, values: Values) -> Response:
        """Save a form, and submit it if that is what was pressed."""
        packet = self._packet(request)
        entered = read_fields(values, packet.label)
        here = f"{_root(request)}/packets/{packet.label}"
        try:
            keeps = "keeps-earlier" in values
            kept = self._site.save(entered, values.get("revision", ""), keeps_earlier=keeps)
            if values.get("do") == "submit" and not entered.contradicts_itself:
                # Of what was shown and nothing else: another tab may have saved since.
                lacks = bool(self._site.desk().submit(packet.label, of=revision(kept)))
                return _see(f"{here}?check=all" if lacks else f"{_root(request)}/?submitted={packet.label}")
        except FormChanged:
            saved = self._site.desk().form(packet.label)
            view = self._views.packet(self._site, packet, entered.form, root=_root(request))
            view |= {"theirs": saved, "revision": revision(saved)}
            return self._page(request, "packet.html", view, HTTPStatus.CONFLICT)
        if values.get("do") == "submit":
            return _see(f"{here}?check=contradiction")
        check = "&check=contradiction" if entered.contradicts_itself else ""
        return _see(f"{here}?saved{check}")

    def draft(self, request: Request, values: Values) -> Response:
        """Save a form for the page's script."""
        packet = self._packet(request)
        entered = read_fields(values, packet.label)
        saved = self._site.save(entered, values.get("revision", ""))
        lacking = len(self._site.desk().faults(packet.label))
        return JSONResponse(
            {
                "revision": revision(saved),
                "submitted": saved.submitted,
                "lacking": lacking,
                "contradicts": entered.contradicts_itself,
            }
        )

    def lock_page(self, request: Request) -> Response:
        """Whether the forms can be locked, and what that means."""
        return self._page(request, "lock.html", self._views.lock(self._site))

    def lock(self, request: Request, values: Values) -> Response:
        """Lock the forms after an explicit word."""
        if values.get("confirmed") != "yes":
            view = self._views.lock(self._site) | {"unconfirmed": True}
            return self._page(request, "lock.html", view, HTTPStatus.UNPROCESSABLE_ENTITY)
        self._site.lock()
        asks = self._site.closing().asks_guesses
        return _see(f"{_root(request)}/{'guesses' if asks else ''}")

    def guesses_page(self, request: Request) -> Response:
        """Which arm each packet is of, as far as the reviewer has an idea."""
        return self._page(request, "guesses.html", self._views.guesses(self._site))

    def guess(self, request: Request, values: Values) -> Response:
        """Record the guesses."""
        labels = [packet.label for packet in self._site.desk().book.packets]
        self._site.guess({label: values.get(f"arm-{label}") or None for label in labels})
        return _see(f"{_root(request)}/")

    def refused(self, request: Request, error: Exception) -> Response:
        """What an error of the harness says, as a page or for the script."""
        assert isinstance(error, HarnessError)  # noqa: S101  (what it is registered for)
        parts = explained(error, self._site.reviewer)
        if request.url.path.endswith("/draft"):
            changed = isinstance(error, FormChanged)
            return JSONResponse({"problem": error.what, "changed": changed}, status_of(error))
        view = {"title": "This was not done", "parts": parts}
        return self._page(request, "problem.html", view, status_of(error))

    def not_found(self, request: Request, error: Exception) -> Response:
        """What is not there."""
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        parts = [("what", "There is no such page, or nothing is done that way here.")]
        return self._page(request, "problem.html", {"title": "Not found", "parts": parts}, status)

    def failed(self, request: Request, error: Exception) -> Response:
        """A fault that nobody foresaw; of it only the kind is told."""
        parts = [
            ("what", f"The harness failed: {type(error).__name__}."),
            ("remedy", "Forms that were saved are kept. Try again, and report it if it happens again."),
        ]
        view = {"title": "This failed", "parts": parts}
        return self._page(request, "problem.html", view, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _packet(self, request: Request) -> Packet:
        label = request.path_params["label"]
        found = next((one for one in self._site.desk().book.packets if one.label == label), None)
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return found

    def _page(
        self, request: Request, template: str, view: Mapping[str, object], status: int = HTTPStatus.OK
    ) -> Response:
        shown = self._views.render(template, view, root=_root(request), reviewer=self._site.reviewer)
        return HTMLResponse(shown, status)


def _get(pages: ReviewPages, reading: Reading) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_answer, pages, request, lambda: reading(pages, request))

    return endpoint


def _post(pages: ReviewPages, writing: Writing) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        values = _values(await request.body())
        return await run_in_threadpool(_answer, pages, request, lambda: writing(pages, request, values))

    return endpoint


def _answer(pages: ReviewPages, request: Request, work: Callable[[], Response]) -> Response:
    try:
        return work()
    except (HarnessError, HTTPException):
        raise
    except Exception as error:  # noqa: BLE001  (the server would end the connection and say nothing)
        return pages.failed(request, error)


def _handler(
    pages: ReviewPages, telling: Callable[[ReviewPages, Request, Exception], Response]
) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return await run_in_threadpool(telling, pages, request, error)

    return handler


def _values(body: bytes) -> dict[str, str]:
    """The fields of a form; of those that are there twice, the last."""
    text = body.decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="replace"))
    except ValueError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from error


def _root(request: Request) -> str:
    return str(request.scope["root_path"])


def _see(address: str) -> RedirectResponse:
    return RedirectResponse(address, HTTPStatus.SEE_OTHER)
