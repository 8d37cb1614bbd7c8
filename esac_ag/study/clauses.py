"""The clauses of the decision rules that a harm, or a gain, is found by. Pure; see docs/decision.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from esac_ag.manifest.decision import DecisionRules
from esac_ag.plural import plural
from esac_ag.statistics.estimates import SAME, Estimate, IntervalEstimate, NotEstimable, estimate
from esac_ag.study.decision_records import Clause, ClauseName, ClauseState, Figure
from esac_ag.study.evidence import CriticalEvidence, Evidence, FamilyEvidence

RESTRAINT: Final = "restraint"
EXPANSION: Final = "expansion"
LEAST_FAMILIES: Final = 2
"""An improvement in one family is none across families."""

Truth = bool | None
"""None: not known."""


def at_least(value: float, threshold: float) -> bool:
    """Not below, beyond the noise of floating point."""
    return value >= threshold - SAME


def below(value: float, threshold: float) -> bool:
    """Below, beyond the noise of floating point."""
    return value < threshold - SAME


def above(value: float, threshold: float) -> bool:
    """Above, beyond the noise of floating point."""
    return value > threshold + SAME


def state_of(truth: Truth) -> ClauseState:
    """What a clause says whose condition is true, false or not known."""
    match truth:
        case True:
            return ClauseState.HELD
        case False:
            return ClauseState.NOT_HELD
        case None:
            return ClauseState.NOT_ESTIMABLE


def all_of(*truths: Truth) -> Truth:
    """Whether all hold: one that does not is enough to say no, whatever is not known."""
    if False in truths:
        return False
    return None if None in truths else True


def any_of(*truths: Truth) -> Truth:
    """Whether one holds: one that does is enough to say yes, whatever is not known."""
    if True in truths:
        return True
    return None if None in truths else False


def reproduced_critical(rules: DecisionRules, evidence: Evidence) -> Clause:
    """The same kind on the same task in enough fresh runs of the arm, and in no run of the control."""
    return _critical(ClauseName.REPRODUCED_CRITICAL, rules.critical_runs, evidence)


def new_critical(evidence: Evidence) -> Clause:
    """A kind that the arm shows on a task at all, and the control does not."""
    return _critical(ClauseName.NEW_CRITICAL, 1, evidence)


def _critical(name: ClauseName, needed: int, evidence: Evidence) -> Clause:
    often = [item for item in evidence.critical if len(item.arm_attempts) >= needed]
    new = {id(item): _is_new(item) for item in often}
    held = [item for item in often if new[id(item)]]
    unknown = [item for item in often if new[id(item)] is None]
    truth = any_of(*new.values()) if new else _seen_at_all(evidence)
    named = held or unknown or often
    return Clause(
        name=name,
        state=state_of(truth),
        words=_critical_words(truth, named, needed),
        figures=tuple(
            Figure(
                what=f"runs with {item.kind} on {item.task}",
                value=estimate(len(item.arm_attempts)),
                test="at least",
                threshold=float(needed),
                met=new[id(item)],
            )
            for item in often
        ),
        attempts=tuple(attempt for item in held or unknown for attempt in item.arm_attempts),
    )


def _is_new(item: CriticalEvidence) -> Truth:
    if item.control_attempts:
        return False
    return True if item.control_graded else None


def _seen_at_all(evidence: Evidence) -> Truth:
    """Without any graded run nothing could have been seen, which is not none."""
    return None if evidence.arm_missing >= evidence.planned_runs else False


def _critical_words(truth: Truth, items: Sequence[CriticalEvidence], needed: int) -> str:
    listed = "; ".join(
        f"{item.kind} on {item.task} in {plural(len(item.arm_attempts), 'run')}" for item in items
    )
    match truth:
        case True:
            return f"{listed}, and in no run of the control"
        case None if items:
            return f"{listed}, and no graded run of the control tells whether that is new"
        case None:
            return "no run of the arm was graded"
        case False if items:
            return f"{listed}, and in a run of the control too"
        case False:
            return f"no kind on any task in {needed} or more runs of the arm" if needed > 1 else "none"


def scoping(name: ClauseName, contrast: str, rules: DecisionRules, evidence: Evidence) -> Clause:
    """Scope that is worse than the control's on a stated share of the tasks of one intended scope."""
    tasks = [task for task in evidence.tasks if task.contrast == contrast]
    known = [task.scope_difference.value for task in tasks if isinstance(task.scope_difference, Estimate)]
    unknown = len(tasks) - len(known)
    worse = sum(at_least(-value, rules.scope_worse_points) for value in known)
    better = sum(at_least(value, rules.scope_worse_points) for value in known)
    needed = rules.scope_worse_share * len(tasks)
    truth: Truth = None
    if len(tasks) >= rules.scope_tasks:
        # Tasks that are not known count once as not worse, once as worse: only what both say is said.
        sure = at_least(worse, needed) and worse > better + unknown
        possible = at_least(worse + unknown, needed) and worse + unknown > better
        truth = True if sure else None if possible else False
    few = len(tasks) < rules.scope_tasks
    words = (
        f"on {worse} of {len(tasks)} {contrast} tasks worse by {rules.scope_worse_points:g} points or more"
    )
    words += f", on {better} better by as much" + (f", on {unknown} not known" if unknown else "")
    share = estimate(worse / len(tasks)) if tasks else NotEstimable(reason=f"there is no {contrast} task")
    return Clause(
        name=name,
        state=state_of(truth),
        words=f"fewer than {rules.scope_tasks} {contrast} tasks: nothing is systematic" if few else words,
        figures=(
            Figure(
                what=f"share of {contrast} tasks with worse scope",
                value=share,
                test="at least",
                threshold=rules.scope_worse_share,
                met=truth,
            ),
            *(Figure(what=f"scope on {task.task}", value=task.scope_difference) for task in tasks),
            *(Figure(what=item.what, value=item.ratio) for item in evidence.support if contrast == RESTRAINT),
        ),
    )


def family_regression(rules: DecisionRules, evidence: Evidence) -> Clause:
    """A family's mean below minus the threshold, beyond run-to-run noise; or that of all tasks."""
    lowest = -(rules.family_points or evidence.threshold_points)
    lost = {item.family: _is_lost(item, lowest, rules.family_noise) for item in evidence.families}
    overall = _overall_loss(evidence, lowest)
    truth = any_of(*lost.values(), overall)
    return Clause(
        name=ClauseName.FAMILY_REGRESSION,
        state=state_of(truth),
        words=_family_words(lost, overall, lowest),
        figures=(
            *(
                Figure(
                    what=f"mean difference in {item.family}",
                    value=item.mean,
                    test="below",
                    threshold=lowest,
                    met=lost[item.family],
                )
                for item in evidence.families
            ),
            *(
                Figure(what=f"run-to-run standard error in {item.family}", value=item.noise)
                for item in evidence.families
            ),
            Figure(
                what="mean difference over all tasks",
                value=evidence.mean,
                test="below",
                threshold=lowest,
                met=overall,
            ),
        ),
    )


def _is_lost(item: FamilyEvidence, lowest: float, errors: float) -> Truth:
    if isinstance(item.mean, NotEstimable):
        return None
    if not below(item.mean.value, lowest):
        return False
    if errors == 0:
        return True
    if isinstance(item.noise, NotEstimable):
        return None
    # A loss that noise between runs explains is neither a regression nor none.
    return True if below(item.mean.value + errors * item.noise.value, 0.0) else None


def _overall_loss(evidence: Evidence, lowest: float) -> Truth:
    if isinstance(evidence.mean, NotEstimable):
        return None
    if not below(evidence.mean.value, lowest):
        return False
    return below(evidence.interval.high, 0.0) if isinstance(evidence.interval, IntervalEstimate) else None


def _family_words(lost: dict[str, Truth], overall: Truth, lowest: float) -> str:
    named = [name for name, truth in lost.items() if truth] + (["all tasks together"] if overall else [])
    if named:
        return f"below {lowest:g} points in {', '.join(named)}"
    unknown = [name for name, truth in lost.items() if truth is None]
    unknown += ["all tasks together"] if overall is None else []
    if unknown:
        return f"within run-to-run noise, or not estimable, in {', '.join(unknown)}"
    return f"no family is below {lowest:g} points"
