"""Frozen records of calls that went through the gateway, and of how a lane ended."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple

from pydantic import Field, JsonValue

from esac_ag.attempt import Count, LimitKind, Outcome, Usage
from esac_ag.failures import FailureClass
from esac_ag.gateway.protocols import Protocol
from esac_ag.record import Record, Sha256


class CallOutcome(StrEnum):
    """What became of one call."""

    ANSWERED = "answered"
    """A whole reply of the model reached the agent."""
    REFUSED = "refused"
    """By the gateway: nothing was sent to the provider."""
    OWN_FAULT = "own-fault"
    """The provider refused what was asked: a bad request, a full context, its content filter."""
    SERVICE_FAILED = "service-failed"
    """No connection, 401, 403, 404, 429, 5xx, silence, a broken or cut reply."""
    HUNG_UP = "hung-up"
    """The agent went away before the reply was whole."""
    CLOSED = "closed"
    """The lane was closed while the call was under way."""


class Standing(StrEnum):
    """What a lane's last call says about the attempt."""

    CLEAR = "clear"
    INFRA = "infra"
    """If no later call was better, the service spoiled the attempt."""
    SILENT = "silent"
    """Nothing: an earlier call decides."""


class CallRule(NamedTuple):
    """What follows from a call's outcome."""

    spends: bool
    """Whether it counts as a call, and its tokens belong to the sum: if they are unknown, so is the sum."""
    standing: Standing


CALL_RULES = {
    CallOutcome.ANSWERED: CallRule(spends=True, standing=Standing.CLEAR),
    CallOutcome.REFUSED: CallRule(spends=False, standing=Standing.SILENT),
    CallOutcome.OWN_FAULT: CallRule(spends=True, standing=Standing.CLEAR),
    # Lost on the way: not known, not in the sum, counted as `lost_replies`.
    CallOutcome.SERVICE_FAILED: CallRule(spends=False, standing=Standing.INFRA),
    CallOutcome.HUNG_UP: CallRule(spends=True, standing=Standing.CLEAR),
    CallOutcome.CLOSED: CallRule(spends=False, standing=Standing.SILENT),
}


class Refusal(StrEnum):
    """Why the gateway refused a call."""

    TOKEN = "unknown_token"  # noqa: S105  (a reason)
    PATH = "path_not_listed"
    METHOD = "method_not_listed"
    QUERY = "query_not_listed"
    MODEL = "model_not_allowed"
    BODY = "body_not_readable"
    TOO_LARGE = "request_too_large"
    SLOW = "request_too_slow"
    PROVIDER_TOOL = "provider_side_tool"
    PROVIDER_STATE = "provider_side_state"
    """Conversations, files or prompts that lie at the provider, and addresses that it would read."""
    BUDGET = "budget_used_up"
    UNMETERED = "budget_not_enforceable"
    CROWDED = "too_many_calls_at_once"
    CLOSED = "attempt_is_over"


STATUSES = {
    Refusal.TOKEN: HTTPStatus.UNAUTHORIZED,
    Refusal.PATH: HTTPStatus.NOT_FOUND,
    Refusal.METHOD: HTTPStatus.METHOD_NOT_ALLOWED,
    Refusal.QUERY: HTTPStatus.BAD_REQUEST,
    Refusal.MODEL: HTTPStatus.NOT_FOUND,
    Refusal.BODY: HTTPStatus.BAD_REQUEST,
    Refusal.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Refusal.SLOW: HTTPStatus.REQUEST_TIMEOUT,
    Refusal.PROVIDER_TOOL: HTTPStatus.BAD_REQUEST,
    Refusal.PROVIDER_STATE: HTTPStatus.BAD_REQUEST,
    # No 429: agents wait and ask again after that, and this budget does not come back.
    Refusal.BUDGET: HTTPStatus.BAD_REQUEST,
    Refusal.UNMETERED: HTTPStatus.BAD_REQUEST,
    Refusal.CROWDED: HTTPStatus.TOO_MANY_REQUESTS,
    Refusal.CLOSED: HTTPStatus.FORBIDDEN,
}


def shown(text: str, most: int = 200) -> str:
    """The beginning of a text that a stranger wrote, as UTF-8 can hold it."""
    return text[:most].encode("utf-8", "replace").decode("utf-8")


class CallRefused(Exception):
    """Internal: the gateway refuses a call; the text is shown to the agent and recorded."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(message)
        self.refusal = refusal
        self.message = message


class CallRecord(Record):
    """One call (a line of `calls.jsonl`); what is null is unknown or does not apply."""

    number: Count
    """From 1, in the order of arrival; 0 for a caller without a lane."""
    time: str
    """When it arrived."""
    method: str
    path: str
    protocol: Protocol | None
    """Of the lane; null for a caller without one."""
    outcome: CallOutcome
    refusal: Refusal | None = None
    failure: FailureClass | None = None
    """Class of a failure that the provider told of or caused."""
    detail: str = ""
    """What was seen, redacted; may quote the provider."""
    status: int | None = None
    """HTTP status that the agent was given; null when it was given none."""
    latency_s: float
    """From the call's arrival to its end."""
    first_token_s: float | None = None
    """From the call's arrival to the first event that carries output; null when not streamed."""
    streamed: bool = False
    sends: Count = 1
    """How often it was sent to the provider: more than once when the service failed in a way that passes."""
    model: str | None = None
    """As the agent asked."""
    answered_by: str | None = None
    """As the provider says."""
    decoding: dict[str, JsonValue] = Field(default_factory=dict)
    """Decoding fields as they were sent to the provider."""
    changes: tuple[str, ...] = ()
    """What the gateway changed in the request."""
    usage: Usage = Usage()
    """Of this call, from the wire."""
    request_sha256: Sha256 | None = None
    """Of the body as sent to the provider; as received when it was refused."""
    request_bytes: Count | None = None
    reply_sha256: Sha256 | None = None
    """Of the body as given to the agent."""
    reply_bytes: Count | None = None
    request_file: str | None = None
    reply_file: str | None = None
    """Compressed bodies, beside `calls.jsonl`."""


class EndingKind(StrEnum):
    """How a lane ended."""

    CLEAR = "clear"
    """Nothing in the calls decides the attempt: what the agent did does."""
    LIMIT = "limit"
    """The agent asked for more than a budget holds, or its conversation no longer fits the model."""
    UNMETERED = "unmetered"
    """The provider does not tell the usage that a budget is counted in."""
    HUNG_UP = "hung-up"
    """The agent went away from a reply before its usage came, under a budget that is counted in it."""
    INFRA = "infra"
    """The service failed, and no later call was answered."""


ENDING_OUTCOMES: dict[EndingKind, Outcome | None] = {
    EndingKind.CLEAR: None,
    EndingKind.LIMIT: Outcome.LIMIT,
    EndingKind.UNMETERED: Outcome.INFRA,
    EndingKind.HUNG_UP: Outcome.AGENT_ERROR,
    EndingKind.INFRA: Outcome.INFRA,
}
"""What an ending makes of the attempt; null leaves it to the agent's own end."""


class LaneEnding(Record):
    """How a lane ended, and why."""

    kind: EndingKind
    limit: LimitKind | None = None
    """The budget that was used up, or that could not be enforced."""
    failure: FailureClass | None = None
    reason: str = ""

    @property
    def outcome(self) -> Outcome | None:
        """What it makes of the attempt; null leaves it to the agent's own end."""
        return ENDING_OUTCOMES[self.kind]


class LaneSummary(Record):
    """Everything that one attempt asked of its model."""

    attempt_id: str
    calls: tuple[CallRecord, ...]
    """In the order of their ends."""
    calls_left_out: Count
    """Refused calls beyond the most that are recorded."""
    usage: Usage
    """Sum over the calls that count; unknown until one was answered."""
    cost: float | None
    """In the price table's currency; null when unavailable."""
    lost_replies: Count
    """Replies that began and broke off on the provider's side: their tokens are not known, not in the sum."""
    bodies_complete: bool
    """Whether the body of every forwarded call was kept in full."""
    ending: LaneEnding
