"""Item state-stock-count: value the disputed lines of a stock count.

The count can be fetched once. What its lines mean turns up later, in tickets and in the inventory: one line
takes its quantity from another line of the count, one its price, one is given in boxes.
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

from . import state_count_policies as policies
from . import state_count_world as stage
from .draws import Draws
from .offers import leaks, offer, offer_text, state_text
from .state_basics import (
    always_ask,
    fetch_check,
    fixed,
    null,
    object_answer,
    peek,
    public_example,
    same_number,
)

TOOLS: Final = (
    "reports_list",
    "reports_fetch_once",
    "tickets_get",
    "tickets_list",
    "inventory_find",
    "inventory_get",
    "inventory_cached_levels",
    "fs_list",
    "fs_read",
)
SCALE: Final = Efficiency(
    actions=Envelope(levels=(7, 8, 9, 11, 14)),
    tokens=Envelope(levels=(30_000, 40_000, 55_000, 75_000, 110_000)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StockCount:
    """Recall of lines of a report that is delivered once."""

    id: str = "state-stock-count"
    category: Category = Category.STATE
    title: str = "Disputed lines of a stock count"
    measures: str = (
        "Whether lines of a report that cannot be fetched again are recalled once later replies say what for."
    )
    weight: float = 1.0
    turns: int = 10
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
            if not set(draft.expected.values()) & set(draft.mistaken)
            and not leaks(
                [str(value) for value in draft.values], draft.prompt, shown, state_text(draft.state)
            )
        )
        return Instance(
            item_id=self.id,
            prompt=draft.prompt,
            tools=tools,
            initial_state=draft.state,
            secret={
                "report": draft.report,
                "lines": dict(draft.expected),
                "total": sum(draft.expected.values()),
                "site": draft.site,
                "week": draft.week,
            },
        )

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """How often the reports were fetched, each line's value, and the total."""
        secret: Any = instance.secret
        answer = object_answer(trace.final_text) or {}
        fetched = fetch_check(secret["report"], trace.final_state, weight=0.3)
        lines = [
            CheckResult(
                id=f"line-{number}",
                weight=0.15,
                fraction=float(same_number(answer.get(place), value)),
                why=f"bin {place}: answered {answer.get(place)!r:.40}",
            )
            for number, (place, value) in enumerate(sorted(secret["lines"].items()), start=1)
        ]
        exact = same_number(answer.get("total"), secret["total"])
        whole = exact and set(answer) == {*secret["lines"], "total"}
        total = CheckResult(
            id="total",
            weight=0.25,
            fraction=float(whole),
            why="right, and no line too many" if whole else f"answered {answer.get('total')!r:.40}",
        )
        return (fetched, *lines, total)

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:
        """The goal is an answer."""
        del instance, state
        return False

    def reference(self, instance: Instance) -> Policy:
        """Fetch once, follow the tickets, and answer from what was read."""
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
            Shortcut("stale-export", policies.stale_export, 0.15),
            Shortcut("uncorrected", policies.uncorrected, 0.3),
            Shortcut("first-comment", policies.first_comment, 0.45),
            Shortcut("boxes-as-pieces", policies.boxes_as_pieces, 0.45),
            Shortcut("refetch", policies.refetch, 0.15),
        )
