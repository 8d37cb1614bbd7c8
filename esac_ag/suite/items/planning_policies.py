"""What the policies of planning items have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import AgentView, Instance, Json, Policy, Shortcut, ToolSchema
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.world import World

from .peeking import guessed

REHEARSAL_SEED: Final = "esac-ag-rehearsal"
READING: Final = ("_get", "_list", "_find", "_search", "_levels")


def told(reply: str) -> Any:  # noqa: ANN401  (any JSON)
    """A reply's value; errors are values too."""
    return json.loads(reply)


def failed(value: Mapping[str, Any]) -> bool:
    """Whether a reply's value is an error."""
    return "error" in value


def known(instance: Instance) -> Mapping[str, Any]:
    """What policies are told beside the prompt."""
    told_before: Any = instance.secret["known"]
    found: Mapping[str, Any] = told_before
    return found


def all_pages(view: AgentView, tool: str, entries: str, **arguments: Json) -> Iterator[Any]:
    """The entries of all pages of a list, one call per page."""
    page: int | None = 1
    while page is not None:
        reply = told(view.call(tool, page=page, **arguments))
        if failed(reply):
            return
        yield from reply[entries]
        page = reply["next_page"]


def everywhere(
    item_id: str, generate: Callable[[Seeds], Instance], solve: Callable[[Instance], Policy]
) -> tuple[Shortcut, ...]:
    """The policies that every plan has to withstand."""
    return (
        Shortcut("null", lambda _: _do_nothing, 0.0),
        Shortcut("peeking", lambda _: _peek, 0.0),
        Shortcut("ask-first", lambda _: _ask_and_stop, 0.0),
        Shortcut("public-example", _memorised(item_id, generate, solve), 0.0),
    )


class Rehearsal:
    """A view of an instance that takes down the calls."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._world = World(instance.initial_state, tuple(tool.name for tool in instance.tools))
        self.calls: list[tuple[str, dict[str, Json]]] = []

    @property
    def prompt(self) -> str:
        """The user's request."""
        return self._instance.prompt

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools on offer."""
        return self._instance.tools

    def call(self, tool: str, /, **arguments: Json) -> str:
        """Call a tool."""
        self.calls.append((tool, arguments))
        return self._world.call(tool, arguments).text

    def ask(self, question: str) -> str:
        """Nobody answers."""
        return f"No answer to: {question}"


def _do_nothing(_: AgentView) -> str:
    return ""


def _peek(view: AgentView) -> str:
    """Call every tool that changes something with what stands in the request."""
    for tool in view.tools:
        if not any(part in tool.name for part in READING):
            view.call(tool.name, **guessed(tool, view.prompt))
    return "Done."


def _ask_and_stop(view: AgentView) -> str:
    view.ask("How would you like me to go about it?")
    return "I wait for your answer."


def _memorised(
    item_id: str, generate: Callable[[Seeds], Instance], solve: Callable[[Instance], Policy]
) -> Callable[[Instance], Policy]:
    @cache
    def learn(seed: str) -> tuple[str, list[tuple[str, dict[str, Json]]]]:
        learnt = generate(instance_seeds(seed, item_id))
        rehearsal = Rehearsal(learnt)
        solve(learnt)(rehearsal)
        return learnt.prompt, rehearsal.calls

    def policy(instance: Instance) -> Policy:
        prompt, calls = learn(PUBLIC_SEED)
        if prompt == instance.prompt:
            # Under the public seed the same habit is tried with another instance.
            _, calls = learn(REHEARSAL_SEED)

        def play(view: AgentView) -> str:
            for tool, arguments in calls:
                view.call(tool, **arguments)
            return "Done as always."

        return play

    return policy
