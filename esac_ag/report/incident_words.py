"""What did not go as planned, in words that Markdown and the page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from esac_ag.report.view import ReportView


class Incident(NamedTuple):
    """One line, and the attempts that it is about; foreign text in it is as the view holds it."""

    words: str
    attempts: tuple[str, ...] = ()


def incidents(view: ReportView) -> Iterator[Incident]:
    """Everything but deviations: launches, stops, runs without a score, attempts that do not count."""
    found = view.incidents
    yield Incident(f"Launches beyond a cell's first: {found.retries}. Pauses of the study: {found.pauses}.")
    for item in found.stopped:
        yield Incident(f"Stopped by rule: {item.arm}, for {item.kind} on {item.task}.", item.attempts)
    yield from (Incident(f"No score: {text}.") for text in found.missing)
    for row in view.attempts:
        attempt = (row.attempt_id,)
        if not row.counts:
            yield Incident(f"Does not count ({row.outcome}): {row.reason}", attempt)
        if row.invalid_reason:
            yield Incident(f"Could not be graded: {row.invalid_reason}", attempt)
        for finding in row.findings:
            yield Incident(f"Left out on export: {finding}", attempt)


def deviations(view: ReportView) -> Iterator[str]:
    """What was done otherwise than sealed, or that nothing was."""
    for text in view.incidents.deviations:
        yield f"Deviation: {text}"
    if not view.incidents.deviations:
        yield "Deviations from what was sealed: none recorded."
