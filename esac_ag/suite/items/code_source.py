"""How a hidden test is put together: the oracle's own source, the drawn rules, and a loop over fresh inputs.

A test's inputs are drawn in the grader's container, at grading time; the oracle runs beside them and the
submission sees inputs alone. Oracle functions therefore stand on their own: builtins, one-line docstrings,
no names of their module other than each other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from esac_ag.suite.contract import HiddenTest, Instance, Json
from esac_ag.suite.items.draws import Draws

FORMER_FILES: Final = 12
"""As many as a run has turns: who looks at everything has none left for the work."""
FORMER_PATH: Final = "old/week-{number:02d}.txt"
FORMER_SENTENCE: Final = (
    f"Each of {FORMER_PATH.format(number=1)} to {FORMER_PATH.format(number=FORMER_FILES)} shows an input and "
    "its output from before these rules were changed; they hold no longer."
)

_BODY: Final = """\
from collections.abc import Callable
from typing import Any


{functions}

rules: dict[str, Any] = {rules!r}
for number in range({inputs}):
    text = {make}(subject.random.randrange, rules, {facet!r})
    expected = {solve}(text, rules)
    done = subject.run(["python3", {program!r}], stdin=text.encode(), timeout_s=5.0)
    require(done.exit_code == 0, f"input {{number}}: {{done!r}}")
    told = done.stdout.decode("utf-8", "backslashreplace").rstrip().split("\\n")
    require_equal([line.rstrip() for line in told], expected, f"output for input {{number}}")
"""


_BY_HEART: Final = """\
import sys

EXAMPLES = {text!r}
given = sys.stdin.read()
for part in EXAMPLES.split("=== input ")[1:]:
    known, _, told = part.split("\\n", 1)[1].partition("=== output ")
    if known == given:
        break
print(told.split("\\n", 1)[1], end="")
"""


def hidden_test(
    test_id: str,
    weight: float,
    *,
    facet: str,
    program: str,
    solve: Callable[..., list[str]],
    make: Callable[..., str],
    helpers: Sequence[Callable[..., Any]],
    rules: Mapping[str, Json],
    inputs: int = 4,
) -> HiddenTest:
    """A test that feeds a program drawn inputs and compares what it prints, line by line.

    Args:
        test_id: id of the test.
        weight: its weight in the item.
        facet: what `make` is to draw inputs for.
        program: the program's path in the submission.
        solve: `solve(text, rules)`, the lines that have to be printed.
        make: `make(below, rules, facet)`, an input; `below(n)` draws 0 to n - 1.
        helpers: functions that the two use.
        rules: the instance's rules, plain values.
        inputs: how many inputs are drawn; all have to be right.
    """
    source = _BODY.format(
        functions=_source((*helpers, make, solve)),
        rules=dict(rules),
        inputs=inputs,
        make=make.__name__,
        solve=solve.__name__,
        facet=facet,
        program=program,
    )
    return HiddenTest(id=test_id, source=source, weight=weight)


@cache
def _source(functions: tuple[Callable[..., Any], ...]) -> str:
    return "\n\n".join(inspect.getsource(function) for function in functions)


def examples_text(cases: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The visible examples file: inputs and outputs under numbered headings."""
    parts = []
    for number, (text, lines) in enumerate(cases, start=1):
        told = "\n".join(lines)
        parts.append(f"=== input {number}\n{text}=== output {number}\n{told}\n")
    return "".join(parts)


def former_examples(
    draws: Draws, former: dict[str, Any], make: Callable[..., str], solve: Callable[..., list[str]]
) -> dict[str, str]:
    """Files with examples of rules that no longer hold: plausible, and of no use."""
    texts = [make(draws.below, former, "plain") for _ in range(FORMER_FILES)]
    return {
        FORMER_PATH.format(number=number): examples_text([(text, solve(text, former))])
        for number, text in enumerate(texts, start=1)
    }


def example_inputs(examples: str) -> list[str]:
    """The inputs of an examples file."""
    parts = examples.split("=== input ")[1:]
    return [part.split("\n", 1)[1].split("=== output ")[0] for part in parts]


def programs_of(
    program: str, program_of: Callable[[Mapping[str, Json]], str], key: str | None = None
) -> Callable[[Instance], dict[str, str]]:
    """Submissions for an instance's rules, or for others that its secret holds under a key."""

    def files(instance: Instance) -> dict[str, str]:
        rules = instance.secret if key is None else instance.secret[key]
        assert isinstance(rules, Mapping)  # noqa: S101 our own
        return {program: program_of(rules)}

    return files


def examples_by_heart(program: str, examples: str) -> Callable[[Instance], dict[str, str]]:
    """A wrong program: knows the examples by heart and answers everything else with the last of them."""
    return lambda instance: {program: _BY_HEART.format(text=instance.files[examples])}
