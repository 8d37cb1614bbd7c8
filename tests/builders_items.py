"""Instances of items under families of seeds, and what a played run earns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import Instance, Item, Json, Trace
from esac_ag.suite.efficiency import action_facts, effective_actions, level
from esac_ag.suite.play import View, estimated_tokens, play, world_of
from esac_ag.suite.pools import instance_seeds
from esac_ag.suite.scoring import item_fraction

__all__ = [
    "MemoryView",
    "action_level",
    "content",
    "content_digest",
    "fraction",
    "instances",
    "play",
    "public",
    "token_level",
    "whole_digest",
]


class MemoryView(View):
    """A view on a world of its own, with as many turns as a test wants."""

    def __init__(self, instance: Instance, turns: int) -> None:
        self.world = world_of(instance)
        super().__init__(instance, turns, self._reply)

    def _reply(self, tool: str, arguments: Json) -> str:
        return self.world.call(tool, arguments).text


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


def whole_digest(instance: Instance) -> str:
    """SHA-256 of all that an instance holds."""
    whole = [
        content(instance),
        instance.item_id,
        [tool.model_dump(mode="json") for tool in instance.tools],
        dict(instance.files),
        [[test.id, test.source, test.weight] for test in instance.hidden_tests],
        dict(instance.questions),
    ]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def action_level(item: Item, trace: Trace) -> int:
    """The level that a trace's actions earn on the item's own scale, calls after the goal apart."""
    assert item.efficiency is not None
    return level(item.efficiency.actions, effective_actions(action_facts(trace.calls), item.efficiency.rule))


def token_level(item: Item, instance: Instance, trace: Trace) -> int:
    """The level of a chat that sends everything anew each turn, at four characters a token."""
    assert item.efficiency is not None
    tokens = estimated_tokens(instance, trace)
    assert tokens.input is not None
    assert tokens.output is not None
    return level(item.efficiency.tokens, tokens.input + tokens.output)
