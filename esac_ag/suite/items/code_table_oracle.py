"""Oracle of the table import, and the drawing of its inputs; its source becomes part of hidden tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def table_cells(line: str, rules: dict[str, Any], spans: list[tuple[int, int]]) -> list[str]:
    """The cells of a line, trimmed."""
    if rules["frame"] == "columns":
        return [line[first:last].strip() for first, last in spans]
    mark = "|" if rules["frame"] == "bars" else ";"
    body = line.strip()
    if mark == "|":
        body = body[1:-1]
    cells, cell, place, quoted = [], "", 0, False
    while place < len(body):
        sign, after = body[place], body[place + 1 : place + 2]
        place += 1
        if mark == "|" and sign == "\\" and after in ("|", "\\"):
            cell += after
            place += 1
        elif mark == ";" and sign == '"' and quoted and after == '"':
            cell += '"'
            place += 1
        elif mark == ";" and sign == '"':
            quoted = not quoted
        elif sign == mark and not quoted:
            cells.append(cell.strip())
            cell = ""
        else:
            cell += sign
    return [*cells, cell.strip()]


def table_number(cell: str, rules: dict[str, Any]) -> int | None:
    """A cell of a number column; none when it is no number."""
    sign, text = 1, cell
    if rules["negative"] == "parentheses" and text.startswith("(") and text.endswith(")"):
        sign, text = -1, text[1:-1]
    elif rules["negative"] == "trailing" and text.endswith("-"):
        sign, text = -1, text[:-1]
    elif rules["negative"] == "leading" and text.startswith("-"):
        sign, text = -1, text[1:]
    factor = 1
    if text.endswith(rules["suffix"]):
        factor, text = rules["factor"], text[: -len(rules["suffix"])]
    text = text.replace(rules["thousands"], "")
    return sign * int(text) * factor if text.isascii() and text.isdigit() else None


def table_key(title: str, rules: dict[str, Any]) -> str:
    """The key of a column's title."""
    words = "".join(sign if sign.isalnum() else " " for sign in title).lower().split()
    if rules["keys"] == "snake":
        return "_".join(words)
    if rules["keys"] == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return words[-1]


def table_rows(text: str, rules: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Titles, and raw rows with their continuations joined, in order."""
    titles: list[str] = []
    rows: list[list[str]] = []
    spans: list[tuple[int, int]] = []
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith(rules["comment"])]
    if rules["frame"] == "columns":
        spans = table_spans(lines[1])
    for line in lines:
        if not any(sign.isalnum() for sign in line):
            continue
        cells = table_cells(line, rules, spans)
        if not titles:
            titles = cells
        elif cells == titles:
            continue
        elif cells[0] == ("" if rules["continued"] == "empty" else ".."):
            rows[-1] = [
                f"{old}{rules['joint']}{new}" if new and place else old
                for place, (old, new) in enumerate(zip(rows[-1], cells, strict=True))
            ]
        else:
            rows.append(cells)
    return titles, rows


def table_spans(ruler: str) -> list[tuple[int, int]]:
    """The columns that a ruler of `=` marks; the last one goes on to the end of the line."""
    starts = [place for place in range(len(ruler)) if ruler[place] == "=" and ruler[:place][-1:] in ("", " ")]
    return list(zip(starts, [*starts[1:], 10_000], strict=True))


def solve_table(text: str, rules: dict[str, Any]) -> list[str]:
    """The imported rows as `key=value`, and a last line with the counts."""
    titles, rows = table_rows(text, rules)
    keys = [table_key(title, rules) for title in titles]
    above = [""] * len(keys)
    found: dict[str, dict[str, Any]] = {}
    rejected = 0
    for row in rows:
        if row[0].startswith(rules["total"]):
            continue
        cells = [old if cell == rules["ditto"] else cell for cell, old in zip(row, above, strict=True)]
        above = cells
        record: dict[str, Any] = {}
        for title, key, cell in zip(titles, keys, cells, strict=True):
            if cell == rules["missing"]:
                record[key] = None
            else:
                record[key] = table_number(cell, rules) if title in rules["numbers"] else cell
        wrong = [
            title
            for title, key, cell in zip(titles, keys, cells, strict=True)
            if title in rules["numbers"] and cell != rules["missing"] and record[key] is None
        ]
        if wrong:
            rejected += 1
            continue
        old = found.get(cells[0])
        if old is None or rules["repeated"] == "replace":
            found[cells[0]] = record
        elif rules["repeated"] == "add":
            for title, key in zip(titles, keys, strict=True):
                if title in rules["numbers"] and record[key] is not None:
                    old[key] = (old[key] or 0) + record[key]
    lines = [table_line(record, rules) for record in found.values()]
    return [*lines, f"{len(found)} {rules['counts'][0]}, {rejected} {rules['counts'][1]}"]


def table_line(record: dict[str, Any], rules: dict[str, Any]) -> str:
    """A record as a line."""
    parts = []
    for key in sorted(record):
        if record[key] is None and rules["absent"] == "left-out":
            continue
        parts.append(f"{key}{rules['equal']}{'null' if record[key] is None else record[key]}")
    return "; ".join(parts)


def table_written(number: int, rules: dict[str, Any], below: Callable[[int], int]) -> str:
    """A number as the dialect writes it."""
    text: str
    size = abs(number)
    if size % rules["factor"] == 0 and size and below(2):
        text = str(size // rules["factor"]) + rules["suffix"]
    else:
        text = f"{size:,}".replace(",", rules["thousands"])
    if number < 0:
        text = {"parentheses": f"({text})", "trailing": text + "-", "leading": "-" + text}[rules["negative"]]
    return text


def table_written_cell(cell: str, rules: dict[str, Any], below: Callable[[int], int]) -> str:
    """A cell as the frame writes it."""
    if rules["frame"] == "bars":
        return cell.replace("\\", "\\\\").replace("|", "\\|")
    if rules["frame"] == "semicolons" and (";" in cell or '"' in cell or not below(4)):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def make_table(  # noqa: C901, PLR0912  (a branch per facet)
    below: Callable[[int], int], rules: dict[str, Any], facet: str
) -> str:
    """An input that brings a facet of the rules to bear."""
    every = facet == "all"
    count = 6 + below(4)
    rows: list[list[str]] = []
    for number in range(count):
        row = []
        for title in rules["titles"]:
            if title == rules["titles"][0]:
                cell = f"{rules['letters'][below(3)]}-{10 + number}"
            elif title in rules["numbers"]:
                value = below(900) if below(2) else 1000 + 500 * below(40)
                if (every or facet == "numbers") and below(2):
                    value = [
                        -(1 + below(5000)),
                        rules["factor"] * (1 + below(9)),
                        1_000_000 + below(9_000_000),
                    ][below(3)]
                cell = table_written(value, rules, below)
            else:
                cell = " ".join(rules["words"][below(len(rules["words"]))] for _ in range(1 + below(2)))
                if (every or facet == "marks") and below(2):
                    extra = ["a|b", "5\\6", "x;y", 'so "big"', "#1"]
                    cell += " " + (extra[below(5)] if rules["frame"] != "columns" else extra[4])
            row.append(cell)
        rows.append(row)
    if every or facet == "gaps":
        for _ in range(6):
            row = rows[1 + below(count - 1)]
            row[1 + below(len(row) - 1)] = [rules["missing"], rules["ditto"]][below(2)]
    if every or facet == "repeats":
        for _ in range(3):
            rows[1 + below(count - 1)][0] = rows[below(count)][0]
    if every or facet == "rejects":
        for _ in range(2):
            row = rows[below(count)]
            row[rules["titles"].index(rules["numbers"][below(2)])] = ["about 5", "1.5.x", "none", "12 pcs"][
                below(4)
            ]
    if every or facet == "pages":
        rows.insert(2 + below(3), [*rules["titles"]])
        total = [rules["total"] + " so far", *("" for _ in rules["titles"][1:])]
        total[rules["titles"].index(rules["numbers"][0])] = "99"
        rows.insert(3 + below(3), total)
    if every or facet == "continued":
        for place in (5, 3, 2):
            more = ["" if rules["continued"] == "empty" else "..", *("" for _ in rules["titles"][1:])]
            texts = [at for at, title in enumerate(rules["titles"]) if at and title not in rules["numbers"]]
            more[texts[below(len(texts))]] = rules["words"][below(len(rules["words"]))]
            if rows[place - 1] != rules["titles"] and not rows[place - 1][0].startswith(rules["total"]):
                rows.insert(place, more)
    return table_text([[*rules["titles"]], *rows], rules, below, comments=every or facet == "pages")


def table_text(
    rows: list[list[str]], rules: dict[str, Any], below: Callable[[int], int], *, comments: bool
) -> str:
    """Rows as text in the dialect's frame."""
    cells = [[table_written_cell(cell, rules, below) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells) + 1 for place in range(len(cells[0]))]
    lines = []
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        if rules["frame"] == "bars":
            lines.append("| " + "| ".join(padded) + "|")
        elif rules["frame"] == "columns":
            lines.append(" ".join(padded).rstrip())
        else:
            lines.append(";".join(row))
    if rules["frame"] == "bars":
        ruler = "+" + "+".join("-" * (width + 1) for width in widths) + "+"
        lines = [ruler, lines[0], ruler, *lines[1:], ruler]
    if rules["frame"] == "columns":
        lines.insert(1, " ".join("=" * (width - 1) + " " for width in widths).rstrip())
    if comments:
        lines.insert(4 + below(3), rules["comment"] + " checked by hand")
        lines.insert(5 + below(3), "")
    return "\n".join(lines) + "\n"
