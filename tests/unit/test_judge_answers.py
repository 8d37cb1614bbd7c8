"""Plain values: how a subject process encodes them, how the judge reads and compares them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders_grading import guest_module

Plain = Any

answers = guest_module("subject_answer")
checks = guest_module("esac_checks")
reader = guest_module("judge_subject")

_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda k: not k.startswith("$")), inner),
    max_leaves=20,
)


def plain(value: object) -> Plain:
    """The plain form of a value."""
    return answers.Encoder().plain(value, answers.DEPTH)


@given(_PLAIN)
def test_plain_values_survive_the_way_to_the_judge(value: object) -> None:
    """Encoded, written, read strictly and compared, a value equals itself in type and value."""
    data = answers.text_of({"value": plain(value)}).encode()
    checks.require_equal(reader._read_answer("x", data), value, "the value")


class _Always:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]
    __class__ = int  # type: ignore[assignment]


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [_Always(), _Text("x"), object(), type, len, iter([]), 10**9000],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_of_an_exact_plain_type_is_opaque(value: object) -> None:
    """No subclass, claim or comparison of its own makes a value plain."""
    assert list(plain(value)) == ["$opaque"]


def test_a_plain_dictionary_cannot_pose_as_a_tagged_value() -> None:
    """Keys that look like our tags become a map."""
    assert plain({"$decimal": "1"}) == {"$map": [["$decimal", "1"]]}


def test_an_answer_that_contains_itself_is_refused() -> None:
    """Depth and number of values are limited."""
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(answers.Refused):
        plain(circle)
    with pytest.raises(answers.Refused):
        plain([[None] * 1000] * 1000)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (True, 1),
        (1, 1.0),
        ("1", 1),
        ([1], (1,)),
        ({"a": 1}, {"a": True}),
        ([1, 2], [1]),
        (None, False),
        ({}, []),
    ],
)
def test_values_of_other_types_are_not_equal(actual: object, expected: object) -> None:
    """Comparison is by exact type, recursively."""
    with pytest.raises(checks.CheckFailed):
        checks.require_equal(actual, expected, "it")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b'{"value": 1, "more": 2}',
        b'{"value": NaN}',
        b'{"value": 1, "value": 1}',
        b'{"raised": "E", "bases": [1], "message": "", "phase": "call"}',
        b'{"raised": true, "bases": [], "message": "", "phase": "call"}',
        b'{"value": ' + b"9" * 5000 + b"}",
        b'{"value": 1} {"value": 1}',
    ],
)
def test_an_answer_of_another_shape_is_the_subjects_failure(data: bytes) -> None:
    """Nonsense is never a value."""
    with pytest.raises(checks.SubjectFailed):
        reader._read_answer("x", data)


def test_an_exception_on_import_is_not_the_one_that_a_check_waits_for() -> None:
    """Raising the wanted class at import proves nothing about the call."""

    def raising(phase: str) -> None:
        data = json.dumps({"raised": "KeyError", "bases": ["LookupError"], "message": "m", "phase": phase})
        reader._read_answer("x", data.encode())

    assert checks.require_raises("LookupError", lambda: raising("call")).message == "m"
    with pytest.raises(checks.CheckFailed):
        checks.require_raises("KeyError", lambda: raising("import"))
    with pytest.raises(checks.CheckFailed):
        checks.require_raises("KeyError", lambda: None)
