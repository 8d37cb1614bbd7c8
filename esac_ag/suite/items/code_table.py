"""Table import: read a text table in one of many dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from esac_ag.clock import Seeds
from esac_ag.suite.constitution import Category
from esac_ag.suite.contract import Instance
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
from esac_ag.suite.items.code_table_solution import program_of
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
EQUALS: Final = ("=", ": ", " = ", ":=")
COUNTS: Final = (("rows", "lines", "kept", "records"), ("rejected", "refused", "dropped", "bad"))
"""Words of the last line."""
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

Print one line per row in the order of the table: `key{equal}value` for every column, alphabetically by key, \
joined by `; `. \
A key is {keys}. Numbers are printed plainly, such as -1200; missing cells are {absent}. The last line is \
`N {kept}, M {rejected}`, N being the number of lines printed before it.

{examples} shows two inputs with their outputs; it does not show everything. {former} \
You can run Python at most five times. \
Hand in with submit; what is not handed in does not count.
"""


def _rules(draws: Draws) -> dict[str, Any]:
    titles = [draws.pick(names) for names in TITLES]
    suffix = draws.pick(list(SUFFIXES))
    negative = draws.pick(list(NEGATIVES))
    return {
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
        "equal": draws.pick(EQUALS),
        "counts": [draws.pick(words) for words in COUNTS],
    }


def assign(seeds: Seeds) -> Assignment:
    """The dialect, request and examples of a seed."""
    draws = Draws(seeds, "table")
    rules, former = _rules(draws), _rules(draws)
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
    files = {EXAMPLES: examples, **former_examples(draws, former, make_table, solve_table)}
    return Assignment(_prompt(rules), files, {**rules, "former": former}, tests)


_NAMED: Final = ("comment", "total", "ditto", "missing", "thousands", "suffix", "factor")


def _prompt(rules: Mapping[str, Any]) -> str:
    return _PROMPT.format(
        program=PROGRAM,
        examples=EXAMPLES,
        former=FORMER_SENTENCE,
        frame=FRAMES[rules["frame"]],
        continued=CONTINUED[rules["continued"]],
        joint=JOINTS[rules["joint"]],
        numbers=" and ".join(f"`{title}`" for title in rules["numbers"]),
        negative=NEGATIVES[rules["negative"]],
        repeated=REPEATED[rules["repeated"]],
        keys=KEYS[rules["keys"]],
        absent=ABSENTS[rules["absent"]],
        equal=rules["equal"],
        kept=rules["counts"][0],
        rejected=rules["counts"][1],
        **{name: rules[name] for name in _NAMED},
    )


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
