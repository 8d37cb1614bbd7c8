"""From tokens to a list of pipelines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .shell_words import Operator, ShellSyntax, Token, Word, tokens

CONNECTORS: Final = frozenset({";", "\n", "&&", "||"})
RESERVED: Final = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"),
        *("function", "select", "time", "{", "}", "!", "[[", "]]"),
    )
)
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


@dataclass(frozen=True, slots=True)
class Redirection:
    """`>`, `>>`, `<`, `2>`, `2>>` with a target, or `2>&1`, `>&2` without."""

    operator: str
    target: Word | None


@dataclass(frozen=True, slots=True)
class Simple:
    """One command with its redirections."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline, and the connector before it: `;`, `&&` or `||`."""

    connector: str
    pipeline: tuple[Simple, ...]


def parsed(line: str) -> list[Step]:
    """The steps of a command line.

    Raises:
        ShellSyntax: for a line that is wrong, or not of this shell.
    """
    rest = tokens(line)
    steps: list[Step] = []
    connector = ";"
    _skip_new_lines(rest)
    while rest:
        steps.append(Step(connector, _pipeline(rest)))
        connector = _connector(rest)
    if connector in {"&&", "||"} or not steps:
        raise ShellSyntax("syntax error: unexpected end of the line")
    return steps


def _connector(rest: list[Token]) -> str:
    """The connector after a pipeline; the parser stops at nothing else."""
    if not rest:
        return ";"
    operator = rest.pop(0)
    text = operator.text
    _skip_new_lines(rest)
    return ";" if text == "\n" else text


def _pipeline(rest: list[Token]) -> tuple[Simple, ...]:
    commands = [_simple(rest)]
    while rest and rest[0] == Operator("|"):
        rest.pop(0)
        _skip_new_lines(rest)
        commands.append(_simple(rest))
    return tuple(commands)


def _simple(rest: list[Token]) -> Simple:
    words: list[Word] = []
    redirections: list[Redirection] = []
    while rest:
        token = rest[0]
        if isinstance(token, Operator):
            if token.text in CONNECTORS or token.text == "|":
                break
            rest.pop(0)
            redirections.append(Redirection(token.text, _target(token.text, rest)))
        else:
            words.append(token)
            rest.pop(0)
    if not words and not redirections:
        where = repr(rest[0].text) if rest else "the end of the line"
        raise ShellSyntax(f"syntax error near {where}")
    if words and words[0].bare in RESERVED:
        raise ShellSyntax(f"{words[0].text!r} is not supported by this shell")
    if words and ASSIGNMENT.match(words[0].bare):
        raise ShellSyntax("variables and substitutions are not supported by this shell")
    return Simple(tuple(words), tuple(redirections))


def _target(operator: str, rest: list[Token]) -> Word | None:
    if operator in {"2>&1", ">&2"}:
        return None
    if not rest or not isinstance(rest[0], Word):
        raise ShellSyntax(f"syntax error: {operator} needs a file")
    target = rest.pop(0)
    return target if isinstance(target, Word) else None


def _skip_new_lines(rest: list[Token]) -> None:
    while rest and rest[0] == Operator("\n"):
        rest.pop(0)
