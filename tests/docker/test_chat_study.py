"""A whole study of the chat agent: a model on loopback answers well, badly, late and not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from esac_ag.agents.loaded import LoadedInstructions
from esac_ag.attempt import AttemptRecord, Cell, Outcome, Usage
from esac_ag.conduct.audit import audit
from esac_ag.conduct.collect import StudyRecords, read_study
from esac_ag.conduct.context import Stop
from esac_ag.conduct.opening import open_study
from esac_ag.conduct.reporting import write_report
from esac_ag.conduct.study import run_study
from esac_ag.conduct.work import OpenPlan
from esac_ag.errors import StudyPaused
from esac_ag.report.view import CostMean, CostMeasure, ReportView
from esac_ag.rooms.workspace import Workspace
from esac_ag.statistics.estimates import Estimate, NotEstimable
from tests.builders_conduct import Told
from tests.builders_docker import a_docker_study, an_engine_for
from tests.model_server import (
    USAGE,
    ModelServer,
    Recorded,
    Scripted,
    calls,
    completion,
    refuses,
    says,
    submits,
)

pytestmark = pytest.mark.docker

KEY = "sk-study-only-4711-Zq"
KEY_BYTES = KEY.encode()
LOOK = "env > seen.txt; cat /proc/*/environ /proc/*/cmdline >> seen.txt 2>&1; touch fixed.txt; cat seen.txt"
TRACES = ("# Careful", "Be careful.", "skills/careful", "references/more.md")
"""Of the bundle: title, description, place, and its second file."""
SENDINGS = 3
LAUNCHES = 2
PRICES = {
    "source": "a list",
    "currency": "USD",
    "date": "2026-01-01",
    "version": "1",
    "per_million": {"m-1": {"input": 1.0, "cached_input": 0.1, "output": 10.0}},
}
COST_OF_A_REPLY = (40 * 1.0 + 60 * 0.1 + 20 * 10.0) / 1_000_000
USAGE_OF_A_REPLY = {
    "model_calls": 1,
    "input_tokens": 100,
    "cached_input_tokens": 60,
    "output_tokens": 20,
    "reasoning_tokens": 5,
}


def right(usage: object = USAGE) -> list[Scripted]:
    """The model looks for the key, solves the task and submits."""
    return [
        calls(("bash", {"command": LOOK}), usage=usage),
        calls(("submit", {"summary": "done"}), usage=usage),
    ]


LATE = [refuses(429, retry_after="0"), refuses(429, retry_after="0")]
BEFORE: list[list[Scripted]] = [
    right(),
    [completion({"content": None, "refusal": f"I will not, {KEY}"})],
    [says(""), says("")],
    [*LATE, *right()],
    right(usage=None),
    [refuses(500, message=f"broken, {KEY}", retry_after="0")] * (SENDINGS * LAUNCHES),
]
"""Replies by cell, in the sealed order; the study pauses at the last of these cells."""
AFTER = [right(), right(), [calls(("bash", {"command": "true"})), submits()]]
"""Once the model is well again: the cell that spoiled, and the two that are left."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A study that paused and was finished."""

    root: Path
    cells: tuple[Cell, ...]
    pause: StudyPaused
    watcher: Told
    requests: tuple[tuple[Cell, Recorded], ...]
    left: tuple[int, int]
    """Replies that nobody asked for."""
    records: StudyRecords
    view: ReportView

    @property
    def folder(self) -> Path:
        """The study's results."""
        return self.records.folder.path

    def counting(self, position: int) -> AttemptRecord:
        """The attempt that counts, by the cell's place in the sealed order."""
        state = self.records.state.counting(self.cells[position])
        assert state is not None
        return self.records.attempts[state.attempt_id]

    def spoiled(self) -> list[AttemptRecord]:
        """Launches that the endpoint spoiled."""
        return [a for a in self.records.attempts.values() if a.outcome is Outcome.INFRA]


def opened(root: Path, server: ModelServer, engine: Any) -> OpenPlan:  # noqa: ANN401
    """The study, with the key and the server's address in the environment."""
    workspace = Workspace(root)
    return open_study(
        workspace.manifests / "study.json",
        workspace=workspace,
        engine=engine,
        results=workspace.results,
        environ={"ESAC_AG_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY},
        stop=Stop(),
    )


def of_cells(
    cells: Sequence[Cell], script: Sequence[list[Scripted]], requests: Sequence[Recorded]
) -> Iterator[tuple[Cell, Recorded]]:
    """The requests with the cells that they belong to: one cell at a time, each took its whole script."""
    wanted = iter(requests)
    for cell, replies in zip(cells, script, strict=False):
        for _ in replies:
            yield cell, next(wanted)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Run until the pause, then to the end with a healthy model."""
    root = tmp_path_factory.mktemp("chat")
    a_docker_study(
        root,
        agent={"kind": "chat", "version": "1", "settings": {"attempts": SENDINGS}},
        model={"name": "m-1", "version": "1", "provider": "loopback"},
        policies={"max_infrastructure_retries": LAUNCHES - 1},
        prices=PRICES,
        repetitions=1,
    )
    engine, watcher = an_engine_for(root), Told()
    with ModelServer([reply for replies in BEFORE for reply in replies]) as sick:
        study = opened(root, sick, engine)
        with pytest.raises(StudyPaused) as paused:
            run_study(study, concurrency=1, watcher=watcher)
    with ModelServer([reply for replies in AFTER for reply in replies]) as well:
        progress = run_study(opened(root, well, engine), concurrency=1, watcher=watcher)
    assert progress.finished
    assert progress.launched == len(AFTER)
    assert list(engine.leftovers(Workspace(root).label)) == []
    engine.close()
    path = root / "results" / "study-1"
    view, _ = write_report(path)
    requests = (
        *of_cells(study.cells, BEFORE, sick.requests),
        *of_cells(study.cells[len(BEFORE) - 1 :], AFTER, well.requests),
    )
    left = sick.left, well.left
    return Whole(root, study.cells, paused.value, watcher, requests, left, read_study(path), view)


def test_every_reply_was_asked_for_once_and_the_ledger_holds(whole: Whole) -> None:
    """No request too many, none too few; every digest can be derived again."""
    assert whole.left == (0, 0)
    assert len(whole.requests) == sum(map(len, BEFORE)) + sum(map(len, AFTER))
    found = audit(whole.folder)
    assert found.clean, found
    assert found.cells_done == len(whole.cells)


def test_each_way_of_answering_ends_as_it_should(whole: Whole) -> None:
    """Right work passes; a refusal, silence and an idle submission are the model's own and are scored."""
    ends = [(a.outcome, a.reason) for a in map(whole.counting, range(len(whole.cells)))]
    submitted = (Outcome.COMPLETED, "The model submitted its work")
    assert ends == [
        submitted,
        (Outcome.COMPLETED, "The model refused"),
        (Outcome.COMPLETED, "The model stopped without submit"),
        *[submitted] * 5,
    ]
    gradings = [whole.records.gradings[whole.counting(n).attempt_id].score for n in range(len(whole.cells))]
    assert gradings == [100.0, 0.0, 0.0, 100.0, 100.0, 100.0, 100.0, 0.0]


def test_an_endpoint_that_stays_broken_spoils_launches_and_pauses_the_study(whole: Whole) -> None:
    """Two launches of three requests each, neither scored; the pause tells the cell but not its arm."""
    sick = whole.cells[len(BEFORE) - 1]
    spoiled = whole.spoiled()
    assert [(a.cell, a.ordinal, a.submission) for a in spoiled] == [(sick, 1, None), (sick, 2, None)]
    assert all("overloaded after 3 attempt(s): HTTP 500" in a.reason for a in spoiled)
    assert whole.counting(len(BEFORE) - 1).ordinal == LAUNCHES + 1
    assert whole.pause.exit_code not in {0, 1}
    assert sick.task in whole.pause.where
    assert sick.arm not in str(whole.pause)
    assert len(whole.records.state.pauses) == 1
    assert len(whole.watcher.spoiled_cells) == LAUNCHES


def test_what_was_used_is_exact_and_what_is_unknown_stays_so(whole: Whole) -> None:
    """Tokens of answered requests only; retried requests cost nothing, and missing usage is no zero."""
    replies = [2, 1, 2, 2, 2, 2, 2, 2]
    for position, count in enumerate(replies):
        costs = whole.counting(position).costs
        assert costs.turns == count
        if position == 4:
            assert costs.usage == Usage(model_calls=2)
            assert costs.cost is None
            continue
        assert costs.usage == Usage(**{name: n * count for name, n in USAGE_OF_A_REPLY.items()})
        assert costs.cost == pytest.approx(count * COST_OF_A_REPLY)
    for attempt in whole.records.attempts.values():
        written = json.loads((whole.folder / "attempts" / attempt.attempt_id / "usage.json").read_text())
        assert written["costs"] == attempt.costs.model_dump(mode="json")


def means(whole: Whole, arm: str) -> dict[CostMeasure, CostMean]:
    """Mean costs of an arm in the report."""
    (costs,) = (costs for costs in whole.view.costs if costs.arm == arm)
    return {mean.measure: mean for mean in costs.means}


def value(mean: CostMean) -> float:
    """The figure of a known mean."""
    assert isinstance(mean.mean, Estimate)
    return mean.mean.value


def test_the_report_has_exact_means_and_says_what_is_unavailable(whole: Whole) -> None:
    """Tokens are means over the runs that told them; money is shown for all runs of an arm or for none."""
    silent = whole.cells[4].arm
    told = "careful" if silent == "neutral" else "neutral"
    for arm in (silent, told):
        known = [
            whole.counting(n).costs
            for n, cell in enumerate(whole.cells)
            if cell.arm == arm and whole.counting(n).costs.usage.input_tokens is not None
        ]
        found = means(whole, arm)
        assert found[CostMeasure.INPUT_TOKENS].known == len(known) == (3 if arm == silent else 4)
        tokens = [costs.usage.input_tokens for costs in known if costs.usage.input_tokens]
        assert value(found[CostMeasure.INPUT_TOKENS]) == pytest.approx(sum(tokens) / len(tokens))
    assert isinstance(means(whole, silent)[CostMeasure.COST].mean, NotEstimable)
    priced = [whole.counting(n).costs.cost for n, cell in enumerate(whole.cells) if cell.arm == told]
    assert value(means(whole, told)[CostMeasure.COST]) == pytest.approx(sum(c for c in priced if c) / 4)
    assert isinstance(means(whole, told)[CostMeasure.CACHE_WRITE_TOKENS].mean, NotEstimable)
    text = (whole.folder / "report" / "report.md").read_text()
    assert "unavailable (known for 3 of 4)" in text
    assert "(3 of 4 runs known)" in text


def everything_written(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, compressed ones as they are and as they unfold."""
    for path in sorted(root.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield str(path), data
        if path.suffix == ".zst":
            yield f"{path} unfolded", zstandard.ZstdDecompressor().decompressobj().decompress(data)


def test_the_key_went_to_the_endpoint_and_nowhere_else(whole: Whole) -> None:
    """In no file of the results, no archive, no container's environment; though the endpoint quoted it."""
    assert {r.headers.get("authorization") for _, r in whole.requests} == {f"Bearer {KEY}"}
    bodies = [request.body for _, request in whole.requests]
    assert [body for body in bodies if KEY_BYTES in body] == []
    written = dict(everything_written(whole.folder))
    assert [name for name, data in written.items() if KEY_BYTES in data] == []
    quoted = [name for name, data in written.items() if b"[redacted]" in data]
    assert any(name.endswith("transcript.jsonl") for name in quoted)
    assert any(name.endswith("attempt.json") for name in quoted)


def test_what_the_agent_saw_of_its_surroundings_is_on_record_and_clean(whole: Whole) -> None:
    """The environment and the processes that the command showed are in the archive, without a secret."""
    for position in (0, 3, 4, 5, 6):
        folder = whole.records.folder.attempt(whole.counting(position).attempt_id)
        seen = folder.read_submission().files()[b"seen.txt"].data
        assert b"HOME=/agent/home" in seen
        assert b"OPENAI_API_KEY" not in seen
        assert b"ESAC_AG_BASE_URL" not in seen
        assert b"127.0.0.1:" not in seen


def test_requests_hold_the_arms_bundle_and_the_controls_hold_nothing_of_it(whole: Whole) -> None:
    """Byte for byte the same otherwise: system message up to the arm's part, tools and decoding."""
    heads = set()
    for cell, request in whole.requests:
        text = request.body.decode()
        found = [trace for trace in TRACES if trace in text]
        assert found == ([] if cell.arm == "neutral" else list(TRACES)), cell
        assert "neutral" not in text
        body = request.json
        heads.add(json.dumps({key: body[key] for key in body if key != "messages"}, sort_keys=True))
    assert len(heads) == 1


def test_the_loaded_instructions_tell_what_reached_the_model(whole: Whole) -> None:
    """The skill in full in the first request, its second file listed, and no trace in the control."""
    for position, cell in enumerate(whole.cells):
        attempt = whole.counting(position)
        path = whole.folder / "attempts" / attempt.attempt_id / "loaded-instructions.json"
        loaded = LoadedInstructions.model_validate_json(path.read_bytes())
        answered = attempt.costs.turns
        assert (loaded.arm, loaded.requests, loaded.foreign) == (cell.arm, answered, ())
        if cell.arm == "neutral":
            assert loaded.files == ()
            assert attempt.arm_sha256 is None
            continue
        files = {file.path: file for file in loaded.files}
        assert files.keys() == {"SKILL.md", "references/more.md"}
        assert all(file.present_at_start for file in files.values())
        skill, more = files["SKILL.md"].in_full_in, files["references/more.md"]
        assert skill is not None
        assert skill.request == 1
        assert more.listed_in is not None
        assert more.in_full_in is None
