"""The command line on the real engine: each command as a user types it, and what ends it from outside."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Outcome
from esac_ag.attempt.events import StudyState
from esac_ag.clock import sleep_s
from esac_ag.ledger import read_state
from esac_ag.rooms.workspace import Workspace
from tests.builders_commands import command, in_a_terminal, started
from tests.builders_docker import a_docker_study, an_engine_for

pytestmark = pytest.mark.docker

MANIFEST = "manifests/study.json"
STUDY = "results/study-1"
CELLS = 8
SCRIPTED = {"agent_kind": "scripted"}
ARMS = ("neutral", "careful")
SLOW = {
    "format_version": 1,
    "tasks": {"*": {"plays": {"slow": [{"do": "sleep", "duration_s": 300}]}}},
}
STEPS: dict[str, tuple[str, ...]] = {
    "validate": ("validate", MANIFEST, "--strict"),
    "dry": ("run", MANIFEST, "--dry-run"),
    "dry-json": ("run", MANIFEST, "--dry-run", "--json"),
    "limit": ("run", MANIFEST, "--limit", "2", "--json"),
    "partly": ("report", STUDY, "--json"),
    "rest": ("run", MANIFEST, "--json"),
    "done": ("run", MANIFEST, "--quiet"),
    "grade": ("grade", STUDY, "--json"),
    "again": ("grade", STUDY, "--again", "--json"),
    "report": ("report", STUDY),
    "report-json": ("report", STUDY, "--json"),
    "audit": ("audit", STUDY),
    "audit-json": ("audit", STUDY, "--json"),
    "clean": ("clean", "--json"),
}


@dataclass(frozen=True, slots=True)
class Session:
    """Commands that were typed one after the other in a workspace."""

    root: Path
    steps: dict[str, subprocess.CompletedProcess[str]]
    files: dict[str, set[str]]
    """Files of the workspace after each step."""

    def json(self, step: str) -> Any:  # noqa: ANN401
        """What a step wrote to standard output, all of which has to be JSON."""
        return json.loads(self.steps[step].stdout)


def files_of(root: Path) -> set[str]:
    """Paths of all files below a folder."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A study from its first look to its report, by commands alone."""
    root = tmp_path_factory.mktemp("commands")
    a_docker_study(root, repetitions=1)
    done: dict[str, subprocess.CompletedProcess[str]] = {}
    files = {"": files_of(root)}
    for name, argv in STEPS.items():
        done[name] = command(*argv, folder=root)
        files[name] = files_of(root)
    return Session(root, done, files)


def test_every_command_of_a_sound_study_exits_with_0(session: Session) -> None:
    """No step needs another remedy than to go on, and none shows a traceback."""
    assert {name: step.returncode for name, step in session.steps.items()} == dict.fromkeys(STEPS, 0), [
        step.stderr for step in session.steps.values() if step.returncode
    ]
    assert [name for name, step in session.steps.items() if "Traceback" in step.stderr] == []


def test_a_dry_run_tells_the_size_and_writes_nothing(session: Session) -> None:
    """Neither results nor a lock nor a container."""
    assert session.files[""] == session.files["dry"] == session.files["dry-json"]
    assert "planned: 8 cells" in session.steps["dry"].stdout
    assert session.json("dry-json") == {"cells": CELLS, "dry_run": True}


def test_a_limited_run_does_so_many_cells_and_the_next_run_does_the_others(session: Session) -> None:
    """Numbers for machines on standard output; a third run finds nothing to do."""
    limited, rest = session.json("limit"), session.json("rest")
    assert Path(limited.pop("folder")) == Path(rest.pop("folder")) == session.root / STUDY
    assert limited == SCRIPTED | {"planned": 8, "done": 2, "launched": 2, "stopped": 0, "finished": False}
    assert rest == SCRIPTED | {"planned": 8, "done": 8, "launched": 6, "stopped": 0, "finished": True}
    assert "8 of 8 cells done; finished" in session.steps["done"].stdout
    assert "cells done" not in session.steps["done"].stderr


def test_progress_is_told_line_by_line_and_hides_the_arms(session: Session) -> None:
    """Standard error names tasks, repetitions and outcomes; an onlooker learns of no arm."""
    lines = session.steps["rest"].stderr.splitlines()
    assert lines[0] == "2 of 8 cells done; 6 to go"
    told = [line for line in lines if re.match("[3-8]/8 task-[1-4] repetition 1: completed, graded", line)]
    assert [line[:3] for line in told] == ["3/8", "4/8", "5/8", "6/8", "7/8", "8/8"]
    for step in ("limit", "rest"):
        assert [arm for arm in ARMS if arm in session.steps[step].stderr] == []
        assert "\x1b" not in session.steps[step].stderr


def test_grading_again_agrees_and_grading_finds_nothing_left(session: Session) -> None:
    """Every submission is graded anew with other inputs; nothing is written."""
    nothing = SCRIPTED | {"study": "study-1", "graded": 0, "compared": 0, "disagreements": []}
    assert session.json("grade") == nothing
    assert session.json("again") == nothing | {"compared": CELLS}
    assert session.files["again"] == session.files["done"] | session.files["grade"]


def test_report_and_audit_speak_to_people_and_to_machines(session: Session) -> None:
    """The JSON on standard output is the file of the report, byte for byte."""
    report = session.root / STUDY / "report"
    assert session.steps["report-json"].stdout == (report / "report.json").read_text().rstrip("\n") + "\n"
    assert session.json("report-json")["format_version"] == 1
    partly = session.json("partly")
    assert {arm["graded"] + arm["missing"] for arm in partly["counts"]} == {4}
    assert sum(arm["graded"] for arm in partly["counts"]) == 2
    assert "report.html" in session.steps["report"].stdout
    assert "everything holds" in session.steps["audit"].stdout
    assert session.json("audit-json")["cells_done"] == CELLS
    cleaned = session.json("clean")
    # Folders of other processes that died may be among what was removed.
    assert [left for left in cleaned["removed"] if not left.startswith("folder")] == cleaned["kept"] == []


def test_progress_in_a_terminal_hides_the_arms_as_well(tmp_path: Path) -> None:
    """The live bar shows cells and running tasks."""
    a_docker_study(tmp_path, repetitions=1)
    code, shown = in_a_terminal("run", MANIFEST, "--limit", "2", folder=tmp_path)
    assert code == 0, shown
    assert "2/8" in shown
    assert "task-" in shown
    assert "\x1b[" in shown
    assert [arm for arm in ARMS if arm in shown] == []


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until something holds while a process runs."""
    while not condition():
        assert process.poll() is None, process.communicate()
        sleep_s(0.01)


def state_of(root: Path) -> StudyState:
    """The ledger's state."""
    return read_state(root / STUDY / "ledger.jsonl")


def test_an_attempt_whose_grading_was_cut_off_is_graded_later(tmp_path: Path) -> None:
    """SIGKILL between the attempt's end and its grade: `grade` makes up for it, and `--again` agrees."""
    a_docker_study(tmp_path, repetitions=1)
    engine = an_engine_for(tmp_path)
    process = started("run", MANIFEST, "-n", "1", folder=tmp_path)
    until(lambda: bool(state_of(tmp_path).ungraded()), process)
    process.kill()
    process.communicate()
    (ungraded,) = state_of(tmp_path).ungraded()
    graded = command("grade", STUDY, "--json", folder=tmp_path)
    assert graded.returncode == 0, graded.stderr
    assert json.loads(graded.stdout)["graded"] == 1
    assert state_of(tmp_path).ungraded() == ()
    assert (tmp_path / STUDY / "attempts" / ungraded.attempt_id / "grading" / "result.json").is_file()
    again = command("grade", STUDY, "--again", "--json", folder=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["compared"] >= 1
    assert command("audit", STUDY, folder=tmp_path).returncode == 0
    assert command("clean", folder=tmp_path).returncode == 0
    assert list(engine.leftovers(Workspace(tmp_path).label)) == []
    engine.close()


def test_a_grade_that_was_changed_is_told(tmp_path: Path) -> None:
    """`audit` and `grade --again` both refuse to take the changed record for the one that was written."""
    a_docker_study(tmp_path, repetitions=1)
    assert command("run", MANIFEST, "--limit", "1", "-q", folder=tmp_path).returncode == 0
    (record,) = (tmp_path / STUDY).glob("attempts/*/grading/result.json")
    grading = json.loads(record.read_text())
    verdict = grading["checks"][0]["verdict"]
    grading["checks"][0]["verdict"] = "fail" if verdict == "pass" else "pass"
    record.write_text(json.dumps(grading))
    assert command("audit", STUDY, folder=tmp_path).returncode == 1
    again = command("grade", STUDY, "--again", "--json", folder=tmp_path)
    assert again.returncode == 1
    assert "is not the one that the ledger names" in again.stderr
    assert again.stdout == ""
    assert "Traceback" not in again.stderr


def at_work(root: Path) -> subprocess.Popen[str]:
    """A run whose first containers are up."""
    a_docker_study(root, book=SLOW, repetitions=1)
    engine = an_engine_for(root)
    process = started("run", MANIFEST, folder=root)
    label = Workspace(root).label
    until(lambda: sum(line.startswith("container") for line in engine.leftovers(label)) == 2, process)
    engine.close()
    return process


def test_sigterm_ends_a_run_in_order(tmp_path: Path) -> None:
    """As Ctrl-C does: attempts are cancelled, containers removed, exit code 130."""
    process = at_work(tmp_path)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping" in errors
    assert "Traceback" not in errors
    state = state_of(tmp_path)
    assert {attempt.outcome for attempt in state.attempts.values()} == {Outcome.CANCELLED}
    engine = an_engine_for(tmp_path)
    assert list(engine.leftovers(Workspace(tmp_path).label)) == []
    engine.close()


def test_a_second_ctrl_c_leaves_at_once_and_clean_takes_the_rest(tmp_path: Path) -> None:
    """Exit code 130 before the attempts are written off; nothing is lost by it."""
    process = at_work(tmp_path)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        sleep_s(0.005)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "again to leave at once" in " ".join(errors.split())
    assert state_of(tmp_path).unfinished() != ()
    assert command("clean", folder=tmp_path).returncode == 0
    engine = an_engine_for(tmp_path)
    assert list(engine.leftovers(Workspace(tmp_path).label)) == []
    engine.close()


@pytest.mark.parametrize(
    "argv",
    [
        ("run", MANIFEST),
        ("run", MANIFEST, "--dry-run"),
        ("grade", STUDY),
        ("probe", MANIFEST),
        ("clean",),
        ("images", "build"),
    ],
)
def test_without_an_engine_commands_end_with_2_and_a_remedy(session: Session, argv: tuple[str, ...]) -> None:
    """A sentence, what to do, and no traceback."""
    done = command(*argv, folder=session.root, more={"DOCKER_HOST": "unix:///nonexistent.sock"})
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert "Traceback" not in told
    assert "/nonexistent.sock" in told
    assert "start Docker" in told


def test_the_doctor_tells_that_there_is_no_engine(session: Session) -> None:
    """As a finding of its list, with a remedy."""
    done = command("doctor", folder=session.root, more={"DOCKER_HOST": "unix:///nonexistent.sock"})
    assert done.returncode == 2, done.stdout
    assert done.stdout.startswith("failure  engine")
    assert "start Docker" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_what_needs_no_engine_works_without_one(session: Session) -> None:
    """Validation, reports and audits are made from files alone."""
    for argv in (("validate", MANIFEST, "--strict"), ("report", STUDY), ("audit", STUDY), ("plan", MANIFEST)):
        done = command(*argv, folder=session.root, more={"DOCKER_HOST": "unix:///nonexistent.sock"})
        assert done.returncode == 0, done.stderr
