"""Log report: read a log in one of several forms, drop what does not count, group, measure, order, cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance
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
from esac_ag.suite.items.code_log_solution import program_of
from esac_ag.suite.items.code_program import CODE_EFFICIENCY, Assignment, Files, ProgramItem, WrongProgram
from esac_ag.suite.items.code_source import (
    FORMER_SENTENCE,
    example_inputs,
    examples_by_heart,
    examples_text,
    former_examples,
    hidden_test,
    programs_of,
)
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

ROWS: Final = (
    "{name}: {value} ({count})",
    "{name} {value} of {count}",
    "{value} {name} x{count}",
    "{name} | {count} | {value}",
    "{count} {name} = {value}",
)
LABELS: Final = (("other", "unlisted", "more", "rest"), ("skipped", "bad", "unread", "ignored"))
"""Words of the last two lines."""

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

Print one line `{row}` per listed group, COUNT being the number of its counted records, then `{other}: N` \
with the \
number of groups that are not listed, then `{skipped}: N` with the number of bad lines.

{examples} shows two inputs with their outputs; it does not show everything. {former} \
You can run Python at most five times. \
Hand in with submit; what is not handed in does not count.
"""


def _rules(draws: Draws) -> dict[str, Any]:
    return {
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
        "row": draws.pick(ROWS),
        "labels": [draws.pick(words) for words in LABELS],
    }


def assign(seeds: Seeds) -> Assignment:
    """The rules, request and examples of a seed."""
    draws = Draws(seeds, "log")
    rules, former = _rules(draws), _rules(draws)
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
    files = {EXAMPLES: examples, **former_examples(draws, former, make_log, solve_log)}
    return Assignment(_prompt(rules), files, {**rules, "former": former}, tests)


def _prompt(rules: Mapping[str, Any]) -> str:
    direction = {"ascending": "smallest first", "descending": "largest first"}
    return _PROMPT.format(
        program=PROGRAM,
        examples=EXAMPLES,
        former=FORMER_SENTENCE,
        form=FORMS[rules["syntax"]],
        duplicate=DUPLICATES[rules["duplicate"]],
        void=VOIDS[rules["void"]].format(**rules),
        filter=FILTERS[rules["filter"]].format(**rules),
        group=GROUPS[rules["group"]],
        metric=METRICS[rules["metric"]].format(**rules),
        values=direction[rules["values"]],
        names=rules["names"],
        cut=CUTS[rules["cut"]].format(**rules),
        row=rules["row"].format(name="NAME", value="VALUE", count="COUNT"),
        other=rules["labels"][0],
        skipped=rules["labels"][1],
    )


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
    solution=programs_of(PROGRAM, program_of),
    wrong=(
        WrongProgram("examples-by-heart", examples_by_heart(PROGRAM, EXAMPLES), 0.0),
        WrongProgram("former-rules", programs_of(PROGRAM, program_of, "former"), 0.3),
        WrongProgram("skimmed", _skimmed, 0.45),
        WrongProgram("usual-habits", _usual, 0.45),
    ),
    reads=(EXAMPLES,),
    program=PROGRAM,
    trial=lambda instance: example_inputs(instance.files[EXAMPLES])[0],
    efficiency=CODE_EFFICIENCY,
)
