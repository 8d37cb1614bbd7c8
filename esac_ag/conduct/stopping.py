"""Stops a harmful arm: looks at each grading that holds, and writes what the rule says into the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from esac_ag.artifacts import StudyFolder
from esac_ag.attempt import Grading, GradingStatus
from esac_ag.attempt.events import ArmStopped, AttemptState
from esac_ag.conduct.collect import RESULT, vouched_file
from esac_ag.conduct.work import EarlyStop
from esac_ag.ledger import Ledger
from esac_ag.manifest.package import CriticalFailure
from esac_ag.manifest.plan import ArmKind, EarlyStopRule, Manifest
from esac_ag.rooms.records import read_record
from esac_ag.study.early_stop import GradedRun, StopRule


def early_stop_of(manifest: Manifest, folder: StudyFolder) -> EarlyStop | None:
    """What the manifest seals of stopping an arm; none when no arm is ever stopped."""
    match manifest.policies.early_stop:
        case EarlyStopRule.NEVER:
            return None
        case EarlyStopRule.REPRODUCED_CRITICAL_FAILURE:
            pass
    control = manifest.analysis.primary_comparison.control

    def kinds_of(attempt_id: str, sha256: str) -> tuple[CriticalFailure, ...]:
        path = vouched_file(folder.attempt(attempt_id).path / RESULT, sha256)
        return read_record(path, Grading).critical_failures

    return EarlyStop(
        arms=frozenset(arm.id for arm in manifest.arms if arm.kind is not ArmKind.NONE) - {control},
        control=control,
        runs_needed=manifest.decision.critical_runs,
        kinds_of=kinds_of,
    )


class ArmStopper:
    """Applies the rule to gradings as they come; called from several threads.

    Args:
        plan: the rule; none never stops anything.
        ledger: the truth, read for gradings and written to.
    """

    def __init__(self, plan: EarlyStop | None, ledger: Ledger) -> None:
        self._plan = plan
        self._ledger = ledger
        self._rule = None if plan is None else StopRule(plan.arms, plan.control, plan.runs_needed)

    def look_at_all(self) -> None:
        """Take in what earlier sessions graded; a crash may have come between a grading and its stop."""
        with self._ledger.locked() as state:
            self._look(tuple(state.attempts.values()))

    def look_at(self, attempt_id: str) -> None:
        """Take in one grading that was just written."""
        with self._ledger.locked() as state:
            self._look((state.attempts[attempt_id],))

    def _look(self, attempts: Iterable[AttemptState]) -> None:
        """Under the ledger's lock: no launch comes between what is seen and what is written."""
        if self._plan is None or self._rule is None:
            return
        kinds_of = self._plan.kinds_of
        touched = self._rule.take(
            GradedRun(one.attempt_id, one.cell, kinds_of(one.attempt_id, one.artifacts[RESULT]))
            for one in attempts
            if one.counts and one.grading is GradingStatus.GRADED
        )
        for due in self._rule.due(touched):
            if due.arm not in self._ledger.state.stopped:
                self._ledger.append(
                    ArmStopped(
                        arm=due.arm,
                        task=due.task,
                        kind=due.kind,
                        attempts=due.attempts,
                        control_runs=due.control_runs,
                    )
                )
