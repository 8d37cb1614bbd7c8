"""Table import: read a text table in one of many dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance, Json
from esac_ag.suite.items.code_program import CODE_EFFICIENCY, Assignment, Files, ProgramItem, WrongProgram
from esac_ag.suite.items.code_source import example_inputs, examples_by_heart, examples_text, hidden_test
from esac_ag.suite.items.code_table_oracle import (
    make_table,
    solve_table,
    table_cells,
    table_key,
    table_line,
    table_number,
    table_rows,
    table_spans,
    table_text,
    table_written,
    table_written_cell,
)
from esac_ag.suite.items.draws import Draws

PROGRAM: Final = "convert.py"
EXAMPLES: Final = "examples.txt"
HELPERS: Final = (
    table_cells,
    table_number,
    table_key,
    table_rows,
    table_spans,
    table_line,
    table_written,
    table_written_cell,
    table_text,
)
FACETS: Final = (
    ("plain", 1.0),
    ("numbers", 1.0),
    ("marks", 1.0),
    ("gaps", 2.0),
    ("repeats", 2.0),
    ("rejects", 1.0),
    ("pages", 1.0),
    ("continued", 2.0),
    ("all", 3.0),
)
WORDS: Final = (  # noqa: SIM905
    "blue boxed corner cracked dusty fragile heavy loose narrow oak painted spare steel tall wide"
).split()
TITLES: Final = (
    ("Item no.", "Item code", "Stock code"),
    ("Unit price (ct)", "List price", "Price per piece"),
    ("On hand", "Left in store", "Last count"),
    ("Storage place", "Found at shelf", "Kept in"),
    ("Free remark", "Checked by", "Short note"),
)
FRAMES: Final = {
    "bars": "Cells stand between bars `|`, one at each end of the line too; in a cell `\\|` is a bar and "
    "`\\\\` a "
    "backslash.",
    "semicolons": "Cells are separated by `;`; a cell may stand in double quotes, and then `;` is text and "
    '`""` is one double quote.',
    "columns": "The second line is a ruler: each run of `=` marks where a column begins, and a column goes "
    "on to just "
    "before the next one begins, the last to the end of the line.",
}
CONTINUED: Final = {
    "empty": "A row whose first cell is empty",
    "dots": "A row whose first cell is `..`",
}
JOINTS: Final = {" ": "with a blank", "": "with nothing between", "/": "with a `/`"}
DITTOS: Final = ('"', "^", "(s.a.)")
NEGATIVES: Final = {
    "parentheses": "Negative ones stand in parentheses, `(12)`",
    "trailing": "Negative ones have a minus at the end, `12-`",
    "leading": "Negative ones have a minus in front",
}
SUFFIXES: Final = {"k": 1000, "dz": 12, "C": 100}
KEYS: Final = {
    "snake": "the title's letters and digits in lower case, every run of other characters between them as "
    "one `_` "
    "(`Max. load (kg)` is `max_load_kg`)",
    "camel": "the title's words (runs of letters and digits) in lower case, from the second on with a "
    "capital, "
    "joined (`Max. load (kg)` is `maxLoadKg`)",
    "last": "the last word (run of letters and digits) of the title in lower case (`Max. load (kg)` is `kg`)",
}
ABSENTS: Final = {"null": "written as `null`", "left-out": "left out of the line"}
REPEATED: Final = {
    "keep": "the first row stays as it is",
    "replace": "the last row counts, at the place of the first",
    "add": "the number cells are added up in the first row (a missing one adds nothing, and stays missing "
    "only if "
    "all are); its other cells stay",
}

_PROMPT: Final = """\
Please write {program}: it converts a table from standard input. The first row holds the titles. {frame} \
Blanks around \
cells do not count. Ignore lines that begin with `{comment}`, and lines without any letter or digit. The \
row of titles \
may come again; skip it.

{continued} continues the row above: append each of its other cells that is not empty to the cell above, \
{joint}. \
Do this before anything else. Then skip rows whose first cell begins with `{total}`. A cell `{ditto}` \
stands for the \
cell above it, in the last row that was not skipped, as it was understood there. A cell `{missing}` is \
missing.

{numbers} hold whole numbers, with `{thousands}` between thousands. {negative}; a number may end in \
`{suffix}` (inside \
the sign) for times {factor}. A row with a number cell that is neither missing nor such a number is \
rejected, though \
cells below may still refer to it. If a first cell comes up again in a row that is not rejected, {repeated}.

Print one line per row in the order of the table: `key=value` for every column, alphabetically by key, \
joined by `; `. \
A key is {keys}. Numbers are printed plainly, such as -1200; missing cells are {absent}. The last line is \
`N rows, M rejected`, N being the number of lines printed before it.

{examples} shows two inputs with their outputs; it does not show everything. You can run Python at most \
five times. \
Hand in with submit; what is not handed in does not count.
"""

_SOLUTION: Final = """\
import re
import sys

{settings}


def split_bars(line):
    inner = line.strip()[1:-1]
    cells = re.findall(r"((?:\\\\.|[^|\\\\])*)(?:\\||$)", inner)[: \
len(re.findall(r"(?<!\\\\)(?:\\\\\\\\)*\\|", inner)) + 1]
    return [re.sub(r"\\\\(.)", r"\\1", cell).strip() for cell in cells]


def split_semicolons(line):
    cells = re.findall(r'(?:^|;)\\s*("(?:[^"]|"")*"|[^;"]*)\\s*(?=;|$)', line.strip())
    return [c[1:-1].replace('""', '"').strip() if c.startswith('"') else c.strip() for c in cells]


def splitter(lines):
    if FRAME == "bars":
        return split_bars
    if FRAME == "semicolons":
        return split_semicolons
    starts = [match.start() for match in re.finditer("=+", lines[1])]
    return lambda line: [line[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]


def number(text):
    negative = False
    if NEGATIVE == "parentheses" and text[:1] + text[-1:] == "()":
        negative, text = True, text[1:-1]
    if NEGATIVE == "trailing" and text[-1:] == "-":
        negative, text = True, text[:-1]
    if NEGATIVE == "leading" and text[:1] == "-":
        negative, text = True, text[1:]
    match = re.fullmatch("([0-9]+)(" + re.escape(SUFFIX) + ")?", text.replace(THOUSANDS, ""))
    if not match:
        raise ValueError(text)
    value = int(match.group(1)) * (FACTOR if match.group(2) else 1)
    return -value if negative else value


def key(title):
    words = re.findall("[a-z0-9]+", title.lower())
    if KEYS == "snake":
        return "_".join(words)
    return words[-1] if KEYS == "last" else words[0] + "".join(map(str.capitalize, words[1:]))


def main():
    lines = [line for line in sys.stdin.read().splitlines() if line.strip() and not line.startswith(COMMENT)]
    split = splitter(lines)
    lines = [line for line in lines if re.search("[A-Za-z0-9]", line)]
    titles, *raw = map(split, lines)
    rows = []
    for cells in raw:
        if cells == titles:
            continue
        if cells[0] == {{"empty": "", "dots": ".."}}.get(CONTINUED):
            for place, cell in enumerate(cells[1:], start=1):
                if cell:
                    rows[-1][place] += JOINT + cell
        else:
            rows.append(list(cells))
    convert(titles, [row for row in rows if not row[0].startswith(TOTAL)])


def convert(titles, rows):
    out, rejected, above = {{}}, 0, None
    for line, row in enumerate(rows):
        for place, cell in enumerate(row):
            if cell == DITTO:
                row[place] = above[place]
        above = row
        try:
            record = {{
                title: None if cell == MISSING else number(cell) if title in NUMBERS else cell
                for title, cell in zip(titles, row)
            }}
        except ValueError:
            rejected += 1
            continue
        name = row[0] if REPEATED != "all" else line
        if name not in out or REPEATED == "replace":
            out[name] = record
        elif REPEATED == "add":
            for title in NUMBERS:
                if record[title] is not None:
                    out[name][title] = record[title] + (out[name][title] or 0)
    for record in out.values():
        pairs = sorted((key(title), value) for title, value in record.items())
        shown = [(k, "null" if v is None else v) for k, v in pairs if v is not None or ABSENT == "null"]
        print("; ".join(f"{{k}}={{v}}" for k, v in shown))
    print(f"{{len(out)}} rows, {{rejected}} rejected")


main()
"""
_SETTINGS: Final = (  # noqa: SIM905
    "frame comment continued joint total ditto missing numbers thousands negative suffix factor "
    "repeated keys absent"
).split()


def assign(seeds: Seeds) -> Assignment:
    """The dialect, request and examples of a seed."""
    draws = Draws(seeds, "table")
    titles = [draws.pick(names) for names in TITLES]
    suffix = draws.pick(list(SUFFIXES))
    negative = draws.pick(list(NEGATIVES))
    rules: dict[str, Any] = {
        "frame": draws.pick(list(FRAMES)),
        "comment": draws.pick(["#", "--", "//", "%"]),
        "continued": draws.pick(list(CONTINUED)),
        "joint": draws.pick(list(JOINTS)),
        "total": draws.pick(["Total", "Sum", "Subtotal", "Carried"]),
        "ditto": draws.pick(DITTOS),
        "missing": draws.pick(
            ["n/a", "?", "none given", "x"] if negative == "trailing" else ["-", "n/a", "?", "x"]
        ),
        "thousands": draws.pick([",", ".", "'", " "]),
        "negative": negative,
        "suffix": suffix,
        "factor": SUFFIXES[suffix],
        "repeated": draws.pick(list(REPEATED)),
        "keys": draws.pick(list(KEYS)),
        "absent": draws.pick(list(ABSENTS)),
        "titles": [titles[0], *draws.shuffled(titles[1:])],
        "numbers": titles[1:3],
        "words": [*draws.sample(WORDS, 6)],
        "letters": [*draws.sample("ABCDEFGHKLMNPR", 3)],
    }
    inputs = [make_table(draws.below, rules, facet) for facet in ("plain", "numbers")]
    tests = tuple(
        hidden_test(
            facet,
            weight,
            facet=facet,
            program=PROGRAM,
            solve=solve_table,
            make=make_table,
            helpers=HELPERS,
            rules=rules,
        )
        for facet, weight in FACETS
    )
    examples = examples_text([(text, solve_table(text, rules)) for text in inputs])
    return Assignment(_prompt(rules), {EXAMPLES: examples}, rules, tests)


_NAMED: Final = ("comment", "total", "ditto", "missing", "thousands", "suffix", "factor")


def _prompt(rules: Mapping[str, Any]) -> str:
    return _PROMPT.format(
        program=PROGRAM,
        examples=EXAMPLES,
        frame=FRAMES[rules["frame"]],
        continued=CONTINUED[rules["continued"]],
        joint=JOINTS[rules["joint"]],
        numbers=" and ".join(f"`{title}`" for title in rules["numbers"]),
        negative=NEGATIVES[rules["negative"]],
        repeated=REPEATED[rules["repeated"]],
        keys=KEYS[rules["keys"]],
        absent=ABSENTS[rules["absent"]],
        **{name: rules[name] for name in _NAMED},
    )


def program_of(rules: Mapping[str, Json]) -> str:
    """A program for this dialect."""
    return _SOLUTION.format(settings="\n".join(f"{name.upper()} = {rules[name]!r}" for name in _SETTINGS))


def _solution(instance: Instance) -> Files:
    return {PROGRAM: program_of(instance.secret)}


def _by_another_seed(instance: Instance) -> Files:
    """What was right for another seed: a remembered program."""
    others = (assign(Seeds(f"another {number}")) for number in range(2))
    rules = next(other.rules for other in others if other.rules != instance.secret)
    return {PROGRAM: program_of(rules)}


def _skimmed(instance: Instance) -> Files:
    ignored = {"ditto": "\0", "repeated": "all", "continued": "never"}
    return {PROGRAM: program_of({**instance.secret, **ignored})}


def _usual(instance: Instance) -> Files:
    habits = {"ditto": "\0", "joint": "\n", "negative": "leading", "repeated": "all"}
    return {PROGRAM: program_of({**instance.secret, **habits})}


ITEM: Final = ProgramItem(
    id="code-table-import",
    category=Category.CODE,
    title="Convert a text table",
    measures="Whether a parser follows a stated dialect: quoting, continuations, repetition marks, number "
    "forms.",
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
