"""The item contract: what an item declares, what an instance is, what a run leaves, and how it is checked.

An item is a generator over a named random stream: `generate(seeds)` gives an `Instance`. Expected answers
are computed from the seed and live in `Instance.secret`, which never enters a prompt, a tool schema or an
initial state.
Checks are pure functions over the instance and the `Trace` of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field, JsonValue

from esac_ag.clock import Seeds
from esac_ag.record import Record, Sha256
from esac_ag.suite.constitution import Category

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Json = JsonValue


class ToolSchema(Record):
    """A tool as it is offered: an OpenAI function schema."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    description: str
    parameters: dict[str, Json]
    """JSON Schema of the arguments, `additionalProperties: false`."""


class ToolCall(Record):
    """One line of the call log, written by the world itself."""

    index: Annotated[int, Field(ge=0)]
    tool: str
    arguments: Json
    """As received; a malformed call keeps its raw text as a string."""
    ok: bool
    reply: str
    """Exactly what the agent was shown; byte-identical for identical state and call."""
    error: str | None
    """Code of an error reply (`not-found`, `invalid-arguments`, `unknown-tool`, ...)."""
    state_before: Sha256
    state_after: Sha256

    @property
    def changed_state(self) -> bool:
        """Whether the call changed the world."""
        return self.state_before != self.state_after


class RunEnd(StrEnum):
    """How the model's work on an item ended; all are scored (amendment 001 §8)."""

    ANSWERED = "answered"
    EMPTY = "empty"
    REFUSED = "refused"
    OUTPUT_CAP = "output-cap"
    TURN_LIMIT = "turn-limit"
    TIME_LIMIT = "time-limit"


class Turn(Record):
    """One message of the conversation that is not a tool's reply."""

    role: Annotated[str, Field(pattern=r"^(user|assistant)$")]
    text: str
    after_calls: Annotated[int, Field(ge=0)] | None = None
    """How many tool calls were made before it; null in traces that do not tell."""


class Tokens(Record):
    """Tokens of a run; null is unknown, never zero."""

    input: int | None = None
    output: int | None = None


class CodeResult(Record):
    """What the grader container found of a submitted program (categories code and recovery)."""

    test_id: str
    passed: bool
    detail: str = ""


class Trace(Record):
    """Everything that one run of an instance left."""

    calls: tuple[ToolCall, ...]
    turns: tuple[Turn, ...]
    final_text: str
    """The model's last message; empty when there was none."""
    final_state: dict[str, Json]
    """Canonical snapshot of the world at the end."""
    end: RunEnd
    tokens: Tokens = Tokens()
    code: tuple[CodeResult, ...] = ()
    """Results of hidden tests, in order of `Instance.hidden_tests`."""


class CheckResult(Record):
    """One check of an item, with partial credit."""

    id: str
    weight: Annotated[float, Field(gt=0)]
    fraction: Fraction
    why: str


class Envelope(Record):
    """The author's solution envelope for one part of the modifier (amendment 001 §1).

    `levels` holds, for level 6, 5, 4, 3, 2, the largest measure that still earns it; anything above earns
    level 1. Ascending.
    """

    levels: Annotated[tuple[float, ...], Field(min_length=5, max_length=5)]


class ActionRule(Record):
    """Which facts count as actions and by how much; the author's choice for the item."""

    call: float = 1.0
    redundant: float = 1.0
    """Added for the same call with the same arguments and no state change in between."""
    rework: float = 1.0
    """Added for a state change that undoes or overwrites the agent's own earlier one."""
    after_goal: float = 1.0
    """Added for a call after the goal state was reached."""
    rejected: float = 1.0
    """Added for a call that got an error reply."""


class Efficiency(Record):
    """An eligible item's own scale, fixed in advance."""

    actions: Envelope
    tokens: Envelope
    rule: ActionRule = ActionRule()


class RubricCriterion(Record):
    """One criterion of a judged item: 0 to 4, with anchors."""

    id: str
    question: str
    weight: Annotated[float, Field(gt=0)]
    anchors: Annotated[tuple[str, ...], Field(min_length=5, max_length=5)]


@dataclass(frozen=True, slots=True)
class HiddenTest:
    """One hidden test of a program: drives it in the grader's container, by the call broker."""

    id: str
    source: str
    """Body of a grader check (docs/graders.md) over `subject`; expected values stay in it."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Instance:
    """One realisation of an item under a seed."""

    item_id: str
    prompt: str
    tools: tuple[ToolSchema, ...]
    initial_state: dict[str, Json]
    """A world state (`esac_ag.suite.world`)."""
    secret: Mapping[str, Json]
    """Expected values, for checks alone."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files of a code item's workspace."""
    hidden_tests: tuple[HiddenTest, ...] = ()
    questions: Mapping[str, str] = field(default_factory=dict)
    """User simulator's fixed table: topic keyword -> answer (category ambiguity)."""


class AgentView(Protocol):
    """What a policy sees: exactly what a model sees."""

    @property
    def prompt(self) -> str:
        """The user's request."""

    @property
    def tools(self) -> Sequence[ToolSchema]:
        """The tools on offer."""

    def call(self, tool: str, /, **arguments: Json) -> str:
        """Call a tool; its reply as text."""

    def ask(self, question: str) -> str:
        """End the turn with a question to the user; the user's answer."""


Policy = Callable[[AgentView], str]
"""Plays a run by the tools and returns the final answer."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A wrong but tempting policy and the item fraction that its author predeclares; always below 0.6."""

    name: str
    policy: Callable[[Instance], Policy]
    most: float


class Item(Protocol):
    """One item of the suite; nothing of it can be set once it is made."""

    @property
    def id(self) -> str:
        """Its name in the bank."""

    @property
    def category(self) -> Category:
        """The constitution's category."""

    @property
    def title(self) -> str:
        """What it is called in reports."""

    @property
    def measures(self) -> str:
        """What it measures, in one sentence."""

    @property
    def weight(self) -> float:
        """Its share of the category, against the other items'."""

    @property
    def turns(self) -> int:
        """Cap on tool-call turns, 10 to 15 at most."""

    @property
    def output_tokens(self) -> int:
        """Cap per model call."""

    @property
    def efficiency(self) -> Efficiency | None:
        """Its own scale; none for items that are not eligible."""

    @property
    def rubric(self) -> tuple[RubricCriterion, ...]:
        """Empty for deterministic items."""

    def generate(self, seeds: Seeds) -> Instance:
        """The instance of a seed: a pure function, the same bytes on every platform."""

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """All deterministic checks of a run."""

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:
        """Whether a world state is the goal; False for items whose goal is an answer."""

    def reference(self, instance: Instance) -> Policy:
        """A policy that solves the instance with fraction 1.0 and efficiency 6/6 through the real tools."""

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """Wrong policies with their predeclared fractions, `null` among them."""
