"""POSIX regular expressions, basic and extended, matched in linear time.

A simulated automaton instead of Python's `re`: no pattern can take for ever, and the result does not
depend on the Python version. There are no back-references.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from .shell_regex_syntax import (
    Alternatives,
    Anchor,
    BadPattern,
    Character,
    Expression,
    Repeat,
    Sequence,
    parse,
)

MAX_STATES: Final = 3000
MAX_STEPS: Final = 2_000_000


class TooExpensive(Exception):
    """The work allowed for one command line is used up."""


@dataclass(slots=True)
class Work:
    """Steps that are left for one command line."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Use steps up.

        Raises:
            TooExpensive: if there are not enough.
        """
        self.left -= steps
        if self.left < 0:
            raise TooExpensive


@dataclass(slots=True)
class _State:
    """Consumes by `holds`, asserts by `anchor`, or forks; leads to `targets`."""

    holds: Callable[[str], bool] | None = None
    anchor: str = ""
    targets: list[int] = field(default_factory=list)
    accepts: bool = False


class Pattern:
    """A compiled pattern.

    Raises:
        BadPattern: for a pattern that is not valid, or too large.
    """

    def __init__(self, pattern: str, *, extended: bool, fixed: bool, ignore_case: bool) -> None:
        self._states: list[_State] = []
        self._ignore_case = ignore_case
        accept = self._new(_State(accepts=True))
        self._start = self._build(parse(pattern, extended=extended, fixed=fixed), accept)

    def found_in(self, text: str, work: Work) -> bool:
        """Whether it matches anywhere."""
        current: set[int] = set()
        for position in range(len(text) + 1):
            current = self._closure([*current, self._start], text, position, work)
            if any(self._states[state].accepts for state in current):
                return True
            if position < len(text):
                current = self._advance(current, text[position])
        return False

    def ends(self, text: str, start: int, work: Work) -> list[int]:
        """All ends of matches that begin at `start`, ascending."""
        found: list[int] = []
        current = {self._start}
        for position in range(start, len(text) + 1):
            current = self._closure(list(current), text, position, work)
            if any(self._states[state].accepts for state in current):
                found.append(position)
            if position < len(text):
                current = self._advance(current, text[position])
            if not current:
                break
        return found

    def _closure(self, pending: list[int], text: str, position: int, work: Work) -> set[int]:
        seen: set[int] = set()
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            state = self._states[number]
            if state.holds is None and (not state.anchor or _anchored(state.anchor, text, position)):
                pending.extend(state.targets)
        work.spend(len(seen))
        return seen

    def _advance(self, current: set[int], character: str) -> set[int]:
        following: set[int] = set()
        for number in current:
            state = self._states[number]
            if state.holds is not None and state.holds(character):
                following.update(state.targets)
        return following

    def _new(self, state: _State) -> int:
        if len(self._states) >= MAX_STATES:
            raise BadPattern("Regular expression too big")
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, expression: Expression, following: int) -> int:
        """States of an expression that lead on to `following`; the first of them."""
        match expression:
            case Character(holds=holds):
                return self._new(_State(holds=self._any_case(holds), targets=[following]))
            case Anchor(kind=kind):
                return self._new(_State(anchor=kind, targets=[following]))
            case Sequence(parts=parts):
                for part in reversed(parts):
                    following = self._build(part, following)
                return following
            case Alternatives(options=options):
                targets = [self._build(option, following) for option in options]
                return self._new(_State(targets=targets))
            case Repeat():
                return self._repeat(expression, following)

    def _repeat(self, repeat: Repeat, following: int) -> int:
        if repeat.most is None:
            loop = self._new(_State(targets=[following]))
            self._states[loop].targets.append(self._build(repeat.part, loop))
            following = loop
        else:
            after = following
            for _ in range(repeat.most - repeat.least):
                following = self._new(_State(targets=[self._build(repeat.part, following), after]))
        for _ in range(repeat.least):
            following = self._build(repeat.part, following)
        return following

    def _any_case(self, holds: Callable[[str], bool]) -> Callable[[str], bool]:
        if not self._ignore_case:
            return holds
        return lambda c: holds(c) or holds(c.lower()) or holds(c.upper())


def is_word(character: str) -> bool:
    """Whether a character is a letter, a digit or an underscore."""
    return character.isalnum() or character == "_"


def _anchored(kind: str, text: str, position: int) -> bool:
    before = position > 0 and is_word(text[position - 1])
    after = position < len(text) and is_word(text[position])
    match kind:
        case "^":
            return position == 0
        case "$":
            return position == len(text)
        case "<":
            return after and not before
        case ">":
            return before and not after
        case "b":
            return before != after
        case _:
            return before == after
