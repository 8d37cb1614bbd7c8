"""From checks to points: items, categories, capability total (constitution §2, §6).

An item's points are `category points x item weight / sum of weights in the category`, over the weights that
the bank declares. A category's denominator is its declared allocation, whatever happened to run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from esac_ag.errors import HarnessError
from esac_ag.record import Record
from esac_ag.suite.constitution import CAPABILITY_POINTS, CATEGORIES, ITEMS, TOLERANCE, Category
from esac_ag.suite.contract import CheckResult, Fraction, Item
from esac_ag.suite.efficiency import check_scale

MOST_TURNS: Final = 15
"""Cap on an item's cap of tool-call turns."""

BANK_REMEDY: Final = "Correct the item bank: the constitution's totals are fixed within a major version."


class Standing(StrEnum):
    """How an item stands; what "partial" counts."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"
    NOT_RUN = "not-run"


class ItemScore(Record):
    """One item's part of its category."""

    item_id: str
    category: Category
    points: Annotated[float, Field(gt=0)]
    """What the item is worth."""
    fraction: Fraction | None
    """Null when the item did not run: never zero."""

    @property
    def earned(self) -> float | None:
        """Points, or none when the item did not run."""
        return None if self.fraction is None else self.points * self.fraction

    @property
    def standing(self) -> Standing:
        """Full and none within the tolerance 1e-9."""
        if self.fraction is None:
            return Standing.NOT_RUN
        if is_complete(self.fraction):
            return Standing.FULL
        return Standing.NONE if self.fraction <= TOLERANCE else Standing.PARTIAL


class CategoryScore(Record):
    """One category; counts are of items, and items = full + partial + none + not run."""

    category: Category
    points: Annotated[float, Field(gt=0)]
    """The declared allocation."""
    earned: float | None
    """Points of the items that ran; null when none did."""
    items: int
    ran: int
    full: int
    partial: int
    none: int

    @property
    def complete(self) -> bool:
        """Whether every item ran."""
        return self.ran == self.items

    @property
    def percent(self) -> float | None:
        """Share of the declared allocation, 0 to 100; none when no item ran."""
        return None if self.earned is None else 100.0 * self.earned / self.points


def is_complete(fraction: float) -> bool:
    """Whether an item was successfully completed: fraction 1 within the tolerance."""
    return fraction >= 1.0 - TOLERANCE


def item_fraction(checks: Sequence[CheckResult]) -> float:
    """The weighted share of an item's checks, weights normalised, 0 to 1.

    Raises:
        HarnessError: there are no checks, or two with one id.
    """
    if not checks:
        raise HarnessError("An item was scored without any check.", expected="at least one check")
    twice = _twice(check.id for check in checks)
    if twice:
        raise HarnessError("An item was scored with two checks of one id.", found=", ".join(twice))
    # The same sum above and below: all passed is exactly 1.
    earned = math.fsum(check.weight * check.fraction for check in checks)
    return min(1.0, earned / math.fsum(check.weight for check in checks))


def check_bank(items: Sequence[Item]) -> dict[str, float]:
    """The points of every item by id, once the bank agrees with the constitution.

    Raises:
        HarnessError: an id occurs twice, a weight or scale is senseless, or items or points have drifted.
    """
    twice = _twice(item.id for item in items)
    if twice:
        raise HarnessError(
            "The item bank has two items of one id.", found=", ".join(twice), remedy=BANK_REMEDY
        )
    for item in items:
        _check_item(item)
    for category, rule in CATEGORIES.items():
        found = sum(item.category is category for item in items)
        if found != rule.items:
            raise _drift(f"category {category}", f"{rule.items} items", f"{found}")
    if len(items) != ITEMS:
        raise _drift("the whole bank", f"{ITEMS} items", f"{len(items)}")
    points = item_points(items)
    total = math.fsum(points.values())
    if abs(total - CAPABILITY_POINTS) > TOLERANCE:
        raise _drift("the whole bank", f"{CAPABILITY_POINTS} points", f"{total:g}")
    return points


def item_points(items: Sequence[Item]) -> dict[str, float]:
    """What every item is worth, by id."""
    sums = _weights(items)
    return {item.id: CATEGORIES[item.category].points * item.weight / sums[item.category] for item in items}


def item_scores(items: Sequence[Item], fractions: Mapping[str, float]) -> tuple[ItemScore, ...]:
    """The scores of all items in the bank's order; those without a fraction did not run.

    Raises:
        HarnessError: a fraction belongs to no item.
    """
    unknown = sorted(fractions.keys() - {item.id for item in items})
    if unknown:
        raise HarnessError("A result belongs to no item of the bank.", found=", ".join(unknown))
    points = item_points(items)
    return tuple(
        ItemScore(
            item_id=item.id,
            category=item.category,
            points=points[item.id],
            fraction=fractions.get(item.id),
        )
        for item in items
    )


def category_scores(items: Sequence[Item], fractions: Mapping[str, float]) -> tuple[CategoryScore, ...]:
    """Every category in the constitution's order.

    Raises:
        HarnessError: a fraction belongs to no item.
    """
    scores = item_scores(items, fractions)
    sums = _weights(items)
    return tuple(
        _category_score(
            category,
            [score for score in scores if score.category is category],
            math.fsum(
                item.weight * fractions[item.id]
                for item in items
                if item.category is category and item.id in fractions
            )
            / sums[category],
        )
        for category in Category
        if category in sums
    )


def capability_points(categories: Iterable[CategoryScore]) -> float:
    """Points of all categories together, of 70; what did not run adds nothing."""
    return math.fsum(score.earned for score in categories if score.earned is not None)


def _category_score(category: Category, scores: Sequence[ItemScore], share: float) -> CategoryScore:
    standings = Counter(score.standing for score in scores)
    ran = len(scores) - standings[Standing.NOT_RUN]
    points = CATEGORIES[category].points
    return CategoryScore(
        category=category,
        points=points,
        earned=points * min(1.0, share) if ran else None,
        items=len(scores),
        ran=ran,
        full=standings[Standing.FULL],
        partial=standings[Standing.PARTIAL],
        none=standings[Standing.NONE],
    )


def _check_item(item: Item) -> None:
    if not (math.isfinite(item.weight) and item.weight > 0):
        raise _drift(f"item {item.id}", "a weight above zero", f"{item.weight}")
    if not 1 <= item.turns <= MOST_TURNS:
        raise _drift(f"item {item.id}", f"1 to {MOST_TURNS} turns", f"{item.turns}")
    twice = _twice(criterion.id for criterion in item.rubric)
    if twice:
        raise _drift(f"item {item.id}", "each criterion once", ", ".join(twice))
    if item.efficiency is not None:
        check_scale(item.id, item.efficiency)


def _weights(items: Sequence[Item]) -> dict[Category, float]:
    present = {item.category for item in items}
    return {
        category: math.fsum(item.weight for item in items if item.category is category)
        for category in Category
        if category in present
    }


def _twice(ids: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(ids).items() if count > 1)


def _drift(where: str, expected: str, found: str) -> HarnessError:
    return HarnessError(
        "The item bank has drifted from the constitution.",
        where=where,
        expected=expected,
        found=found,
        remedy=BANK_REMEDY,
    )
