"""Our own policies' programs in this process: as the grader's container would have it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from esac_ag.suite.bank import item_named
from esac_ag.suite.constitution import PUBLIC_SEED
from esac_ag.suite.contract import HiddenTest, Instance
from esac_ag.suite.items.code_desk import Ran
from esac_ag.suite.items.code_program import ProgramItem
from esac_ag.suite.own_programs import OwnSubject, grade_own, run_own
from esac_ag.suite.pools import instance_of
from tests.builders_code_items import grade_by_processes
from tests.builders_grading import guest_module

checks = guest_module("esac_checks")
grader = guest_module("judge_grader")


def test_inputs_are_those_that_the_graders_container_draws() -> None:
    """The same stream for the same seed and check."""
    ours = OwnSubject({}, "a seed", "a-check", run_own).random
    theirs = grader._stream("a seed", "a-check")
    assert [ours.randrange(1000) for _ in range(9)] == [theirs.randrange(1000) for _ in range(9)]


@pytest.mark.parametrize(
    ("source", "ran"),
    [
        ("print(input())", Ran(0, "in\n", "")),
        ("import sys; sys.exit(3)", Ran(3, "", "")),
        ("import sys; sys.exit('no')", Ran(1, "", "")),
        ("import sys; sys.exit()", Ran(0, "", "")),
        ("print(1); 1 / 0", Ran(1, "1\n", "ZeroDivisionError: division by zero\n")),
        ("def", Ran(1, "", "SyntaxError: invalid syntax (a.py, line 1)\n")),
    ],
)
def test_a_program_ends_as_it_does_for_python(source: str, ran: Ran) -> None:
    """Output, exit code, and the last line of a traceback; standard input is put back."""
    before = sys.stdin
    assert run_own({"a.py": source}, "a.py", "in") == ran
    assert sys.stdin is before


def test_programs_of_several_threads_do_not_mix_their_output() -> None:
    """Each is long enough for its thread to be interrupted."""
    repeating = {"a.py": "word = input()\nfor _ in range(50_000):\n    print(word)"}
    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(lambda word: run_own(repeating, "a.py", word), "abcd"))
    assert [set(one.stdout.split()) for one in ran] == [{"a"}, {"b"}, {"c"}, {"d"}]
    assert {len(one.stdout) for one in ran} == {100_000}


def test_a_missing_file_is_no_crash() -> None:
    """Python's own exit code."""
    assert run_own({}, "a.py", "").exit_code == 2


def an_instance(body: str) -> Instance:
    """An instance with one hidden test."""
    return Instance("x", "", (), {}, {}, hidden_tests=(HiddenTest("t", body),))


@pytest.mark.parametrize("expected", [["1"], ["2"], ["1", "2"], "1", [1], []])
def test_lines_are_equal_exactly_when_they_are_for_the_grader(expected: Any) -> None:  # noqa: ANN401
    """By type and value."""
    (result,) = grade_own(an_instance(f"require_equal(['1'], {expected!r}, 'lines')"), {})
    try:
        checks.require_equal(["1"], expected, "lines")
        theirs = True
    except checks.CheckFailed:
        theirs = False
    assert result.passed is theirs


def test_an_error_in_a_hidden_test_is_ours_and_is_raised() -> None:
    """It must not pass for a failed test."""
    with pytest.raises(NameError):
        grade_own(an_instance("nonsense"), {})


@pytest.mark.slow
@pytest.mark.parametrize("item_id", ["code-room-bookings", "recovery-statement"])
def test_this_process_and_real_ones_agree_on_a_wrong_program(item_id: str) -> None:
    """Same tests, same inputs, same verdicts, whether or not a real Python ran each of them."""
    item = item_named(item_id)
    assert isinstance(item, ProgramItem)
    instance = instance_of(item, PUBLIC_SEED)
    files = dict(instance.files) | dict(item.wrong[-1].files(instance))
    ours, theirs = grade_own(instance, files, "s"), grade_by_processes(instance, files, "s")
    assert [result.passed for result in ours] == [result.passed for result in theirs]
