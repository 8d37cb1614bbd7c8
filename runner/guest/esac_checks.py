"""What hidden checks are written with: `@check`, `Subject`, `require...`. See docs/graders.md.

Runs in the grader's process, where nothing of the submission is ever imported.
"""

from __future__ import annotations

from judge_failures import CheckFailed, SubjectFailed, SubjectFileMissing, SubjectRaised, shown
from judge_subject import Completed, Running, Subject

TYPE_CHECKING = False  # importing typing would cost as much as a check
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CheckFailed",
    "Completed",
    "Running",
    "Subject",
    "SubjectFailed",
    "SubjectFileMissing",
    "SubjectRaised",
    "check",
    "require",
    "require_equal",
    "require_raises",
]

registry: dict[str, Callable[[Subject], None]] = {}
"""Check functions by id, filled by `@check`."""


def check(check_id: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Declare a function as the check of that id."""

    def register(function: Callable[[Subject], None]) -> Callable[[Subject], None]:
        if check_id in registry:
            raise ValueError(f"two functions are the check {check_id}")
        registry[check_id] = function
        return function

    return register


def require(condition: object, message: str) -> None:
    """Fail the check unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def require_equal(actual: object, expected: object, what: str) -> None:
    """Fail the check unless both are equal in type and value, recursively."""
    if not _same(actual, expected):
        raise CheckFailed(f"{what}: {shown(actual)}, expected {shown(expected)}")


def require_raises(type_name: str, function: Callable[[], object]) -> SubjectRaised:
    """Fail the check unless the call ends in an exception of that class (or one derived from it).

    An exception on import is none of the call's. Returns the exception, for a look at its message.
    """
    try:
        value = function()
    except SubjectRaised as raised:
        if raised.phase == "call" and type_name in (raised.type_name, *raised.bases):
            return raised
        raise CheckFailed(f"expected {type_name}, but it {raised} (during {raised.phase})") from raised
    raise CheckFailed(f"expected {type_name}, but the call returned {shown(value)}")


def _same(actual: object, expected: object) -> bool:
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, list | tuple):
        assert isinstance(actual, list | tuple)  # noqa: S101
        return len(actual) == len(expected) and all(map(_same, actual, expected))
    if isinstance(expected, dict):
        assert isinstance(actual, dict)  # noqa: S101
        return actual.keys() == expected.keys() and all(_same(actual[k], v) for k, v in expected.items())
    return actual == expected
