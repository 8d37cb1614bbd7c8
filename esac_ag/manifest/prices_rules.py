"""Rules for limits and prices: what is limited must be measurable."""

from __future__ import annotations

from datetime import date
from typing import Protocol

from esac_ag.manifest.collector import Collector
from esac_ag.manifest.plan import AgentKind, AgentPlan, Limits, Model, Prices

EDIT = "Correct the draft and freeze it again under a new study id."


class PricedParts(Protocol):
    """The parts of a draft or a sealed manifest that costs follow from; none where one is malformed."""

    @property
    def agent(self) -> AgentPlan | None:
        """What acts."""

    @property
    def model(self) -> Model | None:
        """Whose price counts."""

    @property
    def limits(self) -> Limits | None:
        """May limit the cost."""

    @property
    def prices(self) -> Prices | None:
        """The table."""


def judge_prices(parts: PricedParts, out: Collector) -> None:
    """A cost limit needs prices; a model without a price has an unknown cost, never a cost of zero."""
    if parts.agent is None or parts.model is None or parts.limits is None:
        return
    if parts.prices is not None:
        _judge_date(parts.prices, out)
    price = parts.prices.per_million.get(parts.model.name) if parts.prices else None
    priced = price is not None and price.input is not None and price.output is not None
    if parts.agent.kind is not AgentKind.SCRIPTED and not priced:
        what = "The model has no price, so costs will be reported as unavailable."
        found = "no table" if parts.prices is None else "no input and output price for it"
        out.warn(("prices",), "no-price", what, f"a price for {parts.model.name}", found, "Add its prices.")
    if parts.limits.cost_usd is not None:
        _judge_cost_limit(parts.prices, out, priced=priced)
    _judge_counts(parts.limits, out)


def _judge_cost_limit(prices: Prices | None, out: Collector, *, priced: bool) -> None:
    at = ("limits", "cost_usd")
    if not priced:
        what = "A cost limit cannot be enforced without prices."
        out.error(at, "cost-limit", what, "prices for the model, or null", "no prices", EDIT)
    elif prices is not None and prices.currency != "USD":
        what = "The cost limit is in US dollars, the price table is not."
        out.error(at, "cost-limit", what, "USD", prices.currency, EDIT)


def _judge_date(prices: Prices, out: Collector) -> None:
    try:
        date.fromisoformat(prices.date)
    except ValueError:
        what = "The price table's date is no date."
        out.error(("prices", "date"), "date", what, "YYYY-MM-DD", prices.date, EDIT)


def _judge_counts(limits: Limits, out: Collector) -> None:
    if limits.grader.workspace_mib < limits.workspace_mib:
        what = "The grader has less room than the agent, so a full submission cannot be judged."
        expected = f"at least {limits.workspace_mib}"
        at = ("limits", "grader", "workspace_mib")
        out.error(at, "grader-limits", what, expected, str(limits.grader.workspace_mib), EDIT)
