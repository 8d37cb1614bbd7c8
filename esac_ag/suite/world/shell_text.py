"""Commands that show text: cat, head, tail, wc, uniq, cut, echo."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import Final

from .filesystem import PathRefused
from .shell_call import Call, Command, CommandFailed, encoded, kept_lines, lines_of
from .shell_options import count_of, options_of

PIPE_WIDTH: Final = 7
"""Digits `wc` allows for sizes that it cannot know beforehand."""


def cat(call: Call) -> int:
    """Concatenate files."""
    options = options_of(call, "n")
    number = 0
    at_line_start = True

    def show(text: str) -> None:
        nonlocal number, at_line_start
        for line in kept_lines(text) if options.has("n") else [text]:
            if options.has("n") and at_line_start:
                number += 1
                call.out.write(f"{number:6d}\t")
            call.out.write(line)
            at_line_start = line.endswith("\n")

    operands = options.operands or ["-"]
    looped = [operand for operand in operands if _is_output(call, operand)]
    for operand in looped:
        call.complain(f"{operand}: input file is output file")
    rest = [operand for operand in operands if operand not in looped]
    return max(int(bool(looped)), _each(call, rest, lambda _, text: show(text)))


def _is_output(call: Call, operand: str) -> bool:
    """Whether a file that holds something is what the output is appended to."""
    try:
        return operand != "-" and call.path(operand) == call.out.path and call.read(operand) != ""
    except PathRefused:
        return False


def head(call: Call) -> int:
    """First lines or bytes."""
    return _ends(call, _first)


def tail(call: Call) -> int:
    """Last lines or bytes."""
    return _ends(call, _last)


def _first(units: list[str], sign: str, count: int) -> list[str]:
    return units[: max(0, len(units) - count)] if sign == "-" else units[:count]


def _last(units: list[str], sign: str, count: int) -> list[str]:
    if sign == "+":
        return units[max(0, count - 1) :]
    return units[max(0, len(units) - count) :]


def _ends(call: Call, pick: Callable[[list[str], str, int], list[str]]) -> int:
    first = call.arguments[0] if call.arguments else ""
    if re.fullmatch("-[0-9]+", first):
        call.arguments[0:1] = ["-n", first[1:]]
    options = options_of(call, "q", "nc")
    unit = next((name for name, _ in reversed(options.given) if name in "nc"), "n")
    given = options.last(unit) or "10"
    sign = given[0] if given[0] in "+-" else ""
    count = count_of(given[len(sign) :], "lines" if unit == "n" else "bytes")
    operands = options.operands or ["-"]
    headed = len(operands) > 1 and not options.has("q")
    if pick is _last and count == 0 and sign != "+":
        return 0
    shown = 0

    def show_title(name: str) -> None:
        nonlocal shown
        if headed:
            title = "standard input" if name == "-" else name
            call.out.write(f"{chr(10) if shown else ''}==> {title} <==\n")
        shown += 1

    def show(name: str, text: str) -> None:
        show_title(name)
        units = kept_lines(text) if unit == "n" else [chr(byte) for byte in encoded(text)]
        picked = "".join(pick(units, sign, count))
        call.out.write(picked if unit == "n" else picked.encode("latin-1").decode("utf-8", "surrogateescape"))

    return _each(call, operands, show, on_directory=show_title)


def wc(call: Call) -> int:
    """Count lines, words, characters, bytes."""
    options = options_of(call, "lwcm")
    kinds = [kind for kind in "lwmc" if options.has(kind)] or ["l", "w", "c"]
    operands = options.operands or ["-"]
    width = _wc_width(call, operands, kinds)
    totals = [0] * len(kinds)

    def row(counts: list[int], name: str) -> None:
        call.out.write(
            " ".join([*(f"{count:{width}d}" for count in counts), *([name] if name else [])]) + "\n"
        )

    def count(name: str, text: str) -> None:
        measured = {
            "l": text.count("\n"),
            "w": len(encoded(text).split()),
            "m": len(text),
            "c": len(encoded(text)),
        }
        counts = [measured[kind] for kind in kinds]
        totals[:] = [total + number for total, number in zip(totals, counts, strict=True)]
        row(counts, name if options.operands else "")

    status = _each(call, operands, count, on_directory=lambda name: count(name, ""))
    if len(operands) > 1:
        row(totals, "total")
    return status


def _wc_width(call: Call, operands: list[str], kinds: list[str]) -> int:
    """Digits of the sizes' sum; at least seven if there is something other than a file."""
    if len(operands) == 1 and len(kinds) == 1:
        return 1
    total, least = 0, 1
    for operand in operands:
        try:
            text = call.read(operand)
        except PathRefused as refused:
            least = PIPE_WIDTH if refused.code == "is-a-directory" else least
            continue
        if operand == "-" and not call.input.from_file:
            least = PIPE_WIDTH
        else:
            total += len(encoded(text))
    return max(least, len(str(total)))


def uniq(call: Call) -> int:
    """Join equal neighbours."""
    options = options_of(call, "cdui")
    if len(options.operands) > 1:
        raise CommandFailed("an output file is not supported; use >")

    def show(_: str, text: str) -> None:
        key: Callable[[str], str] = str.lower if options.has("i") else str
        for _, group in groupby(lines_of(text), key=key):
            lines = list(group)
            if (options.has("d") and len(lines) == 1) or (options.has("u") and len(lines) > 1):
                continue
            call.out.write(f"{len(lines):7d} {lines[0]}\n" if options.has("c") else f"{lines[0]}\n")

    return _each(call, options.operands or ["-"], show)


def cut(call: Call) -> int:
    """Pick fields or characters of every line."""
    options = options_of(call, "s", "dfcb")
    kinds = [kind for kind in "fcb" if options.has(kind)]
    if len(kinds) != 1:
        raise CommandFailed("give one list of fields (-f) or characters (-c)")
    delimiter = options.last("d") or "\t"
    if len(delimiter) != 1 or (options.has("d") and kinds != ["f"]):
        raise CommandFailed("the delimiter must be a single character, and goes with -f")
    wanted = _positions(options.last(kinds[0]) or "")

    def show(_: str, text: str) -> None:
        for line in lines_of(text):
            if kinds != ["f"]:
                call.out.write("".join(c for at, c in enumerate(line, 1) if wanted(at)) + "\n")
            elif delimiter in line:
                fields = line.split(delimiter)
                call.out.write(delimiter.join(f for at, f in enumerate(fields, 1) if wanted(at)) + "\n")
            elif not options.has("s"):
                call.out.write(f"{line}\n")

    return _each(call, options.operands or ["-"], show)


def _positions(text: str) -> Callable[[int], bool]:
    """Which positions a list such as `1,3-5,7-` holds."""
    ranges: list[tuple[int, float]] = []
    for part in text.split(","):
        found = re.fullmatch("([0-9]{0,9})(-?)([0-9]{0,9})", part)
        if found is None or not (found[1] or found[3]):
            raise CommandFailed("invalid list of fields or characters")
        low = int(found[1] or 1)
        high = float("inf") if found[2] and not found[3] else int(found[3] or low)
        if low == 0 or high < low:
            raise CommandFailed("fields and characters are numbered from 1, in increasing ranges")
        ranges.append((low, high))
    return lambda position: any(low <= position <= high for low, high in ranges)


ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
}


def echo(call: Call) -> int:
    """Write the arguments, as bash's own echo does."""
    words, ends, escapes = list(call.arguments), "\n", False
    while words and re.fullmatch("-[neE]+", words[0]):
        for letter in words.pop(0)[1:]:
            ends = "" if letter == "n" else ends
            escapes = letter == "e" or (escapes and letter != "E")
    text = " ".join(words)
    if escapes:
        text, complete, _ = text.partition("\\c")
        ends = "" if complete else ends
        text = re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[0]), text, flags=re.DOTALL)
    call.out.write(text + ends)
    return 0


def _each(
    call: Call,
    operands: list[str],
    show: Callable[[str, str], None],
    on_directory: Callable[[str], None] | None = None,
) -> int:
    """Show every file that can be read; complain of the others."""
    status = 0
    for operand in operands:
        try:
            text = call.read(operand)
        except PathRefused as refused:
            call.complain(f"{operand}: {refused.reason}")
            status = 1
            if on_directory and refused.code == "is-a-directory":
                on_directory(operand)
            continue
        show(operand, text)
    return status


COMMANDS: dict[str, Command] = {
    "cat": cat,
    "head": head,
    "tail": tail,
    "wc": wc,
    "uniq": uniq,
    "cut": cut,
    "echo": echo,
}
