"""Agents that take items of the suite: a model by chat, and the policies that items bring along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from esac_ag import clock
from esac_ag.agents.chat import ChatAgent, loaded_by
from esac_ag.agents.contract import AgentEnd, ArmBundle, Assignment, Equipment
from esac_ag.agents.endings import Ending
from esac_ag.agents.instructions import SYSTEM_MESSAGE_PLACE, instructions_message
from esac_ag.agents.item_conversation import (
    CarriesOut,
    ItemEnding,
    ItemRun,
    converse,
    recordable_arguments,
    stopped_from_outside,
    turns_used_up,
)
from esac_ag.agents.loaded import loaded_instructions
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.replies import ToolCall
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import Costs, Outcome
from esac_ag.attempt.metering import Meter
from esac_ag.errors import InputRefused, UsageError
from esac_ag.manifest.plan import AgentKind, Limits
from esac_ag.suite.contract import Instance, Item, Json, Policy, RunEnd, Tokens, Turn
from esac_ag.suite.play import View, final_message, tokens_of_calls
from esac_ag.suite.selftest import REFERENCE
from esac_ag.transcript import EntryKind
from esac_ag.tree import FileTree


class ItemEnd(AgentEnd):
    """How an agent ended on an item, and what it said."""

    turns: tuple[Turn, ...]
    """The request first, then each question with its answer, the last message last, if there was one."""
    final_text: str
    end: RunEnd | None
    """None when the run is not scored (`INFRA`, `CANCELLED`)."""
    tokens: Tokens
    retries: int = 0
    """Requests that were sent again after failures of the service."""


class ItemAgent(Protocol):
    """One kind of agent, ready to take many items, one thread each."""

    @property
    def label(self) -> str:
        """What acts, for reports: names what is no model as such."""

    @property
    def kind(self) -> AgentKind:
        """What acts, by kind."""

    def secrets(self) -> Sequence[str]:
        """Values that must be redacted from everything written."""

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """Where the arm's files go so that this agent reads them.

        Raises:
            InputRefused: the bundle cannot reach this agent.
        """

    def take(self, item: Item, instance: Instance, tools: CarriesOut, assignment: Assignment) -> ItemEnd:
        """Work on an item to an end; the request is the instance's prompt.

        Raises:
            InputRefused: a plan that cannot be carried out on the suite.
            InfrastructureFailure: the item's environment failed. A failed model endpoint is not raised: its
                outcome is `INFRA`.
        """


@dataclass(frozen=True, slots=True)
class ChatItemAgent:
    """An `ItemAgent` of kind `chat`: the study's chat agent, with the item's tools in place of a shell."""

    chat: ChatAgent

    @property
    def label(self) -> str:
        """The model by the name that is asked for, and the endpoint that answers for it."""
        return f"chat: {self.chat.model.name} at {self.chat.endpoint}"

    @property
    def kind(self) -> AgentKind:
        """A chat."""
        return AgentKind.CHAT

    def secrets(self) -> Sequence[str]:
        """The API key, when there is one."""
        return self.chat.secrets()

    def equip(self, bundle: ArmBundle | None) -> Equipment:
        """The bundle's texts in the system message; nothing in HOME, which no tool of an item opens.

        Raises:
            InputRefused: the bundle has no readable file to begin with.
        """
        if bundle is None:
            return Equipment(home=FileTree(), loaded=())
        instructions_message(bundle)
        return Equipment(home=FileTree(), loaded=(SYSTEM_MESSAGE_PLACE,))

    def take(self, item: Item, instance: Instance, tools: CarriesOut, assignment: Assignment) -> ItemEnd:
        """Converse with the model about the item.

        Raises:
            InputRefused: decoding or limits that the suite does not have, or an unreadable bundle.
            InfrastructureFailure: the item's environment failed.
        """
        refuse_foreign_limits(assignment.limits)
        started_s = clock.monotonic_s()
        redactor = Redactor(self.secrets())
        recorder = Recorder(assignment, redactor)
        recorder.notice(self.label)
        meter = Meter(assignment.limits, self.chat.price)
        with self.chat.client(assignment, recorder) as client:
            run = converse(
                item,
                instance,
                tools,
                client=client,
                model=self.chat.model,
                settings=self.chat.settings,
                system=instructions_message(assignment.bundle) if assignment.bundle else None,
                meter=meter,
                recorder=recorder,
                redactor=redactor,
                deadline=assignment.deadline,
                cancelled=assignment.cancelled,
            )
        recorder.notice(run.reason)
        return self._end(run, meter, started_s, assignment)

    def _end(self, run: ItemRun, meter: Meter, started_s: float, assignment: Assignment) -> ItemEnd:
        # Provider and model may quote the key.
        clean = Redactor(self.secrets()).text
        return ItemEnd(
            outcome=run.outcome,
            reason=clean(run.reason),
            limit=run.limit,
            is_lasting=run.is_lasting,
            costs=meter.costs(clock.monotonic_s() - started_s),
            loaded=loaded_by(assignment, {}, {}, run.requests),
            turns=tuple(turn.model_copy(update={"text": clean(turn.text)}) for turn in run.turns),
            final_text=clean(run.final_text),
            end=run.end,
            tokens=run.tokens,
            retries=run.retries,
        )


@dataclass(frozen=True, slots=True)
class PolicyItemAgent:
    """An `ItemAgent` of kind `scripted`: plays an item's reference, or its shortcut of that name."""

    policy_name: str

    @property
    def label(self) -> str:
        """Says that no model acts, and that no token was counted."""
        return f"scripted: policy {self.policy_name} (no model, tokens estimated)"

    @property
    def kind(self) -> AgentKind:
        """Evidence about no model."""
        return AgentKind.SCRIPTED

    def secrets(self) -> Sequence[str]:
        """None."""
        return ()

    def equip(self, bundle: ArmBundle | None) -> Equipment:  # noqa: ARG002  (the protocol)
        """Nothing: a policy reads no instructions."""
        return Equipment(home=FileTree(), loaded=())

    def take(self, item: Item, instance: Instance, tools: CarriesOut, assignment: Assignment) -> ItemEnd:
        """Play the policy through the tools.

        Raises:
            UsageError: the item has no policy of that name.
            InfrastructureFailure: the item's environment failed.
        """
        policy = policy_named(item, instance, self.policy_name)
        started_s = clock.monotonic_s()
        recorder = Recorder(assignment, Redactor())
        recorder.notice(self.label)
        view = _RecordedView(item, instance, tools, recorder, assignment)
        last = view.played(policy)
        recorder.notice(last.ending.reason)
        return ItemEnd(
            outcome=last.ending.outcome,
            reason=f"{self.label}: {last.ending.reason}",
            limit=last.ending.limit,
            is_lasting=last.ending.is_lasting,
            costs=Costs(latency_s=clock.monotonic_s() - started_s, tool_calls=len(view.made)),
            loaded=loaded_instructions(
                assignment.cell.arm,
                assignment.bundle.files if assignment.bundle else None,
                placed={},
                present={},
                others={},
                requests=None,
            ),
            turns=tuple(view.turns),
            final_text=last.text,
            end=last.end,
            tokens=tokens_of_calls(instance, view.made, last.text),
        )


def policy_named(item: Item, instance: Instance, name: str) -> Policy:
    """The item's reference, or its shortcut of that name.

    Raises:
        UsageError: there is none.
    """
    shortcuts = {shortcut.name: shortcut for shortcut in item.shortcuts()}
    if name == REFERENCE:
        return item.reference(instance)
    if name in shortcuts:
        return shortcuts[name].policy(instance)
    raise UsageError(
        "The item has no policy of that name",
        where=f"item {item.id}",
        expected=f"one of {', '.join([REFERENCE, *shortcuts])}",
        found=name,
    )


class _Stopped(Exception):
    """Internal: the play was ended from outside."""

    def __init__(self, ending: ItemEnding) -> None:
        super().__init__(ending.ending.reason)
        self.ending = ending


class _RecordedView(View):
    """What a policy sees; each call and each message is written down as a model's would be."""

    def __init__(
        self, item: Item, instance: Instance, tools: CarriesOut, recorder: Recorder, assignment: Assignment
    ) -> None:
        super().__init__(instance, item.turns, self._recorded)
        self._tools = tools
        self._recorder = recorder
        self._assignment = assignment
        self.made: list[tuple[Json, str]] = []
        """Arguments and reply of each call."""

    def played(self, policy: Policy) -> ItemEnding:
        """Let the policy play to an end."""
        self._recorder.entry(EntryKind.USER, self.prompt)
        try:
            self._go_on()
            text, end = final_message(self, policy)
        except _Stopped as stopped:
            return stopped.ending
        if end is RunEnd.TURN_LIMIT:
            return turns_used_up()
        self._recorder.entry(EntryKind.MODEL, text)
        return ItemEnding(end, Ending(Outcome.COMPLETED, "the policy was played to its end"), text)

    def ask(self, question: str) -> str:
        """Ask the simulated user."""
        self._go_on()
        answer = super().ask(question)
        self._recorder.entry(EntryKind.MODEL, question)
        self._recorder.entry(EntryKind.USER, answer)
        return answer

    def _recorded(self, tool: str, arguments: Json) -> str:
        self._go_on()
        call = ToolCall(f"call-{len(self.made)}", tool, arguments)
        self._recorder.entry(
            EntryKind.TOOL_CALL, call_id=call.call_id, tool=tool, arguments=recordable_arguments(call)
        )
        reply = self._tools.call(tool, arguments)
        self._recorder.entry(EntryKind.TOOL_RESULT, reply, call_id=call.call_id, tool=tool)
        self.made.append((arguments, reply))
        return reply

    def _go_on(self) -> None:
        """Raises when the play has to end here."""
        if stopped := stopped_from_outside(self._assignment.cancelled, self._assignment.deadline):
            raise _Stopped(stopped)


def refuse_foreign_limits(limits: Limits) -> None:
    """Refuse budgets that the suite has no rule for: an item caps its turns and its output per call.

    Raises:
        InputRefused: tokens or cost are limited.
    """
    given = [
        name for name in ("input_tokens", "output_tokens", "cost_usd") if getattr(limits, name) is not None
    ]
    if given:
        raise InputRefused(
            "The suite's items cannot be run under a limit of tokens or cost",
            where=", ".join(f"/limits/{name}" for name in given),
            remedy="leave it out: each item caps its turns and the output per call",
        )
