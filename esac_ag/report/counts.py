"""How many runs were planned, graded, lost; and which failures were critical."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from esac_ag.attempt import GRADED_OUTCOMES, AttemptRecord, Outcome
from esac_ag.manifest.package import CriticalFailure
from esac_ag.report.numbers import UNAVAILABLE
from esac_ag.report.runs import Facts, RunFacts
from esac_ag.report.view import ArmCounts, CriticalCount, CriticalRun, ReportView, RunState

CRITICAL: Final = "They stand outside every mean: no score makes up for one."


def arm_counts(facts: Facts, arm: str) -> ArmCounts:
    """The counts of one arm."""
    runs = list(facts.runs_of_arm(arm))
    states = Counter(run.state for run in runs)
    graded = Counter(
        run.attempt.outcome for run in runs if run.attempt is not None and run.state is RunState.GRADED
    )
    spoiled = Counter(outcome for cell_arm, outcome in _spoiled(facts).values() if cell_arm == arm)
    return ArmCounts(
        arm=arm,
        agent_kind=facts.agent_kind,
        planned=len(runs),
        graded=states[RunState.GRADED],
        completed=graded[Outcome.COMPLETED],
        limit=graded[Outcome.LIMIT],
        agent_error=graded[Outcome.AGENT_ERROR],
        invalid=states[RunState.INVALID],
        ungraded=states[RunState.UNGRADED],
        missing=states[RunState.MISSING],
        stopped=states[RunState.STOPPED],
        infra_attempts=spoiled[Outcome.INFRA],
        cancelled_attempts=spoiled[Outcome.CANCELLED],
        unchanged=sum(run.attempt is not None and _is_unchanged(run.attempt) for run in runs),
    )


def _is_unchanged(attempt: AttemptRecord) -> bool:
    return (
        attempt.submission is not None
        and attempt.costs.changed_lines == 0
        and attempt.costs.touched_files == 0
    )


def critical_runs(facts: Facts) -> tuple[CriticalRun, ...]:
    """Every critical failure that hidden checks found in a graded run, by arm and task."""
    return tuple(
        _critical_run(facts, run, kind)
        for run in _graded(facts)
        if run.grading is not None
        for kind in run.grading.critical_failures
    )


def reviewed_critical_runs(facts: Facts) -> tuple[CriticalRun, ...]:
    """Every critical failure that the review settled on, by arm and task."""
    quality = facts.inputs.quality or {}
    return tuple(
        _critical_run(facts, run, kind)
        for run in _reviewed(facts)
        if run.attempt is not None
        for kind in quality[run.attempt.attempt_id].critical_failures
    )


def _critical_run(facts: Facts, run: RunFacts, kind: CriticalFailure) -> CriticalRun:
    if run.attempt is None:
        raise ValueError("a run without an attempt shows nothing")
    return CriticalRun(
        arm=run.cell.arm,
        agent_kind=facts.agent_kind,
        task=run.cell.task,
        repetition=run.cell.repetition,
        attempt_id=run.attempt.attempt_id,
        kind=kind,
    )


def _graded(facts: Facts) -> Iterator[RunFacts]:
    for arm in facts.arms:
        yield from (run for run in facts.runs_of_arm(arm) if run.state is RunState.GRADED)


def _reviewed(facts: Facts) -> Iterator[RunFacts]:
    quality = facts.inputs.quality or {}
    for arm in facts.arms:
        for run in facts.runs_of_arm(arm):
            if run.attempt is not None and run.attempt.attempt_id in quality:
                yield run


def critical_count(facts: Facts, arm: str, found: Iterable[CriticalRun]) -> CriticalCount:
    """Critical failures of one arm that its hidden checks found, by run."""
    return _count(facts, arm, found, _graded(facts))


def reviewed_critical_count(facts: Facts, arm: str, found: Iterable[CriticalRun]) -> CriticalCount:
    """Critical failures of one arm that the review settled on, by run."""
    return _count(facts, arm, found, _reviewed(facts))


def _count(
    facts: Facts, arm: str, found: Iterable[CriticalRun], looked_at: Iterable[RunFacts]
) -> CriticalCount:
    mine = [item for item in found if item.arm == arm]
    kinds = Counter(item.kind for item in mine)
    return CriticalCount(
        arm=arm,
        agent_kind=facts.agent_kind,
        graded=sum(run.cell.arm == arm for run in looked_at),
        runs_with_any=len({item.attempt_id for item in mine}),
        by_kind={kind: kinds[kind] for kind in CriticalFailure if kinds[kind]},
    )


def critical_shown(item: CriticalCount) -> str:
    """`1 of 8`; without a graded run nothing could have been seen, which is not none."""
    return f"{item.runs_with_any} of {item.graded}" if item.graded else UNAVAILABLE


def critical_kinds(item: CriticalCount) -> str:
    """`data-loss: 2`, or `none`; without a run that could show any, not known."""
    # In the order of the kinds, which a view that was read from its JSON has lost.
    counts = ((kind, item.by_kind.get(kind)) for kind in CriticalFailure)
    listed = ", ".join(f"{kind}: {count}" for kind, count in counts if count)
    return listed or ("none" if item.graded else UNAVAILABLE)


def critical_summary(view: ReportView, arm: str) -> str:
    """`1 of 8`, and after a review also what it settled on: `1 of 8; by the review 2 of 8`."""
    checked = next(item for item in view.critical_counts if item.arm == arm)
    reviewed = [] if view.review is None else view.review.critical_counts
    also = "".join(f"; by the review {critical_shown(item)}" for item in reviewed if item.arm == arm)
    return critical_shown(checked) + also


def _spoiled(facts: Facts) -> dict[str, tuple[str, Outcome]]:
    """Arm and outcome of attempts that can never count, each once though two sources name it."""
    known = {item.attempt_id: (item.cell.arm, item.outcome) for item in facts.inputs.ledger.spoiled}
    known |= {
        item.attempt_id: (item.cell.arm, item.outcome)
        for item in facts.inputs.attempts
        if item.outcome not in GRADED_OUTCOMES or item.attempt_id in known
    }
    return known
