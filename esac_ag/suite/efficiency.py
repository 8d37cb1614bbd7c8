"""The efficiency modifier, 5 points, from measured facts only (amendment 001 §1).

Every eligible item has its own scale, fixed in advance; nothing is graded by hand. An item that was not
completed counts 0, so cheap failure never pays. Tokens that nobody reported are unavailable, never zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from esac_ag.errors import HarnessError
from esac_ag.record import Record, Sha256
from esac_ag.suite.constitution import ACTION_POINTS, TOKEN_POINTS, TOLERANCE
from esac_ag.suite.contract import ActionRule, Efficiency, Envelope, Fraction, Tokens, ToolCall
from esac_ag.suite.rework import NO_EFFECT, Effect

BEST_LEVEL: Final = 6
WORST_LEVEL: Final = 1

Count = Annotated[int, Field(ge=0)]
Level = Annotated[int, Field(ge=WORST_LEVEL, le=BEST_LEVEL)]


class ActionFacts(Record):
    """What was counted in a call log; one call can count under several heads."""

    calls: Count
    redundant: Count
    rework: Count
    after_goal: Count
    rejected: Count


class RunLevels(Record):
    """One run on its item's own scale."""

    facts: ActionFacts
    effective_actions: float
    action_level: Level
    tokens: Count | None
    """Input and output together; null is unknown."""
    token_level: Level | None


class ItemEfficiency(Record):
    """One eligible item that ran."""

    item_id: str
    completed: bool
    runs: Annotated[tuple[RunLevels, ...], Field(min_length=1)]

    @property
    def action_share(self) -> Fraction:
        """Its part of the mean, 0 to 1: the mean over its runs; 0 when it was not completed."""
        return _mean([normalised(run.action_level) for run in self.runs]) if self.completed else 0.0

    @property
    def token_bounds(self) -> tuple[float, float]:
        """Least and greatest part of the mean that the tokens can give; equal when they are known."""
        if not self.completed:
            return 0.0, 0.0
        known = [None if run.token_level is None else normalised(run.token_level) for run in self.runs]
        return (
            _mean([0.0 if share is None else share for share in known]),
            _mean([1.0 if share is None else share for share in known]),
        )

    @property
    def tokens_known(self) -> bool:
        """Whether every run reported its tokens."""
        return all(run.tokens is not None for run in self.runs)


class Modifier(Record):
    """The modifier over all eligible items, those that did not run included."""

    eligible: Count
    ran: Count
    action_points: float
    """Of 3.5."""
    token_points: float | None
    """Of 1.5; null when a run's tokens are unknown."""
    token_low: float
    """The least that the token part can be."""
    token_high: float
    """The most that the token part can be."""

    @property
    def points(self) -> float | None:
        """Of 5; none when the token part is unavailable."""
        return None if self.token_points is None else self.action_points + self.token_points


def action_facts(
    calls: Sequence[ToolCall],
    goal_index: int | None = None,
    effects: Sequence[Effect] = (),
) -> ActionFacts:
    """Count a call log.

    - redundant: an identical call was made earlier, no call between the two changed the state, and this one
      changed nothing and told nothing new (the same reply).
    - rework: a state change that leads back to a state that the run had already left, or takes back exactly
      what an earlier call added (it undoes), or takes away a value that an earlier call wrote (it
      overwrites). All but the first only when `effects` says what each call did.
    - after goal: calls after the one with index `goal_index`; -1 when the initial state was the goal.
    - rejected: calls that got an error reply.
    """
    return ActionFacts(
        calls=len(calls),
        redundant=_redundant(calls),
        rework=_rework(calls, effects or [NO_EFFECT] * len(calls)),
        after_goal=0 if goal_index is None else sum(call.index > goal_index for call in calls),
        rejected=sum(not call.ok for call in calls),
    )


def goal_index(calls: Sequence[ToolCall], is_goal: Callable[[Sha256], bool]) -> int | None:
    """Index of the call that first reached a goal state, by its digest; -1 for the initial state."""
    if calls and is_goal(calls[0].state_before):
        return -1
    return next((call.index for call in calls if is_goal(call.state_after)), None)


def effective_actions(facts: ActionFacts, rule: ActionRule) -> float:
    """The measure that the action envelope is written in."""
    return math.fsum(
        (
            rule.call * facts.calls,
            rule.redundant * facts.redundant,
            rule.rework * facts.rework,
            rule.after_goal * facts.after_goal,
            rule.rejected * facts.rejected,
        )
    )


def level(envelope: Envelope, measure: float) -> int:
    """The level that a measure earns, 6 to 1."""
    within = sum(measure <= bound + TOLERANCE for bound in envelope.levels)
    return WORST_LEVEL + within


def normalised(value: int) -> float:
    """A level on the common scale: `(level - 1) / 5`."""
    return (value - WORST_LEVEL) / (BEST_LEVEL - WORST_LEVEL)


def total_tokens(tokens: Tokens) -> int | None:
    """Input and output together; unknown when either is."""
    return None if tokens.input is None or tokens.output is None else tokens.input + tokens.output


def run_levels(scale: Efficiency, facts: ActionFacts, tokens: int | None) -> RunLevels:
    """Place one run on its item's scale."""
    actions = effective_actions(facts, scale.rule)
    return RunLevels(
        facts=facts,
        effective_actions=actions,
        action_level=level(scale.actions, actions),
        tokens=tokens,
        token_level=None if tokens is None else level(scale.tokens, tokens),
    )


def modifier(eligible: Collection[str], ran: Mapping[str, ItemEfficiency]) -> Modifier:
    """`3.5 x mean(action) + 1.5 x mean(token)` over all eligible items.

    Raises:
        HarnessError: no item is eligible, or an item that ran is not.
    """
    if not eligible:
        raise HarnessError("No item is eligible for the efficiency modifier.")
    unknown = sorted(ran.keys() - set(eligible))
    if unknown:
        raise HarnessError("An item without a scale has an efficiency.", found=", ".join(unknown))
    action = math.fsum(item.action_share for item in ran.values()) / len(eligible)
    low = math.fsum(item.token_bounds[0] for item in ran.values()) / len(eligible)
    high = math.fsum(item.token_bounds[1] for item in ran.values()) / len(eligible)
    known = all(item.tokens_known for item in ran.values())
    return Modifier(
        eligible=len(eligible),
        ran=len(ran),
        action_points=ACTION_POINTS * action,
        token_points=TOKEN_POINTS * low if known else None,
        token_low=TOKEN_POINTS * low,
        token_high=TOKEN_POINTS * high,
    )


def check_scale(item_id: str, scale: Efficiency) -> None:
    """Refuse a scale on which more could earn more.

    Raises:
        HarnessError: bounds do not ascend, or a weight is negative.
    """
    for name, envelope in (("actions", scale.actions), ("tokens", scale.tokens)):
        if envelope.levels[0] < 0 or list(envelope.levels) != sorted(envelope.levels):
            raise HarnessError(
                "An item's efficiency scale is senseless.",
                where=f"item {item_id}, {name}",
                expected="bounds of zero or more, ascending from level 6 to level 2",
                found=", ".join(f"{bound:g}" for bound in envelope.levels),
            )
    weights = scale.rule.model_dump()
    negative = [f"{name} {weight:g}" for name, weight in weights.items() if weight < 0]
    if negative:
        raise HarnessError(
            "An item's efficiency scale is senseless.",
            where=f"item {item_id}, rule",
            expected="weights of zero or more",
            found=", ".join(negative),
        )


def _redundant(calls: Sequence[ToolCall]) -> int:
    found = 0
    replies: dict[tuple[str, str], set[str]] = {}
    for call in calls:
        if call.changed_state:
            # What was asked before the change may be asked again; only this call itself may not be repeated.
            replies.clear()
        # Arguments are a model's: numbers may lie beyond what RFC 8785 can write.
        key = (call.tool, json.dumps(call.arguments, sort_keys=True))
        told = replies.setdefault(key, set())
        found += not call.changed_state and call.reply in told
        told.add(call.reply)
    return found


def _rework(calls: Sequence[ToolCall], effects: Sequence[Effect]) -> int:
    found = 0
    left: set[str] = set()
    earlier: list[Effect] = []
    for call, effect in zip(calls, effects, strict=True):
        if not call.changed_state:
            continue
        left.add(call.state_before)
        found += call.state_after in left or any(effect.reworks(other) for other in earlier)
        earlier.append(effect)
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
