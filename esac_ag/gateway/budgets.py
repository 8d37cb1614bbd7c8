"""A lane's budget: asked before each call, told after each, and how the lane stands."""

from __future__ import annotations

from esac_ag.attempt import LimitKind, Usage
from esac_ag.attempt.metering import Meter
from esac_ag.failures import FailureClass
from esac_ag.gateway.calls import (
    CALL_RULES,
    CallOutcome,
    CallRecord,
    CallRefused,
    EndingKind,
    LaneEnding,
    Refusal,
    Standing,
)
from esac_ag.gateway.plans import LanePlan

CLEAR = LaneEnding(kind=EndingKind.CLEAR)


class Budget:
    """Calls, tokens and cost of one lane. Not for several threads at once."""

    def __init__(self, plan: LanePlan) -> None:
        self._plan = plan
        self._meter = Meter(plan.limits, plan.price)
        self._under_way = 0
        self._ended: LaneEnding | None = None
        self._standing = CLEAR
        self._answered = False
        self.lost_replies = 0

    @property
    def usage(self) -> Usage:
        """Sum over the calls that count."""
        return self._meter.usage

    @property
    def cost(self) -> float | None:
        """Cost so far; null when unavailable."""
        return self._meter.cost

    @property
    def ending(self) -> LaneEnding:
        """How the lane stands: what ended it, else what its last call says."""
        return self._ended or self._standing

    @property
    def is_undecided(self) -> bool:
        """Whether it depends on the calls under way if there is room for one more: failed ones cost none."""
        calls = self._plan.limits.turns
        return (
            self._ended is None
            and calls is not None
            and self._meter.turns < calls <= self._meter.turns + self._under_way
        )

    def begin(self) -> None:
        """Take a call out of the budget; it must be given back by `end`.

        Raises:
            CallRefused: nothing is left, or what is left cannot be known. The lane has ended.
        """
        if self._ended is None:
            used_up = self._meter.used_up()
            if used_up is not None:
                reason = f"the budget of {used_up.value} is used up"
                self._ended = LaneEnding(kind=EndingKind.LIMIT, limit=used_up, reason=reason)
        if self._ended is not None:
            is_limit = self._ended.kind is EndingKind.LIMIT
            raise CallRefused(Refusal.BUDGET if is_limit else Refusal.UNMETERED, self._ended.reason)
        self._under_way += 1

    def end(self, call: CallRecord, *, standard_tier: bool = True) -> None:
        """Tell how a call ended that `begin` took.

        Args:
            call: its record.
            standard_tier: whether the price table's prices hold for it.
        """
        self._under_way -= 1
        if CALL_RULES[call.outcome].spends:
            if not standard_tier:
                self._meter.drop_price()
            self._meter.add_reply(_spent(call))
            self._judge_metering(call)
        elif call.usage.model_calls is not None:
            self.lost_replies += 1
        self._judge_standing(call)

    def _judge_metering(self, call: CallRecord) -> None:
        unmetered = self._meter.unmetered()
        if self._ended is not None or unmetered is None:
            return
        if call.outcome is CallOutcome.HUNG_UP:
            kind, who = EndingKind.HUNG_UP, "the agent left a reply before its usage came"
        else:
            kind, who = EndingKind.UNMETERED, "the provider does not tell enough of its usage"
        reason = f"{who}, so the budget of {unmetered.value} cannot be enforced"
        self._ended = LaneEnding(kind=kind, limit=unmetered, reason=reason)

    def _judge_standing(self, call: CallRecord) -> None:
        self._answered = self._answered or call.outcome is CallOutcome.ANSWERED
        match CALL_RULES[call.outcome].standing:
            case Standing.SILENT:
                return
            case Standing.INFRA:
                self._standing = LaneEnding(kind=EndingKind.INFRA, failure=call.failure, reason=call.detail)
            case Standing.CLEAR if call.failure is FailureClass.CONTEXT_FULL:
                self._standing = LaneEnding(
                    kind=EndingKind.LIMIT,
                    limit=LimitKind.INPUT_TOKENS,
                    failure=call.failure,
                    reason="the conversation no longer fits the model's window",
                )
            case Standing.CLEAR if call.failure is FailureClass.REJECTED and not self._answered:
                # Nothing that a model said is in such a request: the plan does not fit the endpoint.
                reason = f"no call was answered before one was rejected: {call.detail}"
                self._standing = LaneEnding(kind=EndingKind.INFRA, failure=call.failure, reason=reason)
            case Standing.CLEAR:
                self._standing = CLEAR


def _spent(call: CallRecord) -> Usage:
    """What a call adds to the sums: a request that the provider refused took no tokens."""
    if call.outcome is CallOutcome.OWN_FAULT and call.usage.model_calls is None:
        nothing = dict.fromkeys(Usage.model_fields, 0)
        return Usage(**{**nothing, "model_calls": 1})
    return call.usage if call.usage.model_calls else call.usage.model_copy(update={"model_calls": 1})
