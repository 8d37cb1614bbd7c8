"""The solution of the table import, for the rules of any seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from esac_ag.suite.contract import Json

_SOLUTION: Final = """\
import re
import sys

{settings}


def split_bars(line):
    inner = line.strip()[1:-1]
    cells = re.findall(r"((?:\\\\.|[^|\\\\])*)(?:\\||$)", inner)[: \
len(re.findall(r"(?<!\\\\)(?:\\\\\\\\)*\\|", inner)) + 1]
    return [re.sub(r"\\\\(.)", r"\\1", cell).strip() for cell in cells]


def split_semicolons(line):
    cells = re.findall(r'(?:^|;)\\s*("(?:[^"]|"")*"|[^;"]*)\\s*(?=;|$)', line.strip())
    return [c[1:-1].replace('""', '"').strip() if c.startswith('"') else c.strip() for c in cells]


def splitter(lines):
    if FRAME == "bars":
        return split_bars
    if FRAME == "semicolons":
        return split_semicolons
    starts = [match.start() for match in re.finditer("=+", lines[1])]
    return lambda line: [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]


def number(text):
    negative = False
    if NEGATIVE == "parentheses" and text[:1] + text[-1:] == "()":
        negative, text = True, text[1:-1]
    if NEGATIVE == "trailing" and text[-1:] == "-":
        negative, text = True, text[:-1]
    if NEGATIVE == "leading" and text[:1] == "-":
        negative, text = True, text[1:]
    match = re.fullmatch("([0-9]+)(" + re.escape(SUFFIX) + ")?", text.replace(THOUSANDS, ""))
    if not match:
        raise ValueError(text)
    value = int(match.group(1)) * (FACTOR if match.group(2) else 1)
    return -value if negative else value


def key(title):
    words = re.findall("[a-z0-9]+", title.lower())
    if KEYS == "snake":
        return "_".join(words)
    return words[-1] if KEYS == "last" else words[0] + "".join(map(str.capitalize, words[1:]))


def main():
    lines = [line for line in sys.stdin.read().splitlines() if line.strip() and not line.startswith(COMMENT)]
    split = splitter(lines)
    lines = [line for line in lines if re.search("[A-Za-z0-9]", line)]
    titles, *raw = map(split, lines)
    rows = []
    for cells in raw:
        if cells == titles:
            continue
        if cells[0] == {{"empty": "", "dots": ".."}}.get(CONTINUED):
            for place, cell in enumerate(cells[1:], start=1):
                if cell:
                    rows[-1][place] += JOINT + cell
        else:
            rows.append(list(cells))
    convert(titles, [row for row in rows if not row[0].startswith(TOTAL)])


def convert(titles, rows):
    out, rejected, above = {{}}, 0, None
    for line, row in enumerate(rows):
        for place, cell in enumerate(row):
            if cell == DITTO:
                row[place] = above[place]
        above = row
        try:
            record = {{
                title: None if cell == MISSING else number(cell) if title in NUMBERS else cell
                for title, cell in zip(titles, row)
            }}
        except ValueError:
            rejected += 1
            continue
        name = row[0] if REPEATED != "all" else line
        if name not in out or REPEATED == "replace":
            out[name] = record
        elif REPEATED == "add":
            for title in NUMBERS:
                if record[title] is not None:
                    out[name][title] = record[title] + (out[name][title] or 0)
    for record in out.values():
        pairs = sorted((key(title), value) for title, value in record.items())
        shown = [(k, "null" if v is None else v) for k, v in pairs if v is not None or ABSENT == "null"]
        print("; ".join(k + EQUAL + str(v) for k, v in shown))
    print(f"{{len(out)}} {{COUNTS[0]}}, {{rejected}} {{COUNTS[1]}}")


main()
"""
_SETTINGS: Final = (  # noqa: SIM905
    "frame comment continued joint total ditto missing numbers thousands negative suffix factor "
    "repeated keys absent equal counts"
).split()


def program_of(rules: Mapping[str, Json]) -> str:
    """A program for this dialect."""
    return _SOLUTION.format(settings="\n".join(f"{name.upper()} = {rules[name]!r}" for name in _SETTINGS))
