"""The strict reading of what the judge wrote."""

from __future__ import annotations

import json

import pytest

from esac_ag.attempt import CheckVerdict
from esac_ag.grading.results import MAX_RESULT_BYTES, ResultRefused, read_result
from tests.builders_grading import a_package, a_package_of

PACKAGE = a_package_of("one", "two")


def a_line(id_: str = "one", **changes: object) -> dict[str, object]:
    """A record of the judge's result."""
    return {"id": id_, "verdict": "pass", "reason": "", "duration_s": 0.5} | changes


def a_result(*lines: dict[str, object], **changes: object) -> bytes:
    """A result of the judge."""
    checks = list(lines) or [a_line("one"), a_line("two", verdict="fail", reason="no")]
    content = {"format_version": 1, "status": "graded", "invalid_reason": None, "checks": checks}
    return json.dumps(content | changes).encode()


def test_a_result_with_one_record_for_each_check_is_read_in_order() -> None:
    """Verdict and reason come from the judge, everything else from the declaration."""
    results = read_result(a_result(), PACKAGE)
    assert [(r.id, r.verdict, r.reason) for r in results] == [
        ("one", CheckVerdict.PASS, ""),
        ("two", CheckVerdict.FAIL, "no"),
    ]
    assert results[0].weight == PACKAGE.checks[0].weight


REFUSED: dict[str, tuple[bytes | None, str]] = {
    "missing-file": (None, "no result"),
    "empty": (b"", "not strict JSON"),
    "not-json": (b"2 passed", "not strict JSON"),
    "not-unicode": (b"\xff", "not strict JSON"),
    "deep": (b"[" * 100_000, "not strict JSON"),
    "too-large": (b" " * (MAX_RESULT_BYTES + 1), "more than"),
    "missing-id": (a_result(a_line("one")), "without two"),
    "surplus-id": (a_result(a_line("one"), a_line("two"), a_line("three")), "undeclared three"),
    "repeated-id": (a_result(a_line("one"), a_line("one"), a_line("two")), "twice one"),
    "other-order": (a_result(a_line("two"), a_line("one")), "other order"),
    "skipped": (a_result(a_line(verdict="skip"), a_line("two")), "checks/0/verdict"),
    "upper-case": (a_result(a_line(verdict="PASS"), a_line("two")), "checks/0/verdict"),
    "true-as-verdict": (a_result(a_line(verdict=True), a_line("two")), "checks/0/verdict"),
    "number-as-verdict": (a_result(a_line(verdict=1.0), a_line("two")), "checks/0/verdict"),
    "text-as-number": (a_result(a_line(duration_s="1.0"), a_line("two")), "checks/0/duration_s"),
    "true-as-number": (a_result(a_line(duration_s=True), a_line("two")), "checks/0/duration_s"),
    "negative": (a_result(a_line(duration_s=-1), a_line("two")), "checks/0/duration_s"),
    "nan": (a_result(a_line(duration_s=float("nan")), a_line("two")), "NaN"),
    "infinity": (a_result(a_line(duration_s=float("inf")), a_line("two")), "Infinity"),
    "overflow": (a_result().replace(b"0.5", b"1e999", 1), "checks/0/duration_s"),
    "null-reason": (a_result(a_line(reason=None), a_line("two")), "checks/0/reason"),
    "surplus-key": (a_result(a_line(score=1.0), a_line("two")), "checks/0/score"),
    "duplicate-key": (a_result().replace(b'"id": "one"', b'"id": "x", "id": "one"'), "duplicate key"),
    "invalid": (a_result(status="invalid", invalid_reason="broken"), "broken"),
    "invalid-without-reason": (a_result(status="invalid"), "no reason"),
    "reason-though-graded": (a_result(invalid_reason="odd"), "odd"),
    "other-version": (a_result(format_version=2), "format_version"),
    "a-list": (b"[]", "wrong"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_result_that_differs_in_any_way_is_refused(case: str) -> None:
    """Nothing ambiguous becomes a verdict."""
    data, told = REFUSED[case]
    with pytest.raises(ResultRefused) as refused:
        read_result(data, PACKAGE)
    assert told in str(refused.value)


def test_a_result_of_another_package_is_refused() -> None:
    """Ids are compared with what was declared before anything ran."""
    with pytest.raises(ResultRefused):
        read_result(a_result(), a_package())
