"""Computes the view of a study, once."""

from __future__ import annotations

from esac_ag.attempt import AttemptRecord, Cell, Costs
from esac_ag.manifest.package import Dimension
from esac_ag.manifest.plan import AgentKind, AgentPlan
from esac_ag.report.claim import limits_of_claim
from esac_ag.report.compact import constructed
from esac_ag.report.comparisons import arm_comparison, arm_scores, dimension_comparison, task_arm
from esac_ag.report.costs import arm_costs
from esac_ag.report.counts import arm_counts, critical_count, critical_runs
from esac_ag.report.decision_build import arm_decisions
from esac_ag.report.escaping import visible
from esac_ag.report.hidden_checks import CheckLabels, baseline, check_failures
from esac_ag.report.inputs import ReportInputs, SpoiledAttempt, refuse_contradictions
from esac_ag.report.manipulation import RunProof, manipulation_check
from esac_ag.report.manipulation_view import ManipulationCheck
from esac_ag.report.next_steps import next_steps
from esac_ag.report.review_results import review_results
from esac_ag.report.runs import Facts
from esac_ag.report.sensitivity import study_sensitivity
from esac_ag.report.view import (
    AttemptRow,
    Header,
    Incidents,
    Method,
    PriceNote,
    ReportView,
    RunState,
)
from esac_ag.report.words import answer, notices
from esac_ag.study.quality import is_rehearsed


def build_view(inputs: ReportInputs) -> ReportView:
    """Everything that a report of this study shows; the same inputs give the same view.

    Raises:
        InputRefused: parts of the inputs belong to another study or contradict each other.
    """
    refuse_contradictions(inputs)
    facts = Facts(inputs)
    counts = tuple(arm_counts(facts, arm) for arm in facts.arms)
    comparisons = tuple(arm_comparison(facts, arm) for arm in facts.arms if arm != facts.control)
    critical = critical_runs(facts)
    review = review_results(inputs)
    check = _manipulation(facts)
    decisions = arm_decisions(facts, comparisons, check)
    review = review_results(inputs)
    return ReportView(
        format_version=1,
        notices=notices(inputs.manifest, counts, check, is_rehearsed=is_rehearsed(inputs.quality)),
        answer=answer(inputs.manifest, comparisons, review),
        header=_header(facts),
        method=_method(inputs),
        manipulation=check,
        counts=counts,
        scores=tuple(arm_scores(facts, arm) for arm in facts.arms),
        comparisons=comparisons,
        task_arms=tuple(task_arm(facts, task, arm) for task in facts.tasks for arm in facts.arms),
        dimensions=tuple(
            dimension_comparison(facts, arm, dimension) for dimension in Dimension for arm in facts.arms
        ),
        critical_counts=tuple(critical_count(facts, arm, critical) for arm in facts.arms),
        critical_runs=critical,
        costs=tuple(arm_costs(facts, arm) for arm in facts.arms),
        prices=_prices(inputs),
        incidents=_incidents(facts),
        attempts=_attempt_rows(facts),
        limits_of_claim=limits_of_claim(inputs.manifest, inputs.tasks),
        sensitivity=study_sensitivity(facts, comparisons),
        decisions=decisions,
        revision=inputs.revision,
        review=review,
        baseline=baseline(facts),
        failed_checks=tuple(check_failures(facts)),
        next_steps=tuple(next_steps(inputs, counts, decisions)),
    )


def _program(plan: AgentPlan) -> str | None:
    """The command-line agent that a plan names."""
    return visible(str(plan.settings.get("agent"))) if plan.kind is AgentKind.COMMAND else None


def _manipulation(facts: Facts) -> ManipulationCheck:
    """The check over the attempts that count, whether they are graded or not."""
    loaded = facts.inputs.loaded
    return manipulation_check(
        facts.inputs.manifest.arms,
        facts.agent_kind,
        {
            arm: [
                RunProof(run.attempt.attempt_id, loaded.get(run.attempt.attempt_id))
                for run in facts.runs_of_arm(arm)
                if run.attempt is not None
            ]
            for arm in facts.arms
        },
    )


def _header(facts: Facts) -> Header:
    manifest = facts.inputs.manifest
    return Header(
        study_id=manifest.study_id,
        phase=manifest.phase,
        manifest_sha256=facts.inputs.manifest_sha256,
        model=manifest.model,
        agent_kind=manifest.agent.kind,
        agent_program=_program(manifest.agent),
        agent_version=visible(manifest.agent.version),
        harness_version=manifest.harness.version,
        harness_revision=manifest.harness.revision,
        harness_dirty=manifest.harness.dirty,
        images={"agent": manifest.images.agent, "grader": manifest.images.grader},
        control=facts.control,
        primary_arm=manifest.analysis.primary_comparison.arm,
        tasks=len(facts.tasks),
        arms=len(facts.arms),
        repetitions=facts.repetitions,
        first_started_at=min((item.started_at for item in facts.inputs.attempts), default=None),
        last_ended_at=max((item.ended_at for item in facts.inputs.attempts), default=None),
    )


def _method(inputs: ReportInputs) -> Method:
    analysis = inputs.manifest.analysis
    return Method(
        interval=analysis.interval.method,
        confidence=analysis.interval.confidence,
        replicates=analysis.interval.replicates,
        seed=analysis.interval.seed,
        threshold_points=analysis.threshold_points,
    )


def _prices(inputs: ReportInputs) -> PriceNote | None:
    prices = inputs.manifest.prices
    if prices is None:
        return None
    return PriceNote(
        source=visible(prices.source),
        currency=prices.currency,
        date=prices.date,
        version=visible(prices.version),
    )


def _incidents(facts: Facts) -> Incidents:
    ledger = facts.inputs.ledger
    return Incidents(
        retries=ledger.retries,
        pauses=ledger.pauses,
        missing=tuple(
            f"{cell_words(run.cell)}: {run.state}"
            for arm in facts.arms
            for run in facts.runs_of_arm(arm)
            if run.state is not RunState.GRADED
        ),
        deviations=tuple(visible(text) for text in facts.inputs.deviations),
        stopped=ledger.stopped,
    )


def cell_words(cell: Cell) -> str:
    """A cell as a reader sees it."""
    return f"{cell.task}, {cell.arm}, repetition {cell.repetition}"


def _attempt_rows(facts: Facts) -> tuple[AttemptRow, ...]:
    """One row per attempt in the order of the schedule, then of the launches."""
    planned = enumerate(facts.inputs.planned)
    place = {(cell.task, cell.arm, cell.repetition): number for number, cell in planned}
    recorded = {attempt.attempt_id for attempt in facts.inputs.attempts}
    labels = CheckLabels(facts.inputs.checks)
    rows = [_attempt_row(facts, labels, attempt) for attempt in facts.inputs.attempts]
    rows += [
        _lost_row(facts, item) for item in facts.inputs.ledger.spoiled if item.attempt_id not in recorded
    ]

    def key(row: AttemptRow) -> tuple[int, bool, int, str]:
        cell = (row.task, row.arm, row.repetition)
        return (place[cell], row.ordinal is None, row.ordinal or 0, row.attempt_id)

    return tuple(sorted(rows, key=key))


def _attempt_row(facts: Facts, labels: CheckLabels, attempt: AttemptRecord) -> AttemptRow:
    counts = facts.inputs.counting.get(attempt.cell) == attempt.attempt_id
    run = facts.by_cell[attempt.cell] if counts else None
    grading = run.grading if run else None
    graded = run is not None and run.state is RunState.GRADED
    failed = grading.failed_checks if graded and grading else ()
    quality = (facts.inputs.quality or {}).get(attempt.attempt_id)
    # Taken from validated records: validating a hundred thousand rows again takes longer than all statistics.
    return constructed(
        AttemptRow,
        {
            "attempt_id": attempt.attempt_id,
            "agent_kind": attempt.agent_kind,
            "agent_label": visible(attempt.agent_label),
            "task": attempt.cell.task,
            "arm": attempt.cell.arm,
            "repetition": attempt.cell.repetition,
            "ordinal": attempt.ordinal,
            "counts": counts,
            "outcome": attempt.outcome,
            "limit": attempt.limit,
            "reason": visible(attempt.reason),
            "state": run.state if run else None,
            "invalid_reason": visible(grading.invalid_reason) if grading and grading.invalid_reason else None,
            "score": run.score if run else None,
            "dimension_scores": run.dimension_scores if run else {},
            "critical_failures": grading.critical_failures if graded and grading else (),
            "costs": attempt.costs,
            "started_at": attempt.started_at,
            "ended_at": attempt.ended_at,
            "findings": tuple(visible(text) for text in attempt.submission.findings)
            if attempt.submission
            else (),
            "failed_checks": labels.of(attempt.cell.task, failed),
            "quality": quality.points if quality and counts else None,
            "critical_by_review": quality.critical_failures if quality and counts else (),
            "files": facts.inputs.evidence.get(attempt.attempt_id, ()),
        },
    )


def _lost_row(facts: Facts, spoiled: SpoiledAttempt) -> AttemptRow:
    """An attempt that only the ledger knows: it ended before it left a record."""
    return AttemptRow(
        attempt_id=spoiled.attempt_id,
        agent_kind=facts.agent_kind,
        agent_label=None,
        task=spoiled.cell.task,
        arm=spoiled.cell.arm,
        repetition=spoiled.cell.repetition,
        ordinal=None,
        counts=False,
        outcome=spoiled.outcome,
        limit=None,
        reason=visible(spoiled.reason),
        state=None,
        invalid_reason=None,
        score=None,
        dimension_scores={},
        critical_failures=(),
        costs=Costs(),
        started_at=None,
        ended_at=None,
        findings=(),
        files=facts.inputs.evidence.get(spoiled.attempt_id, ()),
    )
