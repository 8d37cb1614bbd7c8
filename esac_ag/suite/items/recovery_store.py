"""A replay script whose own check fails: the trace names no place, only that the books do not agree."""

from __future__ import annotations

from collections.abc import Mapping
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
from esac_ag.suite.items.recovery_script import Frame, old_logs, repaired, trace_of
from esac_ag.suite.items.recovery_store_oracle import (
    make_store,
    solve_store,
    store_key,
    store_row,
    store_step,
    store_words,
)
from esac_ag.suite.items.recovery_store_text import FITTING, ONE, RANKS, ROWS, SHORT, program_of, readme_of

PROGRAM: Final = "replay.py"
INPUT: Final = "failing_input.txt"
TRACE: Final = "trace.txt"
README: Final = "README.md"
BALANCE: Final = ("undo-order", "self-move", "nested")
"""Faults that the script's own check finds, at the end and without naming a place."""
OTHERS: Final = ("unknown", "unopened")
SILENT: Final = ("full", "chain", "unfinished")
VERBS: Final = (
    ("put", "in", "add", "stock", "load", "bring"),
    ("take", "out", "remove", "pick", "draw", "fetch"),
    ("move", "shift", "carry", "pass", "haul", "send"),
    ("begin", "open", "start", "enter", "try", "plan"),
    ("commit", "keep", "confirm", "accept", "seal", "settle"),
    ("rollback", "undo", "revert", "back", "cancel", "drop"),
    ("alias", "call", "rename", "same", "equate", "link"),
)
LABELS: Final = (
    ("lost", "spilled", "wasted", "overflow", "gone"),
    ("refused", "rejected", "declined", "skipped", "bad"),
)
"""Words of the report's last line."""
JOINTS: Final = (", ", "; ", " / ", " and ")
HELPERS: Final = (store_key, store_words, store_row, store_step)
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
        "verbs": [draws.pick(words) for words in VERBS],
        "amounts": draws.pick(list(ONE)),
        "row": draws.pick(list(ROWS)),
        "labels": [draws.pick(words) for words in LABELS],
        "joint": draws.pick(JOINTS),
        "keys": [*draws.sample(KEYS, 9)],
        "capacity": draws.between(32, 60) * 5,
        "full": draws.pick(list(FITTING)),
        "short": draws.pick(list(SHORT)),
        "unfinished": draws.pick(["undone", "kept"]),
        "sorted": draws.pick(list(RANKS)),
        "faults": [first, second, *draws.sample(SILENT, 2)],
    }
    failing = make_store(draws.below, rules, first)
    script = program_of(rules, rules["faults"])
    files = {
        README: readme_of(rules),
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
            helpers=HELPERS,
            rules={key: value for key, value in rules.items() if key != "faults"},
        )
        for facet, weight in weights
    )
    return Assignment(_PROMPT.format(trace=TRACE, input=INPUT), files, rules, tests)


def _trace(script: str, fault: str, failing: str, rules: Mapping[str, Any]) -> str:
    main = Frame("<module>", "main()")
    if fault in BALANCE:
        raising = Frame("check", 'raise StoreError("stock and flow do not agree")')
        frames = [main, Frame("main", "store.check()"), raising]
        return trace_of(PROGRAM, script, frames, "StoreError: stock and flow do not agree")
    into = [main, Frame("main", "step(store, verb, words)")]
    if fault == "unknown":
        taking = next(line.strip() for line in SHORT[rules["short"]].split("\n"))
        frames = [
            *into,
            Frame("step", f"store.take({ONE[rules['amounts']]})"),
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


def _without_check(instance: Instance) -> Files:
    text = instance.files[PROGRAM].replace("    store.check()\n", "")
    return {PROGRAM: text.replace("        except Refused:\n", "        except Exception:\n")}


ITEM: Final = ProgramItem(
    id="recovery-replay",
    category=Category.RECOVERY,
    title="Repair a replay whose books do not agree",
    measures="Whether a failed check, far from its cause, leads to the cause and to the faults beside it.",
    assign=assign,
    solution=repaired(PROGRAM, program_of),
    wrong=(
        WrongProgram("traced-fault-only", repaired(PROGRAM, program_of, 1, 2, 3), 0.25),
        WrongProgram("crashes-only", repaired(PROGRAM, program_of, 2, 3), 0.45),
        WrongProgram("silence-the-check", _without_check, 0.45),
    ),
    reads=(TRACE, README, PROGRAM, INPUT),
    program=PROGRAM,
    trial=lambda instance: instance.files[INPUT],
    efficiency=RECOVERY_EFFICIENCY,
    turns=14,
)
