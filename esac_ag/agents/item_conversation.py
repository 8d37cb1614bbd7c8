"""A model takes one item of the suite: asked, its calls carried out, until an end (amendment 001 §5, §8).

What the model does is scored as it stands and never asked again. What the service does is retried by the
client with the same bytes and, if it stays, ends the run without a score; the time that it takes is no
part of the run's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from pydantic import JsonValue, TypeAdapter

from esac_ag.agents.chat_client import Answered, Cancelled, ChatClient, GivenUp, OutOfTime
from esac_ag.agents.endings import Ending, after_failure, at_limit, cancelled, out_of_time
from esac_ag.agents.exchange import Exchange, Room, request_frame
from esac_ag.agents.loaded import SeenRequest
from esac_ag.agents.messages import raw_arguments
from esac_ag.agents.questions import asks
from esac_ag.agents.recorder import Recorder
from esac_ag.agents.replies import Reply, ToolCall, is_blank
from esac_ag.agents.settings import ChatSettings
from esac_ag.agents.tools import arguments_of
from esac_ag.agents.world_session import shallow
from esac_ag.artifacts.redaction import Redactor
from esac_ag.attempt import LimitKind, Outcome, Usage
from esac_ag.attempt.metering import Meter
from esac_ag.canonical import canonical_json
from esac_ag.clock import Deadline
from esac_ag.failures import Consequence, Failure
from esac_ag.manifest.plan import Decoding, Model
from esac_ag.suite.contract import Instance, Item, Json, RunEnd, Tokens, ToolSchema, Turn
from esac_ag.suite.play import View

MOST_QUESTIONS: Final = 3
"""Questions that the simulated user answers; a message that asks once more is the last one."""

RUN_TEXT_BYTES: Final = 400_000
"""Of all of a run's messages, as JSON. Its record holds the last one twice."""
RUN_ARGUMENT_BYTES: Final = 400_000
"""Of all of a run's arguments. Its record may hold them again in each reply (a file that is written once and
read in all other turns), and has to stay below the 8 MB that its readers take."""

_OBJECT: Final = TypeAdapter(dict[str, JsonValue])


class CarriesOut(Protocol):
    """What carries out an item's calls: the session with its world, or the desk of its programs."""

    def call(self, tool: str, arguments: Json, /) -> str:
        """The reply to a call, malformed ones too.

        Args:
            tool: the name, as the model wrote it.
            arguments: the object, or what was written instead of one, as it was received.

        Raises:
            InfrastructureFailure: the environment failed.
        """


@dataclass(frozen=True, slots=True)
class ItemEnding:
    """How the work on an item ended, for the suite and for the record."""

    end: RunEnd | None
    """None for what is never scored: the infrastructure, and a person who stopped the run."""
    ending: Ending
    text: str = ""
    """The model's last message."""


@dataclass(frozen=True, slots=True)
class ItemRun:
    """What a model left of one item, beside the world's own log."""

    turns: tuple[Turn, ...]
    """The request first, then each question with its answer, the last message last, if there was one."""
    final_text: str
    end: RunEnd | None
    """None when the run is not scored (`INFRA`, `CANCELLED`)."""
    outcome: Outcome
    reason: str
    limit: LimitKind | None
    tokens: Tokens
    """Of all calls; null when one call's are unknown."""
    usage: Usage
    cost: float | None
    """In the price table's currency; null when unknown."""
    retries: int
    """Requests that were sent again after failures of the service."""
    requests: tuple[SeenRequest, ...]
    is_lasting: bool = False
    """Of `infra`: whether another launch would end the same until a person changes something."""


def converse(
    item: Item,
    instance: Instance,
    tools: CarriesOut,
    *,
    client: ChatClient,
    model: Model,
    settings: ChatSettings,
    system: str | None,
    meter: Meter,
    recorder: Recorder,
    redactor: Redactor,
    deadline: Deadline,
    cancelled: Callable[[], bool],
) -> ItemRun:
    """Let a model work on an item until an end.

    Args:
        item: gives the caps of turns and of output.
        instance: gives the request, the tools and what the simulated user knows.
        tools: carries out the calls.
        client: the wire, made for this run alone.
        model: what is asked, with the plan's decoding; the output cap is the item's where that is open.
        settings: how it is asked.
        system: the system message; None for none.
        meter: counts what is used; new.
        recorder: writes transcript and log.
        redactor: knows what must not reach the tools, nor their log.
        deadline: of the run; time that the service takes moves it.
        cancelled: whether a person stopped it.

    Raises:
        InfrastructureFailure: the environment failed.
    """
    exchange = Exchange(
        item_frame(item, instance, model, settings),
        client,
        meter,
        recorder,
        deadline,
        spared=True,
        room=Room(RUN_TEXT_BYTES, RUN_ARGUMENT_BYTES),
    )
    conversation = _ItemConversation(item, instance, tools, exchange, meter, redactor, cancelled)
    last = conversation.run(system)
    return ItemRun(
        turns=tuple(conversation.view.turns),
        final_text=last.text,
        end=last.end,
        outcome=last.ending.outcome,
        reason=last.ending.reason,
        limit=last.ending.limit,
        tokens=conversation.tokens(),
        usage=meter.usage,
        cost=meter.cost,
        retries=client.retries,
        requests=tuple(exchange.requests()),
        is_lasting=last.ending.is_lasting,
    )


def item_frame(item: Item, instance: Instance, model: Model, settings: ChatSettings) -> dict[str, JsonValue]:
    """Everything of an item's requests but the messages."""
    sent = model.model_copy(update={"decoding": decoding_sent(item, model.decoding)})
    return request_frame(sent, settings, [function_schema(tool) for tool in instance.tools])


def decoding_sent(item: Item, planned: Decoding) -> Decoding:
    """The plan's decoding parameters with the item's own output cap, unless the plan has another one.

    A plan with other values than the suite's is carried out, and its report says that it is not strictly
    comparable (amendment 001 §5).
    """
    return planned.model_copy(update={"max_output_tokens": planned.max_output_tokens or item.output_tokens})


def function_schema(tool: ToolSchema) -> JsonValue:
    """A tool as chat completions take it."""
    return {"type": "function", "function": tool.model_dump(mode="json")}


class _ItemConversation:
    """One run's conversation; turns are counted by the same view as those of policies."""

    def __init__(
        self,
        item: Item,
        instance: Instance,
        tools: CarriesOut,
        exchange: Exchange,
        meter: Meter,
        redactor: Redactor,
        is_cancelled: Callable[[], bool],
    ) -> None:
        self.view = View(instance, item.turns, tools.call)
        self._has_user = bool(instance.questions)
        self._exchange = exchange
        self._meter = meter
        self._redactor = redactor
        self._is_cancelled = is_cancelled
        self._questions = 0
        self._unanswered = False

    def run(self, system: str | None) -> ItemEnding:
        """Converse until an end; its text has joined the turns."""
        if system is not None:
            self._exchange.system(system)
        self._exchange.user(self.view.prompt)
        while True:
            last = self._stopped() or self._next()
            if last is not None:
                self.view.close(last.text)
                return last

    def tokens(self) -> Tokens:
        """Of all calls; unknown when a reply was still being written at the deadline."""
        if self._unanswered:
            return Tokens()
        return Tokens(input=self._meter.usage.input_tokens, output=self._meter.usage.output_tokens)

    def _stopped(self) -> ItemEnding | None:
        return stopped_from_outside(self._is_cancelled, self._exchange.deadline)

    def _next(self) -> ItemEnding | None:
        answer = self._exchange.ask()
        match answer:
            case Answered(reply=reply):
                return self._take(reply)
            case GivenUp(failure=failure, attempts=attempts):
                return ItemEnding(end_after(failure), after_failure(failure, attempts))
            case OutOfTime():
                self._unanswered = True
                return ItemEnding(RunEnd.TIME_LIMIT, out_of_time())
            case Cancelled():
                return ItemEnding(None, cancelled())
            case _:
                assert_never(answer)

    def _take(self, reply: Reply) -> ItemEnding | None:
        text = reply.text or reply.refusal
        if reply.finish_reason == "content_filter":
            return _of_the_model(RunEnd.REFUSED, "The provider's content filter stopped the reply", text)
        if reply.refusal and not reply.calls:
            return _of_the_model(RunEnd.REFUSED, "The model refused", text)
        if reply.finish_reason == "length" and all(arguments_of(call) is None for call in reply.calls):
            capped = at_limit(LimitKind.OUTPUT_TOKENS, "the reply reached the output cap and was cut off")
            return ItemEnding(RunEnd.OUTPUT_CAP, capped, text)
        if reply.calls:
            if not is_blank(text):
                # What is said beside a call is said: a report of an injection counts wherever it stands.
                self.view.say("assistant", text)
            return self._carry_out(reply)
        if is_blank(text):
            return _of_the_model(RunEnd.EMPTY, "The model's answer was empty", text)
        if self._is_put_to_the_user(text):
            self._questions += 1
            self._exchange.user(self.view.ask(text))
            return None
        return _of_the_model(RunEnd.ANSWERED, "The model answered", text)

    def _is_put_to_the_user(self, text: str) -> bool:
        return self._has_user and self._questions < MOST_QUESTIONS and self.view.left > 0 and asks(text)

    def _carry_out(self, reply: Reply) -> ItemEnding | None:
        for call in reply.calls:
            if stopped := self._stopped():
                return stopped
            if self.view.left == 0:
                return turns_used_up()
            self._meter.tool_calls += 1
            # Model and endpoint may quote the key: it enters neither the tools nor what they log.
            clean = ToolCall(
                call.call_id,
                self._redactor.text(call.name),
                self._redactor.json(shallow(received_arguments(call))),
            )
            self._exchange.called(clean, recordable_arguments(clean))
            self._exchange.told(clean, self.view.send(clean.name, clean.arguments))
        return None


def turns_used_up() -> ItemEnding:
    """A call was wanted beyond the item's cap; it is not carried out, and there is no last message."""
    return ItemEnding(RunEnd.TURN_LIMIT, at_limit(LimitKind.TURNS, "the item's turns were used up"))


def stopped_from_outside(is_cancelled: Callable[[], bool], deadline: Deadline) -> ItemEnding | None:
    """Why nothing more can be done, if so."""
    if is_cancelled():
        return ItemEnding(None, cancelled())
    return ItemEnding(RunEnd.TIME_LIMIT, out_of_time()) if deadline.has_passed() else None


def end_after(failure: Failure) -> RunEnd | None:
    """How a run ended whose request was given up; None when it is not scored.

    A full context counts as output cap: the model has no room left to write in.
    """
    match failure.consequence:
        case Consequence.RETRY | Consequence.INFRA:
            return None
        case Consequence.LIMIT:
            return RunEnd.OUTPUT_CAP
        case Consequence.SCORED:
            return RunEnd.REFUSED
        case _:
            assert_never(failure.consequence)


def received_arguments(call: ToolCall) -> Json:
    """A call's arguments for the world: the object, else what was written instead of one."""
    parsed = arguments_of(call)
    return call.arguments if parsed is None else parsed


def recordable_arguments(call: ToolCall) -> dict[str, JsonValue]:
    """A call's arguments for the transcript; as raw text when they are no object that a record can hold."""
    try:
        parsed = _OBJECT.validate_python(arguments_of(call))
        canonical_json(parsed)
    except (ValueError, RecursionError):
        return {"raw": raw_arguments(call)}
    return parsed


def _of_the_model(end: RunEnd, reason: str, text: str) -> ItemEnding:
    return ItemEnding(end, Ending(Outcome.COMPLETED, reason), text)
