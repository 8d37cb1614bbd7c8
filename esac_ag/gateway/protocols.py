"""The three protocols that the gateway speaks: where they live, what errors look like, which headers pass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from http import HTTPStatus

from esac_ag.canonical import JsonRefused, loads_strict


class Protocol(StrEnum):
    """What an agent and its model speak."""

    CHAT = "chat-completions"
    """OpenAI chat completions."""
    RESPONSES = "responses"
    """OpenAI Responses."""
    MESSAGES = "messages"
    """Anthropic Messages."""


PATHS = {
    Protocol.CHAT: "/v1/chat/completions",
    Protocol.RESPONSES: "/v1/responses",
    Protocol.MESSAGES: "/v1/messages",
}
"""The only path of each protocol that is forwarded, as the agent asks for it."""

ENDPOINTS = {
    Protocol.CHAT: "/chat/completions",
    Protocol.RESPONSES: "/responses",
    Protocol.MESSAGES: "/messages",
}
"""What follows the provider's base address."""

QUERIES = {
    Protocol.CHAT: frozenset({""}),
    Protocol.RESPONSES: frozenset({""}),
    Protocol.MESSAGES: frozenset({"", "beta=true"}),
}
"""Query strings that are forwarded."""


class KeyHeader(StrEnum):
    """How the real key is sent to the provider."""

    BEARER = "authorization"
    """`Authorization: Bearer`."""
    X_API_KEY = "x-api-key"


KEY_HEADERS = {
    Protocol.CHAT: KeyHeader.BEARER,
    Protocol.RESPONSES: KeyHeader.BEARER,
    Protocol.MESSAGES: KeyHeader.X_API_KEY,
}
"""What each protocol's own provider expects."""

_ASKED_HEADERS = ("accept", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent")
_ACCEPTED = frozenset({"*/*", "application/json", "text/event-stream"})
LONGEST_HEADER = 2000
"""Characters of one of the agent's headers that reaches the provider."""
_PROVIDER_SIDE_BETAS = ("mcp-client", "code-execution", "files-api", "web-fetch", "web-search", "skills")
"""Anthropic's opt-ins to what runs or lies at the provider."""
_GIVEN_HEADERS = frozenset(
    {
        "content-type",
        "openai-processing-ms",
        "openai-version",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-request-id",
        "x-should-retry",
    }
)
_GIVEN_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-")
NO_RETRY = ("x-should-retry", "false")
"""Tells the providers' client libraries that asking again changes nothing."""


def spoken_at(path: str) -> Protocol | None:
    """The protocol whose path it is."""
    return next((protocol for protocol, known in PATHS.items() if known == path), None)


def headers_to_provider(
    asked: Mapping[str, str], protocol: Protocol, header: KeyHeader, key: str
) -> list[tuple[str, str]]:
    """The headers of a forwarded request: a few of the agent's, ours, and the real key.

    Args:
        asked: the agent's headers, by lower-case name.
        protocol: what is spoken.
        header: how the key is sent.
        key: the key; empty for an endpoint that needs none.
    """
    kept = {
        name: value for name in _ASKED_HEADERS if (value := asked.get(name, "")) and _may_be_sent(name, value)
    }
    if "anthropic-beta" in kept:
        wanted = [beta.strip() for beta in kept["anthropic-beta"].split(",")]
        kept["anthropic-beta"] = ",".join(
            beta for beta in wanted if not beta.startswith(_PROVIDER_SIDE_BETAS)
        )
    if protocol is Protocol.MESSAGES:
        kept.setdefault("anthropic-version", "2023-06-01")
    kept |= {"content-type": "application/json", "accept-encoding": "identity"}
    if key:
        kept[header.value] = f"Bearer {key}" if header is KeyHeader.BEARER else key
    return [(name, value) for name, value in kept.items() if value]


def _may_be_sent(name: str, value: str) -> bool:
    """Whether no server is led to an answer that looks like its own failure; others are left out."""
    plain = value.isascii() and value.isprintable() and len(value) <= LONGEST_HEADER
    return plain and (name != "accept" or _ACCEPTED.issuperset(part.strip() for part in value.split(",")))


def headers_to_agent(given: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of a provider's headers that an agent needs: no cookies, no account, nothing hop-by-hop."""
    lowered = [(name.lower(), value) for name, value in given]
    return [
        (name, value) for name, value in lowered if name in _GIVEN_HEADERS or name.startswith(_GIVEN_PREFIXES)
    ]


_MESSAGES_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
    HTTPStatus.GATEWAY_TIMEOUT: "timeout_error",
}


def error_body(protocol: Protocol, status: int, code: str, message: str) -> bytes:
    """An error as the protocol's clients expect it."""
    server_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    match protocol:
        case Protocol.MESSAGES:
            kind = _MESSAGES_TYPES.get(
                HTTPStatus(status), "api_error" if server_fault else "invalid_request_error"
            )
            body: object = {"type": "error", "error": {"type": kind, "message": f"{message} ({code})"}}
        case Protocol.CHAT | Protocol.RESPONSES:
            kind = "server_error" if server_fault else "invalid_request_error"
            body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return json.dumps(body).encode()


def parsed(data: bytes) -> object:
    """A provider's JSON; none for what is not JSON, nested too deeply, or ambiguous."""
    try:
        return loads_strict(data)
    except (JsonRefused, ValueError, RecursionError):
        return None
