"""The result that a test run printed: names of failed tests, and how many passed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PYTEST = re.compile(r"^(?:FAILED|ERROR) (\S[^\[\n]*?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
_PYTEST_SUMMARY = re.compile(r"^=* ?short test summary info ?=*$", re.MULTILINE)
_PYTEST_PASSED = re.compile(r"^(?:=+ )?(?:\d+ [a-z]+, )*?(\d+) passed\b", re.MULTILINE)
_PYTEST_END = re.compile(r"^(?:=+ )?\d+ (?:passed|failed|error).* in [0-9.]+s", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+) \(([^)\s]+)\)", re.MULTILINE)
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)


def read_tests(output: str) -> tuple[tuple[str, ...], int | None]:
    """Names of failed tests, and the number of passed ones, from pytest's or unittest's output."""
    output = output.replace("\r\n", "\n")
    ran = _UNITTEST_RAN.findall(output)
    if ran and not _PYTEST_END.search(output):
        failed = _unique(_dotted(name, place) for name, place in _UNITTEST.findall(output))
        return failed, int(ran[-1]) - len(failed)
    # Only below the summary's heading is a line that begins with FAILED pytest's own.
    headings = list(_PYTEST_SUMMARY.finditer(output))
    failed = _unique(_PYTEST.findall(output, headings[-1].end())) if headings else ()
    passed = _PYTEST_PASSED.findall(output)
    if passed:
        return failed, int(passed[-1])
    return failed, 0 if _PYTEST_END.search(output) else None


def _dotted(name: str, place: str) -> str:
    """The id of a unittest test; since Python 3.11 the place in brackets ends with the name."""
    return place if place.endswith("." + name) else f"{place}.{name}"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
