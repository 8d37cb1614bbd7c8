"""The texts of the ledger: the script with its faults, and what it has to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from esac_ag.suite.items.recovery_script import Site, script_of

MARKS: Final = {"dots": ".", "short": ".", "slashes": "/", "names": "-", "names-first": "-"}
MONEY: Final = {
    "comma": 'f"{amount // 100},{amount % 100:02d}"',
    "point": 'f"{amount // 100}.{amount % 100:02d}"',
    "marked": 'f"{amount // 100:,}.{amount % 100:02d}".replace(",", "\'")',
    "cents": "str(amount)",
}
PLACES: Final = {"oldest": "0", "newest": "-1", "largest": "held.index(max(held))"}
_SITES: Final = (
    Site(
        "order",
        "    rows.sort(key=lambda row: day_of(row[0]))\n",
        "    rows.sort(key=lambda row: row[0])\n",
    ),
    Site(
        "notes",
        "        {fields}, amount = fields[:4]\n",
        "        {fields}, amount = *fields[:3], fields[-1]\n",
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
    {day}, year = date.split("{mark}")
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
        elif kind == "{paying}":
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
    return {money}


def report(book):
    total = 0
@case@
{rank}    for name in names:
@only-payments@
        credit = book.credit.get(name, 0)
        total += sum(held)
{hide}        print(f"{{name}}: {line}")
    print(f"{all_open}: {{money(total)}}")


def main():
    book = Book()
    for date, kind, name, amount in read(sys.stdin.read().splitlines()):
        book.post(kind, name, amount)
    report(book)


main()
'''
_HIDE: Final = "        if not held and not credit:\n            continue\n"
RANKS: Final = {
    "name": "",
    "total": "    names.sort(key=lambda name: -sum(book.bills.get(name, [])))\n",
    "count": "    names.sort(key=lambda name: -len(book.bills.get(name, [])))\n",
}
_RANKED: Final = {
    "name": "",
    "total": "largest open total first and of equal ones ",
    "count": "most open bills first and of equally many ",
}
_DATES: Final = {
    "dots": "`05.02.2026`",
    "short": "`5.2.26`",
    "slashes": "`5/2/2026` (day first)",
    "names": "`5-Feb-2026`",
    "names-first": "`Feb-5-2026`",
}
_SAMPLES: Final = {
    "comma": "`1250,50`",
    "point": "`1250.50`",
    "marked": "`1'250.50`",
    "cents": "`125050` (cents)",
}
_SETTLES: Final = {
    "oldest": "the oldest open bill first",
    "newest": "the newest open bill first",
    "largest": "the open bill with the most left first (of equals the oldest)",
}
_README: Final = """\
# statement.py

Reads bookings from standard input, one per line: `{fields} AMOUNT`, then perhaps a note of several \
words, which
does not matter. Dates look like {dates}. Lines come in any order; they count by date, those of one day as \
listed.
Amounts are `1'250.50`, `80.5` or `80`; nothing is ever lost to rounding.

- `{billing}`: the customer's credit is used up first; what is left of the bill is open.
- `{paying}`: settles {settles}, the last one perhaps in part. What is left over adds to the credit.
- `{voiding}`: takes the customer's {voids} open bill back, what is left of it. There always is one. Its \
amount means nothing.

Prints a line per customer, {ranked}by name without regard to upper and lower case,

    NAME: {line}

with amounts such as {sample}, {hidden}, and at last `{all_open}: TOTAL`. Customers who only ever paid are \
listed too.
"""


def program_of(rules: Mapping[str, Any], faults: Collection[str]) -> str:
    """The script with some faults."""
    opened, spare, all_open = rules["labels"]
    said = {
        "count": f"{{len(held)}} {opened}",
        "total": "{money(sum(held))}",
        "credit": f"{spare} {{money(credit)}}",
    }
    named = rules["dates"].startswith("names")
    return script_of(_SCRIPT, _SITES, faults).format(
        **_kinds(rules),
        fields=", ".join(rules["fields"]),
        day="month, day" if rules["dates"] == "names-first" else "day, month",
        mark=MARKS[rules["dates"]],
        month="MONTHS.index(month) + 1" if named else "int(month)",
        place=PLACES[rules["settles"]],
        money=MONEY[rules["money"]],
        which="" if rules["voids"] == "latest" else "0",
        rank=RANKS[rules["ranked"]],
        hide=_HIDE if rules["settled"] == "hidden" else "",
        line=rules["joint"].join(said[part] for part in rules["parts"]),
        all_open=all_open,
    )


def _kinds(rules: Mapping[str, Any]) -> dict[str, str]:
    return dict(zip(("billing", "paying", "voiding"), rules["kinds"], strict=True))


def readme_of(rules: Mapping[str, Any]) -> str:
    """What the script has to do."""
    opened, spare, all_open = rules["labels"]
    said = {"count": f"N {opened}", "total": "TOTAL", "credit": f"{spare} CREDIT"}
    return _README.format(
        **_kinds(rules),
        fields=" ".join(rules["fields"]).upper(),
        line=rules["joint"].join(said[part] for part in rules["parts"]),
        all_open=all_open,
        dates=_DATES[rules["dates"]],
        settles=_SETTLES[rules["settles"]],
        voids=rules["voids"],
        ranked=_RANKED[rules["ranked"]],
        sample=_SAMPLES[rules["money"]],
        hidden=(
            "leaving out customers with neither open bills nor credit"
            if rules["settled"] == "hidden"
            else "customers with neither open bills nor credit too"
        ),
    )
