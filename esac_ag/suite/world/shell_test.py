"""test and [: the POSIX rules by the number of arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from . import filesystem
from .filesystem import Node, PathRefused
from .shell_call import Call, Command, CommandFailed

TROUBLE: Final = 2
INTEGER: Final = re.compile(r"[ \t]*[+-]?[0-9]{1,18}[ \t]*")
NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda one, other: one == other,
    "-ne": lambda one, other: one != other,
    "-lt": lambda one, other: one < other,
    "-le": lambda one, other: one <= other,
    "-gt": lambda one, other: one > other,
    "-ge": lambda one, other: one >= other,
}
FILES: Final[dict[str, Callable[[Node], bool]]] = {
    "-e": lambda _: True,
    "-f": lambda node: not filesystem.is_directory(node),
    "-d": filesystem.is_directory,
    "-s": lambda node: filesystem.is_directory(node) or filesystem.size_of(node) > 0,
    "-r": lambda node: filesystem.allows(node, filesystem.READ),
    "-w": lambda node: filesystem.allows(node, filesystem.WRITE),
    "-x": lambda node: filesystem.allows(node, filesystem.EXECUTE),
}
BINARY: Final = frozenset({"=", "==", "!=", "-a", "-o", *NUMBERS})
NEGATION_OF_THREE: Final = 4


def test(call: Call) -> int:
    """0 for true, 1 for false, 2 for a test that is none."""
    arguments = list(call.arguments)
    if call.name == "[" and (not arguments or arguments.pop() != "]"):
        raise CommandFailed("missing ']'", TROUBLE)
    return int(not _truth(call, arguments))


def _truth(call: Call, arguments: list[str]) -> bool:
    match arguments:
        case []:
            return False
        case [text]:
            return text != ""
        case ["!", text]:
            return text == ""
        case [operator, operand]:
            return _unary(call, operator, operand)
        case [left, operator, right] if operator in BINARY:
            return _binary(left, operator, right)
        case ["(", text, ")"]:
            return text != ""
        case ["!", *rest] if len(arguments) <= NEGATION_OF_THREE:
            return not _truth(call, rest)
        case ["(", left, right, ")"]:
            return _truth(call, [left, right])
        case [_, operator, _]:
            raise CommandFailed(f"{operator}: binary operator expected", TROUBLE)
        case _:
            raise CommandFailed("too many arguments", TROUBLE)


def _unary(call: Call, operator: str, operand: str) -> bool:
    if operator == "-z":
        return operand == ""
    if operator == "-n":
        return operand != ""
    if operator not in FILES:
        raise CommandFailed(f"{operator}: unary operator expected", TROUBLE)
    try:
        node = filesystem.node_at(call.nodes, call.path(operand))
    except PathRefused:
        return False
    return FILES[operator](node)


def _binary(left: str, operator: str, right: str) -> bool:
    match operator:
        case "=" | "==":
            return left == right
        case "!=":
            return left != right
        case "-a":
            return left != "" and right != ""
        case "-o":
            return left != "" or right != ""
        case _:
            return NUMBERS[operator](_integer(left), _integer(right))


def _integer(text: str) -> int:
    if not INTEGER.fullmatch(text):
        raise CommandFailed(f"{text}: integer expression expected", TROUBLE)
    return int(text)


COMMANDS: dict[str, Command] = {"test": test, "[": test}
