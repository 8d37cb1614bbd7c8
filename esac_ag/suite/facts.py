"""What the bank says of each item before any instance of it is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esac_ag.record import Record
from esac_ag.suite.constitution import VERSION, Category
from esac_ag.suite.contract import Efficiency, Item
from esac_ag.suite.scoring import item_points


class ItemFacts(Record):
    """One item of the bank."""

    id: str
    category: Category
    title: str
    measures: str
    points: float
    turns: int
    """Cap on tool-call turns."""
    output_tokens: int
    """Cap per model call."""
    judged: bool
    efficiency: Efficiency | None
    """The solution envelope; null when the item does not count for the modifier."""


class SuiteListing(Record):
    """All items."""

    suite_version: str
    points: float
    """Of all items together, the modifier's five apart."""
    items: tuple[ItemFacts, ...]


def facts_of(items: Sequence[Item]) -> tuple[ItemFacts, ...]:
    """The facts of a whole bank, in its order."""
    points = item_points(items)
    return tuple(
        ItemFacts(
            id=item.id,
            category=item.category,
            title=item.title,
            measures=item.measures,
            points=points[item.id],
            turns=item.turns,
            output_tokens=item.output_tokens,
            judged=bool(item.rubric),
            efficiency=item.efficiency,
        )
        for item in items
    )


def listing(items: Sequence[Item]) -> SuiteListing:
    """The facts of a whole bank with their sum."""
    facts = facts_of(items)
    return SuiteListing(suite_version=VERSION, points=math.fsum(fact.points for fact in facts), items=facts)
