"""Usage in our fields, from what a provider writes on the wire.

OpenAI's input counts include what was read from a cache; Anthropic's `input_tokens` leave out what was read
from and written to one. Ours include everything. A count that is absent or impossible is unknown, never zero.
"""

from __future__ import annotations

from esac_ag.attempt import Usage

MOST_TOKENS = 10**12
"""Counts beyond are no counts."""


def chat_usage(raw: object, *, wrote: bool = False) -> Usage:
    """Usage of one call, from a chat completion's `usage`.

    Args:
        raw: what the endpoint told.
        wrote: whether the reply is known to hold text or a call, for which no output tokens are impossible.
    """
    usage = raw if isinstance(raw, dict) else {}
    found = _inclusive(
        usage.get("prompt_tokens"),
        usage.get("prompt_tokens_details"),
        usage.get("completion_tokens"),
        usage.get("completion_tokens_details"),
    )
    if wrote and found.output_tokens == 0:
        return found.model_copy(update={"output_tokens": None, "reasoning_tokens": None})
    return found


def responses_usage(raw: object) -> Usage:
    """Usage of one call, from a response's `usage` (OpenAI Responses)."""
    usage = raw if isinstance(raw, dict) else {}
    return _inclusive(
        usage.get("input_tokens"),
        usage.get("input_tokens_details"),
        usage.get("output_tokens"),
        usage.get("output_tokens_details"),
    )


def messages_usage(raw: object) -> Usage:
    """Usage of one call, from a message's `usage` (Anthropic Messages).

    A server that tells of no cache has none: its input is what it says. Thinking is part of the output.
    """
    usage = raw if isinstance(raw, dict) else {}
    fresh = _count(usage.get("input_tokens"))
    cached = _count(usage.get("cache_read_input_tokens"))
    written = _count(usage.get("cache_creation_input_tokens"))
    return Usage(
        model_calls=1,
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_count(usage.get("output_tokens")),
    )


def _inclusive(raw_input: object, input_parts: object, raw_output: object, output_parts: object) -> Usage:
    # No request is read without a token.
    input_tokens, output_tokens = _count(raw_input) or None, _count(raw_output)
    return Usage(
        model_calls=1,
        input_tokens=input_tokens,
        cached_input_tokens=_part(input_parts, "cached_tokens", input_tokens),
        cache_write_tokens=_part(input_parts, "cache_write_tokens", input_tokens),
        output_tokens=output_tokens,
        reasoning_tokens=_part(output_parts, "reasoning_tokens", output_tokens),
    )


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
        return value
    return None


def _part(details: object, name: str, whole: int | None) -> int | None:
    """A part of a count; a part that is larger than the whole is no count."""
    part = _count(details.get(name)) if isinstance(details, dict) else None
    return part if part is not None and whole is not None and part <= whole else None
