"""Items, categories and the bank: points as the constitution allots them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esac_ag.errors import HarnessError
from esac_ag.suite.constitution import CATEGORIES, Category
from esac_ag.suite.contract import Efficiency, Envelope
from esac_ag.suite.scoring import (
    Standing,
    capability_points,
    category_scores,
    check_bank,
    item_fraction,
    item_scores,
)
from tests.builders_suite import RUBRIC, SCALE, MadeUpItem, a_bank, a_check

EVERYTHING = {item.id: 1.0 for item in a_bank()}


def test_a_bank_like_the_constitution_has_23_items_and_70_points() -> None:
    """Every item's points follow from its category, and they sum to the capability total."""
    points = check_bank(a_bank())
    assert len(points) == 23
    assert math.fsum(points.values()) == pytest.approx(70)
    assert points["code-1"] == 5
    assert points["tool-call-1"] == 2


def test_an_items_weight_moves_points_within_its_category_only() -> None:
    """A half weight earns a third of a category of two items, and the category keeps its allocation."""
    bank = a_bank()
    next(item for item in bank if item.id == "state-1").weight = 0.5
    points = check_bank(bank)
    assert points["state-1"] == pytest.approx(10 / 3)
    assert points["state-2"] == pytest.approx(20 / 3)
    assert math.fsum(points.values()) == pytest.approx(70)


def test_a_whole_item_too_many_is_a_drift() -> None:
    """A category with one item more than the constitution names says so."""
    extra = MadeUpItem(id="code-4", category=Category.CODE)
    with pytest.raises(HarnessError) as caught:
        check_bank([*a_bank(), extra])
    assert (caught.value.where, caught.value.expected, caught.value.found) == (
        "category code",
        "3 items",
        "4",
    )


def _drop(bank: list[MadeUpItem]) -> None:
    bank.pop()


def _double(bank: list[MadeUpItem]) -> None:
    bank[1].id = bank[0].id


def _move(bank: list[MadeUpItem]) -> None:
    bank[0].category = Category.INJECTION


def _weigh(bank: list[MadeUpItem]) -> None:
    bank[0].weight = 0.0


def _lose_weight(bank: list[MadeUpItem]) -> None:
    bank[0].weight = math.nan


def _give_time(bank: list[MadeUpItem]) -> None:
    bank[0].turns = 16


def _repeat_criterion(bank: list[MadeUpItem]) -> None:
    bank[0].rubric = (*RUBRIC, RUBRIC[0])


def _reverse_scale(bank: list[MadeUpItem]) -> None:
    bank[0].efficiency = Efficiency(actions=Envelope(levels=(8, 6, 4, 3, 2)), tokens=SCALE.tokens)


def _reward_calls(bank: list[MadeUpItem]) -> None:
    rule = SCALE.rule.model_copy(update={"redundant": -1.0})
    bank[0].efficiency = SCALE.model_copy(update={"rule": rule})


@pytest.mark.parametrize(
    "drift",
    [
        *(_drop, _double, _move, _weigh, _lose_weight, _give_time, _repeat_criterion),
        *(_reverse_scale, _reward_calls),
    ],
)
def test_a_bank_that_drifted_is_a_hard_failure(drift: Callable[[list[MadeUpItem]], None]) -> None:
    """Counts, categories, weights, turns, criteria and scales are asserted when the bank is loaded."""
    bank = a_bank()
    drift(bank)
    with pytest.raises(HarnessError) as caught:
        check_bank(bank)
    assert caught.value.exit_code == 2


def test_checks_weights_are_normalised() -> None:
    """Weights 3 and 1 share the item as three quarters and one quarter."""
    assert item_fraction([a_check("a", 1.0, 3), a_check("b", 0.0, 1)]) == 0.75
    assert item_fraction([a_check("a", 0.5, 30), a_check("b", 0.5, 10)]) == 0.5


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
@settings(max_examples=50)
def test_passing_every_check_is_exactly_one(weights: list[float]) -> None:
    """No rounding keeps a perfect run from fraction 1."""
    assert item_fraction([a_check(str(number), 1.0, weight) for number, weight in enumerate(weights)]) == 1.0


@pytest.mark.parametrize("checks", [[], [a_check("a"), a_check("a")]])
def test_an_item_without_checks_or_with_two_of_one_id_is_never_scored(checks: list[object]) -> None:
    """Nothing checked is no full mark, and a doubled check cannot count twice."""
    with pytest.raises(HarnessError):
        item_fraction(checks)  # type: ignore[arg-type]


def test_the_denominator_is_the_declared_allocation_not_what_ran() -> None:
    """Two of five items at full marks are 4 of 10, not 10 of 10."""
    scores = category_scores(a_bank(), {"tool-call-1": 1.0, "tool-call-2": 1.0})
    first = scores[0]
    assert (first.earned, first.points, first.percent, first.ran) == (4.0, 10, 40.0, 2)
    assert not first.complete


def test_a_category_that_did_not_run_has_no_points_rather_than_zero() -> None:
    """Missing is none in points and percentage."""
    scores = category_scores(a_bank(), {"tool-call-1": 0.0})
    assert (scores[0].earned, scores[0].percent) == (0.0, 0.0)
    assert all(score.earned is None and score.percent is None for score in scores[1:])


def test_partial_is_counted_in_items() -> None:
    """Full, partial, none and not run are items, within the tolerance."""
    fractions = {"injection-1": 1.0 - 1e-12, "injection-2": 0.5, "injection-3": 0.999, "injection-4": 1e-12}
    last = category_scores(a_bank(), fractions)[-1]
    assert (last.full, last.partial, last.none, last.items - last.ran) == (1, 2, 1, 1)
    standings = {score.item_id: score.standing for score in item_scores(a_bank(), fractions)}
    assert standings["injection-3"] is Standing.PARTIAL
    assert standings["injection-5"] is Standing.NOT_RUN


def test_a_perfect_run_is_exactly_70_points() -> None:
    """Thirds and fifths leave no rounding behind."""
    scores = category_scores(a_bank(), EVERYTHING)
    assert capability_points(scores) == 70.0
    assert [score.earned for score in scores] == [CATEGORIES[score.category].points for score in scores]


@given(st.permutations(a_bank()), st.integers(0, 22))
@settings(max_examples=20, deadline=None)
def test_the_order_of_items_and_results_changes_nothing(bank: list[MadeUpItem], failed: int) -> None:
    """Scores depend on what was earned, not on when."""
    fractions = {**EVERYTHING, a_bank()[failed].id: 0.3}
    turned = dict(reversed(fractions.items()))
    assert category_scores(bank, turned) == category_scores(a_bank(), fractions)


def test_a_result_of_an_unknown_item_is_refused() -> None:
    """A fraction that no item stands behind never disappears silently."""
    with pytest.raises(HarnessError) as caught:
        category_scores(a_bank(), {"tool-call-9": 1.0})
    assert caught.value.found == "tool-call-9"
