"""Items that are decided by the first tool call (constitution §6: exact match on the first call).

The request holds all facts, and the expected call nowhere: at least one argument has to be worked out. Lists
of ids match in any order, times in UTC in any spelling, and an optional argument that repeats its default
says nothing new; all else matches exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import (
    CheckResult,
    Efficiency,
    Envelope,
    Instance,
    Json,
    Policy,
    RubricCriterion,
    Shortcut,
    ToolCall,
    Trace,
)
from esac_ag.suite.world import World

from . import tool_call_shortcuts
from .draws import Draws
from .offers import leaks, offer, offer_text, state_text

CLOSING: Final = (
    "All that you need to know is in this message, so look nothing up: your first tool call has to be the "
    "right one, and nothing beyond it may change."
)
TURNS: Final = 10
OUTPUT_TOKENS: Final = 2000
ACTIONS: Final = Envelope(levels=(1, 2, 3, 4, 6))


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    tool: str
    arguments: Mapping[str, Json]

    def as_json(self) -> dict[str, Json]:
        """The call as a value of an instance's secret."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class Draft:
    """What an item draws for an instance."""

    prompt: str
    state: dict[str, Any]
    call: Call
    """The expected call."""
    derived: tuple[str, ...]
    """Worked-out values that are not in the prompt; names of things that exist."""
    computed: tuple[str, ...]
    """Worked-out values that are neither in the prompt nor in the initial state."""
    lures: Mapping[str, Call]
    """Wrong calls that suggest themselves, by name."""
    implied: Mapping[str, Json] = field(default_factory=dict)
    """Optional arguments that may be given with their default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCallItem:
    """An item with one right call."""

    id: str
    title: str
    measures: str
    offered: tuple[str, ...]
    build: Callable[[Draws], Draft]
    lures: tuple[str, ...]
    """Names of the wrong calls of every draft."""
    tokens: tuple[float, ...]
    """Token envelope."""
    category: Category = Category.TOOL_CALL
    weight: float = 1.0
    turns: int = TURNS
    output_tokens: int = OUTPUT_TOKENS
    rubric: tuple[RubricCriterion, ...] = ()

    @property
    def efficiency(self) -> Efficiency:
        """The item's own scale."""
        return Efficiency(actions=ACTIONS, tokens=Envelope(levels=self.tokens))

    def generate(self, seeds: Seeds) -> Instance:
        """The instance of a seed."""
        drafts = (self.build(Draws(seeds, self.id, attempt)) for attempt in count())
        # A worked-out value can stand in the text by chance; then the next draft is taken.
        draft = next(draft for draft in drafts if not self._gives_away(draft))
        return Instance(
            item_id=self.id,
            prompt=f"{draft.prompt}\n\n{CLOSING}",
            tools=offer(self.offered),
            initial_state=draft.state,
            secret={
                "call": draft.call.as_json(),
                "derived": list(draft.derived),
                "computed": list(draft.computed),
                "implied": dict(draft.implied),
                "lures": {name: lure.as_json() for name, lure in draft.lures.items()},
            },
        )

    def _gives_away(self, draft: Draft) -> bool:
        shown = leaks((*draft.derived, *draft.computed), draft.prompt, offer_text(self.offered))
        return bool(shown or leaks(draft.computed, state_text(draft.state)))

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """Whether the first call is the expected one, and the only one that changed anything."""
        first = trace.calls[0] if trace.calls else None
        exact = first is not None and is_expected(instance, first)
        changes = sum(call.changed_state for call in trace.calls)
        return (
            CheckResult(id="first-call", weight=4, fraction=float(exact), why=_why(instance, first)),
            CheckResult(
                id="nothing-else",
                weight=1,
                fraction=float(exact and changes == 1),
                why=f"{changes} calls changed the state; counts once the first call is right",
            ),
        )

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:
        """Whether a state is the one that the expected call leads to."""
        world = World(instance.initial_state)
        expected = secret_call(instance)
        world.call(expected.tool, dict(expected.arguments))
        return _unordered(state) == _unordered(world.snapshot())

    def reference(self, instance: Instance) -> Policy:
        """Make the expected call."""
        return tool_call_shortcuts.makes(secret_call(instance))

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """Wrong policies; each misses the first call on every instance, so each earns nothing."""
        return tool_call_shortcuts.shortcuts(self.id, self.generate, self.lures)


def secret_call(instance: Instance, lure: str | None = None) -> Call:
    """The expected call of an instance, or one of its lures."""
    secret: Any = instance.secret
    found = secret["call"] if lure is None else secret["lures"][lure]
    return Call(found["tool"], found["arguments"])


def is_expected(instance: Instance, call: ToolCall) -> bool:
    """Whether a call of the log is the expected one."""
    expected = secret_call(instance)
    implied: Any = instance.secret["implied"]
    if not call.ok or call.tool != expected.tool or not isinstance(call.arguments, dict):
        return False
    given = {
        key: value for key, value in call.arguments.items() if key not in implied or value != implied[key]
    }
    return _plain(given) == _plain(dict(expected.arguments))


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: _plain_value(key, value) for key, value in arguments.items()}


def _plain_value(key: str, value: Any) -> Any:  # noqa: ANN401  (any JSON)
    match value:
        case bool():
            return ("boolean", value)
        case float() if value.is_integer():
            return int(value)
        case str():
            text = " ".join(value.split())
            return _utc(text) if key == "start" else text
        case list():
            return sorted(map(str, value))
        case _:
            return value


def _utc(text: str) -> str:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:00(\.0+)?)?(Z|\+00:00)", text):
        return text
    return f"at {text[:16]}"


def _unordered(state: Mapping[str, Any]) -> dict[str, Any]:
    events = {
        key: {**event, "attendees": sorted(event["attendees"])} for key, event in state["events"].items()
    }
    return {**state, "events": events}


def _why(instance: Instance, first: ToolCall | None) -> str:
    if first is None:
        return "no tool was called"
    if not first.ok:
        return f"the first call, {first.tool}, was rejected: {first.error}"
    expected = secret_call(instance)
    if first.tool != expected.tool:
        return f"the first call was {first.tool}"
    given = first.arguments if isinstance(first.arguments, dict) else {}
    wrong = sorted(
        key
        for key in expected.arguments.keys() | given.keys()
        if _plain({key: given.get(key)}) != _plain({key: expected.arguments.get(key)})
    )
    return f"{first.tool}: arguments that differ: {', '.join(wrong) or 'none'}"
