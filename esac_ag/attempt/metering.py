"""What an attempt has used of its budget, and what it cost; unknown stays unknown."""

from __future__ import annotations

from esac_ag.attempt import Costs, LimitKind, Usage
from esac_ag.manifest.plan import Limits, TokenPrice

MILLION = 1_000_000


def total(first: Usage | None, second: Usage) -> Usage:
    """The sum of two usages; a count that is unknown in one is unknown in the sum."""
    if first is None:
        return second
    return Usage(
        **{name: _sum(getattr(first, name), getattr(second, name)) for name in Usage.model_fields},
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def cost_of(usage: Usage, price: TokenPrice | None) -> float | None:
    """Cost in the table's currency; null when a count or a price that it takes is unknown.

    A table without a price for cached input is read with an endpoint that tells of no cached input as: no
    such thing here, all input at one price. Reasoning is part of the output. (Manifest, `prices`.)
    """
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = _priced(usage.cached_input_tokens, price.cached_input)
    written = _priced(usage.cache_write_tokens, price.cache_write)
    if cached is None or written is None:
        return None
    plain = usage.input_tokens - (usage.cached_input_tokens or 0) - (usage.cache_write_tokens or 0)
    fresh, output = _priced(plain, price.input), _priced(usage.output_tokens, price.output)
    if fresh is None or output is None:
        return None
    return (fresh + cached + written + output) / MILLION


def _priced(tokens: int | None, price: float | None) -> float | None:
    match tokens, price:
        case (None, None) | (0, _):
            return 0.0
        case int() as count, float() as per_million:
            return count * per_million
        case _:
            return None


class Meter:
    """Counts of one attempt against its limits."""

    def __init__(self, limits: Limits, price: TokenPrice | None) -> None:
        self._limits = limits
        self._price = price
        self.turns = 0
        self.tool_calls = 0
        self.usage = Usage()
        """Unknown until the first reply."""
        self._summed: Usage | None = None

    def add_reply(self, usage: Usage) -> None:
        """Count one answered model call."""
        self.turns += 1
        self._summed = self.usage = total(self._summed, usage)

    def drop_price(self) -> None:
        """A reply was not billed by the table: the cost is unknown from now on."""
        self._price = None

    @property
    def cost(self) -> float | None:
        """Cost so far; null when unknown."""
        return cost_of(self.usage, self._price)

    def costs(self, latency_s: float) -> Costs:
        """All that was counted, with how long the attempt took."""
        return Costs(
            latency_s=latency_s,
            turns=self.turns,
            tool_calls=self.tool_calls,
            usage=self.usage,
            cost=self.cost,
        )

    def used_up(self) -> LimitKind | None:
        """The first budget that leaves no room for another model call."""
        for kind, used, limit in self._budgets():
            if used is not None and limit is not None and used >= limit:
                return kind
        return None

    def tool_calls_used_up(self) -> bool:
        """Whether no further tool call is allowed."""
        return self._limits.tool_calls is not None and self.tool_calls >= self._limits.tool_calls

    def unmetered(self) -> LimitKind | None:
        """A budget of the manifest that cannot be enforced, because the endpoint tells too little."""
        if self._summed is None:
            return None
        for kind, used, limit in self._budgets():
            if used is None and limit is not None:
                return kind
        return None

    def _budgets(self) -> tuple[tuple[LimitKind, float | None, float | None], ...]:
        return (
            (LimitKind.TURNS, self.turns, self._limits.turns),
            (LimitKind.INPUT_TOKENS, self.usage.input_tokens, self._limits.input_tokens),
            (LimitKind.OUTPUT_TOKENS, self.usage.output_tokens, self._limits.output_tokens),
            (LimitKind.COST, self.cost, self._limits.cost_usd),
        )
