"""Random streams: named, independent, the same everywhere."""

from __future__ import annotations

from itertools import islice

import pytest

from esac_ag.clock import Deadline, Seeds


def test_a_named_stream_always_draws_the_same() -> None:
    """The values are fixed: a change of the derivation would change every sealed schedule."""
    stream = Seeds("2026").stream("order", 3)
    assert [stream.randrange(1000) for _ in range(4)] == [86, 53, 335, 447]


def test_streams_of_different_names_differ() -> None:
    """Numbers and text of the same digits name different streams, and so do different splits."""
    seeds = Seeds("2026")
    names: list[tuple[str | int, ...]] = [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ("a",)]
    assert len({seeds.number(*name) for name in names}) == len(names)


def test_a_deadline_never_has_negative_time_left() -> None:
    """A past deadline has none left, and the earlier of two holds."""
    past = Deadline.after_s(-5)
    assert past.has_passed()
    assert past.remaining_s() == 0.0
    assert past.earlier(100.0) == past
    assert Deadline.after_s(1000).earlier(10.0).remaining_s() <= 10.0


@pytest.mark.parametrize("names", [(), ("order",), ("order", 3, '\u00e9"]')])
def test_numbers_in_a_row_are_those_of_their_places(names: tuple[str | int, ...]) -> None:
    """However they are asked for, the numbers of a name are the same."""
    seeds = Seeds("a]b")
    assert list(islice(seeds.numbers(*names), 12)) == [seeds.number(*names, place) for place in range(12)]
