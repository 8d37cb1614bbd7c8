"""The files of an attempt that a person reads, and what they are called in a report."""

from __future__ import annotations

from typing import Final

EVIDENCE: Final = {
    "patch.diff": "diff",
    "transcript.jsonl": "transcript",
    "commands.jsonl": "commands",
    "grading/result.json": "checks",
    "attempt.json": "record",
}
"""Words by path in the attempt's folder, in the order of reading."""
