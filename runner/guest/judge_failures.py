"""What ends a check as failed, and how values are shown in reasons."""

from __future__ import annotations

SHOWN_CHARACTERS = 300


class CheckFailed(Exception):
    """A requirement of a check does not hold."""


class SubjectFileMissing(CheckFailed):
    """A file that the check wants is missing or is no regular file."""


class SubjectFailed(Exception):
    """The subject's process died, hung or answered nonsense."""


class SubjectRaised(Exception):
    """The submission raised an exception.

    Attributes:
        type_name: name of its class.
        bases: names of the base classes.
        message: its text.
        phase: `import` while the target was imported, else `call`.
    """

    def __init__(self, type_name: str, bases: list[str], message: str, phase: str) -> None:
        super().__init__(f"raised {type_name}: {message}")
        self.type_name, self.bases, self.message, self.phase = type_name, bases, message, phase


def shown(value: object) -> str:
    """A value for a reason, cut short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
