"""Takes a Dockerfile apart into instructions. Pure: nothing is built, and no image is known."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_HEREDOC = re.compile(r"<<(-?)(['\"]?)([A-Za-z_]\w*)\2")
_SHOWN = 100
_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*$", re.IGNORECASE)
_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?::([-+])([^}]*))?\})")


@dataclass(frozen=True, slots=True)
class Heredoc:
    """Text that stands below an instruction."""

    name: str
    text: str
    literal: bool
    """Whether variables in it stay as they are."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a Dockerfile."""

    line: int
    name: str
    """In capitals."""
    text: str
    """What follows the name, continued lines joined."""
    heredocs: tuple[Heredoc, ...] = ()

    @property
    def shown(self) -> str:
        """For reports: the line's number and the beginning of the instruction."""
        text = " ".join(f"{self.name} {self.text}".split())
        return f"Dockerfile:{self.line}: {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}"

    def words(self) -> list[str] | None:
        """The words of the text, or of its JSON form; None when quotes do not match."""
        array = self.array()
        if array is not None:
            return array
        try:
            return shlex.split(self.text)
        except ValueError:
            return None

    def array(self) -> list[str] | None:
        """The words of a JSON form, None when there is none."""
        if not self.text.startswith("["):
            return None
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        is_array = isinstance(found, list) and found and all(isinstance(word, str) for word in found)
        return found if is_array else None


def instructions(text: str) -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile, in order."""
    return tuple(_instructions(text.replace("\r\n", "\n").split("\n")))


def _instructions(lines: list[str]) -> Iterator[Instruction]:
    escape = "\\"
    if lines and (found := _ESCAPE.match(lines[0])):
        escape = found.group(1)
    at = 0
    while at < len(lines):
        first, line = at, lines[at].strip()
        at += 1
        if not line or line.startswith("#"):
            continue
        while line.endswith(escape) and at < len(lines):
            following = lines[at].rstrip()
            at += 1
            # Comments and empty lines inside of a continued instruction are left out.
            if following and not following.lstrip().startswith("#"):
                line = line[: -len(escape)] + following
        name, _, rest = line.removesuffix(escape).partition(" ")
        heredocs = []
        if name.upper() in ("RUN", "COPY", "ADD"):
            for indented, quote, word in _HEREDOC.findall(rest):
                body, at = _body(lines, at, word, indented=bool(indented))
                heredocs.append(Heredoc(word, body, literal=bool(quote)))
        yield Instruction(first + 1, name.upper(), rest.strip(), tuple(heredocs))


def _body(lines: list[str], at: int, word: str, *, indented: bool) -> tuple[str, int]:
    body: list[str] = []
    while at < len(lines):
        line = lines[at].lstrip("\t") if indented else lines[at]
        at += 1
        if line == word:
            break
        body.append(line)
    return "".join(f"{line}\n" for line in body), at


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A text with `$NAME`, `${NAME}`, `${NAME:-word}` and `${NAME:+word}` put in; unknown ones are empty."""

    def value(match: re.Match[str]) -> str:
        if match.group() == "\\$":
            return "$"
        known = variables.get(match.group(1) or match.group(2), "")
        match match.group(3):
            case "-":
                return known or match.group(4)
            case "+":
                return match.group(4) if known else ""
            case _:
                return known

    return _VARIABLE.sub(value, text)
