"""Which failure of an endpoint an agent's own words tell of.

Agents seldom pass the status on, and each has its own words; a failure that none of these words tell is
`rejected`, which spoils the attempt and is never scored.
"""

from __future__ import annotations

import json
import re

from esac_ag.failures import Failure, FailureClass, classify

MOST_READ_CHARS = 10_000
MOST_DETAIL_CHARS = 500
_STATUS = re.compile(r"(?:status:?|API Error:|rejected \()\s*([1-5]\d\d)\b")
_WORDS: tuple[tuple[FailureClass, tuple[str, ...]], ...] = (
    (FailureClass.QUOTA, ("quota", "billing details", "credit balance")),
    (FailureClass.TRANSPORT, ("error sending request", "connection", "connect to api", "econn", "socket")),
    (FailureClass.TRUNCATED, ("stream disconnected", "stream closed", "stream_truncated")),
    (FailureClass.TIMED_OUT, ("timed out", "timeout")),
    (FailureClass.OVERLOADED, ("overloaded", "at capacity", "high demand", "internal server error")),
    (FailureClass.BROKEN_REPLY, ("malformed response",)),
    (FailureClass.RATE_LIMITED, ("rate limit", "too many requests")),
    (FailureClass.CREDENTIALS, ("api key", "authenticat", "unauthorized", "forbidden")),
    (FailureClass.NOT_FOUND, ("no such model", "model not found", "does not exist")),
)
"""Looked for in this order, in lower case."""


def failure_of(text: str, *, status: int | None = None, codes: str = "") -> Failure:
    """The failure that a notice tells of.

    Args:
        text: the agent's words, or an error body that it passed on.
        status: the HTTP status, where the agent tells it apart.
        codes: names of the error, where the agent tells them apart.
    """
    text = text[:MOST_READ_CHARS]
    found = _STATUS.search(text)
    if status is None and found is not None:
        status = int(found[1])
    body = text if text.startswith("{") else json.dumps({"error": {"message": text, "code": codes}})
    by_status = classify(status or 400, {}, body.encode())
    worded = _worded(f"{text} {codes}".lower())
    kind = by_status.kind
    if kind is FailureClass.REJECTED and status is None and worded is not None:
        kind = worded
    if kind is FailureClass.RATE_LIMITED and worded is FailureClass.QUOTA:
        kind = worded
    return Failure(kind, " ".join(text.split())[:MOST_DETAIL_CHARS] or f"HTTP {status}")


def _worded(text: str) -> FailureClass | None:
    return next((kind for kind, words in _WORDS if any(word in text for word in words)), None)
