"""The world: a state, the tools on offer, and the log of calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import (
    service_admin,
    service_calendar,
    service_directory,
    service_files,
    service_inventory,
    service_messages,
    service_payments,
    service_reports,
    service_shell,
    service_tickets,
)
from .arguments import as_received, checked, readable_name
from .catalogue import TOOLS
from .faults import strike
from .refusal import Refused
from .snapshot import State, canonical, digest, reply_text
from .tables import Operation

OPERATIONS: Final[dict[str, Operation]] = {
    **service_directory.OPERATIONS,
    **service_messages.OPERATIONS,
    **service_admin.OPERATIONS,
    **service_tickets.OPERATIONS,
    **service_calendar.OPERATIONS,
    **service_inventory.OPERATIONS,
    **service_payments.OPERATIONS,
    **service_reports.OPERATIONS,
    **service_files.OPERATIONS,
    **service_shell.OPERATIONS,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call is answered with."""

    ok: bool
    text: str
    """One line of JSON with sorted keys; byte-identical for identical state and call."""
    error: str | None
    """Code of an error reply."""


def step(
    state: State, tool: object, arguments: object, offered: Sequence[str] | None = None
) -> tuple[Reply, State]:
    """Answer one call: a pure function of all it is given; the given state stays as it is."""
    working: State = canonical(state)
    try:
        name = _offered(tool, offered)
        given = checked(name, TOOLS[name]["parameters"], arguments)
        strike(working, name, given)
        text = reply_text(OPERATIONS[name](working, given))
    except Refused as refused:
        error = {"error": {"code": refused.code, "message": refused.message}}
        after = working if refused.counts else state
        return Reply(ok=False, text=reply_text(error), error=refused.code), canonical(after)
    return Reply(ok=True, text=text, error=None), canonical(working)


def replay(
    state: State, calls: Iterable[Mapping[str, Any]], offered: Sequence[str] | None = None
) -> Iterator[State]:
    """The state after each call of a log (`tool` and `arguments` of its records)."""
    for call in calls:
        _, state = step(state, call["tool"], call["arguments"], offered)
        yield state


class World:
    """A state that calls work on.

    Raises:
        ValueError: for a state that is not canonical JSON, and for offered tools that do not exist.
    """

    def __init__(self, state: State, offered: Sequence[str] | None = None) -> None:
        unknown = sorted(set(offered or ()) - TOOLS.keys())
        if unknown:
            raise ValueError(f"no such tools: {', '.join(unknown)}")
        self.offered = None if offered is None else tuple(offered)
        self.log: list[dict[str, Any]] = []
        """A record per call, in the shape of the item contract's `ToolCall`."""
        self._state: State = canonical(state)
        self._digest = digest(self._state)

    def call(self, tool: object, arguments: object) -> Reply:
        """Answer a call, malformed ones too, and log it."""
        before = self._digest
        reply, self._state = step(self._state, tool, arguments, self.offered)
        self._digest = digest(self._state)
        self.log.append(
            {
                "index": len(self.log),
                "tool": readable_name(tool),
                "arguments": as_received(arguments),
                "ok": reply.ok,
                "reply": reply.text,
                "error": reply.error,
                "state_before": before,
                "state_after": self._digest,
            }
        )
        return reply

    def snapshot(self) -> State:
        """A deep copy of the canonical state."""
        copied: State = canonical(self._state)
        return copied

    def digest(self) -> str:
        """SHA-256 of the state."""
        return self._digest


def _offered(tool: object, offered: Sequence[str] | None) -> str:
    names = tuple(TOOLS) if offered is None else offered
    if not isinstance(tool, str) or tool not in names:
        raise Refused("unknown-tool", f"there is no tool {readable_name(tool)!r}")
    return tool
