r"""The syntax of POSIX regular expressions, basic and extended, with GNU's `\w`, `\s`, `\b`, `\<`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .shell_classes import BadBrackets, brackets

MAX_REPEAT: Final = 255
MAX_NESTING: Final = 50
INTERVAL: Final = re.compile(r"([0-9]{0,5})(,?)([0-9]{0,5})")


class BadPattern(ValueError):
    """A pattern that is not valid; the message says why."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character out of some."""

    holds: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place: `^`, `$`, `<`, `>`, `b`, or `B`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """At least and at most so many times; None is without end."""

    part: Expression
    least: int
    most: int | None


Expression = Character | Anchor | Sequence | Alternatives | Repeat


def parse(pattern: str, *, extended: bool, fixed: bool) -> Expression:
    """The expression of a pattern; a fixed one is taken literally.

    Raises:
        BadPattern: for a pattern that is not valid.
    """
    if fixed:
        return Sequence(tuple(_literal(character) for character in pattern))
    parser = _Parser(pattern, extended=extended)
    expression = parser.alternatives(0)
    if parser.position < len(pattern):
        raise BadPattern("Unmatched ) or \\)")
    return expression


def _literal(character: str) -> Character:
    return Character(lambda c: c == character)


class _Parser:
    """Reads a pattern from left to right; `special` tells both syntaxes apart."""

    def __init__(self, pattern: str, *, extended: bool) -> None:
        self.pattern = pattern
        self.extended = extended
        self.position = 0

    def alternatives(self, depth: int) -> Expression:
        if depth > MAX_NESTING:
            raise BadPattern("Regular expression too big")
        options = [self._sequence(depth)]
        while self._special("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self, depth: int) -> Expression:
        parts: list[Expression] = []
        in_a_row = 0
        while self.position < len(self.pattern) and not self._sees("|"):
            if self._sees(")"):
                if depth:
                    break
                raise BadPattern("Unmatched ) or \\)")
            repeatable = bool(parts) and (self.extended or parts[-1] != Anchor("^"))
            repeated = self._repeat(parts[-1]) if repeatable else None
            in_a_row = 0 if repeated is None else in_a_row + 1
            if in_a_row > MAX_NESTING:
                raise BadPattern("Regular expression too big")
            if repeated is not None:
                parts[-1] = repeated
            else:
                parts.append(self._atom(depth, first=not parts))
        return Sequence(tuple(parts))

    def _repeat(self, part: Expression) -> Repeat | None:
        if self.pattern[self.position] == "*":
            self.position += 1
            return Repeat(part, 0, None)
        if self._special("+"):
            return Repeat(part, 1, None)
        if self._special("?"):
            return Repeat(part, 0, 1)
        return self._interval(part) if self._sees("{") else None

    def _interval(self, part: Expression) -> Repeat | None:
        start = self.position + (1 if self.extended else 2)
        found = INTERVAL.match(self.pattern, start)
        closing = "}" if self.extended else "\\}"
        valid = (
            found is not None and self.pattern.startswith(closing, found.end()) and found[0] not in {"", ","}
        )
        if not valid or found is None:
            if self.extended:
                return None
            raise BadPattern("Invalid content of \\{\\}")
        least = int(found[1] or 0)
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > MAX_REPEAT:
            raise BadPattern("Regular expression too big")
        if most is not None and most < least:
            raise BadPattern("Invalid content of \\{\\}")
        self.position = found.end() + len(closing)
        return Repeat(part, least, most)

    def _atom(self, depth: int, *, first: bool) -> Expression:
        if self._special("("):
            group = self.alternatives(depth + 1)
            if not self._special(")"):
                raise BadPattern("Unmatched ( or \\(")
            return group
        character = self.pattern[self.position]
        self.position += 1
        match character:
            case "\\":
                return self._escaped()
            case ".":
                return Character(lambda _: True)
            case "[":
                return self._brackets()
            case "^" if self.extended or first:
                return Anchor("^")
            case "$" if self.extended or self._at_end():
                return Anchor("$")
            case _:
                return _literal(character)

    def _escaped(self) -> Expression:
        if self.position == len(self.pattern):
            raise BadPattern("Trailing backslash")
        character = self.pattern[self.position]
        self.position += 1
        match character:
            case "w":
                return Character(lambda c: c.isalnum() or c == "_")
            case "W":
                return Character(lambda c: not (c.isalnum() or c == "_"))
            case "s":
                return Character(str.isspace)
            case "S":
                return Character(lambda c: not c.isspace())
            case "<" | ">" | "b" | "B":
                return Anchor(character)
            case _ if character in "123456789":
                raise BadPattern("Back-references are not supported")
            case _:
                return _literal(character)

    def _brackets(self) -> Expression:
        characters = [(character, False) for character in self.pattern]
        try:
            found, self.position = brackets(characters, self.position - 1, "^")
        except BadBrackets as error:
            raise BadPattern(str(error)) from None
        return Character(found.holds)

    def _at_end(self) -> bool:
        return self.position == len(self.pattern) or self._sees(")") or self._sees("|")

    def _sees(self, sign: str) -> bool:
        """Whether a special sign is next: bare in extended syntax, with a backslash in basic syntax."""
        return self.pattern.startswith(sign if self.extended else f"\\{sign}", self.position)

    def _special(self, sign: str) -> bool:
        """Take a special sign if it is next."""
        seen = self._sees(sign)
        if seen:
            self.position += 1 if self.extended else 2
        return seen
