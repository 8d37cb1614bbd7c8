"""Failures of a model endpoint, by class, and what follows from each.

A failure of the service is never the model's: it is retried and, if it stays, spoils the attempt (`infra`).
Gateways tell of many of them with status 200, in the body (`told_in_reply`).
What the model did (its context is full, a filter stopped it) is scored. Every class has a rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from pydantic import JsonValue

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
    """Not JSON, too large, without a usable choice, or said to have failed without a reason that we know."""
    QUOTA = "quota"
    """429, 402 or 400, and waiting does not help: the account is out of credit."""
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

LASTING = frozenset({FailureClass.CREDENTIALS})
"""Failures of the service that another launch meets again, until a person changes something here."""

_KEPT = "a sealed plan keeps it, so start a new run where it has to be another"
_BOTH_KEPT = "a sealed plan keeps both, so start a new run with the right ones"

REMEDIES = {
    FailureClass.RATE_LIMITED: "wait, lower the concurrency (-n), or ask the provider for a higher rate",
    FailureClass.OVERLOADED: "try again later; what is done is not done again",
    FailureClass.TRANSPORT: "check the network, any proxy and the address (--base-url, --judge-base-url); "
    + _KEPT,
    FailureClass.TIMED_OUT: "raise request_timeout_s in agent.settings for slow models",
    FailureClass.TRUNCATED: "check proxies between here and the endpoint",
    FailureClass.BROKEN_REPLY: "check that the address (--base-url, --judge-base-url) speaks "
    "OpenAI's chat completions; " + _KEPT,
    FailureClass.QUOTA: "add credit to the provider's account, then resume",
    FailureClass.CREDENTIALS: "set the environment variable of the key (OPENAI_API_KEY, or the one that "
    "--api-key-env or agent.settings.api_key_env named) to a valid key, then resume",
    FailureClass.NOT_FOUND: "check the address (--base-url, or agent.settings.base_url; it ends before "
    "/chat/completions) and the model's name (-m); " + _BOTH_KEPT,
    FailureClass.REJECTED: "compare what is sent with what the endpoint takes; --provider-decoding or "
    "--setting output_tokens_field=max_completion_tokens may help (in a study model.decoding and "
    "agent.settings); " + _BOTH_KEPT,
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
_QUOTA_BEGINNING = "your credit balance is too low"
"""How Anthropic says it, with status 400; only a beginning counts: messages may quote what was asked."""
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")
_STATUS_OF_CODE = {
    **dict.fromkeys(_FILTER_CODES, 400),
    **dict.fromkeys(_QUOTA_CODES, 429),
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "service_unavailable": 503,
    "overloaded_error": 503,
}
"""The status that an error's name stands for, where the error brings no number."""
_ERROR_STATUSES = range(400, 600)


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
    def is_lasting(self) -> bool:
        """Whether another launch would meet it again."""
        return self.kind in LASTING

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


def told_in_reply(error: JsonValue, headers: Mapping[str, str], *, now: datetime | None = None) -> Failure:
    """The failure that an answer with status 200 tells of in its body.

    Args:
        error: what stands in the body's or the choice's `error`.
        headers: with lower-case names.
        now: the current time, for a Retry-After that is a date.
    """
    message, codes = _facts_of(error, "")
    told = f"an error within a reply: {message or codes or 'without a reason'}"
    status = _told_status(error)
    if status is None:
        return Failure(FailureClass.BROKEN_REPLY, told)
    return Failure(_kind(status, message.lower(), codes), f"{status} as {told}", _retry_after_s(headers, now))


def _told_status(error: JsonValue) -> int | None:
    """The HTTP status that an error within a reply stands for; none where it names none that we know."""
    facts = error if isinstance(error, dict) else {"code": error}
    for key in ("code", "status", "type"):
        value = facts.get(key)
        if isinstance(value, str):
            known = _STATUS_OF_CODE.get(value.lower())
            value = int(value) if value.isascii() and value.isdigit() and len(value) == len("500") else known
        if isinstance(value, int) and value in _ERROR_STATUSES:
            return value
    return None


def _kind(status: int, message: str, codes: str) -> FailureClass:
    client_fault = status in {400, 413, 422}
    if client_fault and any(code in codes for code in _FILTER_CODES):
        return FailureClass.FILTERED
    if client_fault and any(phrase in codes or phrase in message for phrase in _CONTEXT_PHRASES):
        return FailureClass.CONTEXT_FULL
    if client_fault and message.startswith(_QUOTA_BEGINNING):
        return FailureClass.QUOTA
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
    return _facts_of(parsed.get("error", parsed) if isinstance(parsed, dict) else parsed, text)


def _facts_of(error: JsonValue, text: str) -> tuple[str, str]:
    """Message and lower-case codes of an error; `text` where it has no message."""
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
