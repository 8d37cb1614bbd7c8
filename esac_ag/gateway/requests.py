"""Reading a request from an agent, and making of it what may be sent to the provider.

Pure: bytes in, bytes out. What needs no change is sent byte for byte as it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from pydantic import JsonValue

from esac_ag.canonical import loads_strict
from esac_ag.gateway.calls import CallRefused, Refusal, shown
from esac_ag.gateway.plans import LanePlan, ProviderTools
from esac_ag.gateway.protocols import Protocol
from esac_ag.gateway.provider_tools import (
    DROPPED_FIELDS,
    PROVIDER_FIELDS,
    STATE_FIELDS,
    Body,
    name_of,
    outside_reference,
    runs_at_the_provider,
)

DECODING_FIELDS = {
    Protocol.CHAT: (
        "temperature",
        "top_p",
        "seed",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
    ),
    Protocol.RESPONSES: ("temperature", "top_p", "max_output_tokens", "reasoning"),
    Protocol.MESSAGES: ("temperature", "top_p", "top_k", "max_tokens", "thinking", "output_config"),
}
CAP_FIELDS = {
    Protocol.CHAT: ("max_completion_tokens", "max_tokens"),
    Protocol.RESPONSES: ("max_output_tokens",),
    Protocol.MESSAGES: ("max_tokens",),
}
"""Fields that cap a reply; the last one is used when the agent sent none."""
CONVERSATIONS = ("messages", "input", "system", "instructions")
LONGEST_SHOWN = 100
MOST_PARTS = 2_000_000
"""Brackets and commas, those in texts too: of small values a body takes 25 times its size when it is read."""
MOST_EXACT = 2**53 - 1
"""Larger numbers have no exact form in JSON."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that may be sent."""

    body: bytes
    model: str
    streamed: bool
    decoding: dict[str, JsonValue]
    changes: tuple[str, ...]


def prepare(data: bytes, plan: LanePlan) -> Prepared:
    """Check a request against the plan, and change what the plan fixes.

    Args:
        data: the body as the agent sent it.
        plan: the lane's rules.

    Raises:
        CallRefused: it is no request, asks for another model, or for what lies at the provider.
    """
    body = _read(data)
    model = _allowed_model(body, plan)
    if not isinstance(body.get("stream", False), bool | None):
        # Lenient servers stream for 1 or "yes" too, and would not be asked for the usage.
        raise CallRefused(Refusal.BODY, "the field stream is neither true nor false")
    for name in STATE_FIELDS[plan.protocol]:
        if body.get(name):
            raise CallRefused(Refusal.PROVIDER_STATE, f"the field {name} refers to what lies at the provider")
    for name in CONVERSATIONS:
        found = outside_reference(body.get(name))
        if found is not None:
            what = f"{name} holds a {found}, which the provider would have to fetch"
            raise CallRefused(Refusal.PROVIDER_STATE, what)
    changes = [*_keep_tools_at_home(body, plan), *_drop_fields(body, plan), *_fix_decoding(body, plan)]
    streamed = body.get("stream") is True
    if streamed and plan.protocol is Protocol.CHAT:
        changes += _ask_for_usage(body)
    return Prepared(
        body=_written(body) if changes else data,
        model=model,
        streamed=streamed,
        decoding={
            name: _in_short(body[name])
            for name in DECODING_FIELDS[plan.protocol]
            if body.get(name) is not None
        },
        changes=tuple(changes),
    )


def _read(data: bytes) -> Body:
    if sum(map(data.count, (b"{", b"[", b","))) > MOST_PARTS:
        raise CallRefused(Refusal.TOO_LARGE, f"a request may have {MOST_PARTS} brackets and commas")
    try:
        body: object = loads_strict(data)
    except (ValueError, RecursionError) as error:
        raise CallRefused(Refusal.BODY, "the body is not readable as unambiguous JSON") from error
    if not isinstance(body, dict):
        raise CallRefused(Refusal.BODY, "the body is no JSON object")
    return body


def _written(body: Body) -> bytes:
    try:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise CallRefused(Refusal.BODY, "the body holds a number that JSON cannot hold") from error


def _allowed_model(body: Body, plan: LanePlan) -> str:
    model = body.get("model")
    if model != plan.model:
        asked = model[:LONGEST_SHOWN] if isinstance(model, str) else "none"
        raise CallRefused(Refusal.MODEL, f"model {asked!r} is not the one under test, {plan.model!r}")
    return plan.model


def _keep_tools_at_home(body: Body, plan: LanePlan) -> list[str]:
    """Take out tools and fields of the provider's side, or refuse them."""
    tools = body.get("tools")
    listed = tools if isinstance(tools, list) else []
    foreign = [tool for tool in listed if runs_at_the_provider(tool, plan.protocol)]
    fields = [name for name in PROVIDER_FIELDS[plan.protocol] if body.get(name)]
    names = [*(f"tool {name_of(tool)}" for tool in foreign), *(f"field {name}" for name in fields)]
    if not names:
        return []
    match plan.provider_tools:
        case ProviderTools.REFUSE:
            raise CallRefused(
                Refusal.PROVIDER_TOOL, f"not offered in this measurement: {', '.join(names)[:1000]}"
            )
        case ProviderTools.STRIP:
            for name in fields:
                del body[name]
            if foreign:
                _strip(body, plan.protocol, listed, foreign)
            return [f"{name} taken out" for name in names]
        case _:
            assert_never(plan.provider_tools)


def _strip(body: Body, protocol: Protocol, listed: list[object], foreign: list[object]) -> None:
    body["tools"] = kept = [tool for tool in listed if not runs_at_the_provider(tool, protocol)]
    choice = body.get("tool_choice")
    gone = {name for tool in foreign for name in _names_in(tool)}
    forced = bool(gone.intersection(_names_in(choice)))
    if forced or not kept:
        body.pop("tool_choice", None)
    if not kept:
        del body["tools"]


def _names_in(tool: object) -> Iterator[str]:
    """Type and name of a tool, or of what a choice forces; whatever else stands there names nothing."""
    if isinstance(tool, dict):
        yield from (value for name in ("type", "name") if isinstance(value := tool.get(name), str))


def _drop_fields(body: Body, plan: LanePlan) -> list[str]:
    dropped = [name for name in DROPPED_FIELDS[plan.protocol] if name in body]
    for name in dropped:
        del body[name]
    return [f"field {name} taken out" for name in dropped]


def _fix_decoding(body: Body, plan: LanePlan) -> list[str]:
    wanted: Body = {"temperature": plan.decoding.temperature, "top_p": plan.decoding.top_p}
    if plan.protocol is Protocol.CHAT:
        wanted["seed"] = plan.decoding.seed
    if plan.reasoning is not None:
        wanted |= _reasoning(body, plan.protocol, plan.reasoning)
    if plan.decoding.max_output_tokens is not None:
        wanted |= _cap(body, plan.protocol, plan.decoding.max_output_tokens)
    changed = [name for name, value in wanted.items() if value is not None and body.get(name) != value]
    for name in changed:
        body[name] = wanted[name]
    return [f"{name} set by the plan" for name in changed]


def _reasoning(body: Body, protocol: Protocol, effort: str) -> Body:
    match protocol:
        case Protocol.CHAT:
            return {"reasoning_effort": effort}
        case Protocol.RESPONSES:
            return {"reasoning": _with_effort(body.get("reasoning"), effort)}
        case Protocol.MESSAGES:
            return {"output_config": _with_effort(body.get("output_config"), effort)}
        case _:
            assert_never(protocol)


def _with_effort(present: object, effort: str) -> Body:
    return {**(present if isinstance(present, dict) else {}), "effort": effort}


def _cap(body: Body, protocol: Protocol, most: int) -> Body:
    """The cap in the agent's own field, and no higher than the agent's own."""
    names = CAP_FIELDS[protocol]
    asked = {name: body[name] for name in names if body.get(name) is not None}
    if not asked:
        return {names[-1]: most}
    return {
        name: min(value, most) if isinstance(value, int) and value > 0 else most
        for name, value in asked.items()
    }


def _ask_for_usage(body: Body) -> list[str]:
    """Chat completions tell the usage of a stream only when asked to."""
    options = body.get("stream_options")
    present = options if isinstance(options, dict) else {}
    if present.get("include_usage") is True:
        return []
    body["stream_options"] = {**present, "include_usage": True}
    return ["stream_options.include_usage set, to meter the reply"]


def _in_short(value: object) -> JsonValue:
    """A decoding value for the record: numbers, and short texts one level deep."""
    match value:
        case bool():
            return value
        case int() | float():
            return value if abs(value) <= MOST_EXACT else shown(str(value)[:LONGEST_SHOWN])
        case str():
            return shown(value, LONGEST_SHOWN)
        case dict():
            return {
                shown(str(name), LONGEST_SHOWN): _in_short(inner)
                for name, inner in list(value.items())[:20]
                if isinstance(inner, bool | int | float | str)
            }
        case _:
            return "…"
