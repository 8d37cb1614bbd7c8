"""Plays policies against items in memory: what a model sees, the item's turn cap, and the trace it leaves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence

from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import (
    Instance,
    Item,
    Json,
    Policy,
    RunEnd,
    ToolCall,
    ToolSchema,
    Trace,
    Turn,
)
from esac_ag.suite.efficiency import action_facts, effective_actions, level
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.scoring import item_fraction
from esac_ag.suite.world import World

NO_ANSWER = "I cannot say more than I wrote. Please decide yourself."
"""What the simulated user answers to a question that its table has no topic for."""


class OutOfTurnsError(Exception):
    """The policy used up the item's turns."""


class MemoryView:
    """What a policy sees; every call and every question is one turn."""

    def __init__(self, instance: Instance, turns: int) -> None:
        self._instance = instance
        self._left = turns
        self.world = World(instance.initial_state, tuple(tool.name for tool in instance.tools))
        self.turns: list[Turn] = [Turn(role="user", text=instance.prompt)]

    @property
    def prompt(self) -> str:
        """The user's request."""
        return self._instance.prompt

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools on offer."""
        return self._instance.tools

    def call(self, tool: str, /, **arguments: Json) -> str:
        """Call a tool of the world; its reply."""
        self._take_turn()
        return self.world.call(tool, arguments).text

    def ask(self, question: str) -> str:
        """Ask the simulated user."""
        self._take_turn()
        topics = self._instance.questions
        answer = next((topics[topic] for topic in topics if topic in question.casefold()), NO_ANSWER)
        self.turns += [Turn(role="assistant", text=question), Turn(role="user", text=answer)]
        return answer

    def _take_turn(self) -> None:
        if self._left == 0:
            raise OutOfTurnsError
        self._left -= 1


def play(item: Item, instance: Instance, policy: Policy) -> Trace:
    """Let a policy play an instance in memory."""
    view = MemoryView(instance, item.turns)
    try:
        text = policy(view)
        end = RunEnd.ANSWERED if text.strip() else RunEnd.EMPTY
    except OutOfTurnsError:
        text, end = "", RunEnd.TURN_LIMIT
    if text:
        view.turns.append(Turn(role="assistant", text=text))
    return Trace(
        calls=tuple(ToolCall.model_validate(record) for record in view.world.log),
        turns=tuple(view.turns),
        final_text=text,
        final_state=view.world.snapshot(),
        end=end,
    )


def fraction(item: Item, instance: Instance, trace: Trace) -> float:
    """The item's fraction of a trace."""
    return item_fraction(item.check(instance, trace))


def instances(item: Item, count: int, pool: str = "held-out") -> Iterator[Instance]:
    """Instances of an item under `count` dataset seeds of a named family."""
    for number in range(count):
        yield item.generate(instance_seeds(f"{pool} {number}", item.id))


def public(item: Item) -> Instance:
    """The item's public instance."""
    return item.generate(instance_seeds(PUBLIC_SEED, item.id))


def content(instance: Instance) -> str:
    """Prompt, world and expected values of an instance as one text."""
    return json.dumps([instance.prompt, instance.initial_state, instance.secret], sort_keys=True)


def content_digest(instance: Instance) -> str:
    """SHA-256 of an instance's content."""
    return hashlib.sha256(content(instance).encode()).hexdigest()


def action_level(item: Item, trace: Trace) -> int:
    """The level that a trace's actions earn on the item's own scale."""
    assert item.efficiency is not None
    facts = action_facts(trace.calls)
    return level(item.efficiency.actions, effective_actions(facts, item.efficiency.rule))


def token_level(item: Item, instance: Instance, trace: Trace) -> int:
    """The level of a chat that sends everything anew each turn, at four characters a token."""
    assert item.efficiency is not None
    shown = len(instance.prompt) + sum(len(tool.model_dump_json()) for tool in instance.tools)
    sent = shown
    for call in trace.calls:
        shown += len(call.reply) + len(json.dumps(call.arguments)) + 200
        sent += shown
    return level(item.efficiency.tokens, sent // 4)
