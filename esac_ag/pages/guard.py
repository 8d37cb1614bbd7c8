"""What stands before every local page: who may ask at all, and what a browser may do with the answer.

A page on loopback can be reached by every program and every web site that this machine's browser has open.
So each request has to name our own address (against DNS rebinding), to know a random token, which is the
first part of every path, and, if it changes anything, to come from our own page (`Origin`, and a second
secret in the form or in a header). Nothing of a page is kept, framed or sent elsewhere by a browser.

Sources: OWASP Cheat Sheets "Cross-Site Request Forgery Prevention" and "Content Security Policy".
"""

from __future__ import annotations

import hmac
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from esac_ag import clock

LOOPBACK: Final = "127.0.0.1"
MOST_BODY_BYTES: Final = 1024 * 1024
MOST_FIELDS: Final = 10_000
CSRF_FIELD: Final = "csrf"
CSRF_HEADER: Final = "x-csrf"

_READING: Final = frozenset({"GET", "HEAD"})
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not `no-referrer`: a browser would then send our own forms with the origin `null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Secrets:
    """What a server's own pages know, and nobody else. New for each server."""

    def __init__(self) -> None:
        self.token = clock.secret_text()
        """First part of every path."""
        self.csrf = clock.secret_text()
        """Sent by our pages with whatever changes something: field `csrf`, or header `x-csrf`."""


class Guard:
    """Lets the requests of our own pages through to an application, without the token in their path.

    Refused are: another `Host` (421), an unknown token (404), a change from elsewhere (403), a method that
    no page uses (405), a body of more than 1 MiB (413).

    Args:
        application: knows the rest of the path; its `root_path` is the token's part, so `url_for` works.
        secrets: of this server.
        port: that is served on loopback.
        reads_only: whether nothing may be changed at all.
    """

    def __init__(
        self, application: ASGIApp, secrets: Secrets, port: int, *, reads_only: bool = False
    ) -> None:
        self._application = application
        self._secrets = secrets
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}
        self._reads_only = reads_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        if scope["type"] != "http":
            return
        guarded = _guarded(send)
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and scope["method"] not in _READING:
            body = await _body(receive, headers)
            if body is None:
                refusal = PlainTextResponse("This is more than a page sends.", 413)
            elif not self._is_ours(headers, body):
                refusal = PlainTextResponse("This did not come from a page of this server.", 403)
            else:
                receive = _again(body)
        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        root = f"/{self._secrets.token}"
        await self._application({**scope, "root_path": root}, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        if headers.getlist("host")[:2] != [headers.get("host")] or headers["host"] not in self._hosts:
            return PlainTextResponse("No page is served under that name.", 421)
        token = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        if not _same(token, self._secrets.token):
            return PlainTextResponse("There is no such page: open the address that was printed.", 404)
        if scope["method"] not in _READING and (self._reads_only or scope["method"] != "POST"):
            return PlainTextResponse("Nothing is done that way here.", 405)
        return None

    def _is_ours(self, headers: Headers, body: bytes) -> bool:
        if headers.get("origin") != f"http://{headers['host']}":
            return False
        given = headers.get(CSRF_HEADER)
        if given is None and headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            with suppress(ValueError):  # more fields than any page has
                fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
                given = fields.get(CSRF_FIELD, [""])[0]
        return given is not None and _same(given, self._secrets.csrf)


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def _guarded(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


async def _body(receive: Receive, headers: Headers) -> bytes | None:
    """The whole body; none when it is too long, of which no more than the bound is read."""
    if int(headers.get("content-length", "0") or "0") > MOST_BODY_BYTES:
        return None
    parts = bytearray()
    while True:
        message = await receive()
        parts += message.get("body", b"")
        if len(parts) > MOST_BODY_BYTES:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(parts)


def _again(body: bytes) -> Receive:
    """A body that was read already, to be read once more."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
