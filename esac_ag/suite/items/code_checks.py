"""Hidden tests as the grader's container takes them: one `checks.py`, a check a test."""

from __future__ import annotations

from collections.abc import Sequence

from esac_ag.suite.contract import HiddenTest


def checks_source(tests: Sequence[HiddenTest]) -> str:
    """The text of `checks.py` (docs/graders.md) with a check of its own for each hidden test."""
    parts = ["from esac_checks import check, require, require_equal\n"]
    for number, test in enumerate(tests):
        parts.append(f"\n\n@check({test.id!r})\ndef test_{number}(subject):\n{_indented(test.source)}")
    return "".join(parts)


def file_bytes(text: str) -> bytes:
    """The bytes of a workspace file; what UTF-8 cannot hold becomes a question mark."""
    return text.encode("utf-8", "replace")


def _indented(source: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in source.split("\n"))
