"""Bracket expressions such as `[a-z[:digit:]_]`, of globs and of regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "alpha": lambda c: c.isascii() and c.isalpha(),
    "digit": lambda c: c.isascii() and c.isdigit(),
    "alnum": lambda c: c.isascii() and c.isalnum(),
    "upper": lambda c: c.isascii() and c.isupper(),
    "lower": lambda c: c.isascii() and c.islower(),
    "space": lambda c: c in " \t\n\r\f\v",
    "blank": lambda c: c in " \t",
    "punct": lambda c: c.isascii() and c.isprintable() and not c.isalnum() and c != " ",
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
    "print": lambda c: c.isascii() and c.isprintable(),
    "graph": lambda c: c.isascii() and c.isprintable() and c != " ",
    "cntrl": lambda c: c.isascii() and not c.isprintable(),
}


class BadBrackets(ValueError):
    """A bracket expression that is not closed, or not valid."""


@dataclass(frozen=True, slots=True)
class Brackets:
    """A set of characters."""

    negated: bool
    ranges: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]

    def holds(self, character: str) -> bool:
        """Whether a character is in the set."""
        inside = any(low <= character <= high for low, high in self.ranges) or any(
            CLASSES[name](character) for name in self.classes
        )
        return inside != self.negated


def brackets(characters: list[tuple[str, bool]], start: int, negations: str) -> tuple[Brackets, int]:
    """The expression that opens at `start`, and the position after it; quoted characters are literal.

    Raises:
        BadBrackets: if it is not closed or holds what there is not.
    """
    position = start + 1
    negated = position < len(characters) and characters[position] in [(sign, False) for sign in negations]
    position += negated
    first = position
    ranges: list[tuple[str, str]] = []
    classes: list[str] = []
    while position < len(characters):
        character, quoted = characters[position]
        if character == "]" and not quoted and position > first:
            return Brackets(negated, tuple(ranges), tuple(classes)), position + 1
        name = "" if quoted else _class_name(characters, position)
        if name:
            classes.append(name)
            position += len(name) + 4
            continue
        high = _range_end(characters, position)
        if high is not None and high < character:
            raise BadBrackets("Invalid range end")
        ranges.append((character, high or character))
        position += 1 if high is None else 3
    raise BadBrackets("Unmatched [, [^, [:, [., or [=")


def _class_name(characters: list[tuple[str, bool]], position: int) -> str:
    opening = "".join(character for character, _ in characters[position : position + 2])
    if opening in {"[.", "[="}:
        raise BadBrackets("Collating elements are not supported")
    if opening != "[:":
        return ""
    text = "".join(character for character, _ in characters[position + 2 : position + 12])
    name = text.partition(":]")[0]
    if ":]" in text and name in CLASSES:
        return name
    raise BadBrackets("Invalid character class name")


def _range_end(characters: list[tuple[str, bool]], position: int) -> str | None:
    if position + 2 < len(characters) and characters[position + 1] == ("-", False):
        high, quoted = characters[position + 2]
        if quoted or high != "]":
            return high
    return None
