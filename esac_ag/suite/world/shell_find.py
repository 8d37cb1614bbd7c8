"""find: tests joined by and, or, not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from . import filesystem
from .filesystem import PathRefused
from .shell_call import Call, Command, CommandFailed
from .shell_globs import from_text, matches
from .shell_options import count_of

UNIT_BYTES: Final = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1024 * 1024}
SIZE: Final = re.compile(r"([+-]?)([0-9]{1,12})([cwbkM]?)")
DEPTHS: Final = ("-maxdepth", "-mindepth")


@dataclass(frozen=True, slots=True)
class Place:
    """A path that is looked at."""

    call: Call
    path: str
    shown: str

    @property
    def node(self) -> filesystem.Node:
        """What is there."""
        return self.call.nodes[self.path]

    @property
    def name(self) -> str:
        """Last component, as it is shown."""
        return filesystem.name_of(self.shown.rstrip("/")) or "/"


Test = Callable[[Place], bool]


def find(call: Call) -> int:
    """Walk trees and print what passes."""
    rest = list(call.arguments)
    tops: list[str] = []
    while rest and not rest[0].startswith("-") and rest[0] != "!":
        tops.append(rest.pop(0))
    depths = {name: _depth(rest, name) for name in DEPTHS}
    least = depths["-mindepth"] or 0
    passes = _expression(rest)
    status = 0
    for top in tops or ["."]:
        try:
            path = call.path(top)
            filesystem.node_at(call.nodes, path)
        except PathRefused as refused:
            call.complain(f"'{top}': {refused.reason}")
            status = 1
            continue
        for place, depth in _walk(Place(call, path, top), 0, depths["-maxdepth"]):
            if depth >= least and passes(place):
                call.out.write(f"{place.shown}\n")
    return status


def _walk(place: Place, depth: int, most: int | None) -> Iterator[tuple[Place, int]]:
    if most is not None and depth > most:
        return
    yield place, depth
    if filesystem.is_directory(place.node):
        for name in filesystem.children(place.call.nodes, place.path):
            shown = filesystem.joined(place.shown, name) if place.shown == "/" else _below(place.shown, name)
            below = Place(place.call, filesystem.joined(place.path, name), shown)
            yield from _walk(below, depth + 1, most)


def _below(shown: str, name: str) -> str:
    return f"{shown}{name}" if shown.endswith("/") else f"{shown}/{name}"


def _depth(rest: list[str], name: str) -> int | None:
    """Take a depth option out of the expression, wherever it stands."""
    found: int | None = None
    while name in rest:
        at = rest.index(name)
        if at + 1 == len(rest):
            raise CommandFailed(f"missing argument to '{name}'")
        found = count_of(rest[at + 1], "levels")
        del rest[at : at + 2]
    return found


def _expression(rest: list[str]) -> Test:
    """Alternatives of conjunctions."""
    options: list[list[Test]] = [[]]
    operator = ""
    while rest:
        word = rest.pop(0)
        if word in {"-o", "-or", "-a", "-and"}:
            if not options[-1] or operator:
                raise CommandFailed(f"nothing before '{word}'")
            operator = word
            if word in {"-o", "-or"}:
                options.append([])
            continue
        operator = ""
        options[-1].append(_test(word, rest))
    if operator:
        raise CommandFailed(f"nothing after '{operator}'")
    return lambda place: any(all(test(place) for test in tests) for tests in options)


def _test(word: str, rest: list[str]) -> Test:
    negated = False
    while word in {"!", "-not"}:
        negated = not negated
        word = _argument(word, rest)
    test = _plain_test(word, rest)
    return (lambda place: not test(place)) if negated else test


def _plain_test(word: str, rest: list[str]) -> Test:
    match word:
        case "-print":
            return lambda _: True
        case "-empty":
            return _is_empty
        case "-name" | "-iname" | "-path":
            return _matching(word, _argument(word, rest))
        case "-type":
            kind = {"f": "file", "d": "directory"}.get(_argument(word, rest))
            if kind is None:
                raise CommandFailed("-type takes f or d")
            return lambda place: bool(place.node["kind"] == kind)
        case "-size":
            return _sized(_argument(word, rest))
        case _:
            raise CommandFailed(f"'{word}' is not supported")


def _matching(word: str, pattern: str) -> Test:
    if word == "-iname":
        folded = from_text(pattern.lower())
        return lambda place: matches(folded, place.name.lower())
    compiled = from_text(pattern)
    if word == "-path":
        return lambda place: matches(compiled, place.shown)
    return lambda place: matches(compiled, place.name)


def _sized(text: str) -> Test:
    found = SIZE.fullmatch(text)
    if found is None:
        raise CommandFailed(f"invalid argument '{text}' to '-size'")
    sign, count, unit = found[1], int(found[2]), UNIT_BYTES[found[3]]

    def test(place: Place) -> bool:
        units = -(-filesystem.size_of(place.node) // unit)
        return units > count if sign == "+" else units < count if sign == "-" else units == count

    return lambda place: place.node["kind"] == "file" and test(place)


def _is_empty(place: Place) -> bool:
    if filesystem.is_directory(place.node):
        return not filesystem.children(place.call.nodes, place.path)
    return filesystem.size_of(place.node) == 0


def _argument(word: str, rest: list[str]) -> str:
    if not rest:
        raise CommandFailed(f"missing argument to '{word}'")
    return rest.pop(0)


COMMANDS: dict[str, Command] = {"find": find}
