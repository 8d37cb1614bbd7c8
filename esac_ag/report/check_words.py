"""Failed hidden checks and the untouched snapshots, in words that Markdown and the page share."""

from __future__ import annotations

from typing import Final

from esac_ag.report.numbers import UNAVAILABLE, maybe_points
from esac_ag.report.view import Baseline, CheckTally, TaskBaseline
from esac_ag.statistics.estimates import NotEstimable

FAILED_CHECKS: Final = (
    "Hidden checks that failed in at least one graded run: in how many of the graded runs of each arm. A "
    "check that no run failed is left out. Ids of hidden checks are private, for a report may be "
    "published: behaviour-2 is the second check of behaviour that the task's grader declares, and "
    "private/hidden-checks.csv in the study's folder names it."
)
UNTOUCHED: Final = (
    "What a task's untouched snapshot scores on its hidden checks, as the task's proof tells: a run that "
    "changes nothing gets this score, so an arm near it has done little."
)


def tally_words(tally: CheckTally) -> str:
    """`2 of 3`; without a graded run nothing could have been seen, which is not none."""
    return f"{tally.failed} of {tally.graded}" if tally.graded else UNAVAILABLE


def untouched_words(item: TaskBaseline | None, check: str) -> str:
    """Whether the untouched snapshot of the check's task fails it."""
    if item is None or isinstance(item.score, NotEstimable):
        return UNAVAILABLE
    return "fails" if check in item.failed_checks else "passes"


def baseline_words(item: TaskBaseline) -> str:
    """The score of a task's untouched snapshot, or why it is not known."""
    reason = f": {item.score.reason}" if isinstance(item.score, NotEstimable) else ""
    return maybe_points(item.score) + reason


def baselines(baseline: Baseline | None) -> dict[str, TaskBaseline]:
    """By task."""
    return {item.task: item for item in baseline.tasks} if baseline else {}
