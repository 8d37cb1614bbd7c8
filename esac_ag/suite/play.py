"""Plays policies against items: what a model sees, the item's cap of turns, the trace that is left.

The world of most items is a pure state machine, played in memory unless the caller brings other `Worlds`.
Items that are solved by a program need somebody who runs programs; the caller brings it as `Programs`, and
without it they cannot be played.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from esac_ag.errors import HarnessError
from esac_ag.suite.contract import (
    CodeResult,
    Instance,
    Item,
    Json,
    Policy,
    RunEnd,
    Tokens,
    ToolCall,
    ToolSchema,
    Trace,
    Turn,
)
from esac_ag.suite.efficiency import ActionFacts, action_facts
from esac_ag.suite.items.ambiguity_item import ANYTHING_ELSE, answer_of
from esac_ag.suite.items.code_desk import Desk, RunProgram, replay_desk
from esac_ag.suite.rework import effects
from esac_ag.suite.world import World, replay

NO_ANSWER: Final = "I cannot say more than I wrote. Please decide yourself."
"""What the simulated user answers to a question that its table has no topic for."""

CHARACTERS_PER_TOKEN: Final = 4
CALL_OVERHEAD_CHARACTERS: Final = 200
"""Of a call and its reply in a chat's messages, beside their text."""


class OutOfTurnsError(Exception):
    """The policy used up the item's turns; ends the play."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Somebody who really runs programs, for items of the categories code and recovery."""

    run: RunProgram
    grade: Callable[[Instance, Mapping[str, str]], tuple[CodeResult, ...]]
    """Results of the hidden tests on the files that were handed in."""


class PlayedWorld(Protocol):
    """The world of one run, wherever it is kept."""

    def call(self, tool: str, arguments: Json) -> str:
        """Call a tool; its reply."""

    def log(self) -> tuple[ToolCall, ...]:
        """All calls so far."""

    def snapshot(self) -> dict[str, Json]:
        """The state as it is now."""


Worlds = Callable[[Instance], AbstractContextManager[PlayedWorld]]
"""Makes a fresh world of an instance."""


class View:
    """What a policy sees; every call and every question is one turn."""

    def __init__(self, instance: Instance, turns: int, carry_out: Callable[[str, Json], str]) -> None:
        self._instance = instance
        self._left = turns
        self._carry_out = carry_out
        self._calls = 0
        self.turns: list[Turn] = []
        self.say("user", instance.prompt)

    @property
    def left(self) -> int:
        """Turns that are left."""
        return self._left

    @property
    def prompt(self) -> str:
        """The user's request."""
        return self._instance.prompt

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools on offer."""
        return self._instance.tools

    def call(self, tool: str, /, **arguments: Json) -> str:
        """Call a tool; its reply."""
        return self.send(tool, arguments)

    def send(self, tool: str, arguments: Json) -> str:
        """Call a tool with arguments of any shape, as a model may write them; its reply."""
        self._take_turn()
        self._calls += 1
        return self._carry_out(tool, arguments)

    def ask(self, question: str) -> str:
        """Ask the simulated user."""
        self._take_turn()
        answer = user_answer(self._instance, question)
        self.say("assistant", question)
        self.say("user", answer)
        return answer

    def close(self, text: str) -> None:
        """Let the last message join the conversation, if there is one."""
        if text:
            self.say("assistant", text)

    def say(self, role: str, text: str) -> None:
        """Take down a message of the conversation and how many calls came before it."""
        self.turns.append(Turn(role=role, text=text, after_calls=self._calls))

    def _take_turn(self) -> None:
        if self._left == 0:
            raise OutOfTurnsError
        self._left -= 1


def is_program_item(instance: Instance) -> bool:
    """Whether programs have to be run to play the instance."""
    return bool(instance.hidden_tests)


def user_answer(instance: Instance, question: str) -> str:
    """What the simulated user answers, by the instance's fixed table."""
    return answer_of({ANYTHING_ELSE: NO_ANSWER, **instance.questions}, question)


def world_of(instance: Instance) -> World:
    """A fresh world of the instance, with its tools."""
    return World(instance.initial_state, _offered(instance))


class _InMemoryWorld:
    def __init__(self, world: World) -> None:
        self._world = world

    def call(self, tool: str, arguments: Json) -> str:
        return self._world.call(tool, arguments).text

    def log(self) -> tuple[ToolCall, ...]:
        return tuple(ToolCall.model_validate(record) for record in self._world.log)

    def snapshot(self) -> dict[str, Json]:
        return self._world.snapshot()


@contextmanager
def in_memory(instance: Instance) -> Iterator[PlayedWorld]:
    """A fresh world in this process."""
    yield _InMemoryWorld(world_of(instance))


def play(
    item: Item,
    instance: Instance,
    policy: Policy,
    programs: Programs | None = None,
    worlds: Worlds = in_memory,
) -> Trace:
    """Let a policy play an instance.

    Raises:
        HarnessError: programs have to be run, and there is nobody who runs them.
    """
    if not is_program_item(instance):
        return _play_world(item, instance, policy, worlds)
    if programs is None:
        raise HarnessError("An item's programs have to be run, and nothing runs them.", where=item.id)
    return _play_desk(item, instance, policy, programs)


def goal_call(item: Item, instance: Instance, calls: Sequence[ToolCall]) -> int | None:
    """Index of the call that first reached a goal state, -1 for the initial one, none if none did."""
    if is_program_item(instance):
        return None
    states = states_of(instance, calls)
    return next((at for at, state in enumerate(states, -1) if item.goal_reached(instance, state)), None)


def states_of(instance: Instance, calls: Sequence[ToolCall]) -> Iterator[Mapping[str, Json]]:
    """The initial state, and the state after each call of a log."""
    yield instance.initial_state
    if is_program_item(instance):
        yield from replay_desk(instance.files, calls)
    else:
        made = [{"tool": call.tool, "arguments": call.arguments} for call in calls]
        yield from replay(instance.initial_state, made, _offered(instance))


def measured(item: Item, instance: Instance, trace: Trace) -> ActionFacts:
    """What the log of a run holds for the efficiency modifier."""
    return action_facts(
        trace.calls,
        goal_call(item, instance, trace.calls),
        effects(states_of(instance, trace.calls)),
    )


def estimated_tokens(instance: Instance, trace: Trace) -> Tokens:
    """What a chat that sends everything anew each turn would use for this run, at four characters a token.

    An estimate for runs without a model: it shows whether an item's token scale can be met.
    """
    calls = [(call.arguments, call.reply) for call in trace.calls]
    return tokens_of_calls(instance, calls, trace.final_text)


def tokens_of_calls(instance: Instance, calls: Sequence[tuple[Json, str]], final_text: str) -> Tokens:
    """The same estimate, from pairs of arguments and reply."""
    shown = len(instance.prompt) + sum(len(tool.model_dump_json()) for tool in instance.tools)
    sent, written = shown, len(final_text)
    for arguments, reply in calls:
        asked = len(json.dumps(arguments))
        shown += len(reply) + asked + CALL_OVERHEAD_CHARACTERS
        sent += shown
        written += asked
    return Tokens(input=sent // CHARACTERS_PER_TOKEN, output=written // CHARACTERS_PER_TOKEN)


def _offered(instance: Instance) -> tuple[str, ...]:
    return tuple(tool.name for tool in instance.tools)


def _play_world(item: Item, instance: Instance, policy: Policy, worlds: Worlds) -> Trace:
    with worlds(instance) as world:
        view = View(instance, item.turns, world.call)
        text, end = final_message(view, policy)
        return Trace(
            calls=world.log(),
            turns=tuple(view.turns),
            final_text=text,
            final_state=world.snapshot(),
            end=end,
        )


def _play_desk(item: Item, instance: Instance, policy: Policy, programs: Programs) -> Trace:
    desk = Desk(instance.files, programs.run)
    view = View(instance, item.turns, desk.call)
    text, end = final_message(view, policy)
    return Trace(
        calls=desk.log,
        turns=tuple(view.turns),
        final_text=text,
        final_state=desk.snapshot(),
        end=end,
        code=programs.grade(instance, desk.files) if desk.submitted else (),
    )


def final_message(view: View, policy: Policy) -> tuple[str, RunEnd]:
    """Let a policy play: its last message and how the run ended."""
    try:
        text = policy(view)
    except OutOfTurnsError:
        return "", RunEnd.TURN_LIMIT
    view.close(text)
    return text, RunEnd.ANSWERED if text.strip() else RunEnd.EMPTY
