"""A replay script whose own check fails: the trace names no place, only that the books do not agree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
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
from esac_ag.suite.items.recovery_script import Frame, Site, old_logs, script_of, trace_of
from esac_ag.suite.items.recovery_store_oracle import make_store, solve_store, store_key, store_step

PROGRAM: Final = "replay.py"
INPUT: Final = "failing_input.txt"
TRACE: Final = "trace.txt"
README: Final = "README.md"
BALANCE: Final = ("undo-order", "self-move", "nested")
"""Faults that the script's own check finds, at the end and without naming a place."""
OTHERS: Final = ("unknown", "unopened")
SILENT: Final = ("full", "chain", "unfinished")
VERBS: Final = (
    ("put", "take", "move", "begin", "commit", "rollback"),
    ("in", "out", "shift", "open", "keep", "undo"),
    ("add", "remove", "carry", "start", "confirm", "revert"),
)
KEYS: Final = [
    "apples",
    "bolts",
    "cups",
    "discs",
    "eggs",
    "forks",
    "gears",
    "hooks",
    "inks",
    "jars",
    "keys",
    "lamps",
    "mugs",
    "nuts",
    "oils",
    "pins",
]

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
PUT, TAKE, MOVE, BEGIN, COMMIT, ROLLBACK = {verbs}


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
    elif verb == "alias":
        store.alias(*words)
    elif verb == PUT:
        store.put(store.key(words[0]), int(words[1]))
    elif verb == TAKE:
        store.take(store.key(words[0]), int(words[1]))
    else:
        store.move(store.key(words[0]), store.key(words[1]), int(words[2]))


def report(store, refused):
    rows = [(name, amount) for name, amount in sorted(store.stock.items()) if amount]
{rank}    for name, amount in rows:
        print(name, amount)
    print(f"lost {{store.lost}}, refused {{refused}}")


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
_FITTING: Final = {
    "refuse": "        if amount > room:\n            raise Refused\n        return amount",
    "lose": "        fits = min(amount, room)\n        self.lost += amount - fits\n        return fits",
}
_SHORT: Final = {
    "refuse": "        if self.held(key) < amount:\n            raise Refused\n",
    "rest": "        amount = min(amount, self.held(key))\n",
}
_README: Final = """\
# replay.py

Reads the day's changes of the store from standard input, one per line, and prints what is there in the end.

- `{put} NAME N` brings N pieces in. A name holds at most {capacity}: {full}.
- `{take} NAME N` takes N pieces out. If fewer are there (none, for a name that never came up), {short}.
- `{move} FROM TO N` does both, wholly or not at all: {moved}. FROM and TO may be the same.
- `alias NEW OLD`: from now on NEW means whatever OLD means, then and later. Refused inside a transaction, \
if NEW is an
  alias already or has stock, and if it would mean itself.
- `{begin}` opens a transaction, also inside another; `{rollback}` undoes everything since the last one \
that is open,
  `{commit}` makes it part of the one around it. Both are refused if none is open. What is still open at \
the end is
  {unfinished}.

A refused line changes nothing and is counted, also if it is undone later. The report has a line `NAME N` \
for all that
have stock, {ranked}, and then `lost L, refused R`.
"""
_PROMPT: Final = """\
replay.py stopped last night with the error in {trace}; {input} is what it was fed. Please find the cause \
and repair \
replay.py so that it does what README.md says, for any input: there may well be more wrong with it than \
this. \
Older logs lie in logs/. You can run Python at most five times. Hand in with submit; what is not handed in \
does not \
count.
"""


def assign(seeds: Seeds) -> Assignment:
    """The script, its faults and its trace of a seed."""
    draws = Draws(seeds, "store")
    first = draws.pick([*BALANCE, *OTHERS])
    second = draws.pick([fault for fault in (*BALANCE, *OTHERS) if fault != first])
    rules: dict[str, Any] = {
        "verbs": [*draws.pick(VERBS)],
        "keys": [*draws.sample(KEYS, 9)],
        "capacity": draws.between(32, 60) * 5,
        "full": draws.pick(list(_FITTING)),
        "short": draws.pick(list(_SHORT)),
        "unfinished": draws.pick(["undone", "kept"]),
        "sorted": draws.pick(["name", "amount"]),
        "faults": [first, second, *draws.sample(SILENT, 2)],
    }
    failing = make_store(draws.below, rules, first)
    script = program_of(rules, rules["faults"])
    files = {
        README: _readme(rules),
        PROGRAM: script,
        TRACE: _trace(script, first, failing, rules),
        INPUT: failing,
        **old_logs(draws, PROGRAM, [_old_trace(fault, rules) for fault in ("unknown", "nested")], 11),
    }
    weights = [*zip(rules["faults"], (1.0, 2.0, 2.0, 2.0), strict=True), ("all", 3.0)]
    tests = tuple(
        hidden_test(
            facet,
            weight,
            facet=facet,
            program=PROGRAM,
            solve=solve_store,
            make=make_store,
            helpers=(store_key, store_step),
            rules={key: value for key, value in rules.items() if key != "faults"},
        )
        for facet, weight in weights
    )
    return Assignment(_PROMPT.format(trace=TRACE, input=INPUT), files, rules, tests)


def program_of(rules: Mapping[str, Any], faults: Collection[str]) -> str:
    """The script with some faults."""
    undone = (rules["unfinished"] == "undone") != ("unfinished" in faults)
    text = _SCRIPT.format(
        capacity=rules["capacity"],
        verbs=", ".join(f'"{verb}"' for verb in rules["verbs"]),
        fitting=_FITTING[rules["full"]],
        short=_SHORT[rules["short"]],
        unfinished=_UNFINISHED if undone else "",
        rank="    rows.sort(key=lambda row: -row[1])\n" if rules["sorted"] == "amount" else "",
    )
    return script_of(text, _SITES, faults)


def _trace(script: str, fault: str, failing: str, rules: Mapping[str, Any]) -> str:
    main = Frame("<module>", "main()")
    if fault in BALANCE:
        raising = Frame("check", 'raise StoreError("stock and flow do not agree")')
        frames = [main, Frame("main", "store.check()"), raising]
        return trace_of(PROGRAM, script, frames, "StoreError: stock and flow do not agree")
    into = [main, Frame("main", "step(store, verb, words)")]
    if fault == "unknown":
        taking = next(line.strip() for line in _SHORT[rules["short"]].split("\n"))
        frames = [
            *into,
            Frame("step", "store.take(store.key(words[0]), int(words[1]))"),
            Frame("take", taking),
            Frame("held", "return self.stock[key]"),
        ]
        return trace_of(PROGRAM, script, frames, f"KeyError: {rules['keys'][4]!r}")
    commit = any(line == rules["verbs"][4] for line in failing.split("\n"))
    popping = (
        "size, _, _ = self.marks.pop()" if "size, _, _ = self.marks.pop()" in script else "self.marks.pop()"
    )
    ending = (
        Frame("commit", popping)
        if commit
        else Frame("rollback", "size, self.flow, self.lost = self.marks.pop()")
    )
    frames = [*into, Frame("step", f"store.{ending.function}()"), ending]
    return trace_of(PROGRAM, script, frames, "IndexError: pop from empty list")


def _old_trace(fault: str, rules: Mapping[str, Any]) -> str:
    return _trace(program_of(rules, [fault, *rules["faults"]]), fault, "", rules)


def _readme(rules: Mapping[str, Any]) -> str:
    put, take, move, begin, commit, rollback = rules["verbs"]
    refuse = rules["full"] == "refuse"
    return _README.format(
        put=put,
        take=take,
        move=move,
        begin=begin,
        commit=commit,
        rollback=rollback,
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
        ranked="by name" if rules["sorted"] == "name" else "the largest first, equal ones by name",
    )


def _repaired(*kept: int) -> Callable[[Instance], Files]:
    """Submissions in which the faults at these places of the list are left."""

    def files(instance: Instance) -> Files:
        faults = instance.secret["faults"]
        assert isinstance(faults, list)  # noqa: S101 our own
        return {PROGRAM: program_of(instance.secret, [str(faults[place]) for place in kept])}

    return files


def _without_check(instance: Instance) -> Files:
    text = instance.files[PROGRAM].replace("    store.check()\n", "")
    return {PROGRAM: text.replace("        except Refused:\n", "        except Exception:\n")}


ITEM: Final = ProgramItem(
    id="recovery-replay",
    category=Category.RECOVERY,
    title="Repair a replay whose books do not agree",
    measures="Whether a failed check, far from its cause, leads to the cause and to the faults beside it.",
    assign=assign,
    solution=_repaired(),
    wrong=(
        WrongProgram("traced-fault-only", _repaired(1, 2, 3), 0.25),
        WrongProgram("crashes-only", _repaired(2, 3), 0.45),
        WrongProgram("silence-the-check", _without_check, 0.45),
    ),
    reads=(TRACE, README, PROGRAM, INPUT),
    program=PROGRAM,
    trial=lambda instance: instance.files[INPUT],
    efficiency=RECOVERY_EFFICIENCY,
    turns=14,
)
