"""Builders for tests of agents that take items: a real world to act in, and runs over a loopback server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from esac_ag.agents.chat import ChatAgent, make_chat_agent
from esac_ag.agents.contract import Assignment
from esac_ag.agents.item_agent import ChatItemAgent, ItemEnd
from esac_ag.manifest.plan import Decoding
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance, Item, Json, Policy, RunEnd, ToolCall, Trace
from esac_ag.suite.play import View, final_message, world_of
from esac_ag.suite.pools import instance_of
from tests.builders_agents import Written, a_manifest, an_assignment
from tests.model_server import ModelServer, Scripted, calls, says

KEY = "sk-very-secret-0123"
SUITES_DECODING = Decoding(temperature=0.0, top_p=1.0)


class InWorld:
    """Carries calls out in a world of its own."""

    def __init__(self, instance: Instance) -> None:
        self.world = world_of(instance)

    def call(self, tool: str, arguments: Json, /) -> str:
        """The world's reply."""
        return self.world.call(tool, arguments).text

    @property
    def log(self) -> tuple[ToolCall, ...]:
        """All calls so far."""
        return tuple(ToolCall.model_validate(record) for record in self.world.log)


@dataclass(frozen=True, slots=True)
class Taken:
    """What is left of an item that was taken by chat."""

    end: ItemEnd
    written: Written
    server: ModelServer
    tools: InWorld
    slept: list[float]

    @property
    def trace(self) -> Trace:
        """The trace of a run that is scored."""
        assert self.end.end is not None
        return trace_of(self.end, self.tools, self.end.end)


def trace_of(end: ItemEnd, tools: InWorld, how: RunEnd) -> Trace:
    """The trace that an agent and its world left."""
    return Trace(
        calls=tools.log,
        turns=end.turns,
        final_text=end.final_text,
        final_state=tools.world.snapshot(),
        end=how,
        tokens=end.tokens,
    )


def public_instance(item: Item) -> Instance:
    """The item's public instance."""
    return instance_of(item, PUBLIC_SEED)


def a_chat(server: ModelServer, sleep_s: Callable[[float], None], **manifest: Any) -> ChatAgent:  # noqa: ANN401
    """A chat agent for the server, with a key and the suite's decoding unless another one is given."""
    manifest = {"decoding": SUITES_DECODING, **manifest}
    environ = {"ESAC_AG_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
    return replace(make_chat_agent(a_manifest(**manifest), environ), sleep_s=sleep_s)


def taken(
    item: Item,
    script: Sequence[Scripted],
    *,
    given: tuple[Assignment, Written] | None = None,
    **manifest: Any,  # noqa: ANN401
) -> Taken:
    """Let a scripted model take the item's public instance, without ever really waiting."""
    instance = public_instance(item)
    tools = InWorld(instance)
    assignment, written = given or an_assignment()
    slept: list[float] = []
    with ModelServer(script) as server:
        agent = ChatItemAgent(a_chat(server, slept.append, **manifest))
        end = agent.take(item, instance, tools, assignment)
    return Taken(end, written, server, tools, slept)


def as_a_model(item: Item, instance: Instance, policy: Policy) -> list[Scripted]:
    """The replies of a model that does what the policy does, one call a reply."""
    script: list[Scripted] = []
    tools = InWorld(instance)

    def noted(tool: str, arguments: Json) -> str:
        script.append(calls((tool, arguments)))
        return tools.call(tool, arguments)

    class Noting(View):
        def ask(self, question: str) -> str:
            script.append(says(question))
            return super().ask(question)

    text, _ = final_message(Noting(instance, item.turns, noted), policy)
    return [*script, says(text)]
