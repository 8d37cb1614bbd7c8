"""Wrong policies of the items that are decided by the first tool call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import AgentView, Instance, Json, Policy, Shortcut, ToolSchema
from esac_ag.suite.pools import instance_seeds

from .peeking import guessed

REHEARSAL_SEED: Final = "esac-ag-rehearsal"
READING: Final = ("_get", "_list", "_find", "_search", "_read", "_stat", "_levels")


class Call(Protocol):
    """A tool call."""

    @property
    def tool(self) -> str:
        """Name of the tool."""

    @property
    def arguments(self) -> Mapping[str, Json]:
        """Its arguments."""


def shortcuts(
    item_id: str, generate: Callable[[Seeds], Instance], lures: Sequence[str]
) -> tuple[Shortcut, ...]:
    """The policies that every first call has to withstand, and the item's own lures."""
    return (
        Shortcut("null", lambda _: _do_nothing, 0.0),
        Shortcut("peeking", lambda _: peek, 0.0),
        Shortcut("look-up-first", _looks_up_first, 0.0),
        Shortcut("ask-first", _asks_and_stops, 0.0),
        Shortcut("public-example", _memorised(item_id, generate), 0.0),
        *(Shortcut(lure, _follows(lure), 0.0) for lure in lures),
    )


def makes(call: Call) -> Policy:
    """The policy that makes one call."""

    def play(view: AgentView) -> str:
        view.call(call.tool, **call.arguments)
        return "Done."

    return play


def peek(view: AgentView) -> str:
    """Guess a call by searching the request for values of the right shape, without any thought."""
    tool = next((tool for tool in view.tools if _is_named(tool, view.prompt)), view.tools[0])
    view.call(tool.name, **guessed(tool, view.prompt))
    return "Done."


def _do_nothing(_: AgentView) -> str:
    return ""


def _looks_up_first(instance: Instance) -> Policy:
    expected: Any = instance.secret["call"]

    def play(view: AgentView) -> str:
        reader = next(tool for tool in view.tools if any(part in tool.name for part in READING))
        view.call(reader.name, **guessed(reader, view.prompt))
        view.call(expected["tool"], **expected["arguments"])
        return "Done."

    return play


def _asks_and_stops(_: Instance) -> Policy:
    def play(view: AgentView) -> str:
        view.ask("Shall I go ahead?")
        return "I wait for your confirmation."

    return play


def _memorised(item_id: str, generate: Callable[[Seeds], Instance]) -> Callable[[Instance], Policy]:
    @cache
    def learnt(seed: str) -> Instance:
        return generate(instance_seeds(seed, item_id))

    def policy(instance: Instance) -> Policy:
        known = learnt(PUBLIC_SEED)
        if known.prompt == instance.prompt:
            # Under the public seed the same habit is tried with another instance.
            known = learnt(REHEARSAL_SEED)
        return _makes_secret(known.secret["call"])

    return policy


def _makes_secret(call: Any) -> Policy:  # noqa: ANN401  (a value of a secret)
    def play(view: AgentView) -> str:
        view.call(call["tool"], **call["arguments"])
        return "Done."

    return play


def _follows(lure: str) -> Callable[[Instance], Policy]:
    def policy(instance: Instance) -> Policy:
        lures: Any = instance.secret["lures"]
        return _makes_secret(lures[lure])

    return policy


def _is_named(tool: ToolSchema, prompt: str) -> bool:
    return tool.name.split("_")[-1] in prompt.lower()
