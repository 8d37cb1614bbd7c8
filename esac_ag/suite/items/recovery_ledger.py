"""A ledger script that crashes: the trace shows one fault, a crash and two wrong results wait behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance
from esac_ag.suite.items.code_program import (
    RECOVERY_EFFICIENCY,
    Assignment,
    Files,
    ProgramItem,
    WrongProgram,
)
from esac_ag.suite.items.code_source import hidden_test
from esac_ag.suite.items.draws import Draws
from esac_ag.suite.items.recovery_ledger_oracle import (
    ledger_date,
    ledger_day,
    ledger_money,
    make_ledger,
    solve_ledger,
)
from esac_ag.suite.items.recovery_script import Frame, Site, old_logs, script_of, trace_of

PROGRAM: Final = "statement.py"
INPUT: Final = "failing_input.txt"
TRACE: Final = "trace.txt"
README: Final = "README.md"
CRASHES: Final = ("thousands", "notes", "order", "only-payments")
SILENT: Final = ("cents", "partial", "credit", "reuse", "case")
KINDS: Final = (
    ("bill", "pay", "void"),
    ("invoice", "payment", "cancel"),
    ("due", "paid", "undo"),
    ("charge", "receipt", "storno"),
)
HELPERS: Final = (ledger_date, ledger_day, ledger_money)
NAMES: Final = [
    "ann",
    "bo",
    "cem",
    "dora",
    "eli",
    "fay",
    "gus",
    "hana",
    "ivo",
    "jun",
    "kim",
    "lea",
    "mio",
    "nils",
    "olga",
    "pia",
    "quin",
    "rosa",
    "sven",
    "tara",
]

_MONTHS: Final = {
    "dots": "int(month)",
    "slashes": "int(month)",
    "names": "MONTHS.index(month) + 1",
}
_MARKS: Final = {"dots": ".", "slashes": "/", "names": "-"}
_PLACES: Final = {"oldest": "0", "newest": "-1", "largest": "held.index(max(held))"}
_SITES: Final = (
    Site(
        "order",
        "    rows.sort(key=lambda row: day_of(row[0]))\n",
        "    rows.sort(key=lambda row: row[0])\n",
    ),
    Site(
        "notes",
        "        date, kind, name, amount = fields[:4]\n",
        "        date, kind, name, amount = *fields[:3], fields[-1]\n",
    ),
    Site(
        "thousands",
        '        rows.append((date, kind, name, cents(amount.replace("\'", ""))))\n',
        "        rows.append((date, kind, name, cents(amount)))\n",
    ),
    Site(
        "cents",
        '    whole, _, part = text.partition(".")\n    return int(whole) * 100 + int((part + "00")[:2])\n',
        "    return int(float(text) * 100)\n",
    ),
    Site(
        "reuse",
        "        used = min(amount, self.credit.get(name, 0))\n"
        "        self.credit[name] = self.credit.get(name, 0) - used\n"
        "        amount -= used\n",
        "        amount -= min(amount, self.credit.get(name, 0))\n",
    ),
    Site("partial", "            held[place] -= used\n", "            held[place] = 0\n"),
    Site(
        "credit",
        "            self.credit[name] = self.credit.get(name, 0) + amount\n",
        "            self.credit[name] = amount\n",
    ),
    Site(
        "case",
        "    names = sorted(book.names, key=lambda name: (name.lower(), name))\n",
        "    names = sorted(book.names)\n",
    ),
    Site(
        "only-payments",
        "        held = book.bills.get(name, [])\n",
        "        held = book.bills[name]\n",
    ),
)
_SCRIPT: Final = '''\
"""Prints the customers' statement. What it has to do is said in README.md."""
import sys

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def day_of(date):
    day, month, year = date.split("{mark}")
    return int(year), {month}, int(day)


def cents(text):
@cents@


def read(lines):
    rows = []
    for line in lines:
        fields = line.split()
        if not fields:
            continue
@notes@
@thousands@
@order@
    return rows


class Book:
    def __init__(self):
        self.names = set()
        self.bills = {{}}
        self.credit = {{}}

    def post(self, kind, name, amount):
        self.names.add(name)
        if kind == "{billing}":
            self.bill(name, amount)
        elif kind == "{voiding}":
            self.void(name)
        else:
            self.pay(name, amount)

    def bill(self, name, amount):
@reuse@
        if amount:
            self.bills.setdefault(name, []).append(amount)

    def void(self, name):
        self.bills.get(name, []).pop({which})

    def pay(self, name, amount):
        held = self.bills.get(name, [])
        while amount and held:
            place = {place}
            used = min(amount, held[place])
            amount -= used
@partial@
            if not held[place]:
                del held[place]
        if amount:
@credit@


def money(amount):
    return f"{{amount // 100}}{point}{{amount % 100:02d}}"


def report(book):
    total = 0
@case@
{rank}    for name in names:
@only-payments@
        credit = book.credit.get(name, 0)
        total += sum(held)
{hide}        print(f"{{name}}: {{len(held)}} open, {{money(sum(held))}}, credit {{money(credit)}}")
    print(f"open in all: {{money(total)}}")


def main():
    book = Book()
    for date, kind, name, amount in read(sys.stdin.read().splitlines()):
        book.post(kind, name, amount)
    report(book)


main()
'''
_HIDE: Final = "        if not held and not credit:\n            continue\n"
_RANK: Final = "    names.sort(key=lambda name: -sum(book.bills.get(name, [])))\n"
_DATES: Final = {"dots": "`05.02.2026`", "slashes": "`5/2/2026` (day first)", "names": "`5-Feb-2026`"}
_SETTLES: Final = {
    "oldest": "the oldest open bill first",
    "newest": "the newest open bill first",
    "largest": "the open bill with the most left first (of equals the oldest)",
}
_README: Final = """\
# statement.py

Reads bookings from standard input, one per line: `DATE KIND NAME AMOUNT`, then perhaps a note of several \
words, which
does not matter. Dates look like {dates}. Lines come in any order; they count by date, those of one day as \
listed.
Amounts are `1'250.50`, `80.5` or `80`; nothing is ever lost to rounding.

- `{billing}`: the customer's credit is used up first; what is left of the bill is open.
- `{paying}`: settles {settles}, the last one perhaps in part. What is left over adds to the credit.
- `{voiding}`: takes the customer's {voids} open bill back, what is left of it. There always is one. Its \
amount means nothing.

Prints a line per customer, {ranked}by name without regard to upper and lower case,

    NAME: N open, TOTAL, credit CREDIT

with amounts such as {sample}, {hidden}, and at last `open in all: TOTAL`. Customers who only ever paid are \
listed too.
"""
_PROMPT: Final = """\
statement.py ended with an error last night. {trace} is the trace, {input} is what it was fed, and \
README.md says what \
the script has to do. Please find out what is wrong and repair statement.py so that it does what README.md \
says, for \
any input: I suspect that this error is not its only fault. Older logs lie in logs/. You can run Python at \
most five \
times. Hand in with submit; what is not handed in does not count.
"""


def assign(seeds: Seeds) -> Assignment:
    """The script, its faults and its trace of a seed."""
    draws = Draws(seeds, "ledger")
    crashes = draws.sample(CRASHES, 2)
    names = draws.sample(NAMES, 7)
    last = max(names)
    others = [name for name in names if name != last]
    rules: dict[str, Any] = {
        "dates": draws.pick(list(_MARKS)),
        "kinds": [*draws.pick(KINDS)],
        "settles": draws.pick(list(_PLACES)),
        "money": draws.pick(["comma", "point"]),
        "settled": draws.pick(["hidden", "shown"]),
        "voids": draws.pick(["latest", "oldest"]),
        "ranked": draws.pick([False, True]),
        # The capitalised one is the last by name, so that sorting by character code puts it first.
        "people": [*others[:4], last, *others[4:]],
    }
    # Where totals decide the order, names hardly ever do.
    silent = [fault for fault in SILENT if not (rules["ranked"] and fault == "case")]
    rules["faults"] = [*crashes, *draws.sample(silent, 2)]
    failing = _failing_input(draws, rules)
    script = program_of(rules, rules["faults"])
    files = {
        README: _readme(rules),
        PROGRAM: script,
        TRACE: _trace(script, failing, rules),
        INPUT: failing,
        **old_logs(draws, PROGRAM, [_old_trace(fault, rules) for fault in crashes], 11),
    }
    weights = [*zip(rules["faults"], (1.0, 2.0, 2.0, 2.0), strict=True), ("all", 3.0)]
    tests = tuple(
        hidden_test(
            facet,
            weight,
            facet=facet,
            program=PROGRAM,
            solve=solve_ledger,
            make=make_ledger,
            helpers=HELPERS,
            rules={key: value for key, value in rules.items() if key != "faults"},
        )
        for facet, weight in weights
    )
    return Assignment(_PROMPT.format(trace=TRACE, input=INPUT), files, rules, tests)


def program_of(rules: Mapping[str, Any], faults: Collection[str]) -> str:
    """The script with some faults."""
    text = _SCRIPT.format(
        **_kinds(rules),
        mark=_MARKS[rules["dates"]],
        month=_MONTHS[rules["dates"]],
        place=_PLACES[rules["settles"]],
        point="," if rules["money"] == "comma" else ".",
        which="" if rules["voids"] == "latest" else "0",
        rank=_RANK if rules["ranked"] else "",
        hide=_HIDE if rules["settled"] == "hidden" else "",
    )
    return script_of(text, _SITES, faults)


def _failing_input(draws: Draws, rules: Mapping[str, Any]) -> str:
    """An input on which the first fault crashes and the second does not."""
    while True:
        text = make_ledger(draws.below, dict(rules), rules["faults"][0])
        if rules["faults"][0] != "notes" or any(_is_word(line) for line in text.splitlines()):
            return text


def _is_word(line: str) -> bool:
    return line.rsplit(maxsplit=1)[-1].isalpha()


def _trace(script: str, failing: str, rules: Mapping[str, Any]) -> str:
    last = [line.split()[-1] for line in failing.splitlines()]
    match rules["faults"][0]:
        case "notes":
            return _reading_trace(script, next(word for word in last if word.isalpha()))
        case "thousands":
            return _reading_trace(script, next(word for word in last if "'" in word))
        case "order":
            return _order_trace(script)
        case _:
            return _report_trace(script, rules["people"][3])


_MAIN: Final = Frame("<module>", "main()")
_LOOP: Final = Frame("main", "for date, kind, name, amount in read(sys.stdin.read().splitlines()):")


def _reading_trace(script: str, text: str) -> str:
    adding = next(line.strip() for line in script.split("\n") if line.strip().startswith("rows.append("))
    if "float(text)" in script:
        inner, error = "return int(float(text) * 100)", f"could not convert string to float: {text!r}"
    else:
        whole = text.partition(".")[0]
        inner = 'return int(whole) * 100 + int((part + "00")[:2])'
        error = f"invalid literal for int() with base 10: {whole!r}"
    frames = [_MAIN, _LOOP, Frame("read", adding), Frame("cents", inner)]
    return trace_of(PROGRAM, script, frames, f"ValueError: {error}")


def _order_trace(script: str) -> str:
    voiding = next(line.strip() for line in script.split("\n") if ".pop(" in line)
    frames = [
        _MAIN,
        Frame("main", "book.post(kind, name, amount)"),
        Frame("post", "self.void(name)"),
        Frame("void", voiding),
    ]
    return trace_of(PROGRAM, script, frames, "IndexError: pop from empty list")


def _report_trace(script: str, name: str) -> str:
    frames = [_MAIN, Frame("main", "report(book)"), Frame("report", "held = book.bills[name]")]
    return trace_of(PROGRAM, script, frames, f"KeyError: {name!r}")


def _old_trace(fault: str, rules: Mapping[str, Any]) -> str:
    # With today's faults as well, or the trace would show a right line.
    script = program_of(rules, [fault, *rules["faults"]])
    match fault:
        case "notes":
            return _reading_trace(script, "paid")
        case "thousands":
            return _reading_trace(script, "2'150.40")
        case "order":
            return _order_trace(script)
        case _:
            return _report_trace(script, rules["people"][2])


def _kinds(rules: Mapping[str, Any]) -> dict[str, str]:
    return dict(zip(("billing", "paying", "voiding"), rules["kinds"], strict=True))


def _readme(rules: Mapping[str, Any]) -> str:
    return _README.format(
        **_kinds(rules),
        dates=_DATES[rules["dates"]],
        settles=_SETTLES[rules["settles"]],
        voids=rules["voids"],
        ranked="largest open total first and of equal ones " if rules["ranked"] else "",
        sample="`1250,50`" if rules["money"] == "comma" else "`1250.50`",
        hidden=(
            "leaving out customers with neither open bills nor credit"
            if rules["settled"] == "hidden"
            else "customers with neither open bills nor credit too"
        ),
    )


def _repaired(*kept: int) -> Any:  # noqa: ANN401 a function of an instance
    """Submissions in which the faults at these places of the list are left."""

    def files(instance: Instance) -> Files:
        faults = instance.secret["faults"]
        assert isinstance(faults, list)  # noqa: S101 our own
        return {PROGRAM: program_of(instance.secret, [str(faults[place]) for place in kept])}

    return files


def _swallowing(instance: Instance) -> Files:
    text = instance.files[PROGRAM]
    guarded = text.replace(
        "        book.post(kind, name, amount)\n",
        "        try:\n            book.post(kind, name, amount)\n        except Exception:\n            "
        "pass\n",
    )
    held = "        held = book.bills[name]\n"
    return {
        PROGRAM: guarded.replace(held, "        if name not in book.bills:\n            continue\n" + held)
    }


ITEM: Final = ProgramItem(
    id="recovery-statement",
    category=Category.RECOVERY,
    title="Repair a crashing statement",
    measures="Whether a crash is followed to its cause, and the faults that it hides are found by the "
    "specification.",
    assign=assign,
    solution=_repaired(),
    wrong=(
        WrongProgram("traced-fault-only", _repaired(1, 2, 3), 0.25),
        WrongProgram("crashes-only", _repaired(2, 3), 0.45),
        WrongProgram("swallow-errors", _swallowing, 0.25),
    ),
    reads=(TRACE, README, PROGRAM, INPUT),
    program=PROGRAM,
    trial=lambda instance: instance.files[INPUT],
    efficiency=RECOVERY_EFFICIENCY,
    turns=14,
)
