"""A ledger script that crashes: the trace shows one fault, a crash and two wrong results wait behind it."""

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
from esac_ag.suite.items.recovery_ledger_oracle import (
    ledger_date,
    ledger_day,
    ledger_line,
    ledger_money,
    make_ledger,
    solve_ledger,
)
from esac_ag.suite.items.recovery_ledger_text import MARKS, MONEY, PLACES, RANKS, program_of, readme_of
from esac_ag.suite.items.recovery_script import Frame, old_logs, repaired, trace_of

PROGRAM: Final = "statement.py"
INPUT: Final = "failing_input.txt"
TRACE: Final = "trace.txt"
README: Final = "README.md"
CRASHES: Final = ("thousands", "notes", "order", "only-payments")
SILENT: Final = ("cents", "partial", "credit", "reuse", "case")
KINDS: Final = (
    ("bill", "invoice", "due", "charge", "sale", "fee"),
    ("pay", "payment", "paid", "receipt", "cash", "wire"),
    ("void", "cancel", "undo", "storno", "revoke", "recall"),
)
"""Words for billing, paying and voiding."""
LABELS: Final = (
    ("open", "unpaid", "pending", "left"),
    ("credit", "spare", "surplus", "in hand"),
    ("open in all", "all open", "sum", "total", "to come"),
)
"""Words of the report: for open bills, for credit, and for the last line."""
FIELDS: Final = ("date", "kind", "name")
PARTS: Final = ("count", "total", "credit")
JOINTS: Final = (", ", "; ", " | ", " / ")
HELPERS: Final = (ledger_date, ledger_day, ledger_money, ledger_line)
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
        "dates": draws.pick(list(MARKS)),
        "kinds": [draws.pick(words) for words in KINDS],
        "labels": [draws.pick(words) for words in LABELS],
        "fields": [*draws.shuffled(FIELDS)],
        "parts": [*draws.shuffled(PARTS)],
        "joint": draws.pick(JOINTS),
        "settles": draws.pick(list(PLACES)),
        "money": draws.pick(list(MONEY)),
        "settled": draws.pick(["hidden", "shown"]),
        "voids": draws.pick(["latest", "oldest"]),
        "ranked": draws.pick(list(RANKS)),
        # The capitalised one is the last by name, so that sorting by character code puts it first.
        "people": [*others[:4], last, *others[4:]],
    }
    # Where totals or counts decide the order, names hardly ever do.
    silent = [fault for fault in SILENT if rules["ranked"] == "name" or fault != "case"]
    rules["faults"] = [*crashes, *draws.sample(silent, 2)]
    failing = _failing_input(draws, rules)
    script = program_of(rules, rules["faults"])
    files = {
        README: readme_of(rules),
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
    solution=repaired(PROGRAM, program_of),
    wrong=(
        WrongProgram("traced-fault-only", repaired(PROGRAM, program_of, 1, 2, 3), 0.25),
        WrongProgram("crashes-only", repaired(PROGRAM, program_of, 2, 3), 0.45),
        WrongProgram("swallow-errors", _swallowing, 0.25),
    ),
    reads=(TRACE, README, PROGRAM, INPUT),
    program=PROGRAM,
    trial=lambda instance: instance.files[INPUT],
    efficiency=RECOVERY_EFFICIENCY,
    turns=14,
)
