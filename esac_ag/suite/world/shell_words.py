"""From a command line to words and operators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


class ShellSyntax(Exception):
    """A command line that is not run at all: wrong, or not of this shell. The message says which."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: its characters, and of each whether it was quoted, so that it is no pattern."""

    characters: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """The word as it is without pattern matching."""
        return "".join(character for character, _ in self.characters)

    @property
    def bare(self) -> str:
        """The word with quoted characters replaced, to look for syntax."""
        return "".join("\0" if quoted else character for character, quoted in self.characters)


@dataclass(frozen=True, slots=True)
class Operator:
    """`|`, `&&`, `||`, `;`, new line, or a redirection such as `2>`."""

    text: str


Token = Word | Operator

BLANKS: Final = " \t"
OPERATORS: Final = re.compile(r"&&|\|\||[|;\n]")
REDIRECTION: Final = re.compile(r"(?:2>&1|1?>&2|[12]?>>|[12]?>(?![>&|])|0?<(?![<>&(]))")
FOREIGN: Final = re.compile(r"&>|\|&|<<|[&()<>]|[0-9]+[<>]")
EXPANSION: Final = re.compile(r"\$[A-Za-z0-9_{(?@*#$!\-'\"]|`")
EXPANSION_IN_QUOTES: Final = re.compile(r"\$[A-Za-z0-9_{(?@*#$!\-]|`")
BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
PLAIN_SPELLING: Final = {
    "1>": ">",
    "1>>": ">>",
    "0<": "<",
    "1>&2": ">&2",
}


def tokens(line: str) -> list[Token]:
    """All tokens of a command line.

    Raises:
        ShellSyntax: for unfinished quotes and for what this shell does not have.
    """
    return _Reader(line).read()


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.position = 0
        self.found: list[Token] = []
        self.word: list[tuple[str, bool]] | None = None

    def read(self) -> list[Token]:
        while self.position < len(self.line):
            self._next()
        self._end_word()
        return self.found

    def _next(self) -> None:
        character = self.line[self.position]
        if character in BLANKS:
            self._end_word()
            self.position += 1
        elif character == "#" and self.word is None:
            end = self.line.find("\n", self.position)
            self.position = len(self.line) if end < 0 else end
        elif not self._operator():
            self._part_of_word(character)

    def _operator(self) -> bool:
        # Digits name a descriptor at the start of a word alone: `a2>b` redirects the output of `a2`.
        found = REDIRECTION.match(self.line, self.position)
        if found and (self.word is None or not found[0][0].isdigit()):
            self._end_word()
            self._take(PLAIN_SPELLING.get(found[0], found[0]))
            self.position = found.end()
            return True
        foreign = FOREIGN.match(self.line, self.position)
        found = OPERATORS.match(self.line, self.position)
        if (
            foreign
            and not (found and found[0] == "&&")
            and (self.word is None or not foreign[0][0].isdigit())
        ):
            raise ShellSyntax(f"{foreign[0]!r} is not supported by this shell")
        if found:
            self._end_word()
            self._take(found[0])
            self.position = found.end()
        return bool(found)

    def _take(self, operator: str) -> None:
        self.found.append(Operator(operator))

    def _part_of_word(self, character: str) -> None:
        if self.word is None:
            self.word = []
        match character:
            case "'":
                self._single_quotes()
            case '"':
                self._double_quotes()
            case "\\":
                self._escape()
            case _:
                if EXPANSION.match(self.line, self.position):
                    raise ShellSyntax("variables and substitutions are not supported by this shell")
                self.word.append((character, False))
                self.position += 1

    def _add(self, text: str) -> None:
        if self.word is not None:
            self.word.extend((character, True) for character in text)

    def _single_quotes(self) -> None:
        end = self.line.find("'", self.position + 1)
        if end < 0:
            raise ShellSyntax("a single quote is not closed")
        self._add(self.line[self.position + 1 : end])
        self.position = end + 1

    def _double_quotes(self) -> None:
        position = self.position + 1
        while self.line[position : position + 1] != '"':
            if position >= len(self.line):
                raise ShellSyntax("a double quote is not closed")
            following = self.line[position + 1 : position + 2]
            if self.line[position] == "\\" and following and following in '$`"\\\n':
                self._add(following.replace("\n", ""))
                position += 2
                continue
            if EXPANSION_IN_QUOTES.match(self.line, position):
                raise ShellSyntax("variables and substitutions are not supported by this shell")
            self._add(self.line[position])
            position += 1
        self.position = position + 1

    def _escape(self) -> None:
        following = self.line[self.position + 1 : self.position + 2]
        if not following:
            self._add("\\")
        elif following != "\n":
            self._add(following)
        elif self.word == []:
            self.word = None
        self.position += 2

    def _end_word(self) -> None:
        if self.word is None:
            return
        word = Word(tuple(self.word))
        if word.bare.startswith("~"):
            raise ShellSyntax("~ is not supported by this shell")
        if BRACES.search(word.bare):
            raise ShellSyntax("braces are not supported by this shell")
        self.found.append(word)
        self.word = None
