"""How many runs were planned, graded, lost; and which failures were critical."""

from __future__ import annotations

from collections import Counter

from esac_ag.attempt import AttemptRecord, Outcome
from esac_ag.manifest.package import CriticalFailure
from esac_ag.report.numbers import UNAVAILABLE
from esac_ag.report.runs import Facts
from esac_ag.report.view import ArmCounts, CriticalCount, CriticalRun, RunState


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
    """Every critical failure of every graded run, by arm and task."""
    return tuple(
        CriticalRun(
            arm=arm,
            agent_kind=facts.agent_kind,
            task=run.cell.task,
            repetition=run.cell.repetition,
            attempt_id=run.attempt.attempt_id,
            kind=kind,
        )
        for arm in facts.arms
        for run in facts.runs_of_arm(arm)
        if run.state is RunState.GRADED and run.attempt is not None and run.grading is not None
        for kind in run.grading.critical_failures
    )


def critical_count(facts: Facts, arm: str, found: tuple[CriticalRun, ...]) -> CriticalCount:
    """Critical failures of one arm, by run."""
    mine = [item for item in found if item.arm == arm]
    kinds = Counter(item.kind for item in mine)
    return CriticalCount(
        arm=arm,
        agent_kind=facts.agent_kind,
        graded=sum(run.state is RunState.GRADED for run in facts.runs_of_arm(arm)),
        runs_with_any=len({item.attempt_id for item in mine}),
        by_kind={kind: kinds[kind] for kind in CriticalFailure if kinds[kind]},
    )


def critical_shown(item: CriticalCount) -> str:
    """`1 of 8`; without a graded run nothing could have been seen, which is not none."""
    return f"{item.runs_with_any} of {item.graded}" if item.graded else UNAVAILABLE


def _spoiled(facts: Facts) -> dict[str, tuple[str, Outcome]]:
    """Arm and outcome of attempts that can never count, each once though two sources name it."""
    known = {item.attempt_id: (item.cell.arm, item.outcome) for item in facts.inputs.ledger.spoiled}
    known |= {item.attempt_id: (item.cell.arm, item.outcome) for item in facts.inputs.attempts}
    return known
