"""sort, in the order of bytes (C locale)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, Final

from .filesystem import PathRefused
from .shell_call import Call, Command, CommandFailed, encoded, lines_of
from .shell_options import options_of

TROUBLE: Final = 2
FLAGS: Final = "nrfb"
KEY: Final = re.compile(
    r"([0-9]{1,9})(?:\.([0-9]{1,9}))?([nrfb]*)(?:,([0-9]{1,9})(?:\.([0-9]{1,9}))?([nrfb]*))?"
)
NUMBER: Final = re.compile(r"[ \t]*(-?)0*([0-9]*)(?:\.([0-9]*))?")
BLANK_FIELD: Final = re.compile(r"[ \t]*[^ \t]*")
Compare = Callable[[Any, Any], int]


@dataclass(frozen=True, slots=True)
class Key:
    """Which part of a line is compared, and how."""

    start: tuple[int, int]
    """Field and character, from 1."""
    end: tuple[int, int] | None
    """Field and character; character 0 is the field's last."""
    flags: str

    def part(self, line: str, separator: str | None) -> str:
        """The part of a line."""
        fields = _fields(line, separator)
        low = _offset(fields, line, self.start[0], self.start[1] - 1, skip="b" in self.flags)
        if self.end is None:
            return line[low:]
        field, character = self.end
        if character == 0:
            high = fields[field - 1][1] if field <= len(fields) else len(line)
        else:
            high = _offset(fields, line, field, character, skip="b" in self.flags)
        return line[low : max(low, high)]

    def rank(self, line: str, separator: str | None) -> Any:  # noqa: ANN401 something that can be ordered
        """What is compared."""
        part = self.part(line, separator)
        if "n" in self.flags:
            return _number(part)
        return encoded(_upper(part) if "f" in self.flags else part)


def sort(call: Call) -> int:
    """Sort all lines of all files."""
    options = options_of(call, "nrufb", "kt", status=TROUBLE)
    separator = options.last("t")
    if separator is not None and len(separator) != 1:
        raise CommandFailed(f"multi-character tab '{separator}'", TROUBLE)
    flags = "".join(flag for flag in FLAGS if options.has(flag))
    keys = [_key(text, flags) for text in options.all("k")] or [Key((1, 1), None, flags)]
    lines: list[str] = []
    for operand in options.operands or ["-"]:
        try:
            lines += lines_of(call.read(operand))
        except PathRefused as refused:
            verb = "read failed" if refused.code == "is-a-directory" else "cannot read"
            raise CommandFailed(f"{verb}: {operand}: {refused.reason}", TROUBLE) from None
    for line in _sorted(lines, keys, separator, reverse=options.has("r"), unique=options.has("u")):
        call.out.write(f"{line}\n")
    return 0


def _sorted(
    lines: list[str], keys: list[Key], separator: str | None, *, reverse: bool, unique: bool
) -> list[str]:
    ranked = [([key.rank(line, separator) for key in keys], line) for line in lines]

    def compare(one: Any, other: Any) -> int:  # noqa: ANN401 a ranked line
        for key, left, right in zip(keys, one[0], other[0], strict=True):
            if left != right:
                return (-1 if left < right else 1) * (-1 if "r" in key.flags else 1)
        return 0

    def last_resort(one: Any, other: Any) -> int:  # noqa: ANN401 a ranked line
        order = compare(one, other)
        left, right = encoded(one[1]), encoded(other[1])
        return order or ((left > right) - (left < right)) * (-1 if reverse else 1)

    ranked.sort(key=cmp_to_key(compare if unique else last_resort))
    kept: list[Any] = []
    for entry in ranked:
        if not unique or not kept or compare(kept[-1], entry) != 0:
            kept.append(entry)
    return [line for _, line in kept]


def _key(text: str, common: str) -> Key:
    found = KEY.fullmatch(text)
    if found is None or int(found[1]) == 0 or found[2] == "0" or found[4] == "0":
        raise CommandFailed(f"invalid key '{text}'", TROUBLE)
    own = found[3] + (found[6] or "")
    end = (int(found[4]), int(found[5] or 0)) if found[4] else None
    # A key's own flags replace the common ones.
    return Key((int(found[1]), int(found[2] or 1)), end, own or common)


def _fields(line: str, separator: str | None) -> list[tuple[int, int]]:
    """Starts and ends of fields; without a separator, a field begins with its leading blanks."""
    if separator is None:
        return [found.span() for found in BLANK_FIELD.finditer(line) if found[0]]
    spans, start = [], 0
    for piece in line.split(separator):
        spans.append((start, start + len(piece)))
        start += len(piece) + 1
    return spans


def _offset(fields: list[tuple[int, int]], line: str, field: int, characters: int, *, skip: bool) -> int:
    if field > len(fields):
        return len(line)
    start, _ = fields[field - 1]
    while skip and start < len(line) and line[start] in " \t":
        start += 1
    return min(len(line), start + characters)


def _number(text: str) -> tuple[int, Any, Any]:
    """The leading number of a text, exactly, as something that can be ordered; 0 if there is none."""
    found = NUMBER.match(text)
    whole, fraction = (found[2], (found[3] or "").rstrip("0")) if found else ("", "")
    if not whole and not fraction:
        return (0, (), ())
    if found and found[1]:
        inverted = [-int(digit) for digit in fraction] + [1]
        return (-1, (-len(whole), [-int(digit) for digit in whole]), inverted)
    return (1, (len(whole), [int(digit) for digit in whole]), [int(digit) for digit in fraction])


def _upper(text: str) -> str:
    return "".join(c.upper() if c.isascii() else c for c in text)


COMMANDS: dict[str, Command] = {"sort": sort}
