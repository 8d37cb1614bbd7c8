"""Failures of a model endpoint, by class, and what follows from each.

A failure of the service is never the model's: it is retried and, if it stays, spoils the attempt (`infra`).
What the model did (its context is full, a filter stopped it) is scored. Every class has a rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0


class FailureClass(StrEnum):
    """What went wrong with one request."""

    RATE_LIMITED = "rate-limited"
    """429."""
    OVERLOADED = "overloaded"
    """408, 409, 425 and every 5xx."""
    TRANSPORT = "transport"
    """No connection, or it broke before the reply began."""
    TIMED_OUT = "timed-out"
    """No complete reply within the time for one."""
    TRUNCATED = "truncated"
    """The reply's body ended early."""
    BROKEN_REPLY = "broken-reply"
    """Not JSON, too large, or without a usable choice."""
    QUOTA = "quota"
    """429 or 402, and waiting does not help: the account is out of credit."""
    CREDENTIALS = "credentials"
    """401, 403."""
    NOT_FOUND = "not-found"
    """404: the address or the model's name."""
    REJECTED = "rejected"
    """Any other answer that is not 200."""
    CONTEXT_FULL = "context-full"
    """The conversation no longer fits the model's window."""
    FILTERED = "filtered"
    """The provider's content filter refused the conversation."""


class Consequence(StrEnum):
    """What follows from a failure."""

    RETRY = "retry"
    """Send the same bytes again after a while; `infra` when the attempts are used up."""
    INFRA = "infra"
    """At once: sending it again would change nothing."""
    LIMIT = "limit"
    """The model's own limit: scored."""
    SCORED = "scored"
    """The model's own doing: scored as it stands."""


CONSEQUENCES = {
    FailureClass.RATE_LIMITED: Consequence.RETRY,
    FailureClass.OVERLOADED: Consequence.RETRY,
    FailureClass.TRANSPORT: Consequence.RETRY,
    FailureClass.TIMED_OUT: Consequence.RETRY,
    FailureClass.TRUNCATED: Consequence.RETRY,
    FailureClass.BROKEN_REPLY: Consequence.RETRY,
    FailureClass.QUOTA: Consequence.INFRA,
    FailureClass.CREDENTIALS: Consequence.INFRA,
    FailureClass.NOT_FOUND: Consequence.INFRA,
    FailureClass.REJECTED: Consequence.INFRA,
    FailureClass.CONTEXT_FULL: Consequence.LIMIT,
    FailureClass.FILTERED: Consequence.SCORED,
}

REMEDIES = {
    FailureClass.RATE_LIMITED: "wait, lower the concurrency (-n), or ask the provider for a higher rate",
    FailureClass.OVERLOADED: "try again later; the study resumes where it stopped",
    FailureClass.TRANSPORT: "check the address, the network and any proxy",
    FailureClass.TIMED_OUT: "raise request_timeout_s in agent.settings for slow models",
    FailureClass.TRUNCATED: "check proxies between here and the endpoint",
    FailureClass.BROKEN_REPLY: "check that the address speaks OpenAI's chat completions",
    FailureClass.QUOTA: "add credit to the provider's account, then resume",
    FailureClass.CREDENTIALS: "set the environment variable named by api_key_env to a valid key",
    FailureClass.NOT_FOUND: "check base_url (it ends before /chat/completions) and the model's name",
    FailureClass.REJECTED: "compare decoding and output_tokens_field with what the endpoint takes",
    FailureClass.CONTEXT_FULL: "a model with a larger window",
    FailureClass.FILTERED: "none: the provider's filter is part of the model under test",
}

_CONTEXT_PHRASES = (
    "context_length_exceeded",
    "context length",
    "context window",
    "maximum context",
    "prompt is too long",
    "exceeds the available context",
)
_FILTER_CODES = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed request."""

    kind: FailureClass
    detail: str
    """What was seen; may quote the provider."""
    retry_after_s: float | None = None

    @property
    def consequence(self) -> Consequence:
        """What follows."""
        return CONSEQUENCES[self.kind]

    @property
    def remedy(self) -> str:
        """What the reader can do."""
        return REMEDIES[self.kind]


def classify(status: int, headers: Mapping[str, str], body: bytes, *, now: datetime | None = None) -> Failure:
    """The failure that an answer other than 200 is.

    Args:
        status: the HTTP status.
        headers: with lower-case names, as httpx gives them.
        body: the answer's body, or its beginning.
        now: the current time, for a Retry-After that is a date.
    """
    message, codes = _error_of(body)
    detail = f"HTTP {status}" + (f": {message}" if message else "")
    return Failure(_kind(status, message.lower(), codes), detail, _retry_after_s(headers, now))


def _kind(status: int, message: str, codes: str) -> FailureClass:
    client_fault = status in {400, 413, 422}
    if client_fault and any(code in codes for code in _FILTER_CODES):
        return FailureClass.FILTERED
    if client_fault and any(phrase in codes or phrase in message for phrase in _CONTEXT_PHRASES):
        return FailureClass.CONTEXT_FULL
    if status == 402 or (status == 429 and any(code in codes for code in _QUOTA_CODES)):  # noqa: PLR2004
        return FailureClass.QUOTA
    match status:
        case 429:
            return FailureClass.RATE_LIMITED
        case 401 | 403:
            return FailureClass.CREDENTIALS
        case 404:
            return FailureClass.NOT_FOUND
        case 408 | 409 | 425:
            return FailureClass.OVERLOADED
        case _:
            return FailureClass.OVERLOADED if status >= 500 else FailureClass.REJECTED  # noqa: PLR2004


def _error_of(body: bytes) -> tuple[str, str]:
    """Message and lower-case codes of an error body; whatever it is, never an exception."""
    text = body[:2000].decode("utf-8", "replace").strip()
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return text[:500], ""
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(error, dict):
        return str(error)[:500], ""
    codes = " ".join(str(error.get(key, "")) for key in ("code", "type"))
    inner = error.get("innererror")
    if isinstance(inner, dict):
        codes += f" {inner.get('code', '')}"
    return str(error.get("message", text))[:500], codes.lower()


def _retry_after_s(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds to wait, from a Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _until_s(value, now)
    return seconds if 0 <= seconds < float("inf") else None


def _until_s(value: str, now: datetime | None) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if now is None:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def delay_s(failure: Failure, attempt: int, jitter: float) -> float:
    """How long to wait before the next attempt.

    What the provider asks for, else between half and the whole of a pause that doubles with each attempt
    (1 s, 2 s, 4 s ... 60 s), so that many runs do not return at the same moment.

    Args:
        failure: what happened.
        attempt: 1 for the first attempt.
        jitter: a random number from 0 to 1.
    """
    if failure.retry_after_s is not None:
        return failure.retry_after_s
    pause_s = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (attempt - 1))
    return pause_s * (0.5 + jitter / 2)
