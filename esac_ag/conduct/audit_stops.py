"""Auditing stops of arms: each has to follow from the gradings that the ledger held by then."""

from __future__ import annotations

from collections.abc import Iterator

from esac_ag.attempt import GradingStatus
from esac_ag.attempt.events import ArmStopped, AttemptGraded
from esac_ag.conduct.audit_records import AuditFinding
from esac_ag.conduct.collect import StudyRecords
from esac_ag.conduct.stopping import early_stop_of
from esac_ag.ledger import read_lines
from esac_ag.study.early_stop import GradedRun, StopDue, StopRule

LEDGER = "ledger.jsonl"


def stop_findings(study: StudyRecords) -> Iterator[AuditFinding]:
    """Stops that the sealed rule does not back, at the place of the ledger where they stand."""
    if not study.state.stopped:
        return
    plan = early_stop_of(study.manifest, study.folder)
    if plan is None:
        arms = ", ".join(study.state.stopped)
        what = "an arm was stopped, and the plan stops none"
        yield AuditFinding(where=LEDGER, what=what, expected="early_stop never", found=arms)
        return
    rule = StopRule(plan.arms, plan.control, plan.runs_needed)
    for line in read_lines(study.folder.ledger)[0]:
        match line.body:
            case AttemptGraded(attempt_id=attempt_id, status=GradingStatus.GRADED):
                # A grading that is missing or damaged is a finding of its own.
                if attempt_id in study.gradings:
                    kinds = study.gradings[attempt_id].critical_failures
                    rule.take([GradedRun(attempt_id, study.state.attempts[attempt_id].cell, kinds)])
            case ArmStopped() as stop:
                due = StopDue(stop.arm, stop.task, stop.kind, stop.attempts, stop.control_runs)
                if due not in set(rule.due([stop.task])):
                    what = "an arm was stopped, and the gradings by then do not ask for it"
                    found = f"{stop.arm}: {stop.kind} on {stop.task}"
                    yield AuditFinding(where=f"{LEDGER}:{line.seq + 1}", what=what, found=found)
            case _:
                pass
