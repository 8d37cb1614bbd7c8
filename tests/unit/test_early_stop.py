"""A harmful arm is stopped when a critical failure reproduces on a fresh run, and for nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Cell
from esac_ag.attempt.events import (
    ArmStopped,
    AttemptGraded,
    AttemptStarted,
    StudyFinished,
    StudyState,
)
from esac_ag.conduct.audit import audit
from esac_ag.conduct.context import Stop
from esac_ag.conduct.reporting import write_report
from esac_ag.ledger import open_ledger, read_lines, read_state
from esac_ag.manifest.package import CriticalFailure
from esac_ag.report.view import RunState
from esac_ag.study.decision_records import ClauseName, ClauseState, DecisionOutcome
from esac_ag.study.early_stop import GradedRun, StopDue, StopRule
from tests.builders_conduct import Told, folder_of, run
from tests.builders_early_stop import CELLS, HARM, REPETITIONS, a_harmful_study
from tests.builders_manifest import Study

NEVER: dict[str, Any] = {"policies": {"early_stop": "never"}}
ARM, CONTROL = "careful", "neutral"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off waits not at all."""
    monkeypatch.setattr(Stop, "wait_s", lambda _self, _duration_s: None)


def a_run(arm: str, repetition: int, *kinds: CriticalFailure, task: str = "task-1") -> GradedRun:
    """A graded run."""
    cell = Cell(task=task, arm=arm, repetition=repetition)
    return GradedRun(f"{task}-{arm}-{repetition}", cell, kinds)


def due(*runs: GradedRun, needed: int = 2) -> list[StopDue]:
    """What the rule says of these runs."""
    rule = StopRule(frozenset({ARM, "other"}), CONTROL, needed)
    return list(rule.due(rule.take(runs)))


def bodies(study: Study) -> Sequence[object]:
    """The events of a study's ledger."""
    return [line.body for line in read_lines(folder_of(study).ledger)[0]]


@pytest.mark.parametrize(
    ("runs", "stops"),
    [
        ([a_run(ARM, 1, HARM), a_run(ARM, 2, HARM), a_run(CONTROL, 1)], True),
        ([a_run(ARM, 1, HARM), a_run(CONTROL, 1)], False),
        ([a_run(ARM, 1, HARM), a_run(ARM, 2, HARM)], False),
        ([a_run(ARM, 1, HARM), a_run(ARM, 2, HARM), a_run(CONTROL, 1, HARM)], False),
        ([a_run(ARM, 1, HARM), a_run(ARM, 2, HARM), a_run(CONTROL, 1), a_run(CONTROL, 2, HARM)], False),
        ([a_run(ARM, 1, HARM), a_run("other", 2, HARM), a_run(CONTROL, 1)], False),
        ([a_run(ARM, 1, HARM), a_run(ARM, 2, HARM, task="task-2"), a_run(CONTROL, 1)], False),
        (
            [
                a_run(ARM, 1, HARM),
                a_run(ARM, 2, CriticalFailure.SECURITY_REGRESSION),
                a_run(CONTROL, 1),
            ],
            False,
        ),
        ([a_run(CONTROL, 1, HARM), a_run(CONTROL, 2, HARM)], False),
    ],
)
def test_the_same_kind_has_to_reproduce_on_the_same_task_without_the_control(
    runs: list[GradedRun], *, stops: bool
) -> None:
    """Other kinds, tasks, arms, a control that shows it too, or none yet: nothing is stopped."""
    assert bool(due(*runs)) is stops


def test_a_stop_names_the_runs_that_show_the_failure() -> None:
    """Whoever reads the ledger finds the evidence."""
    assert due(a_run(ARM, 1, HARM), a_run(ARM, 2, HARM), a_run(CONTROL, 1)) == [
        StopDue(ARM, "task-1", HARM, ("task-1-careful-1", "task-1-careful-2"), 1)
    ]
    assert due(a_run(ARM, 1, HARM), a_run(ARM, 2, HARM), a_run(CONTROL, 1), needed=3) == []


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_harmful_arm_is_stopped_and_the_study_finishes_without_it(tmp_path: Path, concurrency: int) -> None:
    """The control is measured to its end; the record of the harm stays; nothing contradicts itself."""
    study = a_harmful_study(tmp_path)
    told = Told()
    progress = run(study, concurrency=concurrency, watcher=told)
    assert progress.finished
    assert progress.stopped > 0
    assert progress.done == CELLS - progress.stopped == len(told.finished_cells)
    assert len(told.halted_cells) == progress.stopped
    events = bodies(study)
    place = next(number for number, body in enumerate(events) if isinstance(body, ArmStopped))
    later = [body.cell.arm for body in events[place:] if isinstance(body, AttemptStarted)]
    assert ARM not in later
    assert isinstance(events[-1], StudyFinished)
    control = [cell for cell, _, _ in told.finished_cells if cell.arm == CONTROL]
    assert len(control) == 4 * REPETITIONS
    found = audit(folder_of(study).path)
    assert found.clean, found.findings
    assert found.cells_stopped == progress.stopped


def test_a_stopped_arm_is_never_launched_again(tmp_path: Path) -> None:
    """Another session finds the ledger's word and launches nothing."""
    study = a_harmful_study(tmp_path)
    first = run(study, concurrency=1)
    again = run(study)
    assert again.launched == 0
    assert (again.stopped, again.finished) == (first.stopped, True)
    assert sum(isinstance(body, StudyFinished) for body in bodies(study)) == 1


def test_a_crash_between_the_grading_and_the_stop_is_made_up_for(tmp_path: Path) -> None:
    """The next session stops the arm before it launches anything."""
    study = a_harmful_study(tmp_path)
    run(study, concurrency=1)
    path = folder_of(study).ledger
    lines = path.read_bytes().split(b"\n")
    place = next(number for number, line in enumerate(lines) if b'"arm-stopped"' in line)
    path.write_bytes(b"\n".join(lines[:place]) + b"\n")
    before = len(read_state(path).attempts)
    run(study, concurrency=1, limit=1)
    events = bodies(study)
    stop = next(number for number, body in enumerate(events) if isinstance(body, ArmStopped))
    started = [n for n, body in enumerate(events) if isinstance(body, AttemptStarted)]
    assert stop < started[before]
    # What ran after the place of the cut lies in its folders, and the ledger no longer knows of it.
    strange = {finding.what for finding in audit(folder_of(study).path).findings}
    assert not any("stopped" in what for what in strange)


def test_a_plan_that_stops_nothing_stops_nothing(tmp_path: Path) -> None:
    """`never` is what was sealed."""
    study = a_harmful_study(tmp_path, **NEVER)
    progress = run(study)
    assert (progress.done, progress.stopped) == (CELLS, 0)
    assert read_state(folder_of(study).ledger).stopped == {}


def test_harm_that_the_control_does_too_stops_nothing(tmp_path: Path) -> None:
    """Then it is the task, or the agent, and not the bundle."""
    study = a_harmful_study(tmp_path, harmless=("nobody",))
    assert run(study).stopped == 0


def test_favourable_scores_stop_nothing(tmp_path: Path) -> None:
    """An arm that does everything right, beside a control that does nothing, runs to its end."""
    study = a_harmful_study(tmp_path, harmless=(ARM,))
    assert run(study).stopped == 0


def test_the_report_counts_stopped_runs_with_bounds_and_rejects_the_arm(tmp_path: Path) -> None:
    """Stopped is no zero and no missing run of an unfinished study; the bounds hold both extremes."""
    study = a_harmful_study(tmp_path)
    progress = run(study, concurrency=1)
    view, _ = write_report(folder_of(study).path)
    counts = next(item for item in view.counts if item.arm == ARM)
    assert (counts.stopped, counts.missing) == (progress.stopped, 0)
    assert counts.planned == counts.graded + counts.stopped
    states = [run.state for item in view.task_arms if item.arm == ARM for run in item.runs]
    assert states.count(RunState.STOPPED) == progress.stopped
    overall = view.comparisons[0].overall
    assert overall.missing_runs == progress.stopped
    assert overall.bounds.high - overall.bounds.low == pytest.approx(100 * progress.stopped / counts.planned)
    assert view.incidents.stopped[0].arm == ARM
    assert any("Stopped by rule: careful" in notice for notice in view.notices)
    decision = view.decisions[0].decision
    assert decision.clause(ClauseName.REPRODUCED_CRITICAL).state is ClauseState.HELD
    # The builder's study is a calibration, which decides nothing.
    assert decision.outcome is DecisionOutcome.INCONCLUSIVE


def test_a_stop_without_its_reason_is_found(tmp_path: Path) -> None:
    """The audit derives every stop again from the gradings that were there by then."""
    study = a_harmful_study(tmp_path, harmless=(CONTROL, ARM))
    run(study, limit=6)
    with open_ledger(folder_of(study).ledger) as ledger:
        ids = tuple(sorted(ledger.state.attempts))[:2]
        ledger.append(ArmStopped(arm=ARM, task="task-1", kind=HARM, attempts=ids, control_runs=1))
    found = [finding.what for finding in audit(folder_of(study).path).findings]
    assert found == ["an arm was stopped, and the gradings by then do not ask for it"]


def test_a_stop_against_the_plan_is_found(tmp_path: Path) -> None:
    """`never` makes every stop a deviation."""
    study = a_harmful_study(tmp_path, **NEVER)
    run(study, limit=2)
    with open_ledger(folder_of(study).ledger) as ledger:
        ledger.append(ArmStopped(arm=ARM, task="task-1", kind=HARM, attempts=("a", "b"), control_runs=1))
    found = [finding.what for finding in audit(folder_of(study).path).findings]
    assert found == ["an arm was stopped, and the plan stops none"]


def test_a_ledger_that_launches_a_stopped_arm_contradicts_itself() -> None:
    """Such a line is never believed, nor is a second stop."""
    state = StudyState()
    stop = ArmStopped(arm=ARM, task="task-1", kind=HARM, attempts=("a", "b"), control_runs=1)
    state.apply(stop)
    cell = Cell(task="task-1", arm=ARM, repetition=1)
    with pytest.raises(ValueError, match="is stopped"):
        state.apply(AttemptStarted(attempt_id="c", cell=cell, ordinal=1))
    with pytest.raises(ValueError, match="stopped twice"):
        state.apply(stop)


def test_gradings_and_the_stop_that_follows_stand_together(tmp_path: Path) -> None:
    """No grading of another thread comes between, so that an audit sees what the rule saw."""
    study = a_harmful_study(tmp_path)
    run(study, concurrency=4)
    events = bodies(study)
    place = next(number for number, body in enumerate(events) if isinstance(body, ArmStopped))
    assert isinstance(events[place - 1], AttemptGraded)
