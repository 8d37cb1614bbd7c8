"""The solution of the log report, for the rules of any seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from esac_ag.suite.contract import Json

_SOLUTION: Final = '''\
import re
import sys
from collections import defaultdict

{settings}
LEVELS = ["DEBUG", "INFO", "WARN", "ERROR"]
PATTERNS = {{
    "bars": r"([0-9:]+) *\\| *(\\w+) *\\| *(\\w+) *\\| *(\\w+) *\\| *(\\w+) *\\| *(\\d+)",
    "brackets": r"\\[([0-9:]+)\\] (\\w+) (\\w+)/(\\w+) #(\\w+) (\\d+)ms",
}}


def parse(line):
    """(id, time, service, user, level, ms), or None."""
    if SYNTAX == "keys":
        pairs = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if sorted(pairs) != ["at", "id", "lvl", "ms", "svc", "user"] or len(line.split()) != 6:
            return None
        row = (pairs["id"], pairs["at"], pairs["svc"], pairs["user"], pairs["lvl"], pairs["ms"])
    else:
        match = re.fullmatch(PATTERNS[SYNTAX], line.strip())
        if not match:
            return None
        a, b, c, d, e, f = match.groups()
        row = (b, a, c, d, e, f) if SYNTAX == "bars" else (e, a, c, d, b, f)
    if row[4] not in LEVELS or not re.fullmatch("[0-9]+", row[5]):
        return None
    return (*row[:5], int(row[5]))


def clock(text):
    h, m, s = map(int, text.split(":"))
    return (h * 60 + m) * 60 + s


def main():
    table, voided, skipped = {{}}, set(), 0
    for number, line in enumerate(sys.stdin.read().splitlines()):
        if not line.strip() or line[0] == "#":
            continue
        if line.startswith("VOID "):
            parts = line.split()
            if len(parts) != 3:
                skipped += 1
            elif VOID == "everywhere":
                voided.add(parts[1])
            elif parts[1] in table and VOID != "never":
                since = clock(parts[2]) - clock(table[parts[1]][1])
                if VOID == "above" or (since >= 0 and since <= WINDOW):
                    table.pop(parts[1])
            continue
        row = parse(line)
        if row is None:
            skipped += 1
            continue
        key = row[0] if DUPLICATE != "all" else number
        if key in table:
            if DUPLICATE == "first":
                continue
            if DUPLICATE == "slowest" and row[5] <= table[key][5]:
                continue
        table[key] = row
    groups = defaultdict(list)
    for ident, at, service, user, level, ms in table.values():
        if ident in voided:
            continue
        if FILTER == "level":
            if LEVELS.index(level) < LEVELS.index(LEAST_LEVEL):
                continue
        elif level != "ERROR" and ms < SLOW:
            continue
        name = {{"service": service, "user": user, "hour": at[:3] + "00"}}.get(GROUP, service + "/" + level)
        groups[name].append(ms)
    rows = [(name, measure(sorted(values)), len(values)) for name, values in groups.items()]
    rows.sort(key=lambda row: row[0], reverse=NAMES == "descending")
    rows.sort(key=lambda row: row[1], reverse=VALUES == "descending")
    show(rows, skipped)


def measure(values):
    n = len(values)
    if METRIC == "total":
        return sum(values)
    if METRIC == "mean":
        whole, rest = divmod(sum(values), n)
        return whole + (rest * 2 >= n)
    if METRIC == "median":
        return values[n // 2] if n % 2 else values[n // 2 - 1]
    if METRIC == "spread":
        return max(values) - min(values)
    return next(v for i, v in enumerate(values, 1) if i * 100 >= PERCENT * n)


def show(rows, skipped):
    listed = []
    for row in rows:
        if CUT == "least":
            if row[2] >= LEAST:
                listed.append(row)
        elif len(listed) < TOP or row[1] == listed[-1][1]:
            listed.append(row)
        else:
            break
    for name, value, count in listed:
        print(ROW.format(name=name, value=value, count=count))
    print(f"{{LABELS[0]}}: {{len(rows) - len(listed)}}")
    print(f"{{LABELS[1]}}: {{skipped}}")


main()
'''
_SETTINGS: Final = {
    "SYNTAX": "syntax",
    "DUPLICATE": "duplicate",
    "VOID": "void",
    "WINDOW": "window_s",
    "FILTER": "filter",
    "LEAST_LEVEL": "least_level",
    "SLOW": "slow_ms",
    "GROUP": "group",
    "METRIC": "metric",
    "PERCENT": "percent",
    "VALUES": "values",
    "NAMES": "names",
    "CUT": "cut",
    "LEAST": "least_records",
    "TOP": "top",
    "ROW": "row",
    "LABELS": "labels",
}


def program_of(rules: Mapping[str, Json]) -> str:
    """A program for these rules."""
    settings = "\n".join(f"{name} = {rules[key]!r}" for name, key in _SETTINGS.items())
    return _SOLUTION.format(settings=settings)
