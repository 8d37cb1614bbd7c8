"""Log report: read a log in one of several forms, drop what does not count, group, measure, order, cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance, Json
from esac_ag.suite.items.code_log_oracle import (
    clock_of,
    listed_last,
    log_line,
    log_record,
    log_records,
    log_value,
    make_log,
    read_log_record,
    seconds_of,
    solve_log,
)
from esac_ag.suite.items.code_program import CODE_EFFICIENCY, Assignment, Files, ProgramItem, WrongProgram
from esac_ag.suite.items.code_source import example_inputs, examples_by_heart, examples_text, hidden_test
from esac_ag.suite.items.draws import Draws

PROGRAM: Final = "report.py"
EXAMPLES: Final = "examples.txt"
HELPERS: Final = (
    read_log_record,
    seconds_of,
    log_records,
    log_value,
    listed_last,
    log_line,
    clock_of,
    log_record,
)
FACETS: Final = (
    ("plain", 1.0),
    ("duplicates", 2.0),
    ("voids", 2.0),
    ("bad", 1.0),
    ("filter", 1.0),
    ("ties", 2.0),
    ("all", 3.0),
)
SERVICES: Final = [
    "auth",
    "basket",
    "billing",
    "catalog",
    "export",
    "mailer",
    "media",
    "quota",
    "search",
    "sync",
]
USERS: Final = ["ann", "bo", "cem", "dora", "eli", "fay", "gus", "hana", "ivo", "jun", "kim", "lea"]

FORMS: Final = {
    "keys": "`at=HH:MM:SS id=r101 svc=NAME user=NAME lvl=LEVEL ms=120`, the six keys in any order",
    "bars": "`HH:MM:SS | r101 | service | user | LEVEL | 120`, with or without blanks around the bars",
    "brackets": "`[HH:MM:SS] LEVEL service/user #r101 120ms`",
}
DUPLICATES: Final = {
    "first": "an id that already has a record keeps the one it has",
    "last": "a later record of the same id replaces the one before",
    "slowest": "of two records of one id the one with more ms stays, the earlier line if they are equal",
}
VOIDS: Final = {
    "above": "takes back the record that its id has at that point; a record of that id further down counts "
    "again",
    "everywhere": "takes back every record of its id, above and below",
    "window": "takes back the record that its id has at that point, but only if TIME is 0 to {window_s} "
    "seconds "
    "after that record's time; a record of that id further down counts again",
}
FILTERS: Final = {
    "level": "Of what stands then, only {least_level} and above count (DEBUG < INFO < WARN < ERROR).",
    "slow": "Of what stands then, records of level ERROR count, and of the others those with at least "
    "{slow_ms} ms.",
}
GROUPS: Final = {
    "service": "service",
    "user": "user",
    "hour": "hour of their time, named like `09:00`",
    "service-level": "service and level, named like `auth/WARN`",
}
METRICS: Final = {
    "total": "the sum of its ms",
    "mean": "the mean of its ms, rounded to a whole number, halves up",
    "median": "the median of its ms, of two middle ones the lower",
    "spread": "its largest ms minus its smallest",
    "percentile": "the {percent}th percentile of its ms by nearest rank (the smallest value that at least "
    "{percent} % of its values do not exceed)",
}
CUTS: Final = {
    "least": "List only groups with at least {least_records} counted records.",
    "top": "List the first {top} groups and every further one whose value equals that of the last of these.",
}

_PROMPT: Final = """\
Please write {program}: it reads a request log from standard input and prints a report.

A record is {form}; levels are DEBUG, INFO, WARN and ERROR, and ms is digits only. Ignore empty lines and \
lines \
that begin with `#`. A line `VOID r101 HH:MM:SS` takes a record back (see below). Any other line, and a \
VOID line \
without exactly an id and a time, is bad: count it and skip it.

Go through the lines from top to bottom (times need not ascend) and keep one record per id:
- {duplicate};
- `VOID ID TIME` {void}. For an id without a record it does nothing.

{filter} Group the counted records by {group}. The value of a group is {metric}. Order the groups by value, \
{values}; equal values by name, {names} (plain character order). {cut}

Print one line `name: value (number of counted records)` per listed group, then `other: N` with the number \
of \
groups that are not listed, then `skipped: N` with the number of bad lines.

{examples} shows two inputs with their outputs; it does not show everything. You can run Python at most \
five times. \
Hand in with submit; what is not handed in does not count.
"""

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
        print(f"{{name}}: {{value}} ({{count}})")
    print(f"other: {{len(rows) - len(listed)}}")
    print(f"skipped: {{skipped}}")


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
}


def assign(seeds: Seeds) -> Assignment:
    """The rules, request and examples of a seed."""
    draws = Draws(seeds, "log")
    rules: dict[str, Any] = {
        "syntax": draws.pick(list(FORMS)),
        "duplicate": draws.pick(list(DUPLICATES)),
        "void": draws.pick(list(VOIDS)),
        "window_s": draws.between(4, 20) * 30,
        "filter": draws.pick(list(FILTERS)),
        "least_level": draws.pick(["INFO", "WARN"]),
        "slow_ms": draws.between(3, 8) * 50,
        "group": draws.pick(list(GROUPS)),
        "metric": draws.pick(list(METRICS)),
        "percent": draws.pick([70, 75, 80, 90]),
        "values": draws.pick(["ascending", "descending"]),
        "names": draws.pick(["ascending", "descending"]),
        "cut": draws.pick(list(CUTS)),
        "least_records": draws.between(2, 3),
        "top": draws.between(2, 3),
        "services": [*draws.sample(SERVICES, 4)],
        "users": [*draws.sample(USERS, 5)],
    }
    inputs = [make_log(draws.below, rules, facet) for facet in ("plain", "bad")]
    tests = tuple(
        hidden_test(
            facet,
            weight,
            facet=facet,
            program=PROGRAM,
            solve=solve_log,
            make=make_log,
            helpers=HELPERS,
            rules=rules,
        )
        for facet, weight in FACETS
    )
    examples = examples_text([(text, solve_log(text, rules)) for text in inputs])
    return Assignment(_prompt(rules), {EXAMPLES: examples}, rules, tests)


def _prompt(rules: Mapping[str, Any]) -> str:
    direction = {"ascending": "smallest first", "descending": "largest first"}
    return _PROMPT.format(
        program=PROGRAM,
        examples=EXAMPLES,
        form=FORMS[rules["syntax"]],
        duplicate=DUPLICATES[rules["duplicate"]],
        void=VOIDS[rules["void"]].format(**rules),
        filter=FILTERS[rules["filter"]].format(**rules),
        group=GROUPS[rules["group"]],
        metric=METRICS[rules["metric"]].format(**rules),
        values=direction[rules["values"]],
        names=rules["names"],
        cut=CUTS[rules["cut"]].format(**rules),
    )


def program_of(rules: Mapping[str, Json]) -> str:
    """A program for these rules."""
    settings = "\n".join(f"{name} = {rules[key]!r}" for name, key in _SETTINGS.items())
    return _SOLUTION.format(settings=settings)


def _solution(instance: Instance) -> Files:
    return {PROGRAM: program_of(instance.secret)}


def _by_another_seed(instance: Instance) -> Files:
    """What was right for another seed: a remembered program."""
    others = (assign(Seeds(f"another {number}")) for number in range(2))
    rules = next(other.rules for other in others if other.rules != instance.secret)
    return {PROGRAM: program_of(rules)}


def _skimmed(instance: Instance) -> Files:
    return {PROGRAM: program_of({**instance.secret, "duplicate": "all", "void": "never"})}


def _usual(instance: Instance) -> Files:
    habits = {"duplicate": "last", "void": "everywhere", "values": "descending", "names": "ascending"}
    turned = {"duplicate": "first", "void": "above"}
    wrong = {key: turned[key] if instance.secret[key] == habits[key] else habits[key] for key in turned}
    return {PROGRAM: program_of({**instance.secret, **habits, **wrong})}


ITEM: Final = ProgramItem(
    id="code-log-report",
    category=Category.CODE,
    title="Write a log report",
    measures="Whether a program follows a dozen stated rules for reading, correcting and ranking records.",
    assign=assign,
    solution=_solution,
    wrong=(
        WrongProgram("another-instance", _by_another_seed, 0.3),
        WrongProgram("examples-by-heart", examples_by_heart(PROGRAM, EXAMPLES), 0.0),
        WrongProgram("skimmed", _skimmed, 0.45),
        WrongProgram("usual-habits", _usual, 0.45),
    ),
    reads=(EXAMPLES,),
    program=PROGRAM,
    trial=lambda instance: example_inputs(instance.files[EXAMPLES])[0],
    efficiency=CODE_EFFICIENCY,
)
