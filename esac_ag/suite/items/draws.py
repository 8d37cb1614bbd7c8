"""Draws from one named stream of a seed, with integers alone.

`random.Random` promises equal sequences for few of its methods; these draws are SHA-256 and integer
arithmetic, so that an instance is the same bytes on every platform and Python version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from esac_ag.clock import Seeds

T = TypeVar("T")


class Draws:
    """A stream of draws; every draw advances it."""

    def __init__(self, seeds: Seeds, *names: str | int) -> None:
        self._numbers = seeds.numbers(*names)

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound - 1`."""
        if bound < 1:
            raise ValueError(f"nothing to draw below {bound}")
        # 256 bits over bounds of some thousands: the remainder's bias is beyond measuring.
        return next(self._numbers) % bound

    def between(self, least: int, most: int) -> int:
        """An integer from `least` to `most`, both included."""
        return least + self.below(most - least + 1)

    def pick(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[self.below(len(values))]

    def shuffled(self, values: Sequence[T]) -> tuple[T, ...]:
        """All values in a drawn order."""
        return self.sample(values, len(values))

    def sample(self, values: Sequence[T], count: int) -> tuple[T, ...]:
        """`count` different places of the values, in a drawn order."""
        left = list(values)
        return tuple(left.pop(self.below(len(left))) for _ in range(count))

    def distinct(self, least: int, most: int, count: int) -> tuple[int, ...]:
        """`count` different integers from `least` to `most`."""
        found: list[int] = []
        while len(found) < count:
            number = self.between(least, most)
            if number not in found:
                found.append(number)
        return tuple(found)
