"""Which hidden checks failed, how often, and what the untouched snapshot scores on them."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping

from esac_ag.report.escaping import csv_text
from esac_ag.report.gradings import DeclaredChecks
from esac_ag.report.runs import Facts
from esac_ag.report.view import Baseline, CheckFailures, CheckTally, RunState, TaskBaseline
from esac_ag.statistics.aggregate import mean
from esac_ag.statistics.estimates import Estimate, MaybeEstimate, NotEstimable, estimate

_NO_PROOF = NotEstimable(reason="the task's proof is not at hand")
_NO_CHECKS = NotEstimable(reason="no run of the task is graded, so its checks are not known")


class CheckLabels:
    """What a report calls hidden checks; equal answers are one and the same, for there are many attempts."""

    def __init__(self, checks: Mapping[str, DeclaredChecks]) -> None:
        """By task."""
        self._labels = {task: {check.id: check.label for check in found} for task, found in checks.items()}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    def of(self, task: str, ids: tuple[str, ...]) -> tuple[str, ...]:
        """The labels of a task's checks; of one that no grading declares there is none."""
        if not ids:
            return ()
        found = self._known.get((task, ids))
        if found is None:
            own = self._labels.get(task, {})
            found = self._known[task, ids] = tuple(own[one] for one in ids if one in own)
        return found


def check_failures(facts: Facts) -> Iterator[CheckFailures]:
    """Checks that failed in any graded run, by task, in order of declaration, with a tally for every arm."""
    for task in facts.tasks:
        graded = dict.fromkeys(facts.arms, 0)
        failed: dict[str, Counter[str]] = {arm: Counter() for arm in facts.arms}
        for arm in facts.arms:
            for run in facts.runs(task, arm):
                if run.state is RunState.GRADED and run.grading is not None:
                    graded[arm] += 1
                    failed[arm].update(run.grading.failed_checks)
        for check in facts.inputs.checks.get(task, ()):
            if any(failed[arm][check.id] for arm in facts.arms):
                yield CheckFailures(
                    task=task,
                    check=check.label,
                    dimension=check.dimension,
                    critical=check.critical,
                    arms=tuple(
                        CheckTally(arm=arm, failed=failed[arm][check.id], graded=graded[arm])
                        for arm in facts.arms
                    ),
                )


def baseline(facts: Facts) -> Baseline | None:
    """What doing nothing scores, task by task; none where no proof is at hand."""
    untouched = facts.inputs.untouched
    if not any(task in untouched for task in facts.tasks):
        return None
    labels = CheckLabels(facts.inputs.checks)
    tasks = tuple(
        TaskBaseline(
            task=task,
            score=_score(facts.inputs.checks.get(task), untouched.get(task)),
            failed_checks=labels.of(task, untouched.get(task, ())),
        )
        for task in facts.tasks
    )
    known = [item.score.value for item in tasks if isinstance(item.score, Estimate)]
    return Baseline(tasks=tasks, tasks_known=len(known), mean=mean(known, _NO_CHECKS))


def _score(checks: DeclaredChecks | None, failed: tuple[str, ...] | None) -> MaybeEstimate:
    """The weighted share of checks that pass, as a grading's score is."""
    if failed is None:
        return _NO_PROOF
    if checks is None:
        return _NO_CHECKS
    total = math.fsum(check.weight for check in checks)
    passed = math.fsum(check.weight for check in checks if check.id not in failed)
    return estimate(100.0 * passed / total)


def render_labels(checks: Mapping[str, DeclaredChecks]) -> str:
    """CSV of what the labels in a report stand for: private, for ids tell of what hidden checks check."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("task", "check", "id", "dimension", "weight", "critical"))
    writer.writerows(
        (task, check.label, csv_text(check.id), check.dimension, f"{check.weight:.9g}", check.critical or "")
        for task in sorted(checks)
        for check in checks[task]
    )
    return buffer.getvalue()
