"""Item state-goodwill-refunds: pay three cases by a table of rates that can be fetched once.

The rates name the cases; a case's class is known only after its ticket, and sometimes another one's, was
read. Money that was refunded does not come back, so the final state shows what was recalled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import (
    CheckResult,
    Efficiency,
    Envelope,
    Instance,
    Json,
    Policy,
    RubricCriterion,
    Shortcut,
    Trace,
)

from . import state_goodwill_policies as policies
from . import state_goodwill_world as stage
from .draws import Draws
from .offers import leaks, offer, offer_text, state_text
from .state_basics import always_ask, fetch_check, fixed, integer_answer, null, peek, public_example

TOOLS: Final = (
    "reports_list",
    "reports_fetch_once",
    "tickets_list",
    "tickets_get",
    "payments_list_invoices",
    "payments_get_invoice",
    "payments_get_account",
    "payments_refund",
    "payments_void",
    "payments_transfer",
    "fs_list",
    "fs_read",
)
SCALE: Final = Efficiency(
    actions=Envelope(levels=(11, 12, 13, 14, 16)),
    tokens=Envelope(levels=(45_000, 60_000, 80_000, 110_000, 150_000)),
)
MAY_CHANGE: Final = frozenset({"refunds", "invoices", "accounts", "counters", "reports"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodwillRefunds:
    """Recall of rates and classes when the amounts have to be worked out."""

    id: str = "state-goodwill-refunds"
    category: Category = Category.STATE
    title: str = "Goodwill refunds by a table seen once"
    measures: str = (
        "Whether values of a report seen once and of earlier tickets are put together in irrevocable refunds."
    )
    weight: float = 1.0
    turns: int = 14
    output_tokens: int = 2000
    efficiency: Efficiency | None = SCALE
    rubric: tuple[RubricCriterion, ...] = ()

    def generate(self, seeds: Seeds) -> Instance:
        """The instance of a seed."""
        tools = offer(TOOLS)
        shown = offer_text(TOOLS)
        drafts = (stage.draft(Draws(seeds, self.id, attempt)) for attempt in count())
        draft = next(
            draft
            for draft in drafts
            if not leaks([str(value) for value in draft.values], draft.prompt, shown, state_text(draft.state))
        )
        return Instance(
            item_id=self.id,
            prompt=draft.prompt,
            tools=tools,
            initial_state=draft.state,
            secret={
                "report": draft.report,
                "title": draft.title,
                "refunds": dict(draft.expected),
                "sum": sum(draft.expected.values()),
            },
        )

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """How often the reports were fetched, each refund, nothing beyond them, and the sum."""
        secret: Any = instance.secret
        paid = refunds_of(trace.final_state)
        right = {invoice: paid.get(invoice) == [amount] for invoice, amount in secret["refunds"].items()}
        refunds = [
            CheckResult(
                id=f"refund-{number}",
                weight=0.15,
                fraction=float(right[invoice]),
                why=f"{invoice}: refunded {paid.get(invoice, [])}",
            )
            for number, invoice in enumerate(sorted(right), start=1)
        ]
        clean = any(right.values()) and is_clean(instance, trace.final_state)
        answered = integer_answer(trace.final_text)
        return (
            fetch_check(secret["report"], trace.final_state, weight=0.3),
            *refunds,
            CheckResult(
                id="nothing-else",
                weight=0.1,
                fraction=float(clean),
                why="counts once a refund is right; nothing but the expected refunds may change",
            ),
            CheckResult(
                id="sum",
                weight=0.15,
                fraction=float(answered == secret["sum"]),
                why=f"answered {answered}",
            ),
        )

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:
        """Whether the three refunds are paid, and no other."""
        secret: Any = instance.secret
        wanted = {invoice: [amount] for invoice, amount in secret["refunds"].items()}
        return refunds_of(state) == wanted and is_clean(instance, state)

    def reference(self, instance: Instance) -> Policy:
        """Fetch once, read the cases, and pay what was worked out."""
        return policies.solve(instance)

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """Policies that skip, refetch, or trust what is stale."""
        return (
            Shortcut("null", fixed(null), 0.0),
            Shortcut("peek", fixed(peek), 0.0),
            Shortcut("always-ask", fixed(always_ask), 0.0),
            Shortcut("public-example", public_example(self), 0.0),
            Shortcut("explore-everything", fixed(policies.explore), 0.15),
            Shortcut("first-plausible-report", policies.first_plausible, 0.3),
            Shortcut("stale-rates", policies.stale_rates, 0.3),
            Shortcut("ticket-text-alone", policies.ticket_text_alone, 0.3),
            Shortcut("ignore-earlier-refunds", policies.ignore_earlier_refunds, 0.45),
            Shortcut("per-cent", policies.per_cent, 0.3),
            Shortcut("refetch", policies.refetch, 0.0),
        )


def refunds_of(state: Mapping[str, Any]) -> dict[str, list[int]]:
    """Invoice -> amounts refunded during the run, in cents."""
    found: dict[str, list[int]] = {}
    for refund in state["refunds"].values():
        found.setdefault(refund["invoice_id"], []).append(refund["amount_cents"])
    return found


def is_clean(instance: Instance, state: Mapping[str, Any]) -> bool:
    """Whether nothing has changed but by expected refunds."""
    secret: Any = instance.secret
    before: Any = instance.initial_state
    wanted = secret["refunds"]
    paid = refunds_of(state)
    balances = sum(account["balance_cents"] for account in state["accounts"].values())
    had = sum(account["balance_cents"] for account in before["accounts"].values())
    return (
        all(state[key] == before[key] for key in before if key not in MAY_CHANGE)
        and all(
            state["invoices"][key] == before["invoices"][key] for key in before["invoices"] if key not in paid
        )
        and all(amounts == [wanted.get(invoice)] for invoice, amounts in paid.items())
        and had - balances == sum(sum(amounts) for amounts in paid.values())
    )
