"""Globs: `*`, `?` and bracket expressions, for words and for `find`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from . import filesystem
from .filesystem import Nodes
from .shell_classes import BadBrackets, Brackets, brackets
from .shell_words import Word

Characters = tuple[tuple[str, bool], ...]
MAGIC: Final = "*?["


@dataclass(frozen=True, slots=True)
class AnyOne:
    """`?`."""


@dataclass(frozen=True, slots=True)
class AnyMany:
    """`*`."""


Part = str | AnyOne | AnyMany | Brackets


def is_pattern(characters: Characters) -> bool:
    """Whether there is an unquoted character that makes a pattern."""
    return any(character in MAGIC and not quoted for character, quoted in characters)


def from_text(pattern: str) -> Characters:
    """A pattern in which a backslash quotes the next character, as `find` has it."""
    characters: list[tuple[str, bool]] = []
    quoted = False
    for character in pattern:
        if character == "\\" and not quoted:
            quoted = True
        else:
            characters.append((character, quoted))
            quoted = False
    return tuple(characters)


def matches(characters: Characters, name: str) -> bool:
    """Whether a pattern matches all of a name; linear in its length per star."""
    parts = _parts(characters)
    at, position, star, resume = 0, 0, -1, 0
    while position < len(name):
        if at < len(parts) and isinstance(parts[at], AnyMany):
            star, resume = at, position
            at += 1
        elif at < len(parts) and _holds(parts[at], name[position]):
            at, position = at + 1, position + 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(isinstance(part, AnyMany) for part in parts[at:])


def expanded(word: Word, nodes: Nodes, cwd: str) -> list[str]:
    """Paths that a word stands for, in the order of their bytes; the word itself if there are none."""
    if not is_pattern(word.characters):
        return [word.text]
    index = _index(nodes)
    components = _components(word.characters)
    found = [""]
    for number, component in enumerate(components):
        last = number == len(components) - 1
        found = [path for prefix in found for path in _step(prefix, component, index, cwd, last=last)]
    return sorted(found, key=lambda path: path.encode("utf-8", "surrogateescape")) or [word.text]


def _step(
    prefix: str, component: Characters, index: dict[str, list[str]], cwd: str, *, last: bool
) -> list[str]:
    folder = filesystem.absolute(prefix or ".", cwd)
    if not component:
        # A slash at the start, one that repeats another, or one at the end.
        return [prefix or "/"] if folder in index or not prefix else []
    text = "".join(character for character, _ in component)
    if is_pattern(component):
        hidden = component[0][0] == "."
        names = [
            name
            for name in index.get(folder, [])
            if name.startswith(".") <= hidden and matches(component, name)
        ]
    else:
        names = [text] if text in {".", "..", *index.get(folder, [])} else []
    if last:
        return [prefix + name for name in names]
    return [f"{prefix}{name}/" for name in names if filesystem.absolute(prefix + name, cwd) in index]


def _index(nodes: Nodes) -> dict[str, list[str]]:
    """Names in every readable directory."""
    index: dict[str, list[str]] = {path: [] for path, node in nodes.items() if filesystem.is_directory(node)}
    for path in nodes:
        folder = filesystem.parent_of(path)
        if path != "/" and folder in index and filesystem.allows(nodes[folder], filesystem.READ):
            index[folder].append(filesystem.name_of(path))
    return index


def _components(characters: Characters) -> list[Characters]:
    edges = [-1, *(at for at, (character, _) in enumerate(characters) if character == "/"), len(characters)]
    return [characters[start + 1 : end] for start, end in pairwise(edges)]


def _parts(characters: Characters) -> list[Part]:
    parts: list[Part] = []
    position = 0
    while position < len(characters):
        character, quoted = characters[position]
        part: Part = character
        after = position + 1
        if not quoted and character == "*":
            part = AnyMany()
        elif not quoted and character == "?":
            part = AnyOne()
        elif not quoted and character == "[":
            try:
                part, after = brackets(list(characters), position, "!^")
            except BadBrackets:
                part = character
        parts.append(part)
        position = after
    return parts


def _holds(part: Part, character: str) -> bool:
    match part:
        case str():
            return part == character
        case Brackets():
            return part.holds(character)
        case _:
            return True
