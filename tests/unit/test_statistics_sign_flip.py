"""The sign-flip reference against brute force and closed forms."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esac_ag.statistics.estimates import NotEstimable, SignFlipReference
from esac_ag.statistics.sign_flip import MOST_TASKS, sign_flip_reference

DIFFERENCES = st.lists(st.integers(min_value=-100, max_value=100), min_size=2, max_size=8)


def by_brute_force(differences: list[int]) -> tuple[float, float]:
    """Share at least as extreme as observed, and the smallest share, in whole numbers."""
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    observed, extreme = abs(sum(differences)), sum(map(abs, differences))
    shares = [sum(total >= limit for total in totals) / len(totals) for limit in (observed, extreme)]
    return shares[0], shares[1]


@given(DIFFERENCES.filter(any))
def test_the_reference_agrees_with_brute_force(differences: list[int]) -> None:
    """All sign patterns, one by one, give the same shares."""
    found = sign_flip_reference(differences)
    assert isinstance(found, SignFlipReference)
    assert found.flips == 2 ** len(differences)
    assert (found.two_sided_share, found.smallest_share) == by_brute_force(differences)


def test_all_differences_of_one_sign_give_the_smallest_share() -> None:
    """12 gains lie as far out as can be: 2 patterns of 4096."""
    found = sign_flip_reference([float(number) for number in range(1, 13)])
    assert isinstance(found, SignFlipReference)
    assert found.two_sided_share == found.smallest_share == 2 / 4096


def test_equal_differences_have_a_reference_although_they_have_no_interval() -> None:
    """Signs can be turned whatever the variance is."""
    found = sign_flip_reference([5.0, 5.0, 5.0, 5.0])
    assert isinstance(found, SignFlipReference)
    assert found.two_sided_share == 2 / 16


@given(DIFFERENCES.filter(any))
def test_turning_all_signs_or_the_order_changes_nothing(differences: list[int]) -> None:
    """The two-sided reference is symmetric and knows no order."""
    assert sign_flip_reference([-value for value in differences[::-1]]) == sign_flip_reference(differences)


def test_sums_that_rounding_splits_still_count_as_equal() -> None:
    """0.1 + 0.2 and 0.3 are the same distance from zero."""
    found = sign_flip_reference([0.1, 0.2, -0.3])
    assert isinstance(found, SignFlipReference)
    assert found.two_sided_share == 1.0


@pytest.mark.parametrize(
    ("differences", "word"),
    [([], "no task"), ([3.0], "n = 1"), ([0.0, 0.0], "zero"), ([1.0] * (MOST_TASKS + 1), "n = 21")],
)
def test_where_there_is_no_reference_the_reason_is_told(differences: list[float], word: str) -> None:
    """Nothing, one difference, only zeros, or too many to enumerate."""
    found = sign_flip_reference(differences)
    assert isinstance(found, NotEstimable)
    assert word in found.reason


def test_the_largest_reference_is_enumerated_whole() -> None:
    """20 tasks are 2 ** 20 patterns."""
    found = sign_flip_reference([1.0] * MOST_TASKS)
    assert isinstance(found, SignFlipReference)
    assert found.flips == 1_048_576
    assert found.two_sided_share == 2 / 2**20


def test_what_is_not_finite_is_refused() -> None:
    """NaN compares with nothing and would silently give a share of zero."""
    with pytest.raises(ValueError, match="not finite"):
        sign_flip_reference([1.0, float("nan")])
