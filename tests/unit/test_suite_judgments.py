"""Judgments that arrived count: no stop, kill or failure lets anybody roll them again, or leaves no trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from esac_ag.attempt import Cell, GradingStatus, Outcome
from esac_ag.attempt.events import (
    AttemptEnded,
    AttemptGraded,
    AttemptStarted,
    Body,
    JudgmentMade,
    StudyState,
)
from esac_ag.conduct.audit import audit
from esac_ag.conduct.study import run_study
from esac_ag.conduct.suite_results import write_suite_reports
from esac_ag.conduct.work import Kept
from esac_ag.errors import Interrupted, StudyPaused, SubstitutionRefused
from esac_ag.ledger import read_lines, read_state
from esac_ag.suite.records import judgment_file
from tests.builders_conduct import Told
from tests.builders_suite_run import (
    JUDGED,
    PROGRAM,
    Hasty,
    SealedRun,
    a_chat_agent,
    a_judge,
    a_sealed_run,
    an_engine,
    judge_changed,
)
from tests.model_server import Scripted, refuses
from tests.playing_server import PlayingServer

CELL = Cell(task=JUDGED, arm="neutral", repetition=1)
FIRST, SECOND = judgment_file(1), judgment_file(2)


class WaveringServer(PlayingServer):
    """A judge that gives each request another score, and whatever the test wants done instead of a reply."""

    def __init__(self, *instead: Scripted | None) -> None:
        super().__init__(score=lambda _: len(self.judged) % 5)
        self.waiting = list(instead)
        self.on_request: Any = lambda: None

    def _judgment(self, body: dict[str, Any]) -> Scripted:
        self.on_request()
        only = self.waiting.pop(0) if self.waiting else None
        return only or super()._judgment(body)


def judged(folder: Path, server: PlayingServer, **request: Any) -> SealedRun:  # noqa: ANN401
    """A sealed run of a judged item by a played model."""
    agent, judge = a_chat_agent(server.base_url), a_judge(server.base_url)
    return a_sealed_run(folder, JUDGED, agent=agent, judge=judge, **request)


def scores(run: SealedRun) -> list[int]:
    """The scores of the first run's judgments, each the same on all criteria."""
    records = run.records()
    grading = records.graded(CELL)
    assert grading is not None
    return [next(iter(judgment.judgment.scores.values())) for judgment in grading.judgments]


def folder_of_first(run: SealedRun) -> Path:
    """The folder of the first attempt."""
    return run.folder.attempt(next(iter(read_state(run.folder.ledger).attempts))).path


def test_each_judgment_is_in_the_ledger_before_the_next_is_asked_for(tmp_path: Path) -> None:
    """As a file of the attempt, with its digest."""
    seen: list[list[str]] = []
    with WaveringServer() as server:
        run = judged(tmp_path, server)
        server.on_request = lambda: seen.append(
            [
                line.body.file
                for line in read_lines(run.folder.ledger)[0]
                if line.body.event == "judgment-made"
            ]
        )
        run.run(limit=1)
    assert seen == [[], [FIRST]]
    grading = run.records().graded(CELL)
    assert grading is not None
    folder = folder_of_first(run)
    kept = [json.loads((folder / name).read_text()) for name in (FIRST, SECOND)]
    assert kept == [json.loads(judgment.model_dump_json()) for judgment in grading.judgments]
    assert audit(run.folder.path).clean


def test_a_stop_between_two_judgments_does_not_roll_the_first_again(tmp_path: Path) -> None:
    """Whoever saw it cannot have another one by stopping and going on."""
    stop = Hasty()
    with WaveringServer(None, refuses(503)) as server:
        run = judged(tmp_path, server)

        def stops_at_the_second() -> None:
            if len(server.judged) == 1:
                stop.wish()

        server.on_request = stops_at_the_second
        with pytest.raises(Interrupted):
            run_study(run.opened(stop=stop), concurrency=1, watcher=Told())
        assert [path.name for path in folder_of_first(run).glob("grading/judgment-*")] == ["judgment-1.json"]
        server.on_request = lambda: None
        run.run()
    assert scores(run) == [1, 2]
    write_suite_reports(run.folder.path)
    assert audit(run.folder.path).clean


def test_a_judge_that_fails_at_the_second_judgment_keeps_the_first(tmp_path: Path) -> None:
    """A failure of the service is tried again, and asks for what is missing alone."""
    with WaveringServer(None, refuses(401)) as server:
        run = judged(tmp_path, server)
        run.run(limit=1)
        requests = [request for request in server.requests if "response_format" in request.json]
    assert len(requests) == 3
    assert scores(run) == [1, 2]


def test_every_try_leaves_the_judges_log(tmp_path: Path) -> None:
    """None is written over, and in the end the ledger names them all."""
    failing = [refuses(401)] * 3
    with WaveringServer(None, *failing) as server:
        run = judged(tmp_path, server)
        with pytest.raises(StudyPaused):
            run.run(limit=1)
        first = (folder_of_first(run) / "grading" / "judge.log").read_bytes()
        run.run(limit=1)
    logs = [f"grading/judge{number}.log" for number in ("", "-2", "-3", "-4")]
    folder = folder_of_first(run)
    assert [(folder / name).is_file() for name in logs] == [True] * 4
    assert (folder / "grading" / "judge.log").read_bytes() == first
    (attempt,) = [one for one in read_state(run.folder.ledger).attempts.values() if one.cell == CELL]
    assert set(logs) <= set(attempt.artifacts)
    assert audit(run.folder.path).clean


def test_a_kept_judgment_that_was_edited_is_refused_and_found(tmp_path: Path) -> None:
    """It is never made again in its place."""
    with WaveringServer(None, *[refuses(401)] * 3) as server:
        run = judged(tmp_path, server)
        with pytest.raises(StudyPaused):
            run.run(limit=1)
        path = folder_of_first(run) / FIRST
        path.write_bytes(path.read_bytes().replace(b":1", b":3"))
        with pytest.raises(SubstitutionRefused, match="a judgment"):
            run.run(limit=1)
        where = path.relative_to(run.folder.path).as_posix()
        assert (where, "a file was changed") in {
            (found.where, found.what) for found in audit(run.folder.path).findings
        }
        path.unlink()
        with pytest.raises(SubstitutionRefused):
            run.run(limit=1)
        assert len([one for one in server.requests if "response_format" in one.json]) == 4


def test_what_is_told_of_a_judgment_has_to_fit(tmp_path: Path) -> None:
    """It is made once, of an attempt that counts and is not graded yet."""
    made = JudgmentMade(attempt_id="a1", file=FIRST, sha256="ab" * 32)
    started = AttemptStarted(attempt_id="a1", cell=CELL, ordinal=1)
    ended = AttemptEnded(attempt_id="a1", outcome=Outcome.COMPLETED, reason="done")
    graded = AttemptGraded(attempt_id="a1", status=GradingStatus.GRADED, artifacts={})
    assert StudyState.of([started, ended, made, graded]).attempts["a1"].artifacts == {FIRST: "ab" * 32}
    wrong: list[list[Body]] = [
        [made],
        [started, made],
        [started, ended, made, made],
        [started, ended, graded, made],
    ]
    for story in wrong:
        with pytest.raises(ValueError, match="a1"):
            StudyState.of(story)


def test_a_grading_that_is_done_again_draws_the_same_inputs(tmp_path: Path) -> None:
    """Killing between the grader's end and the ledger's line is no way to other inputs."""
    seeds: list[str] = []

    def grader(process: Any) -> int:  # noqa: ANN401
        seeds.append(json.loads(process.files.read("/grade/judge.json"))["seed"])
        return judge_changed(process)

    run = a_sealed_run(tmp_path, PROGRAM, engine=an_engine(judge=grader))
    work = run.opened().prepare(Cell(task=PROGRAM, arm="neutral", repetition=1))
    for attempt_id in ("attempt-1", "attempt-2"):
        work.launch(attempt_id, 1)
        for _ in range(2):
            work.grade(attempt_id, Kept({}, lambda *_: None))
    one, again, other, other_again = seeds
    assert (one, other) == (again, other_again)
    assert one != other
    logs = sorted(path.name for path in run.folder.attempt("attempt-1").path.glob("grading/*.log"))
    assert logs == ["grader-2.log", "grader.log"]
