"""grep."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from . import filesystem
from .filesystem import PathRefused
from .shell_call import Call, Command, CommandFailed, lines_of
from .shell_globs import from_text, matches
from .shell_options import Options, count_of, options_of
from .shell_regex import Pattern, is_word
from .shell_regex_syntax import BadPattern

TROUBLE = 2


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and how it is shown."""

    call: Call
    options: Options
    patterns: tuple[Pattern, ...]
    before: int
    after: int
    most: int | None
    shown: list[str]
    """Files of which lines were shown, in order: groups of lines are told apart across files too."""

    @property
    def has_context(self) -> bool:
        """Whether lines around the selected ones were asked for, be it none."""
        return self.options.has("A", "B", "C")

    def selects(self, line: str) -> bool:
        """Whether a line is one of those looked for."""
        return self._matches(line) != self.options.has("v")

    def _matches(self, line: str) -> bool:
        if self.options.has("w"):
            return next(self.occurrences(line), None) is not None
        if self.options.has("x"):
            return any(len(line) in pattern.ends(line, 0, self.call.work) for pattern in self.patterns)
        return any(pattern.found_in(line, self.call.work) for pattern in self.patterns)

    def occurrences(self, line: str) -> Iterator[tuple[int, int]]:
        """Leftmost, longest matches from left to right, as start and end."""
        start = 0
        while start <= len(line):
            ends = [end for pattern in self.patterns for end in pattern.ends(line, start, self.call.work)]
            fitting = [end for end in ends if self._fits(line, start, end)]
            if fitting:
                yield start, max(fitting)
            start = max([start + 1, *fitting])

    def _fits(self, line: str, start: int, end: int) -> bool:
        if self.options.has("x"):
            return start == 0 and end == len(line)
        if not self.options.has("w"):
            return True
        inside = (start > 0 and is_word(line[start - 1])) or (end < len(line) and is_word(line[end]))
        return not inside


def grep(call: Call) -> int:
    """Select lines; 0 if there were any, 1 if not, 2 for trouble."""
    options = options_of(
        call, "ivnclLowxqshHrREF", "emABC", long_valued=("include", "exclude"), status=TROUBLE
    )
    search = _search(call, options)
    selected = troubled = False
    named = not options.has("h") and (options.has("H") or len(options.operands) > 1)
    for name, shown in _files(call, options):
        try:
            text = call.read(name)
        except PathRefused as refused:
            troubled = True
            if not options.has("s"):
                call.complain(f"{shown}: {refused.reason}")
            if refused.code == "is-a-directory" and options.has("c", "L"):
                _show(search, "", shown, named=named)
            continue
        walked = options.has("r", "R") and name not in options.operands and not options.has("h")
        title = "(standard input)" if name == "-" else shown
        selected |= _show(search, text, title, named=named or walked)
        if selected and options.has("q"):
            return 0
    return TROUBLE if troubled else int(not selected)


def _search(call: Call, options: Options) -> Search:
    given = options.all("e")
    if not given:
        if not options.operands:
            raise CommandFailed("no pattern given", TROUBLE)
        given = [options.operands.pop(0)]
    syntax = next((name for name, _ in reversed(options.given) if name in "EF"), "")
    try:
        patterns = tuple(
            Pattern(line, extended=syntax == "E", fixed=syntax == "F", ignore_case=options.has("i"))
            for pattern in given
            for line in pattern.split("\n")
        )
    except BadPattern as error:
        raise CommandFailed(str(error), TROUBLE) from None
    try:
        numbers = {name: count_of(options.last(name) or "0", "lines") for name in "ABCm"}
    except CommandFailed as failed:
        raise CommandFailed(failed.message, TROUBLE) from None
    return Search(
        call,
        options,
        patterns,
        before=numbers["B"] if options.has("B") else numbers["C"],
        after=numbers["A"] if options.has("A") else numbers["C"],
        most=numbers["m"] if options.has("m") else None,
        shown=[],
    )


def _files(call: Call, options: Options) -> Iterator[tuple[str, str]]:
    """Files to search: argument to read, and name to show."""
    recursive = options.has("r", "R")
    for operand in options.operands or (["."] if recursive else ["-"]):
        if not recursive or not call.is_directory(operand):
            yield operand, operand
            continue
        top = call.path(operand)
        prefix = "" if not options.operands else operand if operand.endswith("/") else f"{operand}/"
        for path in _walk(call, top):
            name = filesystem.name_of(path)
            includes, excludes = options.all("include"), options.all("exclude")
            included = not includes or any(matches(from_text(glob), name) for glob in includes)
            if included and not any(matches(from_text(glob), name) for glob in excludes):
                yield path, prefix + path[len(top) :].lstrip("/")


def _walk(call: Call, folder: str) -> Iterator[str]:
    for name in filesystem.children(call.nodes, folder):
        path = filesystem.joined(folder, name)
        if filesystem.is_directory(call.nodes[path]):
            yield from _walk(call, path)
        else:
            yield path


def _show(search: Search, text: str, title: str, *, named: bool) -> bool:
    """Show one file's selected lines; whether there were any."""
    options, out = search.options, search.call.out
    found = _selected(search, lines_of(text))
    label = f"{title}:" if named else ""
    if options.has("q"):
        pass
    elif options.has("l", "L"):
        if bool(found) == options.has("l"):
            out.write(f"{title}\n")
    elif options.has("c"):
        out.write(f"{label}{len(found)}\n")
    elif found and _is_binary(text):
        out.write(f"{search.call.name}: {title}: binary file matches\n")
    elif options.has("o"):
        _show_occurrences(search, lines_of(text), found, label)
    else:
        _show_lines(search, lines_of(text), found, title if named else "")
    return bool(found)


def _selected(search: Search, lines: list[str]) -> list[int]:
    one_is_enough = search.options.has("q", "l", "L")
    most = 1 if one_is_enough and search.most != 0 else search.most
    found: list[int] = []
    for number, line in enumerate(lines):
        if most is not None and len(found) >= most:
            break
        if search.selects(line):
            found.append(number)
    return found


def _show_occurrences(search: Search, lines: list[str], found: list[int], label: str) -> None:
    if search.options.has("v"):
        return
    for number in found:
        place = f"{number + 1}:" if search.options.has("n") else ""
        for start, end in search.occurrences(lines[number]):
            if end > start:
                search.call.out.write(f"{label}{place}{lines[number][start:end]}\n")


def _show_lines(search: Search, lines: list[str], found: list[int], title: str) -> None:
    if not found:
        return
    last = -1
    pending = deque(found)
    selected = set(found)
    while pending:
        number = pending.popleft()
        start = max(last + 1, number - search.before)
        end = min(len(lines), number + 1 + search.after)
        if pending:
            end = min(end, pending[0])
        separate = start > last + 1 if last >= 0 else bool(search.shown)
        if separate and search.has_context:
            search.call.out.write("--\n")
        for at in range(start, end):
            sign = ":" if at in selected else "-"
            label = f"{title}{sign}" if title else ""
            place = f"{at + 1}{sign}" if search.options.has("n") else ""
            search.call.out.write(f"{label}{place}{lines[at]}\n")
        last = max(last, end - 1)
    search.shown.append(title)


def _is_binary(text: str) -> bool:
    return "\0" in text or any("\udc80" <= character <= "\udcff" for character in text)


COMMANDS: dict[str, Command] = {"grep": grep}
