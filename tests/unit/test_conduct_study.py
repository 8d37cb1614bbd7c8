"""A study on the in-memory engine: everything once, nothing lost, nothing substituted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from esac_ag import clock
from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.attempt.events import AttemptEnded, AttemptStarted
from esac_ag.conduct.audit import audit
from esac_ag.conduct.collect import read_study
from esac_ag.conduct.context import Stop
from esac_ag.conduct.launch import agent_spec
from esac_ag.conduct.opening import TaskCell
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.errors import (
    InputRefused,
    Interrupted,
    SandboxLost,
    StudyPaused,
    SubstitutionRefused,
    UsageError,
)
from esac_ag.ledger import open_ledger, read_lines, read_state
from esac_ag.manifest.plan import Limits
from esac_ag.rooms.workspace import Workspace
from esac_ag.sandbox.contract import CommandResult, Role, Sandbox, SandboxSpec
from esac_ag.sandbox.memory import InMemoryEngine
from esac_ag.sandbox.memory_process import FakeProcess
from tests.builders_agents import AnsweringSandbox, exited
from tests.builders_conduct import (
    PROGRAMS,
    Told,
    a_runnable_study,
    an_engine,
    bash,
    folder_of,
    judge,
    opened,
    run,
    touch,
)
from tests.builders_manifest import IMAGE_DIGESTS, Study

CELLS = 16


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off waits not at all."""
    monkeypatch.setattr(Stop, "wait_s", lambda _self, _duration_s: None)


def test_every_cell_is_run_graded_and_audited(tmp_path: Path) -> None:
    """A whole study ends with a graded attempt for each cell and an audit without findings."""
    study = a_runnable_study(tmp_path)
    told = Told()
    progress = run(study, watcher=told)
    assert progress.finished
    assert progress.done == CELLS
    assert Counter(outcome for _, outcome, _ in told.finished_cells) == {Outcome.COMPLETED: CELLS}
    found = audit(folder_of(study).path)
    assert found.clean, found.findings
    assert found.cells_done == CELLS


def test_runs_of_a_sealed_study_follow_its_schedule(tmp_path: Path) -> None:
    """With one attempt at a time the order of launches is the sealed one."""
    study = a_runnable_study(tmp_path)
    run(study, concurrency=1)
    planned = json.loads(folder_of(study).schedule.read_text())["cells"]
    lines, _ = read_lines(folder_of(study).ledger)
    launched = [line.body.cell.model_dump() for line in lines if isinstance(line.body, AttemptStarted)]
    assert launched == planned


def test_every_record_carries_the_manifest_digest(tmp_path: Path) -> None:
    """Attempts and gradings name the sealed plan."""
    study = a_runnable_study(tmp_path)
    run(study)
    records = read_study(folder_of(study).path)
    carried = {record.manifest_sha256 for record in records.attempts.values()}
    carried |= {grading.manifest_sha256 or "" for grading in records.gradings.values()}
    assert carried == {records.manifest_sha256}


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A limited run is completed by the next one, and finished work is not redone."""
    study = a_runnable_study(tmp_path)
    first = run(study, limit=5)
    assert (first.done, first.finished) == (5, False)
    before = set(read_state(folder_of(study).ledger).attempts)
    second = run(study)
    assert second.finished
    assert second.launched == CELLS - 5
    assert before < set(read_state(folder_of(study).ledger).attempts)
    assert run(study).launched == 0


def test_an_unfinished_attempt_is_cancelled_and_done_again(tmp_path: Path) -> None:
    """What a crash cut off stays on record, and its cell gets another attempt."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    cell = Cell(**json.loads(folder_of(study).schedule.read_text())["cells"][1])
    with open_ledger(folder_of(study).ledger) as ledger:
        ledger.append(AttemptStarted(attempt_id="cutoff", cell=cell, ordinal=1))
    run(study)
    state = read_state(folder_of(study).ledger)
    assert state.attempts["cutoff"].outcome is Outcome.CANCELLED
    counting = state.counting(cell)
    assert counting is not None
    assert counting.ordinal == 2


def test_an_infrastructure_failure_is_retried_and_never_scored(tmp_path: Path) -> None:
    """A lost container costs an attempt, not a score."""
    study = a_runnable_study(tmp_path)
    engine = an_engine()
    engine.fail_next("start", SandboxLost("the engine was restarted"), times=2)
    told = Told()
    assert run(study, engine, watcher=told, concurrency=1).finished
    outcomes = Counter(a.outcome for a in read_state(folder_of(study).ledger).attempts.values())
    assert outcomes == {Outcome.COMPLETED: CELLS, Outcome.INFRA: 2}
    assert [reason for _, reason, _ in told.spoiled_cells] == ["the engine was restarted"] * 2


def test_a_study_pauses_when_retries_are_used_up_and_can_go_on(tmp_path: Path) -> None:
    """Persistent failures end in exit code 2 with the study resumable, and no cell scored."""
    study = a_runnable_study(tmp_path)
    engine = an_engine()
    engine.fail_next("start", SandboxLost("no space left on device"), times=3)
    with pytest.raises(StudyPaused) as caught:
        run(study, engine, concurrency=1)
    assert caught.value.exit_code == 2
    assert "no space left" in caught.value.found
    assert read_state(folder_of(study).ledger).pauses
    assert run(study, engine).finished


def test_a_failed_grading_is_repeated_without_running_the_agent_again(tmp_path: Path) -> None:
    """Grading is retried on the archived submission."""
    study = a_runnable_study(tmp_path)
    engine = an_engine()
    engine.fail_next("wait", SandboxLost("the engine went away"))
    progress = run(study, engine, concurrency=1)
    state = read_state(folder_of(study).ledger)
    assert progress.launched == CELLS
    assert sum(attempt.spoiled_gradings for attempt in state.attempts.values()) == 1


def test_a_judge_that_cannot_judge_is_invalid_and_not_a_score(tmp_path: Path) -> None:
    """An invalid grading is kept as such, and the cell counts as done."""
    study = a_runnable_study(tmp_path)

    def broken(process: FakeProcess) -> int:
        process.write("no result\n")
        return 0

    engine = an_engine(programs={"bash -c": bash, "touch": touch, "python3 -I -S -B /esac/judge.py": broken})
    assert run(study, engine).finished
    gradings = read_study(folder_of(study).path).gradings.values()
    assert {grading.status for grading in gradings} == {GradingStatus.INVALID}
    assert {grading.score for grading in gradings} == {None}


def substituted(study: Study, change: str) -> None:
    """Change a bundle on disk in one of the ways that a substitution takes."""
    bundle = study.folder.parent / "arms" / "careful"
    skill, more = bundle / "SKILL.md", bundle / "references" / "more.md"
    match change:
        case "edit":
            skill.write_text(skill.read_text() + "More.\n")
        case "add":
            (bundle / "extra.md").write_text("more\n")
        case "remove":
            more.unlink()
        case "swap":
            first, second = skill.read_text(), more.read_text()
            skill.write_text(second)
            more.write_text(first)
        case _:
            raise AssertionError(change)


@pytest.mark.parametrize("change", ["edit", "add", "remove", "swap"])
def test_a_bundle_that_changes_before_the_start_is_refused(tmp_path: Path, change: str) -> None:
    """Nothing runs when a bundle is not the sealed one."""
    study = a_runnable_study(tmp_path)
    substituted(study, change)
    with pytest.raises(InputRefused):
        run(study)
    assert not folder_of(study).ledger.exists()


@pytest.mark.parametrize("change", ["edit", "add", "remove", "swap"])
def test_a_bundle_that_changes_between_start_and_a_later_launch_is_refused(
    tmp_path: Path, change: str
) -> None:
    """The bytes are verified at every launch, after the study was opened with the right ones."""
    study = a_runnable_study(tmp_path)
    engine = an_engine()
    study_open = opened(study, engine)
    launched_before = 3
    told = Told()

    class Substitutes(Told):
        def finished(self, cell: Cell, outcome: Outcome, grading: GradingStatus) -> None:
            told.finished(cell, outcome, grading)
            if len(told.finished_cells) == launched_before:
                substituted(study, change)

    with pytest.raises(SubstitutionRefused) as caught:
        run_study(study_open, concurrency=1, watcher=Substitutes())
    assert "careful" in caught.value.what
    assert len(told.finished_cells) == launched_before
    homes = [spec.attempt for spec in engine.specs if spec.role == "agent"]
    assert len(homes) == launched_before
    state = read_state(folder_of(study).ledger)
    assert [a.outcome for a in state.attempts.values()][-1] is Outcome.CANCELLED


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tasks/task-1/public/shop.py", "snapshot"),
        ("tasks/task-1/request.md", "request"),
        ("graders/task-1/checks.py", "grader"),
        ("runner/guest/hello.py", "harness"),
        ("manifests/script.json", "script"),
    ],
)
def test_whatever_was_sealed_and_changed_is_named(tmp_path: Path, path: str, name: str) -> None:
    """A changed task, grader, runner or script refuses the study with its name."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    target = tmp_path / path
    changed = target.read_text() + "\n# changed\n"
    target.write_text(changed.replace("done", "told") if path.endswith(".json") else changed)
    if path.endswith(".json"):
        target.write_text(target.read_text().replace("\n# changed\n", ""))
    with pytest.raises(InputRefused) as caught:
        run(study)
    assert name in str(caught.value).lower()


def test_a_changed_image_or_harness_is_named(tmp_path: Path) -> None:
    """Images are compared by content, the harness by its own code."""
    study = a_runnable_study(tmp_path)
    engine = an_engine(images={"agent:1": "sha256:" + "ff" * 32, "grader:1": "sha256:" + "22" * 32})
    with pytest.raises(SubstitutionRefused) as caught:
        run(study, engine)
    assert "agent image" in caught.value.what
    study.data["harness"]["package_sha256"] = "00" * 32
    study.save()
    with pytest.raises(SubstitutionRefused) as caught:
        run(study)
    assert "harness code" in caught.value.what


def test_an_image_whose_name_is_moved_after_the_start_is_not_used(tmp_path: Path) -> None:
    """Containers are made from the engine's immutable id, taken when the study was opened."""
    study = a_runnable_study(tmp_path)

    class Renaming(InMemoryEngine):
        def image_id(self, reference: str) -> str:
            return f"id-of-{reference}"

    images = {f"{name}:1": digest for name, digest in IMAGE_DIGESTS.items()}
    ids = {f"id-of-{reference}": digest for reference, digest in images.items()}
    engine = Renaming(PROGRAMS, images=images | ids)
    run(study, engine, limit=1)
    assert {spec.image for spec in engine.specs} == {"id-of-agent:1", "id-of-grader:1"}


def test_what_a_dead_session_left_in_the_engine_is_removed_at_the_start(tmp_path: Path) -> None:
    """The next session cleans what belongs to this study before it launches anything."""
    study = a_runnable_study(tmp_path)
    engine = an_engine(workspace=Workspace(tmp_path).label)
    spec = agent_spec(
        image="agent:1", limits=Limits(), study="study-1", attempt="old", role=Role.AGENT, environment=()
    )
    with engine.create(spec) as left:
        left.start()
        other = engine.create(spec.model_copy(update={"study": "another"}))
        with other as untouched:
            run(study, engine, limit=1)
            told = list(engine.leftovers(Workspace(tmp_path).label))
            assert [line for line in told if "study-1" in line] == []
            assert any("another" in line for line in told)
            untouched.remove()


def test_a_results_folder_of_another_plan_is_refused(tmp_path: Path) -> None:
    """A changed plan under the same study id is refused before anything runs."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    study.data["model"]["version"] = "2"
    study.save()
    with pytest.raises(InputRefused) as caught:
        run(study)
    assert "another sealed plan" in caught.value.what


def test_a_stopped_study_cancels_what_ran_and_does_it_again(tmp_path: Path) -> None:
    """Ctrl-C once: running attempts end as cancelled; the next run completes the study."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"slow": [{"do": "run", "argv": ["wait-for-it"]}]}}},
    }
    study = a_runnable_study(tmp_path, book=book)
    stop = Stop()

    def wait_for_it(process: FakeProcess) -> int:
        stop.wish()
        process.sleep(60)
        return 0

    programs = {"bash -c": bash, "wait-for-it": wait_for_it, "python3 -I -S -B /esac/judge.py": judge}
    with pytest.raises(Interrupted):
        run_study(
            opened(study, an_engine(programs=programs), stop=stop),
            concurrency=1,
            watcher=Told(),
        )
    state = read_state(folder_of(study).ledger)
    assert [attempt.outcome for attempt in state.attempts.values()] == [Outcome.CANCELLED]
    quick = programs | {"wait-for-it": lambda _: 0}
    assert run(study, an_engine(programs=quick)).finished


def test_a_wish_to_end_that_comes_while_a_container_is_made_is_not_missed(tmp_path: Path) -> None:
    """The container that nobody could take away yet is not used, and goes."""
    study = a_runnable_study(tmp_path)
    stop = Stop()

    class Slow(InMemoryEngine):
        @contextmanager
        def create(self, spec: SandboxSpec) -> Iterator[Sandbox]:
            with super().create(spec) as sandbox:
                stop.wish()
                yield sandbox

    images = {f"{name}:1": digest for name, digest in IMAGE_DIGESTS.items()}
    engine = Slow(PROGRAMS, images=images)
    with pytest.raises(Interrupted):
        run_study(opened(study, engine, stop=stop), concurrency=1, watcher=Told())
    state = read_state(folder_of(study).ledger)
    assert [attempt.outcome for attempt in state.attempts.values()] == [Outcome.CANCELLED]


@pytest.mark.parametrize("operation", ["start", "put", "freeze", "get", "wait"])
def test_whatever_fails_once_the_end_is_wished_is_a_cancelled_attempt_or_a_grading_to_do(
    tmp_path: Path, operation: str
) -> None:
    """A container that was taken away fails in many ways; none is a failure of the study."""
    study = a_runnable_study(tmp_path)
    stop = Stop()

    class Wishing(InMemoryEngine):
        def check_fault(self, name: str) -> None:
            if name == operation:
                stop.wish()
            super().check_fault(name)

    images = {f"{name}:1": digest for name, digest in IMAGE_DIGESTS.items()}
    engine = Wishing(PROGRAMS, images=images)
    engine.fail_next(operation, UsageError("it is removed"))
    with pytest.raises(Interrupted):
        run_study(opened(study, engine, stop=stop), concurrency=1, watcher=Told())
    outcomes = {attempt.outcome for attempt in read_state(folder_of(study).ledger).attempts.values()}
    assert outcomes == ({Outcome.COMPLETED} if operation == "wait" else {Outcome.CANCELLED})
    assert run(study).finished


def test_a_container_that_cannot_be_taken_away_does_not_turn_the_end_into_a_failure(tmp_path: Path) -> None:
    """Its worker may be removing it at the same moment."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"slow": [{"do": "run", "argv": ["wait-for-it"]}]}}},
    }
    study = a_runnable_study(tmp_path, book=book)
    stop = Stop()
    engines: list[InMemoryEngine] = []

    def wait_for_it(process: FakeProcess) -> int:
        engines[0].fail_next("remove", SandboxLost("removal is in progress"))
        stop.wish()
        return 1

    programs = {"bash -c": bash, "wait-for-it": wait_for_it, "python3 -I -S -B /esac/judge.py": judge}
    engines.append(an_engine(programs=programs))
    with pytest.raises(Interrupted):
        run_study(opened(study, engines[0], stop=stop), concurrency=1, watcher=Told())


def test_the_control_gets_no_bundle_and_the_other_arm_gets_its_own(tmp_path: Path) -> None:
    """What lies in HOME is the arm's bundle, or nothing at all."""
    seen: dict[str, bool] = {}
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"look": [{"do": "run", "argv": ["look"]}]}}},
    }
    study = a_runnable_study(tmp_path, book=book)

    def look(process: FakeProcess) -> int:
        tree = process.files.tree("/agent/home")
        has = bool(tree and any(b"SKILL.md" in path for path in tree))
        process.write("skill\n" if has else "nothing\n")
        return 0

    programs = {"bash -c": bash, "look": look, "python3 -I -S -B /esac/judge.py": judge}
    run(study, an_engine(programs=programs))
    records = read_study(folder_of(study).path)
    for attempt_id, record in records.attempts.items():
        log = (folder_of(study).attempt(attempt_id).path / "transcript.jsonl").read_text()
        seen[record.cell.arm] = "skill\\n" in log
        assert (record.arm_sha256 is None) == (record.cell.arm == "neutral")
    assert seen == {"neutral": False, "careful": True}


def test_an_edited_file_of_a_finished_study_is_found_by_the_audit(tmp_path: Path) -> None:
    """Every file that the ledger names is compared again."""
    study = a_runnable_study(tmp_path)
    run(study, limit=2)
    attempt_id = next(iter(read_state(folder_of(study).ledger).attempts))
    path = folder_of(study).attempt(attempt_id).path / "patch.diff"
    path.write_bytes(path.read_bytes() + b"more")
    (folder_of(study).path / "attempts" / "stranger").mkdir()
    found = {finding.where: finding.what for finding in audit(folder_of(study).path).findings}
    assert found == {
        f"attempts/{attempt_id}/patch.diff": "a file was changed",
        "attempts/stranger": "a folder that the ledger does not know",
    }


def test_a_report_of_a_scripted_study_says_so_first(tmp_path: Path) -> None:
    """Scripted results are labelled in every output."""
    study = a_runnable_study(tmp_path)
    run(study)
    view, folder = write_report(folder_of(study).path)
    assert view.header.agent_kind == "scripted"
    text = (folder / "report.md").read_text()
    assert "scripted" in text[: text.index("##")].lower()
    assert "scripted" in (folder / "report.csv").read_text()
    assert json.loads((folder / "report.json").read_text())["header"]["agent_kind"] == "scripted"


def test_two_attempts_of_one_cell_cannot_both_count(tmp_path: Path) -> None:
    """The ledger refuses a second counting attempt, so no cell is scored twice."""
    study = a_runnable_study(tmp_path)
    run(study, limit=1)
    state = read_state(folder_of(study).ledger)
    cell = next(iter(state.attempts.values())).cell
    with open_ledger(folder_of(study).ledger) as ledger:
        ledger.append(AttemptStarted(attempt_id=clock.opaque_id(), cell=cell, ordinal=2))
        second = list(ledger.state.attempts)[-1]
        with pytest.raises(ValueError, match="counted twice"):
            ledger.append(AttemptEnded(attempt_id=second, outcome=Outcome.COMPLETED, reason="again"))


def test_the_first_reason_to_stop_is_the_one_that_records_tell() -> None:
    """A fault of the harness is not a person's doing, whatever is wished afterwards."""
    stop = Stop()
    stop.wish("the run ended in an error: ValueError")
    stop.wish()
    assert stop.why == "the run ended in an error: ValueError"


def test_a_stop_that_takes_the_container_away_blames_nobody(tmp_path: Path) -> None:
    """What is then missing of the workspace is no doing of the agent's, whatever it said at last."""
    stop = Stop()

    def answer(_: list[str]) -> CommandResult:
        stop.wish()
        return exited()

    class Taken(InMemoryEngine):
        """An engine whose containers are found empty."""

        @contextmanager
        def create(self, spec: SandboxSpec) -> Iterator[Sandbox]:  # noqa: ARG002
            """Nothing is in it."""
            yield AnsweringSandbox(answer)

    plays = {"touch": [{"do": "run", "argv": ["touch", "fixed.txt"]}]}
    book = {"format_version": 1, "tasks": {"*": {"plays": plays}}}
    plan = opened(a_runnable_study(tmp_path, book=book), an_engine(), stop=stop)
    work = plan.prepare(plan.cells[0])
    assert isinstance(work, TaskCell)
    launched = replace(work, study=replace(work.study, engine=Taken())).launch("0" * 16, 1)
    assert launched.record.outcome is Outcome.CANCELLED
    assert launched.record.submission is None


def test_a_workspace_that_was_lost_is_the_untouched_snapshot_and_holds_together(tmp_path: Path) -> None:
    """Record, archive and report tell of the same tree, folders and all."""
    book = {
        "format_version": 1,
        "tasks": {"*": {"plays": {"end": [{"do": "run", "argv": ["kill", "1"]}]}}},
    }
    study = a_runnable_study(tmp_path, book=book)
    run(study)
    records = read_study(folder_of(study).path)
    reasons = {record.reason for record in records.attempts.values()}
    assert all("the untouched snapshot is graded" in reason for reason in reasons)
    assert audit(folder_of(study).path).clean
