"""Reading names of failed tests from the output of test runners."""

from __future__ import annotations

import pytest

from esac_ag.grading.public import PublicRun
from esac_ag.study.tallies import read_tests

PYTEST = """\
.F.E                                                                     [100%]
=================================== FAILURES ===================================
FAILED tests/not_a_summary.py::test_printed - by the product
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x[a - b] - assert 1 == 2
FAILED tests/test_a.py::Test::test_y
ERROR tests/test_b.py - ImportError: no
1 failed, 12 passed, 1 error in 0.05s
"""

UNITTEST = """\
F.E
======================================================================
FAIL: test_x (tests.test_a.T.test_x) (i=1)
----------------------------------------------------------------------
======================================================================
ERROR: test_y (tests.test_a.T)
----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""


def test_pytest_names_are_read_from_its_summary_only() -> None:
    """A line that a test printed is no verdict; names may hold dashes in brackets."""
    failed = ("tests/test_a.py::Test::test_y", "tests/test_a.py::test_x[a - b]", "tests/test_b.py")
    assert read_tests(PYTEST) == (failed, 12)


def test_unittest_names_are_dotted_ids() -> None:
    """Both the old and the new way of naming a test give the same form."""
    assert read_tests(UNITTEST) == (("tests.test_a.T.test_x", "tests.test_a.T.test_y"), 1)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("5 passed in 0.01s\n", ((), 5)),
        ("===== 5 passed, 1 warning in 0.01s =====\n", ((), 5)),
        ("no tests ran in 0.01s\n", ((), None)),
        ("", ((), None)),
        ("1 failed in 0.01s\n", ((), 0)),
        ("Ran 4 tests in 0.1s\n\nOK\n", ((), 4)),
    ],
)
def test_the_number_of_passed_tests_is_told_or_unknown(
    output: str, expected: tuple[tuple[str, ...], int | None]
) -> None:
    """What the output does not tell is unknown, not zero."""
    assert read_tests(output) == expected


def test_a_run_that_names_no_failure_but_ends_badly_has_not_succeeded() -> None:
    """Exit code and names have to agree."""
    run = PublicRun(exit_code=2, failed=(), passed=None, output=b"")
    assert not run.succeeded
    assert not run.failed_only("tests/test_a.py::test_x")
