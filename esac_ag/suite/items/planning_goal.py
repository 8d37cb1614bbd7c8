"""Items that end in a state: facts of a goal, what may change on the way, and a budget of calls.

Every fact of the goal earns its share, and the whole goal a third of the item. Each object that changed
beyond what the goal needs costs a quarter of everything. Calls beyond the budget do not count, however they
were bundled into turns: the state is replayed from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
from esac_ag.suite.world import diff, replay

from . import planning_policies
from .draws import Draws
from .offers import offer

OUTPUT_TOKENS: Final = 3000
DAMAGE: Final = 0.25
"""What every damaged object takes away of the whole item."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Part of a goal: some row of a table holds these values. With a key it is that row."""

    id: str
    table: str
    values: Mapping[str, Json]
    key: str | None = None

    def as_json(self) -> dict[str, Json]:
        """The fact as a value of an instance's secret."""
        return {"id": self.id, "table": self.table, "key": self.key, "values": dict(self.values)}


@dataclass(frozen=True, slots=True)
class Plan:
    """What an item draws for an instance."""

    prompt: str
    state: dict[str, Any]
    facts: tuple[Fact, ...]
    free: tuple[str, ...]
    """JSON pointers of what may change; what lies under them too."""
    known: Mapping[str, Json]
    """What policies are told beside the prompt."""
    hidden: tuple[str, ...]
    """Ids of the solution that neither the prompt nor the tools may hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalItem:
    """An item with a goal state."""

    id: str
    title: str
    measures: str
    offered: tuple[str, ...]
    build: Callable[[Draws], Plan]
    solve: Callable[[Instance], Policy]
    wrong: tuple[Shortcut, ...]
    turns: int
    """The budget of calls, too."""
    reference_calls: int
    tokens: tuple[float, ...]
    """Token envelope."""
    reference_rework: int = 0
    """Changes that the plan itself has to overwrite later."""
    category: Category = Category.PLANNING
    weight: float = 1.0
    output_tokens: int = OUTPUT_TOKENS
    rubric: tuple[RubricCriterion, ...] = ()

    @property
    def efficiency(self) -> Efficiency:
        """The item's own scale."""
        least = self.reference_calls + self.reference_rework
        levels = tuple(float(least + more) for more in (0, 1, 2, 4, 6))
        return Efficiency(actions=Envelope(levels=levels), tokens=Envelope(levels=self.tokens))

    def generate(self, seeds: Seeds) -> Instance:
        """The instance of a seed."""
        plan = self.build(Draws(seeds, self.id))
        return Instance(
            item_id=self.id,
            prompt=f"{plan.prompt}\n\n{_closing(self.turns)}",
            tools=offer(self.offered),
            initial_state=plan.state,
            secret={
                "facts": [fact.as_json() for fact in plan.facts],
                "free": list(plan.free),
                "known": dict(plan.known),
                "hidden": list(plan.hidden),
            },
        )

    def check(self, instance: Instance, trace: Trace) -> tuple[CheckResult, ...]:
        """Each fact, and the whole goal; all of them less the damage."""
        state = within_budget(instance, trace, self.turns)
        facts: Any = instance.secret["facts"]
        damage = damaged(instance, state)
        share = max(0.0, 1.0 - DAMAGE * len(damage))
        harm = f"; also changed: {', '.join(damage)}" if damage else ""
        held = [_holds(fact, state) for fact in facts]
        results = [
            CheckResult(
                id=fact["id"],
                weight=1,
                fraction=share * holds,
                why=f"{'reached' if holds else 'not reached'}{harm}",
            )
            for fact, holds in zip(facts, held, strict=True)
        ]
        whole = CheckResult(
            id="whole-goal",
            weight=len(facts) / 2,
            fraction=share * all(held),
            why=f"{sum(held)} of {len(held)} facts{harm}",
        )
        return (*results, whole)

    def goal_reached(self, instance: Instance, state: Mapping[str, Json]) -> bool:
        """Whether all facts hold and nothing is damaged."""
        facts: Any = instance.secret["facts"]
        return all(_holds(fact, state) for fact in facts) and not damaged(instance, state)

    def reference(self, instance: Instance) -> Policy:
        """Explore only what the goal leads to, and act."""
        return self.solve(instance)

    def shortcuts(self) -> tuple[Shortcut, ...]:
        """The policies that every plan has to withstand, and the item's own."""
        return (*planning_policies.everywhere(self.id, self.generate, self.solve), *self.wrong)


def within_budget(instance: Instance, trace: Trace, budget: int) -> Mapping[str, Any]:
    """The state that the first calls of a run led to."""
    if len(trace.calls) <= budget:
        return trace.final_state
    offered = tuple(tool.name for tool in instance.tools)
    calls = ({"tool": call.tool, "arguments": call.arguments} for call in trace.calls)
    states = replay(instance.initial_state, islice(calls, budget), offered)
    return list(states)[-1]


def damaged(instance: Instance, state: Mapping[str, Any]) -> list[str]:
    """Objects that changed beyond what the goal needs, as `table/key`."""
    free: Any = instance.secret["free"]
    facts: Any = instance.secret["facts"]
    changes = diff(dict(instance.initial_state), dict(state))
    found = [str(change["path"]) for change in changes]
    spared = [*free, "/counters", *_new_rows(facts, instance.initial_state, state)]
    return sorted({_unit(path) for path in found if not any(_under(path, prefix) for prefix in spared)})


def _new_rows(facts: Sequence[Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Rows that were added as a fact asks, one for each."""
    rows = []
    for fact in facts:
        if fact["key"] is None:
            added = (key for key in after[fact["table"]] if key not in before[fact["table"]])
            rows += [
                f"/{fact['table']}/{key}"
                for key in islice((key for key in added if _matches(fact, after[fact["table"]][key])), 1)
            ]
    return rows


def _holds(fact: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    table = state[fact["table"]]
    rows = table.values() if fact["key"] is None else [table.get(fact["key"], {})]
    return any(_matches(fact, row) for row in rows)


def _matches(fact: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(name in row and row[name] == value for name, value in fact["values"].items())


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")


def _unit(path: str) -> str:
    return "/".join(path.split("/")[1:3])


def _closing(budget: int) -> str:
    return (
        f"You have {budget} tool calls in all, failed ones included, and what comes later does not count; "
        "there is far more to read than that. Finish with one line that says what you did."
    )
