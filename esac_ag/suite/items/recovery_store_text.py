"""The texts of the store replay: the script with its faults, and what it has to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from esac_ag.suite.items.recovery_script import Site, script_of

_SITES: Final = (
    Site(
        "chain",
        "        while name in self.aliases:\n            name = self.aliases[name]\n        return name\n",
        "        return self.aliases.get(name, name)\n",
    ),
    Site(
        "full",
        "        return CAPACITY - self.stock.get(key, 0)\n",
        "        return CAPACITY\n",
    ),
    Site("unknown", "        return self.stock.get(key, 0)\n", "        return self.stock[key]\n"),
    Site(
        "undo-order",
        "        while len(self.undo) > size:\n"
        "            key, before = self.undo.pop()\n"
        "            self.stock[key] = before\n",
        "        for key, before in self.undo[size:]:\n"
        "            self.stock[key] = before\n"
        "        del self.undo[size:]\n",
    ),
    Site(
        "nested",
        "        self.marks.pop()\n",
        "        size, _, _ = self.marks.pop()\n        del self.undo[size:]\n",
    ),
    Site(
        "unopened",
        "    if verb in (COMMIT, ROLLBACK) and not store.marks:\n        raise Refused\n",
        "",
    ),
    Site(
        "self-move",
        "        self.set(source, self.held(source) - amount)\n"
        "        self.set(target, self.stock.get(target, 0) + fits)\n",
        "        left, got = self.held(source) - amount, self.stock.get(target, 0) + fits\n"
        "        self.set(source, left)\n"
        "        self.set(target, got)\n",
    ),
)
_UNFINISHED: Final = "    while store.marks:\n        store.rollback()\n"
_SCRIPT: Final = '''\
"""Replays the day's changes of the store. What it has to do is said in README.md."""
import sys

CAPACITY = {capacity}
PUT, TAKE, MOVE, BEGIN, COMMIT, ROLLBACK, ALIAS = {verbs}


class Refused(Exception):
    """A line that cannot be carried out."""


class StoreError(Exception):
    """The books are wrong."""


class Store:
    def __init__(self):
        self.stock = {{}}
        self.flow = {{}}  # what came in and out by name, kept apart as a check
        self.aliases = {{}}
        self.undo = []  # (name, stock before the change)
        self.marks = []  # one for each open transaction
        self.lost = 0

    def key(self, name):
@chain@

    def room(self, key):
@full@

    def held(self, key):
@unknown@

    def set(self, key, amount):
        self.undo.append((key, self.stock.get(key, 0)))
        self.stock[key] = amount

    def count(self, key, amount):
        self.flow[key] = self.flow.get(key, 0) + amount

    def fitting(self, room, amount):
{fitting}

    def put(self, key, amount):
        fits = self.fitting(self.room(key), amount)
        self.set(key, self.stock.get(key, 0) + fits)
        self.count(key, fits)

    def take(self, key, amount):
{short}        self.set(key, self.held(key) - amount)
        self.count(key, -amount)

    def move(self, source, target, amount):
        if self.held(source) < amount:
            raise Refused
        freed = amount if source == target else 0
        fits = self.fitting(self.room(target) + freed, amount)
@self-move@
        self.count(source, -amount)
        self.count(target, fits)

    def alias(self, new, old):
        if self.marks or new in self.aliases or self.stock.get(new) or self.key(old) == new:
            raise Refused
        self.aliases[new] = old

    def begin(self):
        self.marks.append((len(self.undo), dict(self.flow), self.lost))

    def commit(self):
@nested@

    def rollback(self):
        size, self.flow, self.lost = self.marks.pop()
@undo-order@

    def check(self):
        for key in sorted(self.stock):
            if self.stock[key] != self.flow.get(key, 0):
                raise StoreError("stock and flow do not agree")


def step(store, verb, words):
@unopened@
    if verb == BEGIN:
        store.begin()
    elif verb == COMMIT:
        store.commit()
    elif verb == ROLLBACK:
        store.rollback()
    elif verb == ALIAS:
        store.alias(*words)
    elif verb == PUT:
        store.put({one})
    elif verb == TAKE:
        store.take({one})
    elif verb == MOVE:
        store.move({two})


def report(store, refused):
    rows = [(name, amount) for name, amount in sorted(store.stock.items()) if amount]
{rank}    for name, amount in rows:
        print(f"{row}")
    print(f"{counts}")


def main():
    store, refused = Store(), 0
    for line in sys.stdin:
        if not line.strip():
            continue
        verb, *words = line.split()
        try:
            step(store, verb, words)
        except Refused:
            refused += 1
{unfinished}    store.check()
    report(store, refused)


main()
'''
ONE: Final = {
    "last": "store.key(words[0]), int(words[1])",
    "first": "store.key(words[1]), int(words[0])",
}
_TWO: Final = {
    "last": "store.key(words[0]), store.key(words[1]), int(words[2])",
    "first": "store.key(words[1]), store.key(words[2]), int(words[0])",
}
ROWS: Final = {
    "blank": "{name} {amount}",
    "colon": "{name}: {amount}",
    "equals": "{name}={amount}",
    "times": "{amount} x {name}",
    "arrow": "{name} -> {amount}",
}
RANKS: Final = {
    "name": "",
    "largest": "    rows.sort(key=lambda row: -row[1])\n",
    "smallest": "    rows.sort(key=lambda row: row[1])\n",
}
_RANKED: Final = {
    "name": "by name",
    "largest": "the largest first, equal ones by name",
    "smallest": "the smallest first, equal ones by name",
}
FITTING: Final = {
    "refuse": "        if amount > room:\n            raise Refused\n        return amount",
    "lose": "        fits = min(amount, room)\n        self.lost += amount - fits\n        return fits",
}
SHORT: Final = {
    "refuse": "        if self.held(key) < amount:\n            raise Refused\n",
    "rest": "        amount = min(amount, self.held(key))\n",
}
_README: Final = """\
# replay.py

Reads the day's changes of the store from standard input, one per line, and prints what is there in the end.

- `{put} {one}` brings N pieces in. A name holds at most {capacity}: {full}.
- `{take} {one}` takes N pieces out. If fewer are there (none, for a name that never came up), {short}.
- `{move} {two}` does both, wholly or not at all: {moved}. FROM and TO may be the same.
- `{alias} NEW OLD`: from now on NEW means whatever OLD means, then and later. Refused inside a transaction, \
if NEW is an
  alias already or has stock, and if it would mean itself.
- `{begin}` opens a transaction, also inside another; `{rollback}` undoes everything since the last one \
that is open,
  `{commit}` makes it part of the one around it. Both are refused if none is open. What is still open at \
the end is
  {unfinished}.

A refused line changes nothing and is counted, also if it is undone later. The report has a line `{row}` \
for all that
have stock, {ranked}, and then `{counts}`.
"""


def program_of(rules: Mapping[str, Any], faults: Collection[str]) -> str:
    """The script with some faults."""
    undone = (rules["unfinished"] == "undone") != ("unfinished" in faults)
    return script_of(_SCRIPT, _SITES, faults).format(
        capacity=rules["capacity"],
        verbs=", ".join(f'"{verb}"' for verb in rules["verbs"]),
        fitting=FITTING[rules["full"]],
        short=SHORT[rules["short"]],
        unfinished=_UNFINISHED if undone else "",
        rank=RANKS[rules["sorted"]],
        one=ONE[rules["amounts"]],
        two=_TWO[rules["amounts"]],
        row=ROWS[rules["row"]].format(name="{name}", amount="{amount}"),
        counts=_counts(rules, "{store.lost}", "{refused}"),
    )


def readme_of(rules: Mapping[str, Any]) -> str:
    """What the script has to do."""
    put, take, move, begin, commit, rollback, alias = rules["verbs"]
    number_last = rules["amounts"] == "last"
    refuse = rules["full"] == "refuse"
    return _README.format(
        put=put,
        take=take,
        move=move,
        begin=begin,
        commit=commit,
        rollback=rollback,
        alias=alias,
        one="NAME N" if number_last else "N NAME",
        two="FROM TO N" if number_last else "N FROM TO",
        row=ROWS[rules["row"]].format(name="NAME", amount="N"),
        counts=_counts(rules, "L", "R"),
        capacity=rules["capacity"],
        full="what would exceed that is refused"
        if refuse
        else "what does not fit in is lost, and counted in L",
        short="the line is refused" if rules["short"] == "refuse" else "it takes all there are",
        moved=(
            "refused if FROM has too few or TO would exceed its limit"
            if refuse
            else "refused if FROM has too few; what does not fit into TO is lost"
        ),
        unfinished="undone" if rules["unfinished"] == "undone" else "kept as it is",
        ranked=_RANKED[rules["sorted"]],
    )


def _counts(rules: Mapping[str, Any], lost: str, refused: str) -> str:
    """The report's last line."""
    return str(rules["joint"]).join([f"{rules['labels'][0]} {lost}", f"{rules['labels'][1]} {refused}"])
