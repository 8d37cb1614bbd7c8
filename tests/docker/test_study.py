"""Whole studies on the real engine: run, substituted, stopped, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from esac_ag.attempt import GRADED_OUTCOMES, Outcome
from esac_ag.clock import Seeds, sleep_s
from esac_ag.conduct.audit import audit
from esac_ag.conduct.cleaning import clean_workspace
from esac_ag.conduct.collect import read_study
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.errors import StudyBusy, SubstitutionRefused
from esac_ag.ledger import read_state
from esac_ag.rooms.workspace import Workspace
from tests.builders_conduct import Told, folder_of
from tests.builders_docker import a_docker_study, an_engine_for, opened_in_docker

pytestmark = pytest.mark.docker

KILLS = 10
CELLS = 8


def test_a_study_runs_end_to_end_and_leaves_nothing(tmp_path: Path) -> None:
    """Right plays pass and wrong ones fail the hidden check, everything is on record, nothing is left."""
    a_docker_study(tmp_path)
    engine = an_engine_for(tmp_path)
    opened = opened_in_docker(tmp_path, engine)
    progress = run_study(opened, concurrency=2, watcher=Told())
    assert progress.finished
    records = read_study(opened.site.folder.path)
    for attempt_id, grading in records.gradings.items():
        attempt = records.attempts[attempt_id]
        right = attempt.reason.endswith("right")
        assert grading.score == (100.0 if right else 0.0), attempt
        assert attempt.submission is not None
        assert attempt.submission.findings == ()
        assert attempt.costs.touched_files == (1 if right else 0)
    assert audit(opened.site.folder.path).clean
    view, _ = write_report(opened.site.folder.path)
    assert {arm.graded for arm in view.counts} == {8}
    assert list(engine.leftovers(opened.site.workspace.label)) == []
    engine.close()


def test_caches_that_running_the_tests_leaves_are_no_change(tmp_path: Path) -> None:
    """Byte code and test caches count as no touched file and are in no patch, but stay in the archive."""
    leave = "python3 -m compileall -q . && mkdir .pytest_cache && echo x > .pytest_cache/x && touch new.txt"
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"leave": [{"do": "run", "argv": ["bash", "-c", leave]}]}}},
    }
    a_docker_study(tmp_path, book=book)
    engine = an_engine_for(tmp_path)
    opened = opened_in_docker(tmp_path, engine)
    run_study(opened, concurrency=1, watcher=Told(), limit=1)
    (attempt,) = read_study(opened.site.folder.path).attempts.values()
    folder = opened.site.folder.attempt(attempt.attempt_id)
    assert attempt.costs.touched_files == 1
    assert b"pycache" not in (folder.path / "patch.diff").read_bytes()
    assert any(b"__pycache__" in path for path in folder.read_submission())
    engine.close()


def test_an_agent_sees_the_snapshot_as_a_repository_with_one_commit(tmp_path: Path) -> None:
    """A fresh commit of the snapshot and nothing else: clean, one commit, no other reference."""
    look = "git status --porcelain; git log --all --oneline | wc -l; git stash list; git tag; git fsck"
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"look": [{"do": "run", "argv": ["bash", "-c", look]}]}}},
    }
    a_docker_study(tmp_path, book=book)
    engine = an_engine_for(tmp_path)
    opened = opened_in_docker(tmp_path, engine)
    run_study(opened, concurrency=1, watcher=Told(), limit=1)
    attempt_id = next(iter(read_state(opened.site.folder.ledger).attempts))
    log = (opened.site.folder.attempt(attempt_id).path / "transcript.jsonl").read_text()
    assert '"text":"1\\n"' in log
    engine.close()


def test_a_bundle_substituted_while_the_study_runs_is_refused_at_the_next_launch(tmp_path: Path) -> None:
    """The very bytes that would enter the container are compared with the sealed ones."""
    study = a_docker_study(tmp_path)
    engine = an_engine_for(tmp_path)
    opened = opened_in_docker(tmp_path, engine)
    run_study(opened, concurrency=1, watcher=Told(), limit=1)
    (tmp_path / "arms" / "careful" / "SKILL.md").write_text("# Another skill\n")
    with pytest.raises(SubstitutionRefused):
        run_study(opened, concurrency=1, watcher=Told())
    state = read_state(folder_of(study).ledger)
    outcomes = [attempt.outcome for attempt in state.attempts.values()]
    assert outcomes == [Outcome.COMPLETED, Outcome.CANCELLED]
    assert list(engine.leftovers(opened.site.workspace.label)) == []
    engine.close()


def start(folder: Path, *, temporary: str | None = None) -> subprocess.Popen[str]:
    """A process that goes on with the study; open and at work when this returns.

    Args:
        folder: of the workspace.
        temporary: where its temporary folders go, if not where everybody's do.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crashing_docker_study", str(folder)],
        env=os.environ | ({"TMPDIR": temporary} if temporary else {}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A place of temporary folders that no other test has; its path is short enough for sockets."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_study_that_is_killed_ten_times_is_finished_by_the_next_runs(
    tmp_path: Path, temporary: Path
) -> None:
    """SIGKILL at random moments: every cell exactly once, the ledger verifies, containers do not pile up."""
    study = a_docker_study(tmp_path, repetitions=1)
    engine = an_engine_for(tmp_path)
    label = Workspace(tmp_path).label
    moments = Seeds("docker kills").stream("moments")
    most_left = 0
    for _ in range(KILLS):
        process = start(tmp_path, temporary=str(temporary))
        sleep_s(moments.uniform(0.0, 1.5))
        process.kill()
        process.communicate()
        most_left = max(most_left, sum(line.startswith("container") for line in engine.leftovers(label)))
    with start(tmp_path, temporary=str(temporary)) as process:
        output, _ = process.communicate()
    assert output == "finished\n"
    # Two at a time: what one killed process leaves is taken away by the next one.
    assert most_left <= 4
    state = read_state(folder_of(study).ledger)
    counted = Counter(a.cell for a in state.attempts.values() if a.outcome in GRADED_OUTCOMES)
    assert len(counted) == CELLS
    assert set(counted.values()) == {1}
    assert audit(folder_of(study).path).cells_done == CELLS
    assert list(engine.leftovers(label)) == []
    assert list(temporary.iterdir()) == []
    engine.close()


def test_a_second_harness_is_refused_whatever_folder_its_results_go_to(tmp_path: Path) -> None:
    """One study, one harness: the second is told, and takes nothing away from the first."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"slow": [{"do": "sleep", "duration_s": 60}]}}},
    }
    study = a_docker_study(tmp_path, book=book)
    engine = an_engine_for(tmp_path)
    label = Workspace(tmp_path).label
    process = start(tmp_path)
    while not list(engine.leftovers(label)):
        sleep_s(0.05)
    elsewhere = open_study(
        study.path,
        workspace=Workspace(tmp_path),
        engine=engine,
        results=tmp_path / "elsewhere",
        environ={},
        stop=Stop(),
    )
    with pytest.raises(StudyBusy):
        run_study(elsewhere, concurrency=1, watcher=Told())
    assert list(engine.leftovers(label))
    process.kill()
    process.communicate()
    engine.clean(label)
    engine.close()


def test_what_a_killed_run_left_is_removed_by_clean(tmp_path: Path) -> None:
    """One later command is enough, and it touches nothing of a study that somebody works on."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"slow": [{"do": "sleep", "duration_s": 60}]}}},
    }
    a_docker_study(tmp_path, book=book)
    engine = an_engine_for(tmp_path)
    workspace = Workspace(tmp_path)
    label = workspace.label
    process = start(tmp_path)
    while not list(engine.leftovers(label)):
        sleep_s(0.05)
    held = clean_workspace(workspace, engine)
    assert held.removed == ()
    assert "a live process works with it" in held.kept[0]
    process.kill()
    process.communicate()
    assert clean_workspace(workspace, engine).removed != ()
    assert list(engine.leftovers(label)) == []
    engine.close()


def test_ctrl_c_once_cancels_what_runs_and_leaves_nothing(tmp_path: Path) -> None:
    """Running attempts end as cancelled within moments, exit code 130, and are done again later."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"slow": [{"do": "sleep", "duration_s": 300}]}}},
    }
    study = a_docker_study(tmp_path, book=book)
    engine = an_engine_for(tmp_path)
    label = Workspace(tmp_path).label
    process = start(tmp_path)
    while not any(line.startswith("container") for line in engine.leftovers(label)):
        sleep_s(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(engine.leftovers(label)) == []
    state = read_state(folder_of(study).ledger)
    assert {attempt.outcome for attempt in state.attempts.values()} == {Outcome.CANCELLED}
    engine.close()
